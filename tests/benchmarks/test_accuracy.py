"""The accuracy benchmark at a small size: genes are found, edges are right, counts are counts."""

import json

import numpy as np
import pytest

from benchmarks import figures
from benchmarks.accuracy import cases as accuracy_cases
from benchmarks.accuracy import choice as accuracy_choice
from benchmarks.accuracy import programs
from benchmarks.accuracy.bench_accuracy import CHOICE, Aligner, Trial, our_rows
from benchmarks.accuracy.cases import Counts, Gene, annotated_records, genes, mutated
from benchmarks.accuracy.fragments import inner_edges, piece_of
from benchmarks.accuracy.species import orthologues
from gpu_tools.model.sequences import encode

SHORT = 15_000
GENE = Gene(0, "g", encode("ACGT" * 10), ((4, 10), (20, 26), (30, 33)))


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


def test_pieces_of_a_gene():
    assert piece_of(GENE, 0, 15) == list(GENE.exons)
    assert piece_of(GENE, 2, 7) == [(6, 10), (20, 21)]
    assert piece_of(GENE, 6, 12) == [(20, 26)]
    assert inner_edges(list(GENE.exons)) == {
        ("donor", 10), ("donor", 26), ("acceptor", 20), ("acceptor", 30)
    }  # fmt: skip


def test_counts_are_of_exact_exons_and_of_bases():
    counts = Counts.zero()
    counts.add(GENE, [(4, 10), (20, 27), (35, 38)])
    assert counts.exons.tolist() == [1, 3, 3]
    assert counts.nucleotides.tolist() == [12, 16, 15]
    assert Counts.f1(counts.exons) == pytest.approx(1 / 3)


def test_mutations_have_the_rates_asked_for():
    rng = np.random.default_rng(1)
    coding = rng.integers(0, 4, 30_000).astype(np.uint8)
    for biased in (False, True):
        letters = accuracy_cases.substituted(rng, coding, 0.3, biased)
        changed = letters != coding
        assert changed.mean() == pytest.approx(0.3, abs=0.01)
        third = changed[2::3].mean() / changed[1::3].mean()
        assert third == pytest.approx(5 if biased else 1, rel=0.1)
        transitions = (letters[changed] - coding[changed]) % 4 == 2
        assert transitions.mean() == pytest.approx(2 / 3 if biased else 1 / 3, abs=0.02)


def test_translation_masks_inner_stops_and_drops_the_last():
    assert accuracy_cases.translated(encode("ATGTAACCCTGA")) == "MXP"
    assert accuracy_cases.translated(encode("ATGCCCGG")) == "MP"


def test_choice_leaves_a_record_out():
    right, wrong = [9, 10, 10], [1, 10, 10]
    rows = [
        {"weights": [1], "exons": [[right, right, wrong]]},
        {"weights": [2], "exons": [[wrong, right, right]]},
    ]
    assert accuracy_choice.choice(rows, 0)["weights"] == [2]
    assert accuracy_choice.choice(rows, 2)["weights"] == [1]
    assert accuracy_choice.choice(rows, 0)["exon_f1"] == 0.9


def test_shipped_weights_are_the_choice_on_all_records():
    from gpu_tools import load_sites

    chosen = json.loads(CHOICE.read_text())["figures"]["choices"]["all"]["weights"]
    model = load_sites("vertebrate")
    penalties = {penalty for intron in model.introns for _, penalty in intron.penalties}
    assert penalties == {chosen[0]}
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


def test_figure_is_the_same_for_the_same_rows():
    rows = [
        {"mutations": "uniform", "divergence": d, "method": m, "genes": 3, "exon_f1": 0.5}
        for d in (5, 10) for m in ("gpu-tools", "gpu-tools, sample", "peer")
    ]  # fmt: skip
    drawn = figures.accuracy(rows)
    assert drawn == figures.accuracy(rows)
    assert "peer (3 genes)" in drawn
    assert "sample" not in drawn
