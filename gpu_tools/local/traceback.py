"""The k best alignments of a pair, on the CPU, once a score pass has bounded all tiles.

First the corridor of the paths of a score, then the path within a corridor, then the tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from, largest_in, largest_of
from gpu_tools.local import cpu
from gpu_tools.local.problem import ALL, USUAL_SIZES, Problem, Rectangle, SearchSizes
from gpu_tools.model.results import CigarOperation

# The corridor of nodes on alignments of a known best score, found backwards from their ends.
#
# The score of a path is the sum of its scores before and behind a node. The score before the node
# is at most the bound of the node's tile. It is also at most the bound of the tiles from which the
# path enters that tile, plus the scores of the pairs from there on. A node lies on no path of the
# best score if the score behind it and this limit add up to less. The other nodes are the corridor.
# It is narrow where scores are high, because bounds beside a long alignment are hardly higher than
# on it.
#
# A *node* (i, j) lies between symbols: i of the query and j of the subject are before it. It lies
# in the tile of the cell (i - 1, j - 1), whose pair ends there.


NO_PATH = -(2**60)
"""Score of unreachable nodes; it stays below all others when penalties are subtracted."""
_SCALE = 1 << 28
"""Factor of scores, above the number of nodes of a tile; see `find_path`."""


class Corridor(NamedTuple):
    """First and last column of each row of nodes from `top` on; in an empty row last < first."""

    top: int
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class Path(NamedTuple):
    """The start and the end of an alignment, as nodes, and the corridor in which it runs."""

    start: tuple[int, int]
    end: tuple[int, int]
    corridor: Corridor


@register_jitable
def no_path():
    """Return the path that stands for no alignment."""
    none = np.empty(0, np.int64)
    return Path((np.int64(-1), np.int64(-1)), (np.int64(-1), np.int64(-1)), Corridor(0, none, none))


class KnownEnd(NamedTuple):
    """The best score, the first node in which it ends, and the path that ends there if known."""

    score: int
    end: tuple[int, int]
    path: Path | None


class CorridorInputs(NamedTuple):
    """Bounds of tiles' scores, a tile's side as a power of two, and forbidden pairs."""

    upper: NDArray[np.int32]
    shift: int
    forbidden_rows: NDArray[np.int64]
    forbidden_columns: NDArray[np.int64]


def whole(rows: int, columns: int) -> Corridor:
    """Return the corridor of all nodes of a matrix."""
    return Corridor(0, np.zeros(rows + 1, np.int64), np.full(rows + 1, columns, np.int64))


@register_jitable
def extended(best, gap, gap_open, gap_extend):
    """Return the best score that ends in a gap, from the neighbour's best score and gap score."""
    return max(best - gap_open, gap - gap_extend)


@njit(nogil=True)
def _of_tile(upper, down, across):
    """Return bounds of a tile's scores, and of the scores with which paths enter it."""
    if down < 0 or across < 0:
        return 0, 0
    entering = 0
    if down:
        entering = max(entering, upper[down - 1, across])
    if across:
        entering = max(entering, upper[down, across - 1])
    if down and across:
        entering = max(entering, upper[down - 1, across - 1])
    return upper[down, across], entering


@njit(nogil=True)
def _margins(upper, down, across, score):
    """Return the bounds of `_of_tile` less a score, scaled."""
    bound, entering = _of_tile(upper, down, across)
    return (bound - score) * _SCALE, (entering - score) * _SCALE


@njit(nogil=True)
def _used_column(forbidden, at, row):
    """Return the column of the forbidden pair at an index if it is of a row, else -1."""
    f_rows, f_columns = forbidden
    return f_columns[at] if f_rows[at] == row else -1


@njit(nogil=True)
def _last_forbidden(forbidden, at, row, begin):
    """Return the index of the last forbidden pair up to a node, from index `at` backwards."""
    f_rows, f_columns = forbidden
    while f_rows[at] > row or (f_rows[at] == row and f_columns[at] > begin):
        at -= 1
    return at


@njit(nogil=True)
def _columns_of_row(ends, inside, lowest, highest):
    """Return the first column of a row to search, from right to left, and the last one.

    They are the reachable columns of the row below, `lowest` to `highest`, and, `inside` the
    rectangle of ends, its columns.
    """
    if inside:
        return max(highest, ends.right), min(lowest - 1, ends.left + 1)
    return highest, lowest - 1


