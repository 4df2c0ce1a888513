"""The best alignments of places of a matrix that do not touch each other, each on its own.

Most tiles with high bounds lie far from each other. A *place* is a rectangle of tiles around some
of them, and holds all tiles of at least some score that are near. The search in a place goes on as
if the rest of the matrix stayed as it is, with bounds and forbidden pairs of its own, which begin
as those of the matrix. So nothing that happens in one place has a part in what is found in another
one, and threads need not wait for each other.

A place is cut out of the matrix with a *rim* of tiles above and left of it. Their bounds tell what
may come in; none of them is searched, and none belongs to another place. An alignment that begins
there, or one that might come from before the rim, ends the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.local.corridor import CorridorBounds, make_scratch, search
from gpu_tools.local.forbidden import merged, pairs_of
from gpu_tools.local.near import (
    FAR,
    NOTHING,
    Known,
    bound_tiles,
    forget,
    is_exact,
    next_end,
    remember,
)
from gpu_tools.local.problem import Problem
from gpu_tools.local.traceback import trace_back

MOST_HIGH_TILES = 512
"""More tiles of high bounds are not worth looking at: they are those of few alignments."""
CELLS_AT_ONCE = 1 << 20
"""Cells whose steps back are kept, see `gpu_tools.local.traceback`."""
_RIM = 3
"""Tiles that corridors may enter, and one before these."""
PLACE, SCORE, ROW, COLUMN, END_ROW, END_COLUMN, OPERATIONS, PAIRS, FIELDS = range(9)
# columns of the alignments' table, see `Harvest`, and the last ones of the places' table
HIGH_TILES, NUMBER, FRESH = range(4, 7)


class Harvest(NamedTuple):
    """Alignments of several places.

    `items` has a row for each: its place, score, first row and column, end row and column, and how
    many elements it has in the other arrays, which hold operations and their lengths, and rows and
    columns of the pairs.
    """

    items: NDArray[np.int64]
    operations: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


class Asked(NamedTuple):
    """Side of a tile, also as a power of two, tiles before one where its window begins, limits.

    These are the smallest score, and the most alignments of a place.
    """

    side: int
    shift: int
    margin: int
    least: int
    most: int


@njit(cache=True, nogil=True)
def find_places(known, margin, wanted, least):
    """Return places, and the score from which on they hold all tiles.

    Parameters
    ----------
    known : Known
    margin : int
        Tiles of a place before those of high bounds.
    wanted : int
        About how many of these there should be.
    least : int
        Smallest score.

    Returns
    -------
    ndarray of int64, shape (n, 5)
        First and end tile down, first and end tile across, and the tiles of at least that score;
        none if there are too many of them.
    int
    """
    score = max(np.sort(known.highest)[len(known.highest) - wanted], least)
    boxes, n = np.empty((MOST_HIGH_TILES, 5), np.int64), 0
    for down in range(known.upper.shape[0]):
        if known.highest[down] < score:
            continue
        for across in range(known.upper.shape[1]):
            if known.upper[down, across] >= score:
                if n == len(boxes):
                    return boxes[:0], score
                boxes[n, 0], boxes[n, 1] = max(down - margin, 0), down + 1
                boxes[n, 2], boxes[n, 3], boxes[n, 4] = max(across - margin, 0), across + 1, 1
                n += 1
    return _apart(boxes[:n]), score


@njit(cache=True, nogil=True)
def _apart(boxes):
    """Return rectangles that hold those given, and do not touch."""
    n, again = len(boxes), True
    while again:
        again, i = False, 0
        while i < n:
            j = i + 1
            while j < n:
                if _touch(boxes[i], boxes[j]):
                    for side in (0, 2):
                        boxes[i, side] = min(boxes[i, side], boxes[j, side])
                        boxes[i, side + 1] = max(boxes[i, side + 1], boxes[j, side + 1])
                    boxes[i, 4] += boxes[j, 4]
                    n -= 1
                    boxes[j] = boxes[n]
                    again = True
                else:
                    j += 1
            i += 1
    return boxes[:n].copy()


@njit(cache=True, nogil=True)
def _touch(a, b):
    """Tell whether a rectangle, or its rim, has a tile of the other."""
    apart = False
    for side in (0, 2):
        apart |= a[side + 1] <= b[side] - _RIM or b[side + 1] <= a[side] - _RIM
    return not apart


@njit(cache=True, nogil=True)
def search_places(problem, upper, used, asked, costs, fresh, places):
    """Find the alignments of places; leave their tiles' bounds in `fresh`.

    Parameters
    ----------
    problem : Problem
    upper : ndarray of int32, shape (tiles down, tiles across)
        Bounds of all tiles; nobody may change them.
    used : tuple of ndarray
        Rows and columns of forbidden pairs.
    asked : Asked
    costs : AffineCosts
        Of 16 bits.
    fresh : ndarray of int32
    places : ndarray of int64, shape (n, 7)
        As `find_places` returns them, with their numbers, and where their bounds begin in `fresh`.

    Returns
    -------
    ndarray of int64
        For each place the score at which it had to end: it has told of all alignments of a higher
        score; less than the smallest one if it has told of all.
    Harvest
        By place, in order.
    """
    found, stops = [], np.empty(len(places), np.int64)
    for k in range(len(places)):
        box, number, first = places[k, :4], places[k, NUMBER], places[k, FRESH]
        place, pairs = _cut_out(problem, upper, used, box, asked.side)
        stops[k], of_place = _search(place, pairs, number, asked, costs)
        found.extend(of_place)
        own, (down, across) = place[1].upper, place[2]
        for i in range(down, own.shape[0]):
            for j in range(across, own.shape[1]):
                fresh[first] = own[i, j]
                first += 1
    return stops, _packed(found)


@njit(cache=True, nogil=True)
def _cut_out(problem, upper, used, box, side):
    """Return a place with its rim, and the forbidden pairs there.

    The place is its problem, bounds, the first tile behind the rim, and the first cell's position.
    """
    down, across = max(box[0] - _RIM, 0), max(box[2] - _RIM, 0)
    own = upper[down : box[1], across : box[3]].copy()
    highest = np.empty(len(own), np.int32)
    for i in range(len(own)):
        highest[i] = own[i].max()
    exact = np.empty((own.size, 4), np.int64)
    known = Known(own, highest, exact, np.zeros(1, np.int64))
    query = problem.query[down * side : box[1] * side]
    subject = problem.subject[across * side : box[3] * side]
    part = Problem(
        query, subject, problem.table, problem.gap_open, problem.gap_extend, problem.identical
    )
    corner = down * side, across * side
    pairs = _within(used, corner, (len(query), len(subject)))
    return (part, known, (box[0] - down, box[2] - across), corner), pairs


@njit(cache=True, nogil=True)
def _within(used, corner, shape):
    """Return the pairs of a rectangle, as they lie in it, between those before and behind all."""
    rows, columns = used
    begin, end = np.searchsorted(rows, corner[0]), np.searchsorted(rows, corner[0] + shape[0])
    own_rows, own_columns = np.empty(end - begin + 2, np.int64), np.empty(end - begin + 2, np.int64)
    own_rows[0], own_columns[0], n = rows[0], columns[0], 1
    for k in range(begin, end):
        if corner[1] <= columns[k] < corner[1] + shape[1]:
            own_rows[n], own_columns[n] = rows[k] - corner[0], columns[k] - corner[1]
            n += 1
    own_rows[n], own_columns[n] = rows[-1], columns[-1]
    return own_rows[: n + 1], own_columns[: n + 1]


@njit(cache=True, nogil=True)
def _search(place, used, number, asked, costs):
    """Return the score at which the search of a place ends, and its alignments, best first."""
    part, known, first, corner = place
    side, found = asked.side, []
    sizes = side, asked.margin, first
    scratch = make_scratch(len(part.query), len(part.subject))
    bounds = CorridorBounds(known.upper, asked.shift)
    while True:
        how, score, cell = next_end(part, known, sizes, used, costs, asked.least)
        if how == NOTHING:
            return asked.least - 1, found
        if len(found) == asked.most:
            return score, found
        if how == FAR:
            tile = divmod(cell, known.upper.shape[1])
            if not _settle(place, used, tile, asked, costs, scratch):
                return score, found
            continue
        row, column = divmod(cell, len(part.subject))
        options, end = (score, CELLS_AT_ONCE), (row + 1, column + 1)
        start, corridor, summary = trace_back(part, end, options, bounds, used, scratch)
        traced, operations, lengths = summary
        inside = start[0] >= first[0] * side and start[1] >= first[1] * side
        if traced != score or not inside or _leaves(corridor, corner, side):
            return score, found
        rows, columns = pairs_of(start[0], start[1], operations, lengths)
        used = merged(used, (rows, columns))
        last = row // side, column // side
        forget(known, (start[0] // side, start[1] // side), last)
        ends = start[0] + corner[0], start[1] + corner[1], end[0] + corner[0], end[1] + corner[1]
        pairs = rows + corner[0], columns + corner[1]
        found.append(((number, score), ends, (operations, lengths), pairs))


@njit(cache=True, nogil=True)
def _leaves(corridor, corner, side):
    """Tell whether a corridor may go on in the first tiles of a place's rim.

    Nothing is known of what comes into these. The corridor's first row of places is empty.
    """
    above, left = corner[0] > 0, corner[1] > 0
    return (above and corridor.top <= side) or (left and corridor.first.min() <= side + 1)


@njit(cache=True, nogil=True)
def _settle(place, used, tile, asked, costs, scratch):
    """Tell whether a tile's bound could be made less, or exact, from how far its score comes."""
    part, known, first, corner = place
    rows, columns = len(part.query), len(part.subject)
    side, score = asked.side, known.upper[tile]
    top, left = tile[0] * side, tile[1] * side
    ends = top + 1, min(top + side, rows), left + 1, min(left + side, columns)
    bounds = CorridorBounds(known.upper, asked.shift)
    start, end, corridor = search(part, ends, score, bounds, used, scratch)
    if start[0] >= 0:
        remember(known, tile, (end[0] - 1) * columns + end[1] - 1, (0, 0))
        return not _leaves(corridor, corner, side)
    bound_tiles(part, known, side, (first, tile), used, costs)
    return known.upper[tile] < score or is_exact(known, tile)


