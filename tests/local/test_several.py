"""Several threads find the alignments that one thread finds, in the same order."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gpu_tools import AffineScoring, Sequence, local_align
from gpu_tools.local import places, search, several, tiles
from gpu_tools.local.corridor import Corridor
from gpu_tools.local.cpu import score_pass as cpu
from gpu_tools.local.cpu import vectors
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import make_problem
from tests.local.cases import random_scoring

PERIODIC, REPEATS, RELATED, ISLANDS, RANDOM = range(5)


def codes(rng, length, letters=4):
    return rng.integers(0, letters, length).astype(np.uint8)


def changed(rng, sequence, rate=0.1):
    """Return a copy in which some symbols are random."""
    return np.where(rng.random(len(sequence)) < rate, codes(rng, len(sequence)), sequence)


def pair_of(rng, kind, longest):
    """Return codes of two sequences."""
    query, subject = (codes(rng, int(rng.integers(longest // 3, longest))) for _ in "qs")
    if kind == PERIODIC:
        unit = codes(rng, int(rng.integers(2, 9)))
        query, subject = (changed(rng, np.resize(unit, len(s)), 0.05) for s in (query, subject))
    elif kind == REPEATS:
        unit = codes(rng, longest // 5)
        query, subject = (changed(rng, np.resize(unit, len(s)), 0.15) for s in (query, subject))
    elif kind == RELATED:
        subject = changed(rng, query)
    elif kind == ISLANDS:
        for _ in range(longest // 20):
            part = query[int(rng.integers(0, len(query))) :][: int(rng.integers(6, 30))]
            begin = int(rng.integers(0, len(subject)))
            subject[begin : begin + len(part)] = part[: len(subject) - begin]
    return query, subject


def best(problem, side, least, most, crew, above=0):
    """Return the alignments; the bounds are `above` at most higher than the score pass says."""
    bounds = cpu.score_pass(problem, side)
    bounds += np.random.default_rng(0).integers(0, above + 1, bounds.shape).astype(np.int32)
    return list(search.best_alignments(tiles.Tiles(problem, side, bounds), least, most, crew))


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(4) as threads:
        yield threads


@pytest.fixture
def rounds(monkeypatch):
    """What each attempt to find several found, and how many it found in vain."""
    seen, original = [], several.several_best

    def spy(*given):
        seen.append(found := original(*given))
        return found

    monkeypatch.setattr(search, "several_best", spy)
    return seen


@pytest.mark.parametrize("kind", range(5), ids=["periodic", "repeats", "related", "islands", "any"])
@pytest.mark.parametrize("seed", range(8))
def test_small_tiles(seed, kind, pool, monkeypatch):
    """Tiles so small that there are many, and places wherever there can be two."""
    rng = np.random.default_rng((seed, kind))
    side = int(rng.choice([4, 8]))
    monkeypatch.setattr(tiles, "_SMALLEST_MARGIN", side * int(rng.integers(1, 3)))
    monkeypatch.setattr(several, "PLACES_OF_A_THREAD", 1)
    monkeypatch.setattr(search, "PATIENCE", 2)
    scoring = (
        random_scoring(rng)
        if seed % 2
        else AffineScoring(*((5, -4, 16, 4), (1, -1, 2, 1))[seed % 4 // 2])
    )
    problem = make_problem(*pair_of(rng, kind, 240), scoring)
    alone = best(problem, side, 3, 60, None)
    for size in (1, 2, 5):
        assert best(problem, side, 3, 60, several.Crew(pool, size), above=seed % 3) == alone


@pytest.mark.parametrize(
    ("scoring", "expected"), [(AffineScoring(), 200), (AffineScoring(1, -1, 2, 1), 10)]
)
def test_hundreds_of_random_alignments(scoring, expected, pool, rounds):
    rng = np.random.default_rng(7)
    problem = make_problem(codes(rng, 6000), codes(rng, 7000), scoring)
    alone = best(problem, 64, 1, 300, None)
    together = best(problem, 64, 1, 300, several.Crew(pool, 4), above=3)
    assert together == alone
    assert len(alone) == 300
    assert sum(len(found) for found, _ in rounds) >= expected


def test_highly_related(pool, rounds):
    """Between an alignment of all and those left over there is work for one thread alone."""
    rng = np.random.default_rng(3)
    query = codes(rng, 3000)
    problem = make_problem(query, changed(rng, query), AffineScoring())
    assert best(problem, 64, 1, 40, several.Crew(pool, 3)) == best(problem, 64, 1, 40, None)
    assert rounds[0] == ([], 0)
    assert any(found for found, _ in rounds)


@pytest.mark.parametrize("both_strands", [False, True])
def test_any_number_of_threads(both_strands):
    rng = np.random.default_rng(11)
    query, subject = (Sequence(name, codes(rng, 5000)) for name in "qs")
    one, *more = (
        local_align([(query, subject)], k=50, both_strands=both_strands, device="cpu", threads=n)
        for n in (1, 2, 7)
    )
    assert len(one[0]) == 50
    assert more == [one, one]


def test_one_thread_does_not_share_out(monkeypatch):
    monkeypatch.setattr(search, "several_best", None)
    query = Sequence("q", codes(np.random.default_rng(0), 3000))
    assert len(local_align([(query, query)], k=9, device="cpu", threads=1)[0]) == 9


@pytest.mark.parametrize("seed", range(6))
def test_places_hold_all_high_tiles_and_lie_apart(seed):
    rng = np.random.default_rng(seed)
    bounds = (rng.random((40, 50)) ** 8 * 100).astype(np.int32)
    known = tiles.Tiles(
        make_problem(codes(rng, 320), codes(rng, 400), AffineScoring()), 8, bounds
    ).known
    found, score = places.find_places(known, 2, 12, 5)
    covered = np.zeros((44, 54), dtype=int)
    for down, end_down, across, end_across, high in found:
        covered[max(down - 2, 0) : end_down, max(across - 2, 0) : end_across] += 1
        assert (bounds[down:end_down, across:end_across] >= score).sum() == high
    assert (covered[:40, :50][bounds >= score] == 1).all()
    assert found[:, 4].sum() == (bounds >= score).sum() >= 12


@pytest.mark.parametrize(("first", "expected"), [(5, []), (4, []), (3, [90])])
def test_an_alignment_that_begins_in_the_rim_is_not_of_the_place(first, expected):
    """It begins in the fourth tile of 8 symbols and ends in the sixth."""
    query, subject = np.zeros(64, dtype=np.uint8), np.ones(64, dtype=np.uint8)
    query[28:46] = subject[28:46] = 2 + np.arange(18) % 5 // 3
    problem = make_problem(query, subject, AffineScoring())
    upper, fresh = cpu.score_pass(problem, 8), np.empty(9, np.int32)
    box = np.array([[first, 6, first, 6, 1, 0, 0]])
    asked, costs = places.Asked(8, 3, 1, 80, 5), vectors.costs_of(problem, np.dtype(np.int16))
    stops, found = places.search_places(
        problem, upper, ForbiddenPairs().pairs, asked, costs, fresh, box
    )
    assert found.items[:, places.SCORE].tolist() == expected
    assert stops.tolist() == [79 if expected else 90]


@pytest.mark.parametrize("corner", [(0, 0), (8, 0), (0, 8), (8, 8)])
@pytest.mark.parametrize(("top", "left"), [(8, 10), (9, 10), (8, 9), (9, 9)])
def test_corridors_next_to_the_first_tiles_of_a_rim(top, left, corner):
    """Places in row or column 9 lie beside a tile of 8 rows that may be cut off."""
    corridor = Corridor(top, np.array([99, left, 12]), np.array([-1, 12, 15]))
    touches = (corner[0] > 0 and top + 1 == 9) or (corner[1] > 0 and left == 9)
    assert places._leaves(corridor, corner, 8) == touches


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ((9, 9, 9), [1, 3, 0, 2]),
        ((40, 9, 9), [1, 3, 0]),  # the place that stopped told of its own before it did
        ((9, 40, 9), [1, 3]),  # another one may have 40 at an end that comes first
        ((9, 9, 50), []),
    ],
)
def test_the_list_ends_where_a_place_had_to_stop(stops, expected):
    items = np.zeros((4, places.FIELDS), dtype=np.int64)
    items[:, places.PLACE] = [0, 0, 1, 1]
    items[:, places.SCORE] = [40, 50, 20, 45]
    assert several._agreed(items, np.array(stops)).tolist() == expected


def test_equal_scores_are_in_the_order_of_their_ends():
    items = np.zeros((3, places.FIELDS), dtype=np.int64)
    items[:, places.PLACE], items[:, places.SCORE] = range(3), 7
    items[:, places.END_ROW], items[:, places.END_COLUMN] = [5, 4, 5], [1, 9, 0]
    assert several._agreed(items, np.zeros(3, np.int64)).tolist() == [1, 2, 0]
