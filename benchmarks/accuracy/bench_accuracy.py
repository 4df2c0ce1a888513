"""Accuracy of gene structures from diverged targets: site mode beside other programs.

Run ``python -m benchmarks.accuracy.bench_accuracy [RECORD.json]``; `benchmarks.figures` draws the
record. The other programs are spaln, exonerate, genewise, minimap2 and gmap. Genes are the complete
ones of resources/training with 3 kb on both sides. Each is scored by a site model of which neither
the matrices nor the weights (results/accuracy-choice.json, by `choice`) saw its record. A target is
the gene's own coding sequence, mutated; programs for proteins get the translation of the
substituted sequence without indels, which would break their frame. The other programs get a sample
of the genes, for they are slow; site mode is also counted on that sample. Seconds are of a
processor, not of a clock.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import record
from benchmarks.accuracy import programs
from benchmarks.accuracy.cases import (
    Counts,
    Gene,
    annotated_records,
    genes,
    substituted,
    translated,
    with_indels,
)
from benchmarks.accuracy.choice import held_out_models, weighted
from gpu_tools import Sequence, SplicedScoring, site_align, tables_of
from gpu_tools.model.sequences import decode
from gpu_tools.sites.api import case_of

DIVERGENCES = tuple(range(5, 55, 5))
BIASED_DIVERGENCES = (15, 25, 35, 45)
SAMPLE = 3
"""One gene in three goes to the other programs."""
SEED = 2027
OURS = "gpu-tools site mode"
OURS_BY = {"": ("global", "any"), ", coding": ("global", "complete")}
"""Ends and reading that site mode is called with, for each of its rows."""
FREE_BY = {
    ", free target ends": ("free-target", "any"),
    ", free target ends, coding": ("free-target", "complete"),
}
"""The same with the command's default ends."""
CHOICE = Path(__file__).parents[1] / "results" / "accuracy-choice.json"


class Trial(NamedTuple):
    """A gene, a target for it, and the target's protein."""

    gene: Gene
    target: NDArray[np.uint8]
    protein: str


class Aligner:
    """Site mode on one core, with models that have not seen the gene's record."""

    def __init__(self, records, ends: str = "global", reading: str = "any"):
        choices = json.loads(CHOICE.read_text(encoding="utf-8"))["figures"]["choices"]
        names = [r.sequence.name for r in records]
        models = zip(held_out_models(records), names, strict=True)
        self.models = [weighted(model, *choices[name]["weights"]) for model, name in models]
        self.ends, self.reading = ends, reading

    def __call__(self, trial: Trial) -> tuple[list[tuple[int, int]], float]:
        """Return the chain, and seconds; both strands are tried, a wrong one has no true exon."""
        begin = time.process_time()
        base, cdna = Sequence("locus", trial.gene.codes), Sequence("target", trial.target)
        model = self.models[trial.gene.record]
        tables = tables_of(base, model, ends=self.ends, reading=self.reading, coding=True)
        scoring = SplicedScoring(ends=self.ends)
        case = case_of(base, cdna, tables, model.stops)
        (result,) = site_align([case], scoring, device="cpu", threads=1)
        chain = list(result.chain) if result.strand == "+" else []
        return chain, time.process_time() - begin


def peer_exons(name: str, trial: Trial) -> tuple[list[tuple[int, int]], float]:
    """Return the exons on the forward strand that another program finds, and its seconds."""
    program = programs.OF_LOCI[name]
    target = trial.protein if program.protein else decode(trial.target)
    (exons,), seconds = programs.run(program, [(trial.gene.codes, target)])
    return [(start, end) for strand, start, end in exons if strand == "+"], seconds


def row(method: str, trials: list[Trial], find, threads: int = 1) -> dict:
    """Return accuracy and seconds a gene of one method."""
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(find, trials))
    counts = Counts.zero()
    for trial, (chain, _) in zip(trials, found, strict=True):
        counts.add(trial.gene, chain)
    return {
        "method": method,
        "genes": len(trials),
        "exons": int(counts.exons[2]),
        "exon_f1": round(Counts.f1(counts.exons), 4),
        "nucleotide_f1": round(Counts.f1(counts.nucleotides), 4),
        "seconds_a_gene": round(sum(seconds for _, seconds in found) / len(trials), 4),
    }


def our_rows(trials: list[Trial], aligners: dict[str, Aligner]) -> list[dict]:
    """Return rows of site mode, on all trials and on the sample."""
    found = []
    for name, aligner in aligners.items():
        found.append(row(name, trials, aligner))
        found.append(row(f"{name}, sample", trials[::SAMPLE], aligner))
    return found


def peer_rows(trials: list[Trial], tiny: bool = False) -> list[dict]:
    """Return a row for each program that is here; tiny: for one of them."""
    found = []
    for peer in programs.installed(programs.OF_LOCI)[: 1 if tiny else None]:
        find = lambda trial, peer=peer: peer_exons(peer, trial)  # noqa: E731
        found.append(row(peer, trials, find, threads=2))
    return found


def trials_of(every: list[Gene], divergence: int, biased: bool) -> list[Trial]:
    """Return each gene with a target of a divergence."""
    rng, trials = np.random.default_rng([SEED, divergence]), []
    for gene in every:
        letters = substituted(rng, gene.coding, divergence / 100, biased)
        trials.append(Trial(gene, with_indels(rng, letters), translated(letters)))
    return trials


def rows(records, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a mutation model, divergence and method; tiny: two genes, one divergence."""
    every, levels = genes(records), [("uniform", d) for d in DIVERGENCES]
    levels += [("biased", d) for d in BIASED_DIVERGENCES]
    if tiny:
        every, levels = sorted(every, key=lambda gene: len(gene.codes))[:2], levels[:1]
    options = OURS_BY | FREE_BY
    aligners = {f"{OURS}{name}": Aligner(records, *how) for name, how in options.items()}
    for mutations, divergence in levels:
        trials = trials_of(every, divergence, mutations == "biased")
        level = {"mutations": mutations, "divergence": divergence}
        for line in (*our_rows(trials, aligners), *peer_rows(trials[::SAMPLE], tiny)):
            yield level | line


def measure(tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield all rows."""
    yield "accuracy", list(rows(annotated_records(), tiny))


if __name__ == "__main__":
    record.main(measure)
