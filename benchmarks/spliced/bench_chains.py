"""Gene structures under the workflow's default settings, beside other programs, in one run.

Run ``python -m benchmarks.spliced.bench_chains [RECORD.json]``.
Genes and mutated targets are those of
bench_accuracy.py, every gene for every method. The workflow's two methods take their scoring from
config/config.yaml; the built-in candidates and the site model of a gene come from models trained on
the other records. AUGUSTUS, where it is installed, is one more source of candidates. The first
table is of these sources: how many annotated segments are among how many candidates.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks import record
from benchmarks.accuracy.bench_accuracy import Aligner, Trial, peer_exons, row, trials_of
from benchmarks.accuracy.cases import Gene, annotated_records, genes
from benchmarks.accuracy.peers import installed
from benchmarks.exons.bench_exons import held_out_models
from gpu_tools import Case, Sequence, SiteCase, SplicedScoring, site_align, spliced_align, tables_of
from gpu_tools.exons.accuracy import compare_exons
from gpu_tools.exons.predict import predict_exons
from gpu_tools.exons.providers import Augustus
from gpu_tools.model.exon_set import ExonSet

DIVERGENCES = (15, 25, 35)
TINY_RECORDS = 2
_CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
_OF_CANDIDATES = ("exon_weight", "intron_penalty")


def default_scoring() -> dict:
    """Return the workflow's scoring as it is shipped."""
    return yaml.safe_load(_CONFIG.read_text(encoding="utf-8"))["scoring"]


class Builtin:
    """The built-in predictor, each record's trained on all other ones."""

    def __init__(self, records):
        self.models = held_out_models(records)

    def exons(self, number: int, codes) -> ExonSet:
        """Return the candidates of a part of a record."""
        return predict_exons(codes, self.models[number])


class Sampled:
    """AUGUSTUS, whose model of man may know the genes."""

    def exons(self, number: int, codes) -> ExonSet:
        """Return the candidates of a part of a record."""
        return Augustus().exons(codes)


def sources(records) -> dict[str, Builtin | Sampled]:
    """Return the sources of candidates that can run here."""
    found = {"builtin, held out": Builtin(records)}
    return found | ({"augustus": Sampled()} if shutil.which("augustus") else {})


def candidates_row(name: str, source, records) -> dict:
    """Return how many annotated segments of whole records are among the candidates."""
    truth, found = {}, {}
    for number, annotated in enumerate(records):
        key, codes = annotated.sequence.name, annotated.sequence.codes
        found[key] = source.exons(number, codes).unique()
        truth[key] = ExonSet.concatenate(
            ExonSet.from_intervals([(s.start, s.end) for s in coding.segments], coding.strand)
            for coding in annotated.coding
        )
    exons = compare_exons(found, truth)["exon"]
    length = sum(len(annotated.sequence) for annotated in records)
    return {
        "candidates": name,
        "segments": exons.annotated,
        "found": exons.true,
        "sensitivity": round(exons.sensitivity, 4),
        "candidates_per_kb_and_strand": round(1000 * exons.predicted / (2 * length), 1),
    }


def busy_seconds() -> float:
    """Return the seconds that this process and the programs it ran have kept a processor busy."""
    return sum(os.times()[:4])


def chains_of(source):
    """Return a function that finds a trial's chain of a source's candidates, and its seconds."""
    scoring = SplicedScoring(**default_scoring())

    def find(trial: Trial) -> tuple[list[tuple[int, int]], float]:
        begin, codes = busy_seconds(), trial.gene.codes
        exons = source.exons(trial.gene.record, codes)
        case = Case(Sequence("locus", codes), Sequence("target", trial.target), exons)
        return _forward(spliced_align([case], scoring, device="cpu", threads=1), begin)

    return find


def chains_of_sites(records):
    """Return a function that finds a trial's chain of all exons that splice sites allow."""
    of_sites = {k: v for k, v in default_scoring().items() if k not in _OF_CANDIDATES}
    scoring, models = SplicedScoring(**of_sites), Aligner(records).models

    def find(trial: Trial) -> tuple[list[tuple[int, int]], float]:
        begin, base = busy_seconds(), Sequence("locus", trial.gene.codes)
        tables = tables_of(base, models[trial.gene.record], ends=scoring.ends)
        case = SiteCase(base, Sequence("target", trial.target), tables)
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
    for peer in installed():
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
    """Yield rows of candidates and of chains; tiny: one short gene."""
    records = annotated_records()
    every, divergences = genes(records), DIVERGENCES
    if tiny:
        several = (gene for gene in every if len(gene.exons) > 3)
        every, divergences = [min(several, key=lambda gene: len(gene.codes))], (2,)
    some = records[:TINY_RECORDS] if tiny else records
    yield "candidates", [candidates_row(k, v, some) for k, v in sources(records).items()]
    yield "chains", chain_rows(records, every, divergences)


if __name__ == "__main__":
    record.main(measure)
