"""Introns of a whole genome by proteins of the species, judged by its cDNAs.

Run ``python -m benchmarks.annotate.bench_whole FOLDER [RECORD.json]``. FOLDER holds
``genome.fa.gz``, ``cds.fa.gz`` with cDNAs, and maybe ``proteins.fa.gz``; without it the proteins
are the longest open reading frames of the cDNAs. ``dictyostelium`` has those of Debian's package
spaln-data. MINIPROT in the environment names that program.

minimap2 aligns the cDNAs. An intron that lies in the span of a cDNA is right if a cDNA has it; it
is not judged inside a cDNA's intron unless they share an end: another gene may lie there. No
program aligns cDNAs here, but the site model ``dictyostelium`` was made from alignments of them:
``generic`` was not. Proteins at lower identities have substitutions and gaps. Each program is a
process of one thread with its defaults, index included.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy.programs import versions
from benchmarks.accuracy.proteins import diverged
from benchmarks.annotate import bench_wild
from benchmarks.annotate.bench_wild import CodingModel, Wild
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.sequences import decode, decode_protein, encode_protein
from gpu_tools.model.translation import longest_frame, translate

SEED = 2042
IDENTITIES = 60, 100
MODELS = {"dictyostelium": "Dictyost"}
"""spaln's parameters by our site model, which the folder is named by."""
Intron = tuple[str, int, int]


def _proteins(folder: Path, cdnas: dict[str, str]) -> dict[str, str]:
    """Return the proteins of the folder, or those of its cDNAs."""
    if (path := folder / "proteins.fa.gz").exists():
        return {one.name: decode_protein(one.codes) for one in read_fasta(path, encode_protein)}
    frames = {one.name: one.codes for one in read_fasta(folder / "cds.fa.gz")}
    cut = {name: codes[slice(*longest_frame(codes))] for name, codes in frames.items()}
    return {name: decode_protein(translate(codes)).rstrip("*") for name, codes in cut.items()}


def introns(models: list[CodingModel]) -> set[Intron]:
    """Return record, start and end of each intron."""
    return {(m.record, *one) for m in models for one in m.introns[2]}


class Known:
    """The introns of cDNAs, and the spans in which they say what is no intron."""

    def __init__(self, cdnas: list[CodingModel]):
        self.introns, self.cdnas = introns(cdnas), defaultdict(list)
        for model in cdnas:
            self.cdnas[model.record].append(model)

    def judges(self, intron: Intron) -> bool:
        """Return whether an intron lies in the span of a cDNA that says what is there."""
        record_name, *own = intron
        return any(_says(cdna, *own) for cdna in self.cdnas[record_name])


def _says(cdna: CodingModel, start: int, end: int) -> bool:
    """Return whether an intron lies in a cDNA's span, and not amid one of its introns."""
    if not cdna.exons[0][0] <= start <= end <= cdna.exons[-1][1]:
        return False
    return not any(first < start and end < last for first, last in cdna.introns[2])


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield versions of the programs, and a row for each program and identity."""
    yield "versions", versions()
    genome = {one.name: one for one in read_fasta(folder / "genome.fa.gz")}
    data = Wild(folder, genome, [], [])
    cdnas = {one.name: decode(one.codes) for one in read_fasta(folder / "cds.fa.gz")}
    proteins = _proteins(folder, cdnas)
    command, read = bench_wild.PROGRAMS["cdnas"]["minimap2"]
    found = bench_wild.structures(command, data, cdnas, read)[0] if shutil.which("minimap2") else []
    known = Known(found)
    for identity in IDENTITIES[:1] if tiny else IDENTITIES:
        rng = np.random.default_rng([SEED, identity])
        targets = {
            name: text if identity == 100 else diverged(rng, text, identity, gaps=True)
            for name, text in proteins.items()
        }
        for method, site_model in _methods(folder.name, tiny):
            program, read = bench_wild.PROGRAMS["proteins"][method]
            if not shutil.which(program.commands[-1][0]):
                continue
            models = site_model, MODELS.get(site_model, "Tetrapod")
            reported, times = bench_wild.structures(program, data, targets, read, models)
            own = introns(reported)
            yield f"{identity} {method} {site_model}", {
                "method": method if method != "gpu-tools" else f"gpu-tools, `{site_model}`",
                "identity": identity, "proteins": len(targets),
                "nucleotides": sum(map(len, genome.values())),
                "introns": len(own), "judged": sum(map(known.judges, own)),
                "right": len(own & known.introns), **times,
            }  # fmt: skip


def _methods(name: str, tiny: bool) -> Iterator[tuple[str, str]]:
    """Yield programs and site models."""
    own = name if name in MODELS else "vertebrate"
    yield from ((method, own) for method in ("gpu-tools", "miniprot", "spaln"))
    if not tiny:
        yield "gpu-tools", "generic"


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
