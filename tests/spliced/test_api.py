"""Spliced alignment on the CPU against its definition."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    InputError,
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


def check_against_oracle(oracle, example, scoring):
    """The score is the best over both strands; the alignment really has it."""
    terms = cases.oracle_scoring(scoring)
    best = {}
    for strand in "+-":
        base, exons = example.strand_view(strand)
        if exons:
            bonus = example.bonus(strand, scoring.exon_weight, transcript=True)
            found = oracle(base, example.target, exons, terms, bonus)
            best[strand] = found[0] if isinstance(found, tuple) else found
    result = align(example, scoring)
    assert result.score == max(best.values())
    assert result.strand == max(best, key=best.get)
    bonus = example.bonus(result.strand, scoring.exon_weight)
    assert oracles.rescore(example.base, example.target, result, terms, bonus) == result.score
    return result


def test_worked_example_of_the_source():
    result = align(cases.WORKED_EXAMPLE)
    assert (result.score, result.chain) == (3, ((0, 2), (2, 4), (7, 9)))
    assert result.cells == 5 * (2 + 2 + 2 + 3 + 2)


@pytest.mark.parametrize("seed", range(60))
def test_small_cases_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    sizes = {"base": int(rng.integers(1, 25)), "target": int(rng.integers(1, 10))}
    example = cases.random_example(rng, **sizes, count=int(rng.integers(1, 7)), longest=6)
    example.scores = {key: round(value) for key, value in example.scores.items()}
    check_against_oracle(oracles.spliced_by_enumeration, example, cases.random_scoring(rng))


@pytest.mark.parametrize("seed", range(20))
def test_larger_cases_by_programme(seed):
    rng = np.random.default_rng(1000 + seed)
    target = int(rng.integers(1, 150))
    example = cases.random_example(rng, base=300, target=target, count=25, longest=60)
    check_against_oracle(oracles.spliced_by_programme, example, cases.random_scoring(rng))


def test_chain_is_among_the_best_of_all_chains():
    rng = np.random.default_rng(5)
    for _ in range(20):
        example = cases.random_example(rng, base=20, target=8, count=6, longest=5)
        scoring = SplicedScoring(intron_penalty=1)
        result = align(example, scoring)
        base, exons = example.strand_view(result.strand)
        bonus = example.bonus(result.strand, 0.0, transcript=True)
        _, best = oracles.spliced_by_enumeration(
            base, example.target, exons, cases.oracle_scoring(scoring), bonus
        )
        m = len(base)
        chain = tuple((m - e, m - s) for s, e in result.chain) if result.strand == "-" else None
        assert (chain or result.chain) in best


@pytest.mark.parametrize("seed", range(30))
def test_nested_exons_by_enumeration(seed):
    """Many exons share a start, many an end."""
    rng = np.random.default_rng(100 + seed)
    base, target = int(rng.integers(4, 25)), int(rng.integers(1, 10))
    example = cases.nested_example(rng, base, target, starts=3, ends=2)
    check_against_oracle(oracles.spliced_by_enumeration, example, cases.random_scoring(rng))


@pytest.mark.parametrize("seed", range(20))
def test_nested_exons_by_programme(seed):
    rng = np.random.default_rng(200 + seed)
    example = cases.nested_example(rng, 200, int(rng.integers(1, 120)), starts=7, ends=4)
    check_against_oracle(oracles.spliced_by_programme, example, cases.random_scoring(rng))


@pytest.mark.parametrize("seed", range(6))
def test_cell_width_does_not_change_anything(seed, monkeypatch):
    rng = np.random.default_rng(3000 + seed)
    example = cases.random_example(rng, base=600, target=90, count=40, longest=80)
    scoring = cases.random_scoring(rng)
    narrow = align(example, scoring)
    monkeypatch.setattr("gpu_tools.splicing.bounds.LIMIT_INT16", 0)
    assert align(example, scoring) == narrow


def test_bounds_hold_at_the_edge_of_16_bits():
    """Scores just inside and just outside of int16 agree with the oracle."""
    text = "ACGT" * 20
    for match in range(330, 420, 6):  # 80 columns of match + gap around 2^15
        example = cases.Example(text, text, [(0, 40), (40, 80)])
        assert align(example, SplicedScoring(match=match, gap=-5)).score == 80 * match
        poor = cases.Example("A" * 80, "C" * 80, [(0, 80)])
        score = align(poor, SplicedScoring(mismatch=-match, gap=-match)).score
        assert score == -80 * match


def test_reverse_complement_gives_the_mirrored_chain_score():
    rng = np.random.default_rng(7)
    for _ in range(10):
        example = cases.random_example(rng, base=400, target=80, count=20, longest=60)
        m = len(example.base)
        mirrored = cases.Example(
            oracles.reverse_complement(example.base), example.target,
            [(m - e, m - s) for s, e in example.minus], [(m - e, m - s) for s, e in example.plus],
        )  # fmt: skip
        assert align(example).score == align(mirrored).score


def test_more_candidates_never_score_less():
    rng = np.random.default_rng(8)
    for _ in range(10):
        example = cases.random_example(rng, base=300, target=60, count=16, longest=50)
        fewer = cases.Example(example.base, example.target, example.plus[::2])
        assert align(fewer).score <= align(example).score


def test_equal_intervals_count_once_with_the_best_score():
    example = cases.Example("ACGTACGT", "ACGT", [(0, 4), (0, 4)])
    case = example.case()
    case.exons.scores[:] = [1.0, 3.0]
    (result,) = spliced_align([case], SplicedScoring(exon_weight=1.0), device="cpu")
    assert (result.score, result.n_exons, result.cells) == (7, 1, 16)


def test_ties_plus_before_minus_and_first_end_first():
    palindrome = cases.Example("ACGTTTACGT", "ACGT", [(0, 4), (6, 10)], [(0, 4), (6, 10)])
    result = align(palindrome)
    assert (result.strand, result.chain) == ("+", ((0, 4),))


def test_progress_counts_all_cells():
    example = cases.WORKED_EXAMPLE
    told = []
    made = [example.case(), example.case()]
    spliced_align(made, device="cpu", progress=told.append)
    assert sum(told) == 2 * 55


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


def test_tie_the_nearest_predecessor_and_the_shortest_exon():
    text = "ACGT" + "TT" + "ACGT" + "TT" + "GGCC"
    twice = cases.Example(text, "ACGTGGCC", [(0, 4), (6, 10), (12, 16)])
    assert align(twice).chain == ((6, 10), (12, 16))
    nothing_counts = SplicedScoring(match=0, mismatch=0, gap=0)
    nested = cases.Example("ACGTAC", "ACG", [(0, 6), (2, 6), (4, 6)])
    assert align(nested, nothing_counts).chain == ((4, 6),)


def test_tie_no_predecessor_if_that_is_as_good():
    free = SplicedScoring(match=0, mismatch=0, gap=0, ends="free-target")
    result = align(cases.Example("ACGTAC", "ACG", [(0, 2), (3, 5)]), free)
    assert (result.chain, result.target_start, result.target_end) == (((0, 2),), 0, 0)


def test_tie_pair_before_base_symbol_before_target_symbol():
    assert align(cases.Example("AA", "A", [(0, 2)])).cigar == (("=", 1), ("D", 1))
    assert align(cases.Example("A", "AA", [(0, 1)])).cigar == (("=", 1), ("I", 1))
    one_of_each = SplicedScoring(mismatch=-9, gap=-1)
    assert align(cases.Example("A", "C", [(0, 1)]), one_of_each).cigar == (("D", 1), ("I", 1))


FREE = SplicedScoring(match=0, mismatch=0, gap=0)
TIES = {
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
def test_ties_of_nested_exons(tie):
    example, scoring, chain = TIES[tie]
    assert align(example, scoring).chain == chain


def test_tie_in_the_alignment_of_an_exon():
    """Both symbols of the exon are alike: the pair comes first, then the one without a partner."""
    result = align(cases.Example("TAA", "A", [(0, 3), (1, 3)]))
    assert (result.chain, result.cigar) == (((1, 3),), (("=", 1), ("D", 1)))


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