@njit(nogil=True)
def _scaled_end(ends, row, column):
    """Return the lower bits of scores of paths to an end; see `find_path`."""
    down, across = row - ends.top - 1, column - ends.left - 1
    return _SCALE - 1 - (down * (ends.right - ends.left) + across)


@njit(nogil=True)
def _found_path(start, end, ends, corridor):
    """Return the path of a start and a scaled end; see `find_path`."""
    down, across = divmod(_SCALE - 1 - end, ends.right - ends.left)
    return Path(start, (ends.top + 1 + down, ends.left + 1 + across), corridor)


@njit(cache=True, nogil=True)
def find_path(problem, ends, score, inputs):
    """Return start, end and corridor of the first alignment of `score` that ends in a rectangle.

    `score` is not less than that of any alignment that ends there. The end is the first node, by
    row, then column; the start the last one from which that end is reached, or row -1 if there is
    none. The corridor has all nodes of alignments of that score between the two.
    """
    # best(i, j) backwards = max(best(i+1, j+1) + pair, gap down, gap right); scores are multiplied,
    # and their lower bits hold the end: of equal scores the larger number has the first end
    query, subject, table = problem.query, problem.subject, problem.table.astype(np.int64) * _SCALE
    gap_open, gap_extend = problem.gap_open * _SCALE, problem.gap_extend * _SCALE
    upper, shift = inputs.upper, inputs.shift
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    first_row, last_row = ends.top + 1, ends.bottom
    first_column, last_column = ends.left + 1, ends.right
    # a gap that is left and entered again has been opened twice
    reopened, steepest = gap_open - gap_extend, max(largest_in(table), 0)
    width = last_column + 1
    # most columns are never reached: each is initialised when it first is
    best, gap = np.empty(width + 1, np.int64), np.empty(width, np.int64)
    firsts, lasts = np.empty(last_row + 1, np.int64), np.empty(last_row + 1, np.int64)
    best[width], met = NO_PATH, width
    lowest, highest, start_row, start_column, end = width, -1, -1, -1, np.int64(-1)
    at = first_from(inputs.forbidden_rows, last_row + 1) - 1
    for row in range(last_row, -1, -1):
        inside = row >= first_row
        begin, final = _columns_of_row(ends, inside, lowest, highest)
        at = _last_forbidden(forbidden, at, row, begin)
        used_column = _used_column(forbidden, at, row)
        scores = table[query[row]] if row < len(query) else table[0]
        running, right = NO_PATH, NO_PATH
        down = (row - 1) >> shift
        top, left, of_tile, entering = down << shift, width, 0, 0
        lowest, highest = width, -1
        diagonal, column = best[begin + 1], begin
        while column >= 0 and (column >= final or running > NO_PATH or right > NO_PATH):
            if column < met:
                met, best[column], gap[column] = column, NO_PATH, NO_PATH
            if column <= left:
                across = (column - 1) >> shift
                left = across << shift
                of_tile, entering = _margins(upper, down, across, score)
            # the least score behind the node with which a path can have the score
            least = -min(of_tile, entering + steepest * min(row - top, column - left))
            falling = extended(best[column], gap[column], gap_open, gap_extend)
            running = extended(right, running, gap_open, gap_extend)
            falling = falling if falling + reopened >= least else NO_PATH
            running = running if running + reopened >= least else NO_PATH
            value = max(falling, running)
            if column == used_column:
                at -= 1
                used_column = _used_column(forbidden, at, row)
            elif diagonal > NO_PATH:
                value = max(value, diagonal + scores[subject[column]])
            if inside and first_column <= column <= last_column:
                value = max(value, _scaled_end(ends, row, column))
            value = value if value >= least else NO_PATH
            diagonal = best[column]
            best[column], gap[column], right = value, falling, value
            if value > NO_PATH or falling > NO_PATH or running > NO_PATH:
                lowest, highest = column, max(highest, column)
            if value >= score * _SCALE and value % _SCALE > end:
                start_row, start_column, end = row, column, value % _SCALE
            column -= 1
        firsts[row], lasts[row] = lowest, highest
        if not inside and highest < 0:
            break
    corridor = Corridor(row, firsts[row : last_row + 1].copy(), lasts[row : last_row + 1].copy())
    return _found_path((start_row, start_column), end, ends, corridor)


