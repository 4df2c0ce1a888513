"""Spliced alignment on the CPU against its definition."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    InputError,
    ScoringError,
    Sequence,
    SplicedScoring,
    case_columns,
    spliced_align,
    spliced_align_many,
    spliced_scores,
)
from gpu_tools.model.results import count_columns
from tests import cases
from tests.fuzz.running import measured
from tests.oracles import spliced as oracles


def align(example, scoring=None, **options):
    (result,) = spliced_align([example.case()], scoring, device="cpu", **options)
    return result


def small_example(rng, target):
    example = cases.random_example(
        rng, base=int(rng.integers(1, 25)), target=target, count=int(rng.integers(1, 7)), longest=6
    )
    example.scores = {key: round(value) for key, value in example.scores.items()}
    return example


def large_example(rng, target):
    return cases.random_example(rng, base=300, target=target, count=25, longest=60)


def small_nested_example(rng, target):
    return cases.nested_example(rng, int(rng.integers(4, 25)), target, starts=3, ends=2)


def large_nested_example(rng, target):
    return cases.nested_example(rng, 200, target, starts=7, ends=4)


@pytest.mark.parametrize(
    ("make", "oracle", "longest", "seed"),
    [(small_example, oracles.spliced_by_enumeration, 9, seed) for seed in range(60)]
    + [(small_nested_example, oracles.spliced_by_enumeration, 9, seed) for seed in range(30)]
    + [(large_example, oracles.spliced_by_programme, 149, seed) for seed in range(20)]
    + [(large_nested_example, oracles.spliced_by_programme, 119, seed) for seed in range(20)],
)
def test_random_cases_by_their_definition(make, oracle, longest, seed):
    """In nested cases many exons share a start, many an end."""
    rng = np.random.default_rng(seed)
    example = make(rng, int(rng.integers(1, longest + 1)))
    scoring = cases.random_scoring(rng)
    best = cases.best_by_strand(example, scoring, oracle)
    cases.check_best(example, scoring, align(example, scoring), best)


def test_worked_example_of_the_source():
    result = align(cases.WORKED_EXAMPLE)
    assert (result.score, result.chain) == (3, ((0, 2), (2, 4), (7, 9)))
    assert result.cells == 5 * (2 + 2 + 2 + 3 + 2)


def test_bounds_hold_at_the_edge_of_16_bits():
    """Scores just inside and just outside of int16 agree with the oracle."""
    text = "ACGT" * 20
    for match in range(330, 420, 6):  # 80 columns of match + gap around 2^15
        example = cases.Example(text, text, [(0, 40), (40, 80)])
        assert align(example, SplicedScoring(match=match, gap=-5)).score == 80 * match
        poor = cases.Example("A" * 80, "C" * 80, [(0, 80)])
        score = align(poor, SplicedScoring(mismatch=-match, gap=-match)).score
        assert score == -80 * match
        # free ends: what lies before the first exon is lifted, too, but has no pairs
        late = cases.Example(text[:40], "T" * 40 + text[:40], [(0, 20), (20, 40)])
        score = align(late, SplicedScoring(match=match, gap=-5, ends="free-target")).score
        assert score == 40 * match
        last = cases.Example("A", "C" * 79 + "A", [(0, 1)])
        score = align(last, SplicedScoring(-1, -9, -match, ends="free-target")).score
        assert score == -1


def test_equal_intervals_count_once_with_the_best_score():
    example = cases.Example("ACGTACGT", "ACGT", [(0, 4), (0, 4)])
    case = example.case()
    case.exons.scores[:] = [1.0, 3.0]
    (result,) = spliced_align([case], SplicedScoring(exon_weight=1.0), device="cpu")
    assert (result.score, result.n_exons, result.cells) == (7, 1, 16)


def test_errors_name_the_record():
    empty = cases.Example("ACGT", "A", [(0, 2)]).case()
    object.__setattr__(empty.target, "codes", empty.target.codes[:0])
    with pytest.raises(InputError, match="record case-target: empty target"):
        spliced_align([empty], device="cpu")
    with pytest.raises(InputError, match="record case-base: exon 3-6 does not lie within"):
        spliced_align([cases.Example("ACGT", "A", [(2, 6)]).case()], device="cpu")
    with pytest.raises(ValueError, match="unknown device"):
        spliced_align([cases.WORKED_EXAMPLE.case()], device="gpu")


def test_a_case_of_600_million_cells():
    """The size of the sources' IL1RAPL1; it takes less than 1 GB."""
    rng = np.random.default_rng(9)
    starts = rng.integers(0, 2_168_787 - 300, 1878)
    exons = ExonSet.from_intervals([(s, s + 135) for s in starts])
    codes = rng.integers(0, 4, 2_168_787).astype(np.uint8)
    target = rng.integers(0, 4, 2355).astype(np.uint8)
    case = Case(Sequence("base", codes), Sequence("target", target), exons)
    need = []
    with measured(need):
        (result,) = spliced_align([case], device="cpu")
    assert result.cells > 590_000_000
    assert need[0].bytes < 1_000_000_000


