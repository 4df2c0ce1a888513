"""Other programs that align cDNAs or proteins to a locus or a genome, and what they write.

Each runs only if it is installed; MINIPROT in the environment names that program, which Debian
lacks. A protein has no stop codon: where one follows the last exon, it is taken in.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from numpy.typing import NDArray

from gpu_tools.model.sequences import decode, reverse_complement
from gpu_tools.model.translation import STOP_CODONS

MINIPROT = os.environ.get("MINIPROT", "miniprot")
PROCESSES = int(os.environ.get("PROCESSES", "2"))
"""Processes at a time; each has one thread."""
SPALN_SPECIES = defaultdict(lambda: "Tetrapod", fly2L="InsectDm", at="Magnolio")
"""spaln's parameters by the name of the data."""
INTRONS = defaultdict(lambda: "-j2", at="-j1")
"""miniprot's model of introns likewise."""

Exons = list[tuple[str, int, int]]
"""Strand and interval of each exon, 0-based half-open on the forward strand, by place."""


class Program(NamedTuple):
    """A program: its commands in order, and what reads the exons by target of the last output.

    Words of the commands may name the files ``base`` and ``targets``, ``species`` and ``introns``.
    Targets are named by numbers. A program that runs `singly` gets one target at a time.
    """

    commands: tuple[tuple[str, ...], ...]
    parse: Callable[[list[list[str]]], dict[str, Exons]]
    singly: bool = False
    protein: bool = False


def _interval(fields: list[str]) -> tuple[str, int, int]:
    """Return strand and interval; genewise names the larger end first on the reverse strand."""
    start, end = sorted((int(fields[3]), int(fields[4])))
    return fields[6], start - 1, end


def exons_of_gff(lines: list[list[str]], feature: str) -> dict[str, Exons]:
    """Return all features of a type, of the only target."""
    return {"0": sorted(_interval(f) for f in lines if len(f) >= 8 and f[2] == feature)}


def exons_by_target(lines: list[list[str]], feature: str) -> dict[str, Exons]:
    """Return the exons of the first gene of each target; GFF with ``Parent`` and ``Target``."""
    found = defaultdict(dict)
    for fields in (f for f in lines if len(f) == 9 and f[2] == feature):
        named = dict(item.split("=", 1) for item in fields[8].split(";"))
        genes = found[named["Target"].split()[0]]
        genes.setdefault(named["Parent"], []).append(_interval(fields))
    return {name: sorted(next(iter(genes.values()))) for name, genes in found.items()}


def exons_of_genewise(lines: list[list[str]]) -> dict[str, Exons]:
    """Return the exons of the match that scores best, the only target's."""
    matches = []
    for fields in (f for f in lines if len(f) == 9):
        if fields[2] == "match":
            matches.append((float(fields[5]), []))
        elif fields[2] == "cds":
            matches[-1][1].append(_interval(fields))
    return {"0": sorted(max(matches, key=lambda match: match[0], default=(0, []))[1])}


def exons_of_sam(lines: list[list[str]]) -> dict[str, Exons]:
    """Return strand and exons of the primary alignments by target.

    Flags 4, 256 and 2048 are unaligned, secondary and supplementary lines.
    """
    found = {}
    for fields in (f for f in lines if len(f) > 5 and f[0][:1] != "@"):
        flag, exons = int(fields[1]), []
        if flag & (4 | 256 | 2048):
            continue
        strand, start = "-" if flag & 16 else "+", int(fields[3]) - 1
        end = start
        for length, letter in re.findall(r"(\d+)([MIDNSH=X])", fields[5]):
            if letter == "N":
                exons.append((strand, start, end))
                start = end = end + int(length)
            elif letter in "MD=X":
                end += int(length)
        found[fields[0]] = [*exons, (strand, start, end)]
    return found


def _exonerate(model: str) -> Program:
    command = (
        "exonerate", "--showalignment", "no", "--showvulgar", "no", "--showtargetgff", "yes",
        "--bestn", "1", "--model", model, "{targets}", "{base}",
    )  # fmt: skip
    return Program((command,), partial(exons_of_gff, feature="exon"), True, model[:7] == "protein")


def _spaln(index: str, feature: str, *options: str) -> Program:
    """Return spaln with an index of the base."""
    commands = (
        ("spaln", "-W", index, "{base}"),
        ("spaln", "-Q7", "-t1", "-O0", *options, "-M1", "-T{species}", "-d./base", "{targets}"),
    )
    return Program(commands, partial(exons_by_target, feature=feature), protein=feature == "cds")


def _spaln_of_a_locus(feature: str, *options: str) -> Program:
    command = ("spaln", "-Q0", "-O0", *options, "-T{species}", "{base}", "{targets}")
    return Program((command,), partial(exons_of_gff, feature=feature), True, feature == "cds")