# The best alignment of two whole ranges of the sequences, in linear space.
#
# The path is that of a traceback through the full matrix. A region that is too large is cut at its
# middle row: one pass computes the column where each cell's path crosses that row, and both halves
# are aligned the same way (Myers and Miller). The crossing is found by the forward pass alone, so
# that ties do not depend on the cuts.


_FEW_ROWS = 4
BEST, GAP_OF_QUERY, GAP_OF_SUBJECT = range(3)
"""States of a path in a cell: anything, within a run of D, within a run of I."""
# a step back of a cell: source of its best score, and whether its gaps begin here
_PAIR, _D, _I, _D_OPENS, _I_OPENS = 0, 1, 2, 4, 8
_LETTER_EQUAL, _LETTER_X, _LETTER_D, _LETTER_I = b"=XDI"


class Region(NamedTuple):
    """Rows and columns, half-open, and the states in which the path enters and leaves."""

    top: int
    bottom: int
    left: int
    right: int
    enters: int
    leaves: int


class StoredSteps(NamedTuple):
    """Steps back of a region's cells, row by row, and the index of each row's first step."""

    begins: NDArray[np.int64]
    steps: NDArray[np.uint8]


ForbiddenArrays = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows and columns of forbidden pairs; see `gpu_tools.local.traceback.ForbiddenPairs`."""


def align(
    problem: Problem,
    rectangle: Rectangle,
    forbidden: ForbiddenArrays,
    corridor: Corridor,
    cells_at_once: int,
) -> tuple[int, tuple[CigarOperation, ...]]:
    """Return score and CIGAR of the best alignment of a rectangle's rows with its columns.

    The corridor holds all nodes of best alignments; at most `cells_at_once` cells are stored.
    Walking back, a pair goes before a D, that before an I; a gap ends as soon as that is as good.
    """
    region = Region(*rectangle, BEST, BEST)
    letters = _letters(problem, region, forbidden, corridor, cells_at_once)
    score, operations, lengths = _summary(problem, region.top, region.left, letters)
    return score, tuple(zip(operations.tobytes().decode(), lengths.tolist(), strict=True))


def trace(
    problem: Problem, best: KnownEnd, inputs: CorridorInputs, cells_at_once: int
) -> tuple[tuple[int, int], int, tuple[CigarOperation, ...]]:
    """Return start, score and CIGAR of the alignment of a score that ends at a node.

    The start is the last possible one.
    """
    score, (row, column), path = best
    if path is None:
        ends = Rectangle(row - 1, row, column - 1, column)
        path = find_path(problem, ends, score, inputs)
    start, _, corridor = path
    if start[0] < 0:
        raise AssertionError(f"no alignment of score {score} ends at {row, column}")
    rectangle = Rectangle(start[0], row, start[1], column)
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    return start, *align(problem, rectangle, forbidden, corridor, cells_at_once)


def _letters(
    problem: Problem, region: Region, forbidden: ForbiddenArrays, corridor: Corridor, at_once: int
) -> NDArray[np.uint8]:
    """Return the letters of the region's alignment."""
    waiting, parts = [region], []
    while waiting:
        part = waiting.pop()
        small, letters = _at_once(problem, part, corridor, forbidden, at_once)
        if small:
            parts.append(letters)
            continue
        middle = (part.top + part.bottom) // 2
        column, state = _crossing(problem, part, corridor, middle, forbidden)
        waiting.append(Region(middle, part.bottom, column, part.right, state, part.leaves))
        waiting.append(Region(part.top, middle, part.left, column, part.enters, state))
    return np.concatenate(parts)


@njit(cache=True, nogil=True)
def _at_once(problem, region, corridor, forbidden, most):
    """Return whether all cells' steps can be stored, and if so the letters."""
    begins = _row_begins(region, corridor)
    if region.bottom - region.top >= _FEW_ROWS and begins[-1] > most:
        return False, np.empty(0, np.uint8)
    steps = StoredSteps(begins, np.empty(begins[-1], np.uint8))
    _fill(problem, region, corridor, forbidden, steps, None)
    return True, _walk_back(problem, region, corridor, steps)