@pytest.mark.parametrize(
    ("base", "target", "exon", "cigar"),
    [
        ("AA", "A", (0, 2), (("=", 1), ("D", 1))),
        ("A", "AA", (0, 1), (("=", 1), ("I", 1))),
        ("A", "C", (0, 1), (("D", 1), ("I", 1))),
        ("TAA", "A", (1, 3), (("=", 1), ("D", 1))),
    ],
)
def test_tie_pair_before_base_symbol_before_target_symbol(base, target, exon, cigar):
    result = align(cases.Example(base, target, [exon]), SplicedScoring(mismatch=-9))
    assert result.cigar == cigar


FREE = SplicedScoring(match=0, mismatch=0, gap=0)
PALINDROME = [(0, 4), (6, 10)]
TIES = {
    "+ before -, and the first end": (
        cases.Example("ACGTTTACGT", "ACGT", PALINDROME, PALINDROME), SplicedScoring(), ((0, 4),),
    ),
    "the nearest predecessor": (
        cases.Example("ACGTTTACGTTTGGCC", "ACGTGGCC", [(0, 4), (6, 10), (12, 16)]),
        SplicedScoring(), ((6, 10), (12, 16)),
    ),
    "no predecessor, at the smallest column": (
        cases.Example("ACGTAC", "ACG", [(0, 2), (3, 5)]),
        SplicedScoring(match=0, mismatch=0, gap=0, ends="free-target"), ((0, 2),),
    ),
    "the shortest of the exons that share an end": (
        cases.Example("ACGTAC", "ACG", [(0, 6), (2, 6), (4, 6)]), FREE, ((4, 6),),
    ),
    "the shortest that is as good": (
        cases.Example("ACGTAC", "ACG", [(0, 6), (2, 6), (4, 6)]),
        SplicedScoring(match=1, mismatch=0, gap=0), ((0, 6),),
    ),
    "the shortest, at the smallest column": (
        cases.Example("CAC" + "AC", "AC", [(1, 5), (3, 5)]),
        SplicedScoring(match=1, mismatch=-1, gap=0), ((3, 5),),
    ),
    "the nearest end before the longer exon": (
        cases.Example(
            "GGTTGG" + "CCAA" + "AA", "GGCCAAAA", [(0, 2), (4, 6), (6, 12), (10, 12)],
        ), SplicedScoring(), ((4, 6), (6, 12)),
    ),
    "no exon before, if that is as good": (
        cases.Example("ACGTACGT", "ACG", [(0, 2), (3, 8), (5, 8)]), FREE, ((0, 2),),
    ),
    "the first of two ends": (
        cases.Example("ACGTACGT", "ACG", [(0, 6), (2, 6), (0, 8), (2, 8)]), FREE, ((2, 6),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("tie", TIES)
def test_ties(tie):
    example, scoring, chain = TIES[tie]
    result = align(example, scoring)
    assert (result.strand, result.chain) == ("+", chain)
    if scoring.ends == "free-target":
        assert (result.target_start, result.target_end) == (0, 0)


@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
def test_scores_alone(ends):
    rng = np.random.default_rng(5)
    examples = [
        cases.random_example(rng, base=60, target=20, count=9, longest=12) for _ in range(9)
    ]
    made = [example.case(f"case{k}") for k, example in enumerate(examples)]
    made.append(cases.Example("ACGT", "AC", []).case("none"))
    scoring = SplicedScoring(ends=ends)
    scores = spliced_scores(case_columns(made), scoring, device="cpu")
    aligned = [result.score for result in spliced_align(made, scoring, device="cpu")]
    assert scores.tolist() == aligned
    assert aligned[-1] is None
    assert scores.dtype == np.int64


def test_results_are_made_of_arrays_when_they_are_read():
    rng = np.random.default_rng(5)
    made = [
        cases.random_example(rng, base=60, target=30, count=5, longest=12).case() for _ in range(7)
    ]
    made.insert(3, Case(made[0].base, made[0].target, ExonSet.empty()))
    many = spliced_align_many(made, device="cpu")
    for result, each in zip(many, made, strict=True):
        assert result.cells == each.cells
        columns = {letter: count_columns(result.cigar, letter) for letter in "=XID"}
        assert result.matches == columns["="]
        assert result.columns == sum(columns.values())
    unread = many[2]
    assert pickle.loads(pickle.dumps(unread)) == replace(many[2]) == unread
    assert [*many[::-2]] == [*many][::-2]
    assert many[-1] == [*many][7]
    assert many[3].cigar == ()


@pytest.mark.parametrize("function", [spliced_align, spliced_scores])
def test_an_end_cost_is_for_site_mode(function):
    with pytest.raises(ScoringError, match="end cost 5 in list mode; expected 0"):
        function([], SplicedScoring(ends="free-target", end_cost=5))
