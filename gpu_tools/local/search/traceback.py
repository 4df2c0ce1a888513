"""The best alignment of two whole ranges of the sequences, in linear space.

The path is that of a traceback through the full matrix. A region that is too large is cut at its
middle row: one pass computes the column where each cell's path crosses that row, and both halves
are aligned the same way (Myers and Miller). The crossing is found by the forward pass alone, so
that ties do not depend on the cuts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.local.problem import Problem, Rectangle
from gpu_tools.local.search import corridor as corridors
from gpu_tools.local.search.corridor import NO_PATH, Corridor, extended
from gpu_tools.model.results import CigarOperation

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
"""Rows and columns of forbidden pairs; see `gpu_tools.local.search.tiles.ForbiddenPairs`."""


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
    problem: Problem, best: corridors.KnownEnd, inputs: corridors.CorridorInputs, cells_at_once: int
) -> tuple[tuple[int, int], int, tuple[CigarOperation, ...]]:
    """Return start, score and CIGAR of the alignment of a score that ends at a node.

    The start is the last possible one.
    """
    score, (row, column), path = best
    if path is None:
        ends = Rectangle(row - 1, row, column - 1, column)
        path = corridors.find_path(problem, ends, score, inputs)
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