@njit(cache=True, nogil=True)
def _summary(problem, row, column, letters):
    """Return score, operations and their lengths; neighbouring equal letters are one gap."""
    query, subject, table = problem.query, problem.subject, problem.table
    operations, lengths = np.empty(len(letters), np.uint8), np.empty(len(letters), np.int64)
    total, runs, before = 0, 0, 0
    for letter in letters:
        if letter in (_LETTER_D, _LETTER_I):
            total -= problem.gap_extend if letter == before else problem.gap_open
            row += letter == _LETTER_I
            column += letter == _LETTER_D
        else:
            total += table[query[row], subject[column]]
            row += 1
            column += 1
        if letter != before:
            operations[runs], lengths[runs] = letter, 0
            runs += 1
        lengths[runs - 1] += 1
        before = letter
    return total, operations[:runs], lengths[:runs].copy()


@njit(nogil=True)
def _limits(corridor, region, row):
    """Return the first and the last column of a row of nodes, from the region's left on."""
    at = row - corridor.top
    first = max(corridor.first[at], region.left) - region.left
    return first, min(corridor.last[at], region.right) - region.left


@njit(nogil=True)
def _row_begins(region, corridor):
    """Return the index of each row's first step, and the number of steps."""
    begins = np.zeros(region.bottom - region.top + 2, np.int64)
    for row in range(region.top, region.bottom + 1):
        first, last = _limits(corridor, region, row)
        begins[row - region.top + 1] = begins[row - region.top] + max(last - first + 1, 0)
    return begins


@njit(nogil=True)
def _first_row(best, gap, enters, last, penalties):
    """Fill in the row above a region, best scores and gaps of the subject."""
    gap_open, gap_extend = penalties
    best[0] = 0 if enters == BEST else NO_PATH
    if enters == GAP_OF_SUBJECT:
        gap[0] = 0
    running = NO_PATH
    for j in range(1, last + 1):
        running = extended(best[j - 1], running, gap_open, gap_extend)
        best[j] = running


@njit(nogil=True)
def _forget(best, gap, before, now):
    """Set scores that a row reads to `NO_PATH` where the row before had no node."""
    for j in range(now[0] - 1, min(now[1] + 1, before[0])):
        best[j] = gap[j] = NO_PATH
    for j in range(max(now[0] - 1, before[1] + 1), now[1] + 1):
        best[j] = gap[j] = NO_PATH


@njit(nogil=True)
def _store_first_row(steps_of, limits):
    """Store the steps back of the row above a region: gaps of the query."""
    begins, steps = steps_of
    for j in range(limits[0], limits[1] + 1):
        steps[begins[0] + j - limits[0]] = _D | (_D_OPENS if j == 1 else 0)


@njit(nogil=True)
def _begin_crossings(crossings, limits):
    """Set the crossings of a row's cells to their own columns."""
    _, of_best, of_gap = crossings
    for j in range(limits[0], limits[1] + 1):
        of_best[j], of_gap[j] = 2 * j, 2 * j + 1


@njit(nogil=True)
def _next_forbidden(forbidden, at, row, column):
    """Return the index of the first forbidden pair of a row from a column on, from `at` on."""
    f_rows, f_columns = forbidden
    while f_rows[at] == row and f_columns[at] < column:
        at += 1
    return at


