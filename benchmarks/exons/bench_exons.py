"""The built-in predictor of candidate exons: sensitivity against density, chains, time.

Run ``python -m benchmarks.exons.bench_exons [RECORD.json]``; `benchmarks.exons.figure` draws
a record. Every annotated record of
resources/training is judged by a model trained on all the other ones. Chains are the exact best
ones of mutated targets, with candidates at the model's cut-off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import Counts, annotated_records, genes, mutated
from benchmarks.exons.evaluation import (
    Ranking,
    folds,
    parse_accuracy,
    rank,
    rank_probabilities,
    rank_scores,
    segment_types,
    sensitivity_curve,
    trained_on,
)
from gpu_tools import Sequence, SplicedScoring, spliced_align
from gpu_tools.exons import load_model, predict_exons
from gpu_tools.exons.parse import parse
from gpu_tools.exons.training import Design
from gpu_tools.formats.exons.coding import read_coding
from gpu_tools.formats.exons.codons import read_codon_usage
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.resources import resource_path
from gpu_tools.spliced.case import Case

DENSITIES = (2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60)
DIVERGENCES = (15, 25, 35)
SETTINGS = ((1.0, 15), (0.5, 10))
"""Weights of the candidates' scores and intron penalties; the first are the workflow's defaults."""
TIMED_BASES = (250_000, 500_000, 1_000_000, 2_000_000)
PROBABILITIES = (0.001, 0.01, 0.1, 0.5, 0.9, 1.01)
SEED = 2026


def aligned_records() -> list[AnnotatedSequence]:
    """Return the demo's loci with the coding sequences that alignment finds."""
    coding = read_coding(resource_path("training", "aligned.gff3"))
    loci = read_fasta(resource_path("demo", "loci.fa.gz"))
    return [AnnotatedSequence(s, coding[s.name]) for s in loci]


def held_out_models(records, design=None, with_usage=True, with_aligned=True):
    """Return for each annotated record a model of all other records."""
    usage = read_codon_usage(resource_path("training", "codon_usage.tsv")) if with_usage else None
    aligned = aligned_records() if with_aligned else []
    return [trained_on([*others, *aligned], design, usage) for _, others in folds(records)]


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


def parses(records, models) -> dict:
    """Return the exact exons of the best parses."""
    counts = [parse_accuracy(*pair) for pair in zip(records, models, strict=True)]
    annotated, predicted, true = (int(n) for n in np.sum(counts, axis=0))
    return {
        "annotated": annotated, "predicted": predicted, "true": true,
        "sensitivity": round(true / annotated, 4), "precision": round(true / predicted, 4),
    }  # fmt: skip


def parts(records) -> list[dict]:
    """Return what models without some of their parts do, at 20 candidates a kb and strand."""
    plain = Design(pair_weight=1e9)
    mute = {"gc_shifts": (0.0, 0.0, 0.0, 0.0)}
    models = {
        "all": held_out_models(records),
        "without the demo's loci": held_out_models(records, with_aligned=False),
        "without pairs in the sites": held_out_models(records, plain),
        "without G and C around": held_out_models(records, Design(**mute)),
        "without codon usage": held_out_models(records, with_usage=False),
        "without all of these": held_out_models(records, replace(plain, **mute), False, False),
    }
    rows = []
    for name, several in models.items():
        pairs = list(zip(records, several, strict=True))
        ranking = Ranking.together(rank_probabilities(*pair) for pair in pairs)
        (row,), parse_row = sensitivity_curve(ranking, [20]), parses(records, several)
        exons = parse_row["annotated"] + parse_row["predicted"]
        f1 = round(2 * parse_row["true"] / exons, 4)
        rows.append({"model": name, "sensitivity": row["all"], "parse_f1": f1})
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


def chains(records, models, divergences=DIVERGENCES) -> list[dict]:
    """Return the accuracy of chains by settings, kind of mutations and divergence."""
    every = genes(records)
    candidates = [predict_exons(gene.codes, models[gene.record]).unique() for gene in every]
    rows = []
    for weight, penalty in SETTINGS:
        scoring = SplicedScoring(exon_weight=weight, intron_penalty=penalty, ends="free-target")
        for mutations, divergence in product(("uniform", "biased"), divergences):
            rng = np.random.default_rng([SEED, divergence])
            targets = [
                Sequence("t", mutated(rng, g.coding, divergence / 100, mutations == "biased"))
                for g in every
            ]
            counts = chain_counts(every, targets, candidates, scoring)
            rows.append({
                "weight": weight, "penalty": penalty, "mutations": mutations,
                "divergence": divergence, "genes": len(every),
                "exon_f1": round(Counts.f1(counts.exons), 4),
                "nucleotide_f1": round(Counts.f1(counts.nucleotides), 4),
            })  # fmt: skip
    return rows


def chain_counts(every, targets, candidates, scoring) -> Counts:
    """Count exons and nucleotides of the best chains; on the wrong strand nothing is true."""
    cases = [
        Case(Sequence(gene.name, gene.codes), target, exons)
        for gene, target, exons in zip(every, targets, candidates, strict=True)
    ]
    counts = Counts.zero()
    for gene, result in zip(every, spliced_align(cases, scoring), strict=True):
        counts.add(gene, list(result.chain) if result.strand == "+" else [])
    return counts


def times(records, sizes=TIMED_BASES) -> list[dict]:
    """Return seconds of processor time, one thread, sequences being the records again and again."""
    model, codes = load_model("vertebrate"), np.concatenate([r.sequence.codes for r in records])
    predict_exons(codes[:1000], model)
    rows = []
    for n in sizes:
        begin = time.process_time()
        candidates = predict_exons(np.resize(codes, n), model)
        seconds = time.process_time() - begin
        rows.append({"bases": n, "candidates": len(candidates), "seconds": round(seconds, 3)})
    return rows


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield all tables; tiny: one small record, judged by a model of one other."""
    records = annotated_records()[1:] if tiny else annotated_records()
    models = held_out_models(records)
    if tiny:
        records, models = records[1:], models[1:]
    small = slice(1 if tiny else None)
    found = {
        "at_cutoff": at_cutoff(records, models),
        "curve": curves(records, models, DENSITIES[:3] if tiny else DENSITIES),
        "best_parse": parses(records, models), "calibration": calibration(records, models),
        "chains": chains(records, models, DIVERGENCES[small]),
        "times": times(records, (20_000,) if tiny else TIMED_BASES),
    }  # fmt: skip
    yield "exons", found if tiny else found | {"parts": parts(records)}


if __name__ == "__main__":
    record.main(measure)
