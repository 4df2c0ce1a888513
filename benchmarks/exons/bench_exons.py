"""Candidate exons of the built-in predictor beside the annotation: sensitivity against density.

Run ``python -m benchmarks.exons.bench_exons [RECORD.json]``; `benchmarks.figures` draws the record.
Every annotated record of resources/training is judged by a model trained on all the other ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import annotated_records
from benchmarks.exons.evaluation import (
    Ranking,
    folds,
    rank,
    rank_probabilities,
    rank_scores,
    segment_types,
    sensitivity_curve,
    trained_on,
)
from gpu_tools.exons import load_model
from gpu_tools.exons.predict import parse
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.scales import read_codon_usage
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.resources import resource_path

DENSITIES = (2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60)
PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 1.01)


def aligned_records() -> list[AnnotatedSequence]:
    """Return the demo's loci with the coding sequences that alignment finds."""
    coding = read_coding(resource_path("training", "aligned.gff3"))
    loci = read_fasta(resource_path("demo", "loci.fa.gz"))
    return [AnnotatedSequence(s, coding[s.name]) for s in loci]


def held_out_models(records):
    """Return for each annotated record a model of all other records."""
    usage, aligned = (
        read_codon_usage(resource_path("training", "codon_usage.tsv")),
        aligned_records(),
    )
    return [trained_on([*others, *aligned], None, usage) for _, others in folds(records)]


def rank_both(one: AnnotatedSequence, model) -> Ranking:
    """Rank by the mean of the score and of the logarithm of the probability."""
    parsed = parse(one.sequence.codes, model)
    return rank(one, parsed.exons, (parsed.exons.scores + parsed.logarithms) / 2)


RANKINGS = {"probability": rank_probabilities, "score": rank_scores, "both": rank_both}


def curves(records, models, densities=DENSITIES) -> list[dict]:
    """Return sensitivity by density, candidates ranked by probability, score or both."""
    rows = []
    for ranked_by, ranking in RANKINGS.items():
        pairs = zip(records, models, strict=True)
        together = Ranking.together(ranking(*pair) for pair in pairs)
        rows += [{"ranked_by": ranked_by} | row for row in sensitivity_curve(together, densities)]
    return rows


def at_cutoff(records, models) -> list[dict]:
    """Return what the shipped model's cut-off gives for each record and for all."""
    cutoff = load_model("vertebrate").log_min_probability
    rankings = [rank_probabilities(*pair) for pair in zip(records, models, strict=True)]
    names = [r.sequence.name for r in records]
    rows = []
    for name, ranking in zip(
        [*names, "together"], [*rankings, Ranking.together(rankings)], strict=True
    ):
        found = ranking.found(cutoff)
        rows.append({
            "record": name, "segments": len(found), "found": int(found.sum()),
            "sensitivity": round(float(found.mean()), 4),
            "internal": round(float(found[ranking.internal].mean()), 4),
            "density": round(ranking.density(cutoff), 1),
        })  # fmt: skip
    return rows


def calibration(records, models) -> list[dict]:
    """Return how many of the intervals of some probability are annotated."""
    probabilities, true = [], []
    for one, model in zip(records, models, strict=True):
        exons = parse(one.sequence.codes, model).exons
        keys = zip(exons.reverse.tolist(), exons.starts.tolist(), exons.ends.tolist(), strict=True)
        truth = segment_types(one).keys()
        true += [key in truth for key in keys]
        probabilities += exons.probabilities.tolist()
    probabilities, annotated, rows = np.array(probabilities), np.array(true), []
    for low, high in pairwise(PROBABILITIES):
        here = (probabilities >= low) & (probabilities < high)
        rows.append({
            "from": low, "to": min(high, 1.0), "exons": int(here.sum()),
            "mean_probability": round(float(probabilities[here].mean()), 4),
            "annotated": round(float(annotated[here].mean()), 4),
        })  # fmt: skip
    return rows


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield all tables; tiny: one small record, judged by a model of one other."""
    records = annotated_records()[1:] if tiny else annotated_records()
    models = held_out_models(records)
    if tiny:
        records, models = records[1:], models[1:]
    yield "exons", {
        "at_cutoff": at_cutoff(records, models),
        "curve": curves(records, models, DENSITIES[:3] if tiny else DENSITIES),
        "calibration": calibration(records, models),
    }  # fmt: skip


if __name__ == "__main__":
    record.main(measure)
