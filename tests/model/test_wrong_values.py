"""Values of a wrong type are errors that say what was expected, and never a silent other result."""

import pytest

from gpu_tools import AffineScoring, EditCosts, ExonSet, ProteinSequence, Sequence, SplicedScoring
from gpu_tools.errors import ScoringError


@pytest.mark.parametrize("kind", [Sequence, ProteinSequence])
@pytest.mark.parametrize("symbols", ["ACG", b"ACG"])
def test_text_is_no_code(kind, symbols):
    with pytest.raises(TypeError, match=rf"{kind.__name__}.from_text takes text"):
        kind("s", symbols)


@pytest.mark.parametrize("strand", ["minus", "-1", "", 1])
def test_a_strand_is_plus_or_minus(strand):
    with pytest.raises(ValueError, match=r"expected '\+' or '-'"):
        ExonSet.from_intervals([(0, 2)], strand)


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ([(0, 2, "+")], "an interval has two numbers"),
        ([(0,), (1,)], "an interval has two numbers"),
        ([(0.5, 2)], "expected whole numbers"),
        ([("0", "2")], "expected whole numbers"),
    ],
)
def test_intervals_are_pairs_of_whole_numbers(intervals, message):
    with pytest.raises(ValueError, match=message):
        ExonSet.from_intervals(intervals)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(
            (SplicedScoring, name)
            for name in ("match", "mismatch", "gap", "intron_penalty", "end_cost")
        ),
        *((AffineScoring, name) for name in ("match", "mismatch", "gap_open", "gap_extend")),
        *((EditCosts, name) for name in ("insertion", "deletion", "substitution")),
    ],
)
@pytest.mark.parametrize("value", [1.5, "1"])
def test_scores_are_whole_numbers(kind, name, value):
    with pytest.raises(ScoringError, match="expected a whole number"):
        kind(**{name: value})


@pytest.mark.parametrize("cost", [-1, 2**30])
def test_an_end_costs_nothing_or_more(cost):
    with pytest.raises(ScoringError, match="expected"):
        SplicedScoring(end_cost=cost)