@njit(cache=True, nogil=True)
def _packed(found):
    """Return alignments as arrays."""
    n_operations, n_pairs = 0, 0
    for _, _, cigar, pairs in found:
        n_operations += len(cigar[0])
        n_pairs += len(pairs[0])
    items = np.empty((len(found), FIELDS), np.int64)
    operations, lengths = np.empty(n_operations, np.uint8), np.empty(n_operations, np.int64)
    rows, columns = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    n_operations, n_pairs = 0, 0
    for k in range(len(found)):
        what, ends, cigar, pairs = found[k]
        items[k, PLACE], items[k, SCORE] = what
        items[k, ROW], items[k, COLUMN], items[k, END_ROW], items[k, END_COLUMN] = ends
        items[k, OPERATIONS], items[k, PAIRS] = len(cigar[0]), len(pairs[0])
        end, end_of_pairs = n_operations + len(cigar[0]), n_pairs + len(pairs[0])
        operations[n_operations:end], lengths[n_operations:end] = cigar
        rows[n_pairs:end_of_pairs], columns[n_pairs:end_of_pairs] = pairs
        n_operations, n_pairs = end, end_of_pairs
    return Harvest(items, operations, lengths, rows, columns)


@njit(cache=True, nogil=True)
def take_over(known, places, fresh):
    """Lower the bounds of the tiles of places to what the search there left of them."""
    for k in range(len(places)):
        first = places[k, FRESH]
        for down in range(places[k, 0], places[k, 1]):
            for across in range(places[k, 2], places[k, 3]):
                known.upper[down, across] = min(known.upper[down, across], fresh[first])
                first += 1
            known.highest[down] = known.upper[down].max()
