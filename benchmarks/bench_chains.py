"""Gene structures under the workflow's default settings, beside other programs, in one run.

Run ``python -m benchmarks.bench_chains [RECORD.json]``. Genes and mutated targets are those of
bench_accuracy.py, every gene for every method. The workflow's two methods take their scoring from
config/config.yaml; the built-in candidates and the site model of a gene come from models trained on
the other records. AUGUSTUS, where it is installed, is one more source of candidates. The first
table is of these sources: how many annotated segments are among how many candidates.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml

from benchmarks import record
from benchmarks.accuracy_cases import Gene, annotated_records, genes, mutated
from benchmarks.accuracy_peers import installed
from benchmarks.bench_accuracy import SEED, Aligner, peer_exons, row
from benchmarks.bench_exons import held_out_models
from gpu_tools import Case, Sequence, SiteCase, SplicedScoring, site_align, spliced_align, tables_of
from gpu_tools.exons.accuracy import compare_exons
from gpu_tools.exons.candidates import ExonSet
from gpu_tools.exons.predict import predict_exons
from gpu_tools.providers.augustus import Augustus

DIVERGENCES = (15, 25, 35)
_CONFIG = Path(__file__).parent.parent / "config" / "config.yaml"
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


def chains_of(source):
    """Return a function that finds a gene's chain of a source's candidates."""
    scoring = SplicedScoring(**default_scoring())

    def find(gene: Gene, target) -> list[tuple[int, int]]:
        exons = source.exons(gene.record, gene.codes)
        case = Case(Sequence("locus", gene.codes), Sequence("target", target), exons)
        return _forward(spliced_align([case], scoring, device="cpu", threads=1))

    return find


def chains_of_sites(records):
    """Return a function that finds a gene's chain of all exons that splice sites allow."""
    given = {k: v for k, v in default_scoring().items() if k not in _OF_CANDIDATES}
    scoring, models = SplicedScoring(**given), Aligner(records).models

    def find(gene: Gene, target) -> list[tuple[int, int]]:
        base = Sequence("locus", gene.codes)
        tables = tables_of(base, models[gene.record], ends=scoring.ends)
        case = SiteCase(base, Sequence("target", target), tables)
        return _forward(site_align([case], scoring, device="cpu", threads=1))

    return find


def _forward(results) -> list[tuple[int, int]]:
    """Return the chain; on the wrong strand it has no true exon."""
    (result,) = results
    return list(result.chain) if result.strand == "+" else []


def methods(records, folder: Path) -> dict:
    """Return functions that find a gene's exons, by method."""
    found = {f"workflow, candidates {k}": chains_of(v) for k, v in sources(records).items()}
    found["workflow, sites, held out"] = chains_of_sites(records)
    for peer in installed():
        found[peer] = lambda gene, target, peer=peer: peer_exons(peer, gene, target, folder)
    return found


def chain_rows(records, every: list[Gene], folder: Path, divergences=DIVERGENCES) -> list[dict]:
    """Return a row a divergence and method."""
    by_method, found = methods(records, folder), []
    for divergence in divergences:
        rng = np.random.default_rng([SEED, divergence])
        cases = [(gene, mutated(rng, gene.coding, divergence / 100, False)) for gene in every]
        for method, find in by_method.items():
            found.append({"divergence": divergence} | row(method, cases, find))
    return found


def print_table(rows: list[dict]) -> None:
    """Print rows with equal keys."""
    print("\t".join(rows[0]))
    for line in rows:
        print("\t".join(map(str, line.values())), flush=True)


def main() -> None:
    """Print both tables; write the record."""
    records = annotated_records()
    of_candidates = [candidates_row(k, v, records) for k, v in sources(records).items()]
    print_table(of_candidates)
    with tempfile.TemporaryDirectory() as folder:
        of_chains = chain_rows(records, genes(records), Path(folder))
    print_table(of_chains)
    if len(sys.argv) > 1:
        record.write(sys.argv[1], {"candidates": of_candidates, "chains": of_chains})


def test_tiny(tmp_path):
    """Every method finds most of a short gene at little divergence."""
    records = annotated_records()
    gene = min((g for g in genes(records) if len(g.exons) > 3), key=lambda g: len(g.codes))
    rows = chain_rows(records, [gene], tmp_path, [2])
    assert {r["exons"] for r in rows} == {len(gene.exons)}
    assert min(r["nucleotide_f1"] for r in rows) > 0.8, rows
    assert candidates_row("builtin", Builtin(records), records)["sensitivity"] > 0.9


if __name__ == "__main__":
    main()