@njit(nogil=True)
def _fill(problem, region, corridor, forbidden, steps_of, crossings):
    """Fill a region; store the steps back of its cells, or the crossings of their paths.

    One of `steps_of` (steps back) and `crossings` (row that is crossed, crossing of each column's
    best path and of its gap of the subject) is None. The source of a score is a step or a crossing.
    """
    # best(i, j) = max(best(i-1, j-1) + pair, gap of query, gap of subject)
    # gap = max(best - open, gap - extend) of the cell before or above
    query, subject, table = problem.query, problem.subject, problem.table
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    f_rows, f_columns = forbidden
    columns = region.right - region.left
    # one more element in front: a row's first node reads the one left of it
    best = np.full(columns + 2, NO_PATH, np.int64)[1:]
    gap = np.full(columns + 2, NO_PATH, np.int64)[1:]
    before = _limits(corridor, region, region.top)
    _first_row(best, gap, region.enters, before[1], (gap_open, gap_extend))
    if steps_of is not None:
        begins, steps = steps_of
        _store_first_row(steps_of, before)
    if crossings is not None:
        middle, of_best, of_gap = crossings
    at = first_from(f_rows, region.top)
    for row in range(region.top, region.bottom):
        if crossings is not None and row == middle:
            _begin_crossings(crossings, before)
        first, last = _limits(corridor, region, row + 1)
        _forget(best, gap, before, (max(first, 1), last))
        before = first, last
        at = _next_forbidden(forbidden, at, row, region.left + max(first, 1) - 1)
        scores, diagonal = table[query[row]], best[first - 1] if first else NO_PATH
        left, running, of_left, of_i, of_d, of_pair = NO_PATH, NO_PATH, 0, _I, _D, _PAIR
        if crossings is not None and first:
            of_pair = of_best[first - 1]
        for j in range(first, last + 1):
            i_opens, d_opens = best[j] - gap_open >= gap[j] - gap_extend, False
            gap[j] = extended(best[j], gap[j], gap_open, gap_extend)
            if crossings is not None:
                of_gap[j] = of_best[j] if i_opens else of_gap[j]
                of_i = of_gap[j]
            value, source = gap[j], of_i
            if j > 0:
                d_opens = left - gap_open >= running - gap_extend
                if crossings is not None and d_opens:
                    of_d = of_left
                running = extended(left, running, gap_open, gap_extend)
                if running >= value:
                    value, source = running, of_d
                column = region.left + j - 1
                if f_rows[at] == row and f_columns[at] == column:
                    at += 1
                else:
                    pair = diagonal + scores[subject[column]]
                    if pair >= value:
                        value, source = pair, of_pair
            diagonal = best[j]
            best[j] = left = value
            if crossings is not None:
                of_pair, of_best[j], of_left = of_best[j], source, source
            if steps_of is not None:
                opens = (_I_OPENS if i_opens else 0) | (_D_OPENS if d_opens else 0)
                steps[begins[row + 1 - region.top] + j - first] = source | opens
        at = _next_forbidden(forbidden, at, row, len(subject))


@njit(nogil=True)
def _walk_back(problem, region, corridor, steps_of):
    """Return the letters of a region's path from the first to the last column."""
    query, subject, identical = problem.query, problem.subject, problem.identical
    begins, steps = steps_of
    i, j, state = region.bottom - region.top, region.right - region.left, region.leaves
    letters = np.empty(i + j, np.uint8)
    n = len(letters)
    while i > 0 or j > 0:
        step = steps[begins[i] + j - _limits(corridor, region, region.top + i)[0]]
        if state == BEST:
            source = step & 3
            if source == _PAIR:
                i -= 1
                j -= 1
                code = query[region.top + i]
                same = code == subject[region.left + j] and identical[code]
                n -= 1
                letters[n] = _LETTER_EQUAL if same else _LETTER_X
            else:
                state = GAP_OF_QUERY if source == _D else GAP_OF_SUBJECT
        elif state == GAP_OF_QUERY:
            state = BEST if step & _D_OPENS else state
            j -= 1
            n -= 1
            letters[n] = _LETTER_D
        else:
            state = BEST if step & _I_OPENS else state
            i -= 1
            n -= 1
            letters[n] = _LETTER_I
    return letters[n:].copy()


@njit(cache=True, nogil=True)
def _crossing(problem, region, corridor, middle, forbidden):
    """Return column and state in which the path of a region steps down from row `middle`."""
    columns = region.right - region.left
    # 2 * column for the state BEST, one more for GAP_OF_SUBJECT
    of_best, of_gap = np.zeros(columns + 1, np.int64), np.zeros(columns + 1, np.int64)
    _fill(problem, region, corridor, forbidden, None, (middle, of_best, of_gap))
    crossing = of_best[columns] if region.leaves == BEST else of_gap[columns]
    return region.left + crossing // 2, GAP_OF_SUBJECT if crossing % 2 else BEST


