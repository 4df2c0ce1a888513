"""What is drawn of a locus."""

import pytest

from gpu_tools.report.loci import drawn_loci
from gpu_tools.report.models import length, model_figure
from tests.report.results import GENES, MINUS, PLUS


@pytest.fixture
def figures(findings):
    return {locus.name: model_figure(locus, findings).datasets for locus in drawn_loci(findings)}


def test_every_exon_of_annotation_and_chains_is_drawn(figures):
    whats = [exon["what"] for exon in figures[PLUS]["exons"]]
    assert whats.count("T1, exon 3 of 3") == 2  # by two methods
    assert whats.count("T3, exon 2 of 2") == 1
    assert sum(what.startswith("annotated") for what in whats) == 2


def test_exons_count_in_the_direction_of_transcription(figures):
    positions = {e["what"]: e["position"] for e in figures[MINUS]["exons"]}
    assert positions["T<i>2, exon 1 of 2"] == "13,001-13,150"
    assert {sign["strand"] for sign in figures[MINUS]["signs"]} == {"-"}


def test_unusual_splice_sites_are_told(figures):
    sites = {(i["what"], i["position"]): i["sites"] for i in figures[PLUS]["introns"]}
    assert sites["T1, intron", "1,101-2,000"] == "CC-AG, unusual"
    assert sites["T1, intron", "2,151-9,000"] == "GT-AG"
    assert {i["sites"] for i in figures[MINUS]["introns"] if "T" in i["what"]} == {"GT-AG"}


def test_candidates_have_their_scores(figures):
    found = {c["position"]: (c["score"], c["what"]) for c in figures[PLUS]["candidates"]}
    assert found["2,001-2,150 (+)"] == (7.25, "in a chain")
    assert len(found) == len(GENES[PLUS][1])


@pytest.mark.parametrize(
    ("nucleotides", "text"),
    [(999, "999 bp"), (1000, "1 kb"), (26271, "26.3 kb"), (2500000, "2.5 Mb")],
)
def test_lengths_have_units(nucleotides, text):
    assert length(nucleotides) == text
