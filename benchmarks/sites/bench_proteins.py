"""Proteins in site mode on a GPU: the kernel alone, and whole calls beside the CPU's.

Run ``python -m benchmarks.sites.bench_proteins [RECORD.json] [--tiny]``. Cells are nucleotides
times residues for each strand. Times of calls include chains and alignments; sites are scored
before. Bases and proteins are random: as many sites and as many cells as real ones have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import record
from benchmarks.sites.kernels import protein_kernel
from gpu_tools import Sequence, load_sites
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)

SEED = 2031
SCORING = ProteinScoring(load_matrix("BLOSUM62"))
MODEL = protein_sites(load_sites("vertebrate"))
MANY = 1_056
"""Loci whose strips are two for each warp that an H200 runs at a time."""


def random_base(rng, length: int) -> Sequence:
    """Return a base of random nucleotides."""
    return Sequence("base", rng.integers(0, 4, length).astype(np.uint8))


def random_proteins(rng, lengths) -> list[ProteinSequence]:
    """Return proteins of random residues."""
    return [ProteinSequence("p", rng.integers(0, 20, n).astype(np.uint8)) for n in lengths]


def on_base(base: Sequence, proteins: list[ProteinSequence], strands: str) -> list[ProteinCase]:
    """Return a case for each protein."""
    tables = protein_tables_of(base, MODEL, SCORING, strands)
    return [ProteinCase(base, protein, tables) for protein in proteins]


def loci(rng, count: int, nucleotides: int, residues: int) -> list[ProteinCase]:
    """Return cases each of which has a base of its own."""
    proteins, strands = random_proteins(rng, [residues] * count), "+-" if count > 1 else "+"
    made = (on_base(random_base(rng, nucleotides), [each], strands) for each in proteins)
    return [case for (case,) in made]


def call(cases: list[ProteinCase], device: str) -> tuple[dict, list]:
    """Time the public function after a call that compiles; return figures and results."""
    protein_align(cases[:1], SCORING, device=device)
    begin = time.perf_counter()
    found = protein_align(cases, SCORING, device=device)
    seconds = time.perf_counter() - begin
    cells = sum(case.cells for case in cases)
    return {"seconds": round(seconds, 4), "gcups": round(cells / seconds / 1e9, 3)}, found


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure a GPU; results of loci are compared with the CPU's."""
    rng = np.random.default_rng(SEED)
    made = loci(rng, 1, 9, 2) if tiny else loci(rng, 396, 42_181, 486)
    yield "proteins_loci_kernel", protein_kernel(made, SCORING)
    if not tiny:
        many = made + loci(rng, MANY - len(made), 42_181, 486)
        yield "proteins_many_loci_kernel", protein_kernel(many, SCORING)
    figures, found = call(made, "cuda")
    yield "proteins_loci_library", figures
    some = made[:64]
    figures, expected = call(some, "cpu")
    if found[: len(some)] != expected:
        raise AssertionError("the devices differ")
    yield "proteins_loci_cpu", {**figures, "equal_cases": len(some)}
    if tiny:
        return
    base = random_base(rng, 3_000_000)
    for count in (60, 200):
        made = on_base(base, random_proteins(rng, rng.integers(233, 900, count)), "+-")
        yield f"proteins_genome_{count}_kernel", protein_kernel(made, SCORING)
        yield f"proteins_genome_{count}_library", call(made, "cuda")[0]


if __name__ == "__main__":
    record.main(measure, needs_gpu=True)
