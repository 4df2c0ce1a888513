"""What is drawn of a locus, and the axis on which introns are shortened."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.formats.exons.gff import merged
from gpu_tools.report.findings import drawn_loci
from gpu_tools.report.models import (
    AXIS_WIDTH,
    MOST_JUNCTIONS,
    ShortenedAxis,
    length,
    model_figure,
)
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


def test_introns_that_were_seen_are_told_and_others_faint(findings, figures):
    first = figures[PLUS]["introns"][0]
    locus = next(one for one in drawn_loci(findings) if one.name == PLUS)
    start, end = (int(n.replace(",", "")) for n in re.findall(r"[0-9,]+", first["position"]))
    seen = {locus.record: Counter({(start - 1, end, "+"): 1200})}
    drawn = model_figure(locus, findings._replace(junctions=seen)).datasets["introns"]
    same = [one for one in drawn if one["position"] == first["position"]]
    assert {(one["faint"], one["sites"].partition(";")[2]) for one in same} == {
        (0.8, " seen 1,200 times")
    }
    others = [one for one in drawn if one["position"] != first["position"]]
    assert {(one["faint"], one["sites"].partition(";")[2]) for one in others} == {
        (0.35, " not seen")
    }
    assert min(one["size"] for one in same) > max(one["size"] for one in others)


def test_all_introns_that_were_seen_are_below_the_chains(findings):
    locus = next(one for one in drawn_loci(findings) if one.name == PLUS)
    (_, first), (second, _), (third, _) = GENES[PLUS][1]
    counts = {(first, second, "+"): 1200, (first, third, "+"): 3, (first, third, "-"): 3,
              (50, 90, "+"): 9, (first, second, "-"): 0}  # fmt: skip
    without, found = (
        model_figure(locus, findings._replace(junctions=seen))
        for seen in (None, {locus.record: Counter(counts)})
    )
    assert without.datasets["junctions"] == []
    drawn = {one["position"]: one for one in found.datasets["junctions"]}
    own, other = (
        drawn[f"{first + 1:,}-{end:,} ({strands})"]
        for end, strands in ((second, "+"), (third, "+/-"))
    )
    assert len(drawn) == 2
    assert (own["count"], other["count"]) == ("1,200", "3")
    assert "in no chain" in other["what"]
    assert "in no chain" not in own["what"]
    assert own["y"] != other["y"]  # they overlap
    lowest = max(exon["y2"] for exon in found.datasets["exons"])
    assert lowest < min(own["y"], other["y"])
    assert max(own["y2"], other["y2"]) < found.datasets["axis"][0]["y"]
    assert found.height > without.height


def test_of_many_introns_that_were_seen_the_most_frequent_are_drawn(findings):
    locus = next(one for one in drawn_loci(findings) if one.name == PLUS)
    counts = {(1000 + k, 9100, "+"): k + 1 for k in range(MOST_JUNCTIONS + 5)}
    seen = {locus.record: Counter(counts)}
    found = model_figure(locus, findings._replace(junctions=seen)).datasets
    assert len(found["junctions"]) == MOST_JUNCTIONS
    assert min(int(one["count"]) for one in found["junctions"]) == 6
    assert any(f"{MOST_JUNCTIONS} of {MOST_JUNCTIONS + 5}" in h["text"] for h in found["headers"])


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


def random_exons(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    starts = np.sort(rng.choice(100_000, n, replace=False))
    return [(int(start), int(start) + int(rng.integers(1, 3000))) for start in starts]


@pytest.mark.parametrize("seed", range(40))
def test_the_axis_of_random_exons(seed):
    """Exons are to one scale, positions rise, gaps are no longer than to scale, labels apart."""
    exons = random_exons(seed)
    last = max(end for _, end in exons)
    axis = ShortenedAxis(exons, (exons[0][0] - 100, last + 100))
    for start, end in exons:
        inside = [s for s in axis.stretches if s.to_scale and s.start <= start and end <= s.end]
        assert len(inside) == 1
        assert axis(end) - axis(start) == pytest.approx(axis.scale * (end - start), abs=0.11)
    assert all(a.right == b.left and a.end == b.start for a, b in pairwise(axis.stretches))
    for s in axis.stretches[1:-1]:
        assert s.right - s.left <= axis.scale * (s.end - s.start) + 1e-6
    pixels = [axis(p) for p in range(exons[0][0] - 200, exons[0][0] + 110_000, 97)]
    assert pixels == sorted(pixels)
    assert pixels[0] == 0
    assert pixels[-1] <= AXIS_WIDTH + 0.1
    labels = axis.labels(84)
    assert all(b[0] - a[0] >= 84 for a, b in pairwise(labels)) or len(labels) == 2
    assert (labels[0][1], labels[-1][1]) == (exons[0][0] + 1, last)


def test_exons_that_touch_are_one_stretch():
    assert merged([(5, 9), (0, 3), (2, 6), (100, 120), (131, 140)], 12) == [(0, 9), (100, 140)]
