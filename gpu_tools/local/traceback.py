"""The k best alignments of a pair, on the CPU, once a score pass has bounded all tiles.

First the corridor of the paths of a score, then the path within a corridor, then the tiles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from, largest_in, largest_of
from gpu_tools.local import cpu
from gpu_tools.local.problem import ALL, Batch, Problem, Rectangle, Tiles, problem_of

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


class CorridorInputs(NamedTuple):
    """Bounds of tiles' scores, a tile's side as a power of two, and forbidden pairs."""

    upper: NDArray[np.int32]
    shift: int
    forbidden_rows: NDArray[np.int64]
    forbidden_columns: NDArray[np.int64]


@register_jitable
def whole(rows, columns):
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


@njit(nogil=True)
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


@njit(nogil=True)
def align(problem, rectangle, forbidden, corridor, at_once):
    """Return score, letters and lengths of the best alignment of a rectangle's rows and columns.

    The corridor holds all nodes of best alignments; at most `at_once` cells are stored. Walking
    back, a pair goes before a D, that before an I; a gap ends as soon as that is as good.
    """
    top, bottom, left, right = rectangle
    letters, n = np.empty(bottom - top + right - left, np.uint8), 0
    waiting = [Region(top, bottom, left, right, BEST, BEST)]
    while len(waiting):
        part = waiting.pop()
        begins = _row_begins(part, corridor)
        if part.bottom - part.top < _FEW_ROWS or begins[-1] <= at_once:
            steps = StoredSteps(begins, np.empty(begins[-1], np.uint8))
            _fill(problem, part, corridor, forbidden, steps, None)
            found = _walk_back(problem, part, corridor, steps)
            simd.copy(found, letters[n:])
            n += len(found)
        else:
            middle = (part.top + part.bottom) // 2
            column, state = _crossing(problem, part, corridor, middle, forbidden)
            waiting.append(Region(middle, part.bottom, column, part.right, state, part.leaves))
            waiting.append(Region(part.top, middle, part.left, column, part.enters, state))
    return _summary(problem, top, left, letters[:n])


@njit(cache=True, nogil=True)
def align_whole(batch, at_once):
    """Return alignments of the whole sequences of matrices, and their runs; see `Found`."""
    added = _nothing(len(batch.spans))
    for number in range(len(batch.spans)):
        problem = problem_of(batch, number)
        rows, columns = len(problem.query), len(problem.subject)
        rectangle, corridor = Rectangle(0, rows, 0, columns), whole(rows, columns)
        used = _ENDS.copy(), _ENDS.copy()
        score, letters, lengths = align(problem, rectangle, used, corridor, at_once)
        added = _added(added, (number, score, 0, rows, 0, columns), letters, lengths)
    return _trimmed(added)


@njit(nogil=True)
def _summary(problem, row, column, letters):
    """Return score, operations and their lengths; neighbouring equal letters are one gap."""
    query, subject, table = problem.query, problem.subject, problem.table
    operations, lengths = np.empty(len(letters), np.int64), np.empty(len(letters), np.int64)
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
    return total, operations[:runs], lengths[:runs]


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


@njit(nogil=True)
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


_BEHIND = 2**31 - 1
"""Row and column behind all others."""
_ENDS = np.array([-1, _BEHIND], dtype=np.int64)
_UNKNOWN, _NOTHING, _TOO_WIDE = -1, -1, -2
_FINE, _FINE_PARTS = 4, 3
"""Least side of the parts of a tile in which its score is looked for, and the number of parts down,
as powers of two."""


class Matrix(NamedTuple):
    """A matrix that is searched; its arrays change in place."""

    problem: Problem
    upper: NDArray[np.int32]  # bounds of the tiles' scores, (down, across)
    shift: int  # side of a tile, as a power of two
    margin: int  # tiles before a tile in its first window
    highest: NDArray[np.int32]  # highest bound of each row of tiles
    # start and end node of each tile's first alignment of the highest score, for the row of tiles
    # that has that score, where they are known; and that row
    paths: NDArray[np.int64]
    row_of_paths: NDArray[np.int64]


class End(NamedTuple):
    """A score, the first node in which it ends, and a path, which may end in another node.

    The row is `_NOTHING` if the score is too low, `_TOO_WIDE` if costs are too narrow for it.
    """

    score: int
    row: int
    column: int
    path: Path


@njit(nogil=True)
def _matrix(batch, tiles, upper, number, margin):
    """Return a matrix of a batch before its search."""
    first, down, across = tiles.first[number], tiles.down[number], tiles.across[number]
    bounds, shift = upper[first : first + down * across].reshape(down, across), 0
    while 1 << shift < tiles.side[number]:
        shift += 1
    highest = np.empty(down, np.int32)
    for k in range(down):
        highest[k] = largest_of(bounds[k])
    paths, before = np.full((across, 4), _UNKNOWN), max(margin >> shift, 1)
    rows = np.full(1, np.int64(_UNKNOWN))
    return Matrix(problem_of(batch, number), bounds, shift, before, highest, paths, rows)


@njit(nogil=True)
def _with_pairs(forbidden, start, letters, lengths):
    """Return forbidden pairs, sorted, with those of an alignment that begins at `start`.

    They begin with a pair before all others and end with a pair behind all others, so that loops
    need not check for the end.
    """
    (row, column), (rows, columns), new = start, forbidden, len(forbidden[0])
    for k in range(len(letters)):
        new += lengths[k] if letters[k] != _LETTER_D and letters[k] != _LETTER_I else 0
    all_rows, all_columns = np.empty(new, np.int64), np.empty(new, np.int64)
    at = n = 0
    for k in range(len(letters)):
        if letters[k] == _LETTER_D:
            column += lengths[k]
        elif letters[k] == _LETTER_I:
            row += lengths[k]
        else:
            for _ in range(lengths[k]):
                while (rows[at], columns[at]) < (row, column):
                    all_rows[n], all_columns[n] = rows[at], columns[at]
                    at += 1
                    n += 1
                all_rows[n], all_columns[n] = row, column
                n += 1
                row += 1
                column += 1
    simd.copy(rows[at:], all_rows[n:])
    simd.copy(columns[at:], all_columns[n:])
    return all_rows, all_columns


@njit(nogil=True)
def _inputs(matrix, forbidden):
    """Return the inputs of the search for a corridor, besides the problem."""
    return CorridorInputs(matrix.upper, matrix.shift, forbidden[0], forbidden[1])


@njit(nogil=True)
def _use_up(matrix, forbidden, path, costs):
    """Forget paths that meet an alignment's, and lower the bounds around and behind a long one.

    `path` is start and end of the alignment. Return whether the costs are wide enough.
    """
    paths, (top, left, bottom, right) = matrix.paths, path
    for k in range(len(paths)):
        before = paths[k, 2] <= top or paths[k, 3] <= left
        behind = paths[k, 0] >= bottom or paths[k, 1] >= right
        if not (before or behind):
            paths[k] = _UNKNOWN
    shift, (down, across) = matrix.shift, matrix.upper.shape
    first, last = (top >> shift, left >> shift), ((bottom - 1) >> shift, (right - 1) >> shift)
    if max(last[0] - first[0], last[1] - first[1]) <= matrix.margin:
        return True  # small windows lower these bounds when they are needed
    reach = matrix.upper[last] // max(matrix.problem.gap_extend, 1) >> shift
    first = max(first[0] - 1, 0), max(first[1] - 1, 0)
    last = min(last[0] + reach + 1, down - 1), min(last[1] + reach + 1, across - 1)
    return len(_lower(matrix, (first, last), forbidden, shift, costs)) > 0


@njit(nogil=True)
def _next_end(matrix, least, forbidden, costs):
    """Return the first end of the highest score."""
    upper, highest, paths = matrix.upper, matrix.highest, matrix.paths
    path = no_path()
    while True:
        down = np.argmax(highest)
        score = np.int64(highest[down])
        if score < least:
            return End(score, _NOTHING, 0, path)
        if matrix.row_of_paths[0] != down:
            matrix.row_of_paths[0], paths[:] = down, _UNKNOWN
        row, column = np.iinfo(np.int64).max, np.int64(0)
        for across in range(len(paths)):
            if upper[down, across] < score:
                continue
            if paths[across, 0] == _UNKNOWN:
                fits, found = _settle(matrix, (down, across), forbidden, costs)
                if not fits:
                    return End(score, _TOO_WIDE, 0, path)
                path = found
            end = paths[across, 2], paths[across, 3]
            if upper[down, across] == score and end < (row, column):
                row, column = end
        if highest[down] == score:
            return End(score, row, column, path)


@njit(nogil=True)
def _settle(matrix, tile, forbidden, costs):
    """Lower a tile's bound or find the path of the first alignment that has it.

    Return whether the costs are wide enough, and the path; without one its start is -1.
    """
    problem, upper, shift, paths = matrix.problem, matrix.upper, matrix.shift, matrix.paths
    score, before, side = np.int64(upper[tile]), matrix.margin, 1 << shift
    fine = max(shift - _FINE_PARTS, min(shift, _FINE))
    top, left = tile[0] << shift, tile[1] << shift
    ends = top, min(top + side, len(problem.query)), left, min(left + side, len(problem.subject))
    # an alignment of that score is no shorter
    shortest = score // max(largest_in(problem.table), 1) >> shift
    while True:
        first = max(tile[0] - before, 0), max(tile[1] - before, 0)
        last = min(tile[0] + 1, upper.shape[0] - 1), min(tile[1] + 1, upper.shape[1] - 1)
        if shortest < before:
            bounds = _lower(matrix, (first, last), forbidden, fine, costs)
            if not len(bounds):
                return False, no_path()
            if upper[tile] == score:
                corner = top - (first[0] << shift) >> fine, left - (first[1] << shift) >> fine
                ends = _ends_of(bounds, corner, fine, shift, score, ends)
        if upper[tile] < score:
            return True, no_path()
        if before == matrix.margin:
            within = Rectangle(ends[0], ends[1], ends[2], ends[3])
            path = find_path(problem, within, score, _inputs(matrix, forbidden))
            if path.start[0] >= 0:
                (row, column), (past, behind) = path.start, path.end
                paths[tile[1], 0], paths[tile[1], 1] = row, column
                paths[tile[1], 2], paths[tile[1], 3] = past, behind
                return True, path
        if first == (0, 0):  # padding has raised the bound
            upper[tile] = min(upper[tile], score - 1)
            matrix.highest[tile[0]] = largest_of(upper[tile[0]])
        before *= 2


@njit(nogil=True)
def _ends_of(bounds, corner, fine, shift, score, ends):
    """Return the rows and columns of a tile's parts that have a score, within those of the tile."""
    most = 1 << (shift - fine)
    top, bottom, left, right = most, 0, most, 0
    for i in range(min(most, bounds.shape[0] - corner[0])):
        for j in range(min(most, bounds.shape[1] - corner[1])):
            if bounds[corner[0] + i, corner[1] + j] >= score:
                top, bottom = min(top, i), i + 1
                left, right = min(left, j), max(right, j + 1)
    return (
        ends[0] + (top << fine), min(ends[0] + (bottom << fine), ends[1]),
        ends[2] + (left << fine), min(ends[2] + (right << fine), ends[3]),
    )  # fmt: skip


