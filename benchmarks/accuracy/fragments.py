"""Incomplete genes: where chains begin and end if a target begins and ends inside of exons.

Run ``python -m benchmarks.accuracy.fragments [RECORD.json]``. Targets are pieces of the coding
sequences of bench_accuracy.py, 40 to 90 % of them, mutated; models saw nothing of a gene's record.
Inner edges are acceptors and donors; an outer edge is where the first exon is entered and the last
one left, which only the alignment tells.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import record
from benchmarks.accuracy.bench_accuracy import Aligner, Trial
from benchmarks.accuracy.cases import Counts, Gene, annotated_records, genes, mutated
from gpu_tools.model.scoring import ENDS

DIVERGENCES = (5, 15, 25, 35)
TOLERANCES = (0, 3, 10)
SEED = 2028


def piece_of(gene: Gene, low: int, high: int) -> list[tuple[int, int]]:
    """Return the parts of a gene's exons that a piece of its coding sequence holds."""
    parts, before = [], 0
    for start, end in gene.exons:
        first, last = max(low - before, 0), min(high - before, end - start)
        if first < last:
            parts.append((start + first, start + last))
        before += end - start
    return parts


def inner_edges(chain: list[tuple[int, int]]) -> set[tuple[str, int]]:
    """Return acceptors and donors of a chain."""
    acceptors = {("acceptor", start) for start, _ in chain[1:]}
    return acceptors | {("donor", end) for _, end in chain[:-1]}


def row(every: list[Gene], aligner: Aligner, divergence: int) -> dict:
    """Return the accuracy of edges at a divergence."""
    rng, inner, shifts = np.random.default_rng([SEED, divergence]), np.zeros(3, int), []
    for gene in every:
        length = len(gene.coding)
        low, high = int(length * rng.uniform(0.05, 0.3)), int(length * rng.uniform(0.7, 0.95))
        truth = piece_of(gene, low, high)
        target = mutated(rng, gene.coding[low:high], divergence / 100, False)
        chain, _ = aligner(Trial(gene, target, ""))
        true, found = inner_edges(truth), inner_edges(chain)
        inner += len(true & found), len(found), len(true)
        shifts += [abs(chain[0][0] - truth[0][0]), abs(chain[-1][1] - truth[-1][1])]
    within = {
        f"outer_within_{n}": round(float(np.mean(np.array(shifts) <= n)), 3) for n in TOLERANCES
    }
    return {"divergence": divergence, "inner_f1": round(Counts.f1(inner), 4), **within}


def measure(tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield a row for each treatment of ends and each divergence."""
    records = annotated_records()
    every = genes(records)
    if tiny:
        every = sorted(every, key=lambda gene: len(gene.codes))[:2]
    divergences = DIVERGENCES[: 1 if tiny else None]
    aligners = {ends: Aligner(records, ends) for ends in ENDS}
    yield "fragments", [
        {"ends": ends} | row(every, aligner, divergence)
        for ends, aligner in aligners.items() for divergence in divergences
    ]  # fmt: skip


if __name__ == "__main__":
    record.main(measure)
