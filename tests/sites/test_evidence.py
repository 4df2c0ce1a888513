"""Splice evidence in the tables of a model: points, penalties, and pieces of records."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import (
    EvidenceWeights,
    ScoringError,
    Sequence,
    SiteCase,
    SplicedScoring,
    SpliceEvidence,
    load_sites,
    site_align,
    tables_of,
    with_confidence,
)
from gpu_tools.model.evidence import PlacedScores, RecordJunctions
from gpu_tools.model.sequences import reverse_complement
from gpu_tools.sites.table import NO_KIND
from tests import cases

MODEL = load_sites("vertebrate")
"""Introns of GT-AG and of at least 30 nucleotides have 15 points, of 78 13, of AT-AC 21."""
WEIGHTS = EvidenceWeights(1.0)


def seen(*introns, weights=WEIGHTS, scores=None) -> SpliceEvidence:
    """Return evidence on record r of introns (start, end, is reverse, count)."""
    columns = (np.array(each) for each in zip(*introns, strict=True)) if introns else None
    junctions = {"r": RecordJunctions.summed(*columns)} if introns else {}
    return SpliceEvidence(junctions, scores, weights)


def record_with(*words: tuple[int, str], length: int = 300) -> Sequence:
    text = ["C"] * length
    for at, word in words:
        text[at : at + len(word)] = word
    return Sequence.from_text("r", "".join(text))


@pytest.mark.parametrize(
    ("intron", "words", "penalty"),
    [
        ((100, 180), ("GT", "AG"), 13),  # of a class, by its length
        ((100, 150), ("GT", "AG"), 15),
        ((100, 150), ("GA", "AG"), 15),  # of no kind: the least of those of its length
        ((100, 180), ("AT", "AG"), 13),
        ((100, 112), ("GT", "AG"), 15),  # too short for any: as the shortest
        ((100, 112), ("GA", "TC"), 15),
    ],
)
@pytest.mark.parametrize("strand", "+-")
def test_a_junction_has_the_penalty_of_its_length_less_its_gain(intron, words, penalty, strand):
    (start, end), (first, last) = intron, words
    record = record_with((start, first), (end - 2, last))
    places = start, end
    if strand == "-":
        record = Sequence("r", reverse_complement(record.codes))
        places = len(record) - end, len(record) - start
    # 8 points for 255 reads
    table = tables_of(record, MODEL, evidence=seen((*places, strand == "-", 255)))[strand]
    assert [each.tolist() for each in table.junctions] == [[start], [end], [penalty - 8]]
    plain = tables_of(record, MODEL)[strand]
    for own, before, at in (
        (table.donors, plain.donors, start), (table.acceptors, plain.acceptors, end)
    ):  # fmt: skip
        is_new = at not in before.boundaries
        assert len(own.boundaries) == len(before.boundaries) + is_new
        kind = NO_KIND if is_new else before.kinds_between(at, at + 1)[0]
        assert own.kinds_between(at, at + 1)[0] == kind
        assert own.at(at) == (0 if is_new else before.at(at))
    other = {"+": "-", "-": "+"}[strand]
    evidence = seen((*places, strand == "-", 255))
    assert not len(tables_of(record, MODEL, other, evidence=evidence)[other].junctions.donors)


def test_the_default_weight_is_a_bit_of_the_model():
    counts, points = np.array([1, 3, 1000]), np.array([1, 2, 9])
    assert EvidenceWeights().bonuses(counts, 0.85).tolist() == [1, 2, 8]
    assert EvidenceWeights(0.9).bonuses(counts, 0.85).tolist() == points.tolist()
    with pytest.raises(ScoringError, match="a weight of evidence of -1; expected 0 or more"):
        EvidenceWeights(-1)


@pytest.mark.parametrize("only", [False, True])
def test_splice_scores_change_the_points_of_sites(only):
    record = record_with((100, "GT"), (120, "GT"), (178, "AG"))
    scores = {("r", "+", "D"): PlacedScores(np.array([100, 110]), np.array([40, 9], np.int8))}
    weights = EvidenceWeights(splice=2.0, splice_only=only)
    plain = tables_of(record, MODEL, "+")["+"]
    table = tables_of(record, MODEL, "+", evidence=seen(weights=weights, scores=scores))["+"]
    assert table.donors.boundaries.tolist() == plain.donors.boundaries.tolist()
    # 14 half bits at most, -7 where none are listed, twice 0.85 points a bit
    added = {100: 12, 120: -6}
    for at, points in added.items():
        assert table.donors.at(at) == points + (0 if only else plain.donors.at(at))
    assert table.acceptors.at(180) == -6 + (0 if only else plain.acceptors.at(180))


def random_evidence(rng, length: int) -> SpliceEvidence:
    starts = rng.integers(0, length - 40, 12)
    ends = starts + rng.integers(2, 40, 12)
    columns = starts, ends, rng.random(12) < 0.5, rng.integers(1, 99, 12)
    scores = {
        ("r", strand, kind): PlacedScores.highest(
            rng.integers(0, length + 1, 50), rng.integers(-20, 21, 50).astype(np.int8)
        )
        for strand in "+-" for kind in "DA"
    }  # fmt: skip
    return SpliceEvidence({"r": RecordJunctions.summed(*columns)}, scores, EvidenceWeights(2.0))


@pytest.mark.parametrize("seed", range(6))
def test_a_locus_has_the_evidence_of_its_record(seed):
    """The table of a locus is the part of the record's, but for sites at its ends."""
    rng = np.random.default_rng(seed)
    record = Sequence.from_text("r", cases.random_text(rng, 400).replace("N", "A"))
    evidence, reach = random_evidence(rng, 400), 60
    start, end = (60, 390) if seed % 2 else (0, 333)
    locus = Sequence(f"r:{start + 1}-{end}", record.codes[start:end])
    for strand, first in (("+", start), ("-", 400 - end)):
        whole = tables_of(record, MODEL, strand, evidence=evidence)[strand]
        table = tables_of(locus, MODEL, strand, evidence=evidence)[strand]
        part = whole.part(first, first + len(locus))
        assert [*map(list, table.junctions)] == [*map(list, part.junctions)]
        for own, expected in zip(table.lists, part.lists, strict=True):
            inside = own.between(reach, len(locus) - reach)
            assert inside.tolist() == expected.between(reach, len(locus) - reach).tolist()