def _genewise(strands: str, parse: Callable) -> Program:
    command = ("genewise", "{targets}", "{base}", strands, "-gff", "-quiet")
    return Program((command,), parse, True, True)


GMAP = ("gmap", "-g", "{base}", "-f", "gff3_gene", "-n", "1", "--cross-species", "{targets}")
MINIMAP2 = ("minimap2", "-a", "-x", "splice", "-t1", "{base}", "{targets}")
OF_LOCI = {
    "spaln": _spaln_of_a_locus("exon"),
    "spaln, protein": _spaln_of_a_locus("cds"),
    **{
        f"exonerate {model}": _exonerate(model)
        for model in ("est2genome", "coding2genome", "protein2genome")
    },
    "genewise, protein": _genewise("-tfor", partial(exons_of_gff, feature="cds")),
    "minimap2": Program((MINIMAP2,), exons_of_sam),
    "gmap": Program((GMAP,), partial(exons_of_gff, feature="exon"), True),
}
"""cDNAs, or their translations, on a gene whose strand is given."""
OF_CDNAS = {
    "minimap2": OF_LOCI["minimap2"],
    "spaln": _spaln("-KD", "exon", "-S3"),
    "spaln, short base": _spaln_of_a_locus("exon", "-S3", "-M1"),
    "exonerate": _exonerate("est2genome"),
}
"""cDNAs on either strand of pieces of genomes."""
OF_PROTEINS = {
    "miniprot": Program(
        ((MINIPROT, "-t1", "{introns}", "--gff", "{base}", "{targets}"),),
        partial(exons_by_target, feature="CDS"), protein=True,
    ),
    "spaln": _spaln("-KP", "cds"),
    "exonerate": _exonerate("protein2genome"),
    "genewise": _genewise("-both", exons_of_genewise),
}  # fmt: skip
"""Proteins on either strand; those that run singly are slow, and get genes with flanks."""


def installed(programs: dict[str, Program]) -> list[str]:
    """Return the programs that are here."""
    return [name for name, own in programs.items() if shutil.which(own.commands[-1][0])]


def versions() -> dict[str, str]:
    """Return the versions of the programs for proteins, Debian's but for miniprot."""
    packages = {"spaln": "spaln", "exonerate": "exonerate", "genewise": "wise"}
    found = {}
    for name in installed(OF_PROTEINS):
        query = (
            ("dpkg-query", "-W", packages[name]) if name in packages else (MINIPROT, "--version")
        )
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout
        found[name] = " ".join(said.split()) or "unknown"
    return found


Pairs = list[tuple[NDArray, str]]
"""Codes of a base, and the letters of a target. Targets of one array of codes run together."""


def run(program: Program, pairs: Pairs, data: str = "") -> tuple[list[Exons], float]:
    """Return the exons of each target's best hit, and seconds of a processor.

    `data` names the data set, for the parameters of programs.
    """
    groups = defaultdict(list)
    for k, (codes, _) in enumerate(pairs):
        groups[k if program.singly else id(codes)].append(k)
    found, total = [[] for _ in pairs], 0.0
    one = partial(_run_group, program, pairs, data)
    with ThreadPoolExecutor(PROCESSES) as pool:
        for (exons, seconds), members in zip(
            pool.map(one, groups.values()), groups.values(), strict=True
        ):
            total += seconds
            for name, chain in exons.items():
                codes, _ = pairs[members[int(name)]]
                own = with_stop_codon(codes, chain) if program.protein else chain
                found[members[int(name)]] = own
    return found, total


def _run_group(program: Program, pairs: Pairs, data: str, members: list[int]):
    """Run a program on targets of one base; return exons by number in the group, and seconds."""
    names, total = {"species": SPALN_SPECIES[data], "introns": INTRONS[data]}, 0.0
    with tempfile.TemporaryDirectory() as folder:
        base, targets = Path(folder, "base.fa"), Path(folder, "targets.fa")
        base.write_text(f">base\n{decode(pairs[members[0]][0])}\n")
        targets.write_text("".join(f">{j}\n{pairs[k][1]}\n" for j, k in enumerate(members)))
        for command in program.commands:
            words = [word.format(base=base, targets=targets, **names) for word in command]
            output, seconds = timed_output(words, Path(folder))
            total += seconds
    return program.parse([line.split("\t") for line in output.splitlines()]), total


def timed_output(command: list[str], folder: Path) -> tuple[str, float]:
    """Return a program's output and the seconds that it kept a processor busy."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process.stdout as stream:
        output = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, usage.ru_utime + usage.ru_stime


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