# The k best alignments of a pair, from upper bounds on the scores of all tiles of the matrix.
#
# Pairs of earlier alignments are forbidden. That only lowers scores, so the scores of the score
# pass remain upper bounds. A *window* that begins a little before the tile with the highest bound
# is computed anew, with the bounds on its border as the scores there. If the tile's bound stays, a
# search for the path decides whether an alignment has that score. If none has, the window grows
# until the bound is lower.


Tile = tuple[int, int]
"""Row and column of a tile."""
_BEHIND = 2**31 - 1
"""Row and column behind all others."""
_ENDS = np.array([-1, _BEHIND], dtype=np.int64)
_UNKNOWN, _NOTHING, _TOO_WIDE = -1, -1, -2


def tile_side(rows: int, columns: int, most: int, smallest: int = USUAL_SIZES.smallest_tile) -> int:
    """Return the side of the tiles of a matrix with which there are at most `most` of them."""
    side = smallest
    while -(-rows // side) * -(-columns // side) > most:
        side *= 2
    return side


class ForbiddenPairs:
    """Aligned pairs that no further alignment may use."""

    def __init__(self):
        self._rows = self._columns = _ENDS  # replaced by larger arrays before pairs are added
        self._count = 2

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and columns, sorted by row, then column; valid until pairs are added.

        They begin with a pair before all others and end with a pair behind all others, so that
        loops need not check for the end.
        """
        return self._rows[: self._count], self._columns[: self._count]

    def add(self, start: tuple[int, int], cigar: Iterable[CigarOperation]) -> None:
        """Forbid the pairs of an alignment that begins at `start`."""
        rows, columns = aligned_pairs(start, cigar)
        if self._count + len(rows) > len(self._rows):
            self._grow(2 * (self._count + len(rows)))
        _insert(self._rows, self._columns, self._count, rows, columns)
        self._count += len(rows)

    def _grow(self, size: int) -> None:
        """Enlarge the arrays; doubling them makes copies rare."""
        for name in ("_rows", "_columns"):
            larger = np.empty(size, dtype=np.int64)
            larger[: self._count] = getattr(self, name)[: self._count]
            setattr(self, name, larger)


@njit(cache=True, nogil=True)
def _insert(rows, columns, count, new_rows, new_columns):
    """Insert sorted pairs into the first `count` of sorted ones, the last of which stays last."""
    at, new = count - 1, len(new_rows) - 1
    while new >= 0:
        row, column = rows[at], columns[at]
        to = at + new + 1
        if (row, column) > (new_rows[new], new_columns[new]):
            rows[to], columns[to] = row, column
            at -= 1
        else:
            rows[to], columns[to] = new_rows[new], new_columns[new]
            new -= 1


def aligned_pairs(
    start: tuple[int, int], cigar: Iterable[CigarOperation]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pairs of an alignment that begins at `start`."""
    operations, lengths = zip(*cigar, strict=True)
    letters = np.repeat(np.frombuffer("".join(operations).encode(), dtype=np.uint8), lengths)
    in_query, in_subject = letters != ord("D"), letters != ord("I")
    rows = start[0] + np.cumsum(in_query) - 1
    columns = start[1] + np.cumsum(in_subject) - 1
    paired = in_query & in_subject
    return rows[paired], columns[paired]


class Tiles:
    """Upper bounds of the tiles' scores, shape (tiles down, tiles across), and the forbidden pairs.

    Bounds are lowered in place. They hold for cells on alignments that score at least `least`. The
    side of a tile is a power of two.
    """

    def __init__(
        self,
        problem: Problem,
        side: int,
        upper: NDArray[np.int32],
        least: int = 1,
        sizes: SearchSizes = USUAL_SIZES,
    ):
        self.problem, self.side, self.least, self.sizes = problem, side, least, sizes
        self.margin = max(sizes.margin // side, 1)
        self.upper = np.ascontiguousarray(upper)
        self.highest = self.upper.max(axis=1)
        # start and end node of each tile's first alignment of the highest score, for the row of
        # tiles that has that score, where they are known; and that row
        self.paths = np.full((upper.shape[1], 4), _UNKNOWN, dtype=np.int64)
        self.row_of_paths = np.zeros(1, dtype=np.int64)
        self.costs = cpu.costs_that_fit(problem, np.int16, np.int32)
        self.forbidden = ForbiddenPairs()

    def best_end(self) -> KnownEnd | None:
        """Return the first node in which the best score ends, None if that is too low."""
        paths, inputs = (self.paths, self.row_of_paths), self.corridor_inputs
        for costs in self.costs:  # 32 bits where 16 are too few
            score, row, column, path = _next_end(
                self.problem, self.highest, paths, self.least, self.margin, inputs, costs
            )
            if row != _TOO_WIDE:
                break
        if row == _NOTHING:
            return None
        return KnownEnd(score, (row, column), path if path.end == (row, column) else None)

    @property
    def corridor_inputs(self) -> CorridorInputs:
        """Inputs of the search for a corridor, besides the problem."""
        shift = self.side.bit_length() - 1
        return CorridorInputs(self.upper, shift, *self.forbidden.pairs)

    def use_up(
        self, start: tuple[int, int], end: tuple[int, int], cigar: tuple[CigarOperation, ...]
    ) -> None:
        """Forbid an alignment's pairs, and lower the bounds around and behind a long one."""
        self.forbidden.add(start, cigar)
        _forget_paths(self.paths, start, end)
        first, last = self._tile_of(*start), self._tile_of(end[0] - 1, end[1] - 1)
        if max(last[0] - first[0], last[1] - first[1]) <= self.margin:
            return  # small windows lower these bounds when they are needed
        reach = int(self.upper[last]) // max(self.problem.gap_extend, 1) // self.side + 1
        down, across = (min(t + reach, n - 1) for t, n in zip(last, self.upper.shape, strict=True))
        first = max(first[0] - 1, 0), max(first[1] - 1, 0)
        inputs, corners = self.corridor_inputs, (first, (down, across))
        for costs in self.costs:
            if _lower(self.problem, self.highest, corners, inputs, costs):
                break

    def _tile_of(self, row: int, column: int) -> Tile:
        return row // self.side, column // self.side


@njit(cache=True, nogil=True)
def _forget_paths(paths, start, end):
    """Mark paths as unknown that may share a pair with an alignment from start to end."""
    for k in range(len(paths)):
        before = paths[k, 2] <= start[0] or paths[k, 3] <= start[1]
        behind = paths[k, 0] >= end[0] or paths[k, 1] >= end[1]
        if not (before or behind):
            paths[k] = _UNKNOWN


@njit(cache=True, nogil=True)
def _next_end(problem, highest, paths_of_row, least, margin, inputs, costs):
    """Return the highest score, row and column of the first node in which it ends, and a path.

    The row is `_NOTHING` if the score is less than `least`, `_TOO_WIDE` if `costs` are too narrow.
    The path is the last one that was found, which may end in another node.
    """
    (paths, row_of_paths), last_path = paths_of_row, no_path()
    while True:
        down = np.argmax(highest)
        score = np.int64(highest[down])
        if score < least:
            return score, _NOTHING, 0, last_path
        if row_of_paths[0] != down:
            row_of_paths[0], paths[:] = down, _UNKNOWN
        row, column = np.iinfo(np.int64).max, np.int64(0)
        for across in range(len(paths)):
            if inputs.upper[down, across] < score:
                continue
            if paths[across, 0] == _UNKNOWN:
                tile = down, across
                fits, path = _settle(problem, highest, paths, tile, margin, inputs, costs)
                if not fits:
                    return score, _TOO_WIDE, 0, last_path
                last_path = path
            end = paths[across, 2], paths[across, 3]
            if inputs.upper[down, across] == score and end < (row, column):
                row, column = end
        if highest[down] == score:
            return score, row, column, last_path


@njit(nogil=True)
def _settle(problem, highest, paths, tile, margin, inputs, costs):
    """Lower a tile's bound or find the path of the first alignment that has it.

    Return whether the costs are wide enough, and the path; without one its start is -1.
    """
    upper, side = inputs.upper, 1 << inputs.shift
    score, top, left, before = np.int64(upper[tile]), tile[0] * side, tile[1] * side, margin
    ends = Rectangle(
        top, min(top + side, len(problem.query)), left, min(left + side, len(problem.subject))
    )
    # an alignment of that score is no shorter
    shortest = score // max(largest_in(problem.table), 1) // side
    while True:
        first = max(tile[0] - before, 0), max(tile[1] - before, 0)
        last = min(tile[0] + 1, upper.shape[0] - 1), min(tile[1] + 1, upper.shape[1] - 1)
        if shortest < before and not _lower(problem, highest, (first, last), inputs, costs):
            return False, no_path()
        if upper[tile] < score:
            return True, no_path()
        if before == margin:
            path = find_path(problem, ends, score, inputs)
            if path.start[0] >= 0:
                (row, column), (past, behind) = path.start, path.end
                paths[tile[1], 0], paths[tile[1], 1] = row, column
                paths[tile[1], 2], paths[tile[1], 3] = past, behind
                return True, path
        if first == (0, 0):  # padding has raised the bound
            upper[tile] = min(upper[tile], score - 1)
            highest[tile[0]] = largest_of(upper[tile[0]])
        before *= 2


@njit(cache=True, nogil=True)
def _lower(problem, highest, corners, inputs, costs):
    """Lower the bounds of tiles between two corners; return whether the costs are wide enough."""
    side, upper, (first, last) = 1 << inputs.shift, inputs.upper, corners
    bottom = min((last[0] + 1) * side, len(problem.query))
    right = min((last[1] + 1) * side, len(problem.subject))
    window = Rectangle(first[0] * side, bottom, first[1] * side, right)
    forbidden = inputs.forbidden_rows, inputs.forbidden_columns
    border, counter = _border(upper, inputs.shift, first, window), np.zeros(1, np.int64)
    bounds = cpu.bounds_of_window(problem, window, side, border, forbidden, ALL, costs, counter)
    for i in range(len(bounds)):
        row = upper[first[0] + i]
        for j in range(bounds.shape[1]):
            row[first[1] + j] = min(row[first[1] + j], bounds[i, j])
        highest[first[0] + i] = largest_of(row)
    return len(bounds) > 0


@njit(nogil=True)
def _border(upper, shift, first, window):
    """Return upper bounds of the cells around a window."""
    above = np.zeros(window.right - window.left + 1, np.int32)
    left = np.zeros(window.bottom - window.top, np.int32)
    if window.top:
        above[0] = upper[first[0] - 1, first[1] - 1] if window.left else 0
        for column in range(window.left, window.right):
            above[column - window.left + 1] = upper[first[0] - 1, column >> shift]
    if window.left:
        for row in range(window.top, window.bottom):
            left[row - window.top] = upper[row >> shift, first[1] - 1]
    return cpu.WindowBorder(above, left)


class FoundAlignment(NamedTuple):
    """An alignment in the matrix of a problem."""

    score: int
    start: tuple[int, int]  # row and column of its first pair
    end: tuple[int, int]  # those behind its last pair
    cigar: tuple[CigarOperation, ...]


def best_alignments(tiles: Tiles, k: int) -> Iterator[FoundAlignment]:
    """Yield at most k best alignments that share no pair, by falling score; lower the bounds."""
    for rank in range(1, k + 1):
        if (best := tiles.best_end()) is None:
            return
        yield (found := _alignment_to(tiles, best))
        if rank < k:
            tiles.use_up(found.start, found.end, found.cigar)


def _alignment_to(tiles: Tiles, best: KnownEnd) -> FoundAlignment:
    """Return the alignment that ends in the best node."""
    inputs, at_once = tiles.corridor_inputs, tiles.sizes.cells_at_once
    start, found, cigar = trace(tiles.problem, best, inputs, at_once)
    if found != best.score:
        text = f"alignment from {start} to {best.end} scores {found}, its cell {best.score}"
        raise AssertionError(text)
    return FoundAlignment(best.score, start, best.end, cigar)


def global_alignment(
    problem: Problem, cells_at_once: int = USUAL_SIZES.cells_at_once
) -> FoundAlignment:
    """Return the best alignment of the whole sequences."""
    rows, columns = problem.shape
    rectangle, corridor = Rectangle(0, rows, 0, columns), whole(rows, columns)
    score, cigar = align(problem, rectangle, ForbiddenPairs().pairs, corridor, cells_at_once)
    return FoundAlignment(score, (0, 0), (rows, columns), cigar)