@njit(nogil=True)
def _lower(matrix, corners, forbidden, fine, costs):
    """Lower the bounds of tiles between two corners.

    Return bounds of parts of the tiles, whose side is 1 << `fine`; none if costs are too narrow.
    """
    upper, shift, (first, last) = matrix.upper, matrix.shift, corners
    bottom = min((last[0] + 1) << shift, len(matrix.problem.query))
    right = min((last[1] + 1) << shift, len(matrix.problem.subject))
    window = Rectangle(first[0] << shift, bottom, first[1] << shift, right)
    border, counter = _border(upper, shift, first, window), np.zeros(1, np.int64)
    bounds = cpu.bounds_of_window(
        matrix.problem, window, 1 << fine, border, forbidden, ALL, costs, counter
    )
    parts, most = shift - fine, np.zeros((last[0] - first[0] + 1, last[1] - first[1] + 1), np.int32)
    for i in range(bounds.shape[0]):
        for j in range(bounds.shape[1]):
            tile = i >> parts, j >> parts
            most[tile] = max(most[tile], bounds[i, j])
    for i in range(len(most) if len(bounds) else 0):
        row = upper[first[0] + i]
        for j in range(most.shape[1]):
            row[first[1] + j] = min(row[first[1] + j], most[i, j])
        matrix.highest[first[0] + i] = largest_of(row)
    return bounds


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


