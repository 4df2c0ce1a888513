"""Lists of scores against their arrays, their memory, and tables that are refused."""

import tracemalloc

import numpy as np
import pytest

from gpu_tools import ScoringError, Sequence
from gpu_tools.sites import model
from gpu_tools.sites.api import SiteCase, site_align, tables_of
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.table import CLOSED, BoundaryScores, IntronClass
from tests.sites.test_api import changed, random_table


def random_array(rng, length: int, share: float):
    """Return scores of which few differ from the usual one, closed at some boundaries."""
    scores = np.where(rng.random(length) < 0.3, rng.integers(-9, 9, length), -5)
    return np.where(rng.random(length) < share, scores, CLOSED)


@pytest.mark.parametrize("share", [0, 0.4, 1])
@pytest.mark.parametrize("with_kinds", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_lists_stand_for_arrays(seed, with_kinds, share):
    rng = np.random.default_rng(seed)
    scores = random_array(rng, length := int(rng.integers(1, 60)), share)
    kinds = rng.integers(0, 3, length) if with_kinds else None
    lists = BoundaryScores.from_array(scores, kinds)
    low, high = sorted(rng.integers(0, length + 1, 2).tolist())
    is_open = np.flatnonzero(scores != CLOSED)
    assert lists.between(low, high).tolist() == scores[low:high].tolist()
    closed_as_0 = np.where(scores == CLOSED, 0, scores)[low:high]
    assert lists.between(low, high, np.int16, 0).tolist() == closed_as_0.tolist()
    assert [lists.at(k) for k in range(length)] == scores.tolist()
    assert lists.span == ((is_open[0], is_open[-1]) if len(is_open) else None)
    assert lists.largest == np.abs(scores[is_open]).max(initial=0)
    if with_kinds:
        of_kind = np.where(scores == CLOSED, 0, kinds)
        assert lists.kinds_between(low, high).tolist() == of_kind[low:high].tolist()


def test_a_score_that_most_boundaries_have_is_not_listed():
    assert len(BoundaryScores.from_array(np.array([-7, -7, 3, -7])).boundaries) == 1


@pytest.mark.parametrize("scores", [[0, 2**30], [-(2**30)] * 3, [CLOSED, -(2**40)]])
def test_scores_that_are_too_large_are_refused(scores):
    with pytest.raises(ScoringError, match="is too large; expected less than 2"):
        BoundaryScores.from_array(np.array(scores))


@pytest.mark.parametrize(
    ("introns", "message"),
    [
        *(
            ((IntronClass(0, 1, 1, lines),), "wrong lines")
            for lines in (
                ((1, 4),), ((0, 0),), ((0, 4), (0, 8)), ((0, 8), (2, 4)),
            )
        ),
    ],
)  # fmt: skip
def test_introns_that_no_table_can_have_are_refused(introns, message):
    with pytest.raises(ScoringError, match=message):
        changed(random_table(np.random.default_rng(1), 9), introns=introns)


def random_case(length: int, reading: str) -> SiteCase:
    rng = np.random.default_rng(3)
    base, target = (Sequence("s", rng.integers(0, 4, n).astype(np.uint8)) for n in (length, 20))
    return SiteCase(base, target, tables_of(base, load_sites("vertebrate"), reading=reading))


@pytest.mark.parametrize("reading", ["any", "complete"])
def test_memory_is_some_bytes_a_nucleotide(reading, monkeypatch):
    """Whole cases: both tables, and the sweeps of both strands one after the other."""
    monkeypatch.setattr(model, "PART", 1 << 14)
    length = 1_000_000
    site_align([random_case(1000, reading)], device="cpu", threads=1)  # compiles
    tracemalloc.start()
    try:
        site_align([random_case(length, reading)], device="cpu", threads=1)
        assert tracemalloc.get_traced_memory()[1] < 24 * length
    finally:
        tracemalloc.stop()
