"""Programs that find genes of a genome by proteins: commands, and the transcripts they write."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.accuracy.protein_peers import MINIPROT, SPALN_SPECIES, with_stop_codon
from benchmarks.annotate.gene_sets import models_of_gff
from gpu_tools.model.sequences import Sequence, decode

THREADS = "2"


class GenomeProgram(NamedTuple):
    """Commands in order; the last one writes GFF3 with coding exons of a type.

    Words may name the files ``genome`` and ``proteins``, ``species``, and ``folder``.
    """

    commands: tuple[tuple[str, ...], ...]
    feature: str


def _spaln(most: str) -> GenomeProgram:
    return GenomeProgram(
        (
            ("spaln", "-W", "-KP", f"-t{THREADS}", "{genome}"),
            ("spaln", "-Q7", "-O0", f"-M{most}", f"-t{THREADS}", "-T{species}", "-d./genome",
             "{proteins}"),
        ),
        "cds",
    )  # fmt: skip


PROGRAMS = {
    "spaln": _spaln("1"),
    "spaln 4 loci": _spaln("4"),
    "miniprot": GenomeProgram(
        ((MINIPROT, f"-t{THREADS}", "--gff", "{genome}", "{proteins}"),), "CDS"
    ),
}
"""By default spaln writes one locus a protein; miniprot up to 30."""


def installed() -> list[str]:
    """Return the programs that are here."""
    return [name for name, own in PROGRAMS.items() if shutil.which(own.commands[-1][0])]


def run(name: str, genome: list[Sequence], proteins: dict[str, str], data: str):
    """Return the transcripts that a program finds, wall seconds, and seconds of a processor."""
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        files = {"genome": Path(folder, "genome.fa"), "proteins": Path(folder, "proteins.fa")}
        text = "".join(f">{s.name}\n{decode(s.codes)}\n" for s in genome)
        files["genome"].write_text(text)
        files["proteins"].write_text("".join(f">{n}\n{p}\n" for n, p in proteins.items()))
        species = SPALN_SPECIES.get(data, "Tetrapod")
        begin, spent = time.perf_counter(), _children()
        for command in program.commands:
            words = [word.format(**files, species=species, folder=folder) for word in command]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        wall, processor = time.perf_counter() - begin, _children() - spent
    by_name = {sequence.name: sequence for sequence in genome}
    lines = done.stdout.splitlines()
    return models_of_gff(lines, program.feature, by_name, with_stop_codon), wall, processor


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
