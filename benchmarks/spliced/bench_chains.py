"""Gene structures under the workflow's default settings, beside other programs, in one run.

Run ``python -m benchmarks.spliced.bench_chains [RECORD.json]``. Genes and mutated targets are those
of bench_accuracy.py, every gene for every method. The workflow's two methods take their scoring
from config/config.yaml; the built-in candidates and the site model of a gene come from models
trained on the other records. AUGUSTUS, where it is installed, is one more source of candidates.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from benchmarks import record
from benchmarks.accuracy import programs
from benchmarks.accuracy.bench_accuracy import Aligner, Trial, peer_exons, row, trials_of
from benchmarks.accuracy.cases import Gene, annotated_records, genes
from benchmarks.exons.bench_exons import held_out_models
from gpu_tools import Case, Sequence, SplicedScoring, site_align, spliced_align, tables_of
from gpu_tools.exons.predict import predict_exons
from gpu_tools.exons.providers import Augustus
from gpu_tools.sites.api import case_of

DIVERGENCES = (15, 25, 35)
_CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
SCORING = {
    name: value
    for name, value in yaml.safe_load(_CONFIG.read_text(encoding="utf-8"))["scoring"].items()
    if name in SplicedScoring.__dataclass_fields__
}
"""The workflow's scoring as it is shipped."""
_OF_CANDIDATES = ("exon_weight", "intron_penalty")


def sources(records) -> dict[str, Callable]:
    """Return functions of a record's number and codes that find candidates, by their names.

    Each record's built-in predictor is trained on all other ones. AUGUSTUS may know the genes.
    """
    models = held_out_models(records)
    found = {"builtin, held out": lambda number, codes: predict_exons(codes, models[number])}
    if shutil.which("augustus"):
        found["augustus"] = lambda _, codes: Augustus().exons(codes)
    return found


def busy_seconds() -> float:
    """Return the seconds that this process and the programs it ran have kept a processor busy."""
    return sum(os.times()[:4])


def chains_of(source):
    """Return a function that finds a trial's chain of a source's candidates, and its seconds."""
    scoring = SplicedScoring(**SCORING)

    def find(trial: Trial) -> tuple[list[tuple[int, int]], float]:
        begin, codes = busy_seconds(), trial.gene.codes
        exons = source(trial.gene.record, codes)
        case = Case(Sequence("locus", codes), Sequence("target", trial.target), exons)
        return _forward(spliced_align([case], scoring, device="cpu", threads=1), begin)

    return find


def chains_of_sites(records):
    """Return a function that finds a trial's chain of all exons that splice sites allow."""
    of_sites = {k: v for k, v in SCORING.items() if k not in _OF_CANDIDATES}
    scoring, models = SplicedScoring(**of_sites), Aligner(records).models

    def find(trial: Trial) -> tuple[list[tuple[int, int]], float]:
        begin, base = busy_seconds(), Sequence("locus", trial.gene.codes)
        model = models[trial.gene.record]
        tables = tables_of(base, model, ends=scoring.ends, coding=True)
        case = case_of(base, Sequence("target", trial.target), tables, model.stops)
        return _forward(site_align([case], scoring, device="cpu", threads=1), begin)

    return find


def _forward(results, begin: float) -> tuple[list[tuple[int, int]], float]:
    """Return the chain, which on the wrong strand has no true exon, and the seconds it took."""
    (result,) = results
    chain = list(result.chain) if result.strand == "+" else []
    return chain, busy_seconds() - begin


def methods(records) -> dict:
    """Return functions that find a trial's exons, by method."""
    found = {f"workflow, candidates {k}": chains_of(v) for k, v in sources(records).items()}
    found["workflow, sites, held out"] = chains_of_sites(records)
    for peer in programs.installed(programs.OF_LOCI):
        found[peer] = lambda trial, peer=peer: peer_exons(peer, trial)
    return found


def chain_rows(records, every: list[Gene], divergences=DIVERGENCES) -> list[dict]:
    """Return a row a divergence and method."""
    by_method, found = methods(records), []
    for divergence in divergences:
        trials = trials_of(every, divergence, biased=False)
        for method, find in by_method.items():
            found.append({"divergence": divergence} | row(method, trials, find))
    return found


def measure(tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield rows of chains; tiny: one short gene."""
    records = annotated_records()
    every, divergences = genes(records), DIVERGENCES
    if tiny:
        several = (gene for gene in every if len(gene.exons) > 3)
        every, divergences = [min(several, key=lambda gene: len(gene.codes))], (2,)
    yield "chains", chain_rows(records, every, divergences)


if __name__ == "__main__":
    record.main(measure)