# columns of the table of alignments: matrix, score, first and end of rows and columns, and number
# of runs of equal letters
MATRIX, SCORE, TOP, BOTTOM, LEFT, RIGHT, RUNS, _FIELDS = range(8)


class Found(NamedTuple):
    """Alignments by matrix, the best first, and letter and length of their runs of columns."""

    alignments: NDArray[np.int64]
    runs: NDArray[np.int64]

    def of_matrix(self, number: int) -> Found:
        """Return the alignments of a matrix, which are the last ones if there are any."""
        own = self.alignments[self.alignments[:, MATRIX] == number]
        return Found(own, self.runs[len(self.runs) - int(own[:, RUNS].sum()) :])


class SearchLimits(NamedTuple):
    """How much is searched for: `strands` neighbouring matrices have `k` alignments together."""

    k: int
    strands: int
    at_once: int  # alignments of a call
    margin: int  # see `SearchSizes`
    cells_at_once: int


NOTHING = Found(np.empty((0, _FIELDS), np.int64), np.empty((0, 2), np.int64))


def joined(parts: list[Found]) -> Found:
    """Return alignments that follow each other."""
    return Found(*map(np.concatenate, zip(*parts, strict=True)))


def best_alignments(
    batch: Batch, tiles: Tiles, upper: NDArray[np.int32], numbers: range, limits: SearchLimits
) -> Found:
    """Return at most k best alignments of each matrix that share no pair; the bounds are lowered.

    Of several strands the later ones' are those that score more than the k-th of the first one.
    """
    found, number, costs = NOTHING, numbers.start, cpu.costs_that_fit(batch.scored, *_CELLS)
    fits = True
    while number < numbers.stop:
        # 32 bits where 16 are too few, for one alignment
        now = limits if fits else limits._replace(at_once=1)
        span, wide = (number, numbers.stop), costs[0 if fits else -1]
        begun = found.of_matrix(number)
        new, number, fits = _search(batch, tiles, upper, span, begun, now, wide)
        found = joined([found, Found(*new)])
    return found


