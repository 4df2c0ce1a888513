"""The accuracy benchmark at a small size: genes are found, edges are right, counts are counts."""

import json

import numpy as np
import pytest

from benchmarks.accuracy import programs
from benchmarks.accuracy.bench_accuracy import CHOICE, Aligner, Trial, our_rows
from benchmarks.accuracy.cases import Counts, Gene, annotated_records, genes, mutated
from benchmarks.accuracy.fragments import inner_edges, piece_of
from benchmarks.accuracy.species import orthologues

SHORT = 15_000


@pytest.fixture(scope="module")
def records():
    return annotated_records()


@pytest.fixture(scope="module")
def short_genes(records):
    return [g for g in genes(records) if len(g.codes) < SHORT][::4]


def trials(short_genes, divergence):
    rng = np.random.default_rng(divergence)
    return [Trial(g, mutated(rng, g.coding, divergence / 100, False), "") for g in short_genes]


@pytest.mark.parametrize("reading", ["any", "complete"])
def test_all_exons_of_diverged_genes_are_right(records, short_genes, reading):
    """No edge is shifted by a codon, no short exon is lost, none is found where there is none."""
    aligners = {reading: Aligner(records, "global", reading)}
    for divergence in (5, 20):
        row, sample = our_rows(trials(short_genes, divergence), aligners)
        assert row["exon_f1"] >= 0.99
        assert row["genes"] == len(short_genes) > 3
        assert sample["genes"] < row["genes"]


@pytest.mark.parametrize("ends", ["global", "free"])
def test_inner_edges_of_incomplete_genes_are_right(records, short_genes, ends):
    """End pieces of a few bases cannot pay for an intron; with free ends they make no wrong one."""
    aligner, found = Aligner(records, ends), np.zeros(3, int)
    for gene in short_genes:
        low, high = len(gene.coding) // 4, len(gene.coding) * 3 // 4
        target = mutated(np.random.default_rng(low), gene.coding[low:high], 0.1, False)
        chain, _ = aligner(Trial(gene, target, ""))
        true, got = inner_edges(piece_of(gene, low, high)), inner_edges(chain)
        found += len(true & got), len(got), len(true)
    assert Counts.f1(found) >= 0.9
    if ends == "free":
        assert found[0] == found[1]


def test_shipped_weights_are_the_choice_on_all_records():
    """But for penalties of introns, which a genome's introns decide."""
    from gpu_tools import load_sites

    chosen = json.loads(CHOICE.read_text())["figures"]["choices"]["all"]["weights"]
    model = load_sites("vertebrate")
    assert [model.points_per_bit, model.begin, model.end] == [*chosen[1:], chosen[2]]


def test_peers_output_is_read():
    gff = [
        "x\t.\tcds\t5\t10\t.\t+\t0\t.",
        "x\t.\tcds\t1\t3\t.\t+\t0\t.",
        "x\t.\texon\t1\t3\t.\t+\t.\t.",
    ]
    lines = [line.split("\t") for line in gff]
    assert programs.exons_of_gff(lines, "cds") == {"0": [("+", 0, 3), ("+", 4, 10)]}
    sam = ["t", "0", "x", "3", "60", "2S4M10N3M1D2M", "*"]
    assert programs.exons_of_sam([sam]) == {"t": [("+", 2, 6), ("+", 16, 22)]}
    assert programs.exons_of_sam([[sam[0], "4", *sam[2:]]]) == {}


def test_orthologues_are_each_others_best():
    rng = np.random.default_rng(3)
    codings = [rng.integers(0, 4, 150).astype(np.uint8) for _ in range(3)]
    ours = [Gene(0, str(k), codes, ((0, 150),)) for k, codes in enumerate(codings)]
    others = [ours[2], Gene(0, "other", mutated(rng, codings[0], 0.05, False), ((0, 140),))]
    pairs = orthologues(ours, others)
    assert [(a.name, b.name) for a, b in pairs] == [("0", "other"), ("2", "2")]
