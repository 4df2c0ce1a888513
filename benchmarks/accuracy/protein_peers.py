"""Programs that align proteins to a genome, for `proteins`: commands, and what they write.

Each runs only if it is installed; MINIPROT in the environment names that program, which Debian
lacks. Where a stop codon follows the last exon, it is taken in, whichever program found the exon.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.accuracy.peers import timed_output
from gpu_tools.model.sequences import decode, reverse_complement
from gpu_tools.model.translation import STOP_CODONS

MINIPROT = os.environ.get("MINIPROT", "miniprot")
SPALN_SPECIES = {"fly2L": "InsectDm", "at": "Magnolio"}
"""spaln's parameters by the name of the data; else those of tetrapods."""
THREADS = 2
"""Processes at a time; each has one thread."""
_EXONERATE = (
    "exonerate", "--model", "protein2genome", "--showalignment", "no", "--showvulgar", "no",
    "--showtargetgff", "yes", "--bestn", "1", "{proteins}", "{base}",
)  # fmt: skip

Exons = list[tuple[str, int, int]]
"""Strand and interval of each exon, 0-based half-open on the forward strand, by place."""


class Program(NamedTuple):
    """A program: its commands in order, what reads the last one's output, and its scope.

    Words of the commands may name the files ``base`` and ``proteins``, and ``species``. A
    program that is slow, `gene_only`, gets each gene with its flanks by itself.
    """

    commands: tuple[tuple[str, ...], ...]
    parse: Callable[[list[list[str]]], dict[str, Exons]]
    gene_only: bool = False


def _interval(fields: list[str]) -> tuple[str, int, int]:
    """Return strand and interval; genewise names the larger end first on the reverse strand."""
    start, end = sorted((int(fields[3]), int(fields[4])))
    return fields[6], start - 1, end


def exons_by_target(lines: list[list[str]], feature: str) -> dict[str, Exons]:
    """Return the exons of the first gene of each protein; GFF with ``Parent`` and ``Target``."""
    found = defaultdict(dict)
    for fields in (f for f in lines if len(f) == 9 and f[2] == feature):
        named = dict(item.split("=", 1) for item in fields[8].split(";"))
        genes = found[named["Target"].split()[0]]
        genes.setdefault(named["Parent"], []).append(_interval(fields))
    return {name: sorted(next(iter(genes.values()))) for name, genes in found.items()}


def exons_of_genewise(lines: list[list[str]]) -> dict[str, Exons]:
    """Return the exons of the match that scores best, the only protein's."""
    matches = []
    for fields in (f for f in lines if len(f) == 9):
        if fields[2] == "match":
            matches.append((float(fields[5]), []))
        elif fields[2] == "cds":
            matches[-1][1].append(_interval(fields))
    return {"0": sorted(max(matches, key=lambda match: match[0], default=(0, []))[1])}


def exons_of_exonerate(lines: list[list[str]]) -> dict[str, Exons]:
    """Return the exons of the only protein."""
    return {"0": sorted(_interval(f) for f in lines if len(f) == 9 and f[2] == "exon")}


PROGRAMS = {
    "miniprot": Program(
        ((MINIPROT, "-t1", "{j}", "--gff", "{base}", "{proteins}"),),
        partial(exons_by_target, feature="CDS"),
    ),
    "spaln": Program(
        (
            ("spaln", "-W", "-KP", "{base}"),
            ("spaln", "-Q7", "-O0", "-M1", "-t1", "-T{species}", "-d./base", "{proteins}"),
        ),
        partial(exons_by_target, feature="cds"),
    ),
    "exonerate": Program((_EXONERATE,), exons_of_exonerate, gene_only=True),
    "genewise": Program(
        (("genewise", "{proteins}", "{base}", "-both", "-gff", "-quiet"),),
        exons_of_genewise, gene_only=True,
    ),
}  # fmt: skip


def installed() -> list[str]:
    """Return the programs that are here."""
    return [name for name, own in PROGRAMS.items() if shutil.which(own.commands[-1][0])]


def versions() -> dict[str, str]:
    """Return what the programs say of their versions."""
    asked = {
        "miniprot": (MINIPROT, "--version"), "spaln": ("dpkg-query", "-W", "spaln"),
        "exonerate": ("dpkg-query", "-W", "exonerate"), "genewise": ("dpkg-query", "-W", "wise"),
    }  # fmt: skip
    return {name: _first_line(asked[name]) for name in installed()}


def _first_line(command: tuple[str, ...]) -> str:
    if not shutil.which(command[0]):
        return "unknown"
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return " ".join(found.stdout.split()) or "unknown"


def run(program: Program, trials: list, data: str) -> tuple[list[Exons], float]:
    """Return the exons of each trial's best hit, and seconds of a processor.

    Parameters
    ----------
    program : Program
    trials : list of ProteinTrial
        Those of one base go to one process, but one by one to programs that take a gene.
    data : str
        Name of the data, for spaln's parameters.
    """
    groups = defaultdict(list)
    for k, trial in enumerate(trials):
        groups[k if program.gene_only else id(trial.base)].append(k)
    found, total = [[] for _ in trials], 0.0
    one = partial(_run_group, program, trials, data)
    with ThreadPoolExecutor(THREADS) as pool:
        for members, (exons, seconds) in zip(
            groups.values(), pool.map(one, groups.values()), strict=True
        ):
            total += seconds
            for name, chain in exons.items():
                k = members[int(name)]
                found[k] = with_stop_codon(trials[k].base.codes, chain)
    return found, total


def _run_group(program: Program, trials: list, data: str, members: list[int]):
    """Run a program on trials of one base; return exons by number in the group, and seconds."""
    species, total, output = SPALN_SPECIES.get(data, "Tetrapod"), 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        base, proteins = Path(folder, "base.fa"), Path(folder, "proteins.fa")
        base.write_text(f">base\n{decode(trials[members[0]].base.codes)}\n")
        texts = (f">{j}\n{trials[k].protein}\n" for j, k in enumerate(members))
        proteins.write_text("".join(texts))
        j = "-j1" if data == "at" else "-j2"
        for command in program.commands:
            words = [w.format(base=base, proteins=proteins, species=species, j=j) for w in command]
            output, seconds = timed_output(words, Path(folder))
            total += seconds
    return program.parse([line.split("\t") for line in output.splitlines()]), total


def with_stop_codon(codes, exons: Exons) -> Exons:
    """Return exons with the stop codon that follows them, if they do not end with one."""
    if not exons:
        return []
    strand, length = exons[0][0], len(codes)
    start, end = exons[-1][1:] if strand == "+" else (length - exons[0][2], length - exons[0][1])
    around = codes[max(end - 3, 0) : end + 3] if strand == "+" else reverse_complement(
        codes[max(length - end - 3, 0) : length - end + 3]
    )  # fmt: skip
    text = decode(around)
    if (end - start >= 3 and text[:3] in STOP_CODONS) or text[3:] not in STOP_CODONS:
        return exons
    if strand == "+":
        return [*exons[:-1], (strand, exons[-1][1], exons[-1][2] + 3)]
    return [(strand, exons[0][1] - 3, exons[0][2]), *exons[1:]]