_CELLS = np.int16, np.int32


@njit(cache=True, nogil=True)
def _search(batch, tiles, upper, span, begun, limits, costs):
    """Search matrices; `begun` are the alignments of the first one so far.

    Return further alignments and their runs, the matrix to go on with, and whether the costs are
    wide enough for it.
    """
    added, count = _nothing(span[1] - span[0]), 0
    for number in range(span[0], span[1]):
        matrix = _matrix(batch, tiles, upper, number, limits.margin)
        used, rank, path = (_ENDS.copy(), _ENDS.copy()), 0, (0, 0, 0, 0)
        if number == span[0]:
            used, rank, path = _begun(begun, used)
        while rank < limits.k:
            if count == limits.at_once:
                return _trimmed(added), number, True
            if rank and not _use_up(matrix, used, path, costs):
                return _trimmed(added), number, False
            best = _next_end(matrix, tiles.least[number], used, costs)
            if best.row == _TOO_WIDE:
                return _trimmed(added), number, False
            if best.row == _NOTHING:
                break
            start, letters, lengths = _trace(matrix, best, used, limits.cells_at_once)
            path = start[0], start[1], best.row, best.column
            row = number, best.score, start[0], best.row, start[1], best.column
            added = _added(added, row, letters, lengths)
            rank, count = rank + 1, count + 1
            if rank < limits.k:
                used = _with_pairs(used, start, letters, lengths)
            elif (number + 1) % limits.strands:
                tiles.least[number + 1] = max(tiles.least[number + 1], best.score + 1)
    return _trimmed(added), span[1], True


@njit(nogil=True)
def _begun(begun, used):
    """Return forbidden pairs, number of alignments, and start and end of the last one."""
    at, path = 0, (0, 0, 0, 0)
    for row in begun.alignments:
        path = row[TOP], row[LEFT], row[BOTTOM], row[RIGHT]
        runs = begun.runs[at : at + row[RUNS]]
        used = _with_pairs(used, (row[TOP], row[LEFT]), runs[:, 0].copy(), runs[:, 1].copy())
        at += row[RUNS]
    return used, len(begun.alignments), path


@njit(nogil=True)
def _nothing(count):
    """Return a table of alignments with room for some, and runs, and the rows used of both."""
    return np.empty((count, _FIELDS), np.int64), 0, np.empty((_FIELDS * count, 2), np.int64), 0


@njit(nogil=True)
def _added(added, fields, letters, lengths):
    """Return `_nothing` with an alignment, its runs as letters and lengths."""
    table, count, runs, n_runs = added
    table, runs = _with_room(table, count + 1), _with_room(runs, n_runs + len(letters))
    for k in range(len(fields)):
        table[count, k] = fields[k]
    table[count, RUNS] = len(letters)
    for k in range(len(letters)):
        runs[n_runs + k, 0], runs[n_runs + k, 1] = letters[k], lengths[k]
    return table, count + 1, runs, n_runs + len(letters)


@njit(nogil=True)
def _with_room(table, rows):
    """Return a table, or a larger copy, that has at least so many rows."""
    if rows <= len(table):
        return table
    larger = np.empty((2 * rows, table.shape[1]), np.int64)
    simd.copy(table.reshape(table.size), larger.reshape(larger.size))
    return larger


@njit(nogil=True)
def _trimmed(added):
    """Return the rows used of table and runs."""
    table, count, runs, n_runs = added
    return table[:count], runs[:n_runs]


@njit(nogil=True)
def _trace(matrix, best, forbidden, at_once):
    """Return start, letters and lengths of the alignment that ends in the best node.

    The start is the last possible one.
    """
    path, problem = best.path, matrix.problem
    if path.end != (best.row, best.column):
        ends = Rectangle(best.row - 1, best.row, best.column - 1, best.column)
        path = find_path(problem, ends, best.score, _inputs(matrix, forbidden))
    start = path.start
    rectangle = Rectangle(start[0], best.row, start[1], best.column)
    total, letters, lengths = align(problem, rectangle, forbidden, path.corridor, at_once)
    if start[0] < 0 or total != best.score:
        raise AssertionError("the score of an alignment is not that of its last cell")
    return start, letters, lengths
