"""Choice of a site model's weights by accuracy, for each record on the genes of the other records.

Run ``python -m benchmarks.accuracy.choice [RECORD.json]``; bench_accuracy.py reads that record, and
resources/models/train_sites.py the weights that all genes together prefer. Matrices are those of
models that have not seen a gene's record; mutations are others than bench_accuracy.py's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import Counts, Gene, annotated_records, genes, mutated
from benchmarks.exons.evaluation import folds
from gpu_tools import Sequence, site_align, tables_of
from gpu_tools.sites.api import case_of
from gpu_tools.sites.model import GeneSites, sites_from_dict
from gpu_tools.sites.training import train_sites

DIVERGENCES = (5, 25, 35, 45)
FLANK = 100_000
SEED = 31
PENALTIES = (11, 12, 13, 14)
POINTS_PER_BIT = (0.75, 0.85, 1.0)
ANYWHERE = (-8, -10)
"""Points for beginning without a start codon, and for ending without a stop codon."""
GRID = list(product(PENALTIES, POINTS_PER_BIT, ANYWHERE))


def held_out_models(records, name: str = "held out") -> list[GeneSites]:
    """Return for each record a model trained on the other ones."""
    return [
        sites_from_dict(train_sites(others, name, held_out.sequence.name))
        for held_out, others in folds(records)
    ]


def weighted(model: GeneSites, penalty: int, points_per_bit: float, anywhere: int) -> GeneSites:
    """Return a model with other weights."""
    changed = replace(model, points_per_bit=points_per_bit, begin=anywhere, end=anywhere)
    return changed.with_penalty(penalty)


def counts(models: list[GeneSites], cases: list[tuple[Gene, np.ndarray]]) -> list[Counts]:
    """Return the counts of each record's genes; the gene's strand is given."""
    site_cases = []
    for gene, target in cases:
        base = Sequence("locus", gene.codes)
        model = models[gene.record]
        tables = tables_of(base, model, "+", coding=True)
        site_cases.append(case_of(base, Sequence("target", target), tables, model.stops))
    found = [Counts.zero() for _ in models]
    for (gene, _), result in zip(cases, site_align(site_cases, device="cpu"), strict=True):
        found[gene.record].add(gene, list(result.chain))
    return found


def grid(records, divergences=DIVERGENCES, choices=GRID) -> list[dict]:
    """Return a row for each choice of weights: exon counts by record and divergence."""
    models, every = held_out_models(records), genes(records, FLANK)
    cases = {}
    for divergence in divergences:
        rng = np.random.default_rng([SEED, divergence])
        cases[divergence] = [(g, mutated(rng, g.coding, divergence / 100, False)) for g in every]
    rows = []
    for weights in choices:
        changed = [weighted(model, *weights) for model in models]
        exons = [[c.exons.tolist() for c in counts(changed, cases[d])] for d in divergences]
        rows.append({"weights": list(weights), "exons": exons})
    return rows


def f1_without(row: dict, record_number: int | None) -> float:
    """Return the mean exon F1 over the divergences of the records but one."""
    levels = np.array(row["exons"])
    retained = [k for k in range(levels.shape[1]) if k != record_number]
    return float(np.mean([Counts.f1(level[retained].sum(axis=0)) for level in levels]))


def choice(rows: list[dict], record_number: int | None) -> dict:
    """Return the weights of the best F1; of equals the first."""
    best = max(rows, key=lambda row: f1_without(row, record_number))
    return {"weights": best["weights"], "exon_f1": round(f1_without(best, record_number), 4)}


def measure(tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the choices, and the grid that they are made from."""
    records = annotated_records()[1:] if tiny else annotated_records()
    divergences = DIVERGENCES[:1] if tiny else DIVERGENCES
    rows = grid(records, divergences, GRID[:1] if tiny else GRID)
    names = [r.sequence.name for r in records]
    choices = {name: choice(rows, k) for k, name in enumerate(names)} | {"all": choice(rows, None)}
    yield "weights", ["intron penalty", "points per bit", "points for ends anywhere"]
    yield "divergences", divergences
    yield "records", names
    yield "choices", choices
    yield "grid", rows


if __name__ == "__main__":
    record.main(measure)