def case_with_gene(rng):
    """Return a record with a gene of three exons, its cDNA, and its introns, one of no kind."""
    exons = [cases.random_text(rng, 30).replace("N", "A") for _ in range(3)]
    introns = "GT" + "C" * 96 + "AG", "GA" + "C" * 76 + "TT"
    text = exons[0] + introns[0] + exons[1] + introns[1] + exons[2]
    target = Sequence.from_text("t", "".join(exons))
    return Sequence.from_text("r", text), target, ((30, 130), (160, 240))


def test_an_intron_of_no_kind_is_found_and_has_a_confidence():
    rng = np.random.default_rng(5)
    record, target, introns = case_with_gene(rng)
    evidence = seen(*((*intron, False, 9) for intron in introns))
    scoring = SplicedScoring(ends="free-target", end_cost=5)
    found = {}
    for own in (None, evidence):
        case = SiteCase(record, target, tables_of(record, MODEL, "+", evidence=own))
        (found[own],) = site_align([case], scoring, device="cpu")
    chain = ((0, 30), (130, 160), (240, 270))
    assert found[None].chain != chain
    assert found[evidence].chain == chain
    (judged,) = with_confidence([case], [found[evidence]], scoring, device="cpu")
    assert min(judged.intron_confidences) > 0
    model = MODEL.with_longest_intron(99 + 64)
    short = replace(case, tables=tables_of(record, model, "+", evidence=evidence))
    assert site_align([short], scoring, device="cpu")[0].chain == chain
    longer = seen((30, 130, False, 9), (160, 240, False, 9), (0, 250, False, 9))
    limited = tables_of(record, model, "+", evidence=longer)["+"]
    assert limited.junctions.donors.tolist() == [30, 160]
