"""The best alignment of two whole regions, in linear space.

The path is the one that a walk back through the full matrix takes. A matrix that is too large is
cut at its middle row: one pass carries along where each cell's path crosses that row, and both
halves are aligned the same way. That is the idea of Myers and Miller, with the crossing found by
the forward pass alone, so that ties do not depend on where a matrix is cut.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable

from gpu_tools.local import core
from gpu_tools.local.forbidden import ForbiddenPairs
from gpu_tools.local.problem import Problem
from gpu_tools.results import CigarOperation

CELLS_AT_ONCE = 1 << 22
"""Cells whose steps back are kept, a byte each."""
_FEW_ROWS = 4
NEVER = -(2**60)
BEST, GAP_OF_QUERY, GAP_OF_SUBJECT = range(3)
"""States of a path in a cell: anything, within a run of D, within a run of I."""
# a step back, by cell: where the best score comes from, and whether the gaps begin here
_PAIR, _D, _I, _D_OPENS, _I_OPENS = 0, 1, 2, 4, 8

extended = register_jitable(core.extended)


class Region(NamedTuple):
    """Rows and columns, half-open, and the states in which the path enters and leaves."""

    top: int
    bottom: int
    left: int
    right: int
    enters: int
    leaves: int


def align(
    problem: Problem, region: tuple[int, int, int, int], forbidden: ForbiddenPairs
) -> tuple[int, tuple[CigarOperation, ...]]:
    """Return score and CIGAR of the best alignment of a region's rows with its columns.

    Parameters
    ----------
    problem : Problem
    region : tuple of int
        First and end row, first and end column.
    forbidden : ForbiddenPairs

    Returns
    -------
    int
        The score.
    tuple of (str, int)
        The CIGAR. Walking back, a pair goes before a D, that before an I; a gap is left as soon as
        that is as good.
    """
    top, bottom, left, right = region
    whole = Region(top, bottom, left, right, BEST, BEST)
    letters = b"".join(_letters(problem, whole, forbidden)).decode("ascii")
    cigar = tuple((letter, len(list(run))) for letter, run in groupby(letters))
    return score_of(problem, (top, left), cigar), cigar


def score_of(problem: Problem, start: tuple[int, int], cigar) -> int:
    """Return the score of an alignment from its CIGAR.

    Neighbouring runs of ``=`` and ``X`` are pairs; every run of ``I`` or ``D`` is one gap.
    """
    (row, column), total = start, 0
    for operation, n in cigar:
        if operation in "=X":
            rows, columns = problem.query[row : row + n], problem.subject[column : column + n]
            total += int(problem.table[rows, columns].sum(dtype=np.int64))
        else:
            total -= problem.gap_open + (n - 1) * problem.gap_extend
        row += n if operation in "=XI" else 0
        column += n if operation in "=XD" else 0
    return total


def _letters(problem: Problem, region: Region, forbidden: ForbiddenPairs):
    """Yield the letters of the region's alignment in pieces."""
    waiting = [region]
    while waiting:
        part = waiting.pop()
        rows, columns = part.bottom - part.top, part.right - part.left
        if rows < _FEW_ROWS or (rows + 1) * (columns + 1) <= CELLS_AT_ONCE:
            steps = np.empty((rows + 1, columns + 1), dtype=np.uint8)
            arrays = (problem.identical, forbidden.rows, forbidden.columns)
            yield _walk_back(problem, part, arrays, steps).tobytes()
        else:
            middle = (part.top + part.bottom) // 2
            column, state = _crossing(problem, part, middle, (forbidden.rows, forbidden.columns))
            waiting.append(Region(middle, part.bottom, column, part.right, state, part.leaves))
            waiting.append(Region(part.top, middle, part.left, column, part.enters, state))


@njit(cache=True, nogil=True)
def _first_row(best, gap, enters, gap_open, gap_extend):
    """Fill in the row above a region, best scores and gaps of the subject."""
    gap[:] = NEVER
    best[0] = 0 if enters == BEST else NEVER
    if enters == GAP_OF_SUBJECT:
        gap[0] = 0
    running = NEVER
    for j in range(1, len(best)):
        running = extended(best[j - 1], running, gap_open, gap_extend)
        best[j] = running


@njit(cache=True, nogil=True)
def _walk_back(problem, region, arrays, steps):
    """Fill the region and return its letters from the first to the last column."""
    query, subject, table = problem.query, problem.subject, problem.table
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    identical, f_rows, f_columns = arrays
    rows, columns = region.bottom - region.top, region.right - region.left
    best, gap = np.empty(columns + 1, np.int64), np.empty(columns + 1, np.int64)
    _first_row(best, gap, region.enters, gap_open, gap_extend)
    for j in range(columns + 1):
        steps[0, j] = _D | (_D_OPENS if j == 1 else 0)
    at = np.searchsorted(f_rows, region.top)
    for i in range(1, rows + 1):
        row = region.top + i - 1
        while f_rows[at] == row and f_columns[at] < region.left:
            at += 1
        scores = table[query[row]]
        diagonal, running = best[0], NEVER
        for j in range(columns + 1):
            opens = best[j] - gap_open >= gap[j] - gap_extend
            gap[j] = extended(best[j], gap[j], gap_open, gap_extend)
            step = _I_OPENS if opens else 0
            value, source = gap[j], _I
            if j > 0:
                if best[j - 1] - gap_open >= running - gap_extend:
                    step |= _D_OPENS
                running = extended(best[j - 1], running, gap_open, gap_extend)
                if running >= value:
                    value, source = running, _D
                column = region.left + j - 1
                if f_rows[at] == row and f_columns[at] == column:
                    at += 1
                else:
                    pair = diagonal + scores[subject[column]]
                    if pair >= value:
                        value, source = pair, _PAIR
            diagonal = best[j]
            best[j] = value
            steps[i, j] = step | source
        while f_rows[at] == row:
            at += 1
    return _collect(query, subject, identical, region, steps)


@njit(cache=True, nogil=True)
def _collect(query, subject, identical, region, steps):
    i, j, state = region.bottom - region.top, region.right - region.left, region.leaves
    letters = np.empty(i + j, np.uint8)
    n = len(letters)
    while i > 0 or j > 0:
        step = steps[i, j]
        if state == BEST:
            source = step & 3
            if source == _PAIR:
                i -= 1
                j -= 1
                code = query[region.top + i]
                same = code == subject[region.left + j] and identical[code]
                n -= 1
                letters[n] = 61 if same else 88  # = and X
            else:
                state = GAP_OF_QUERY if source == _D else GAP_OF_SUBJECT
        elif state == GAP_OF_QUERY:
            state = BEST if step & _D_OPENS else state
            j -= 1
            n -= 1
            letters[n] = 68  # D
        else:
            state = BEST if step & _I_OPENS else state
            i -= 1
            n -= 1
            letters[n] = 73  # I
    return letters[n:].copy()


@njit(cache=True, nogil=True)
def _crossing(problem, region, middle, forbidden):
    """Return column and state in which the path of a region steps down from row `middle`."""
    query, subject, table = problem.query, problem.subject, problem.table
    gap_open, gap_extend = problem.gap_open, problem.gap_extend
    f_rows, f_columns = forbidden
    columns = region.right - region.left
    best, gap = np.empty(columns + 1, np.int64), np.empty(columns + 1, np.int64)
    # crossings: 2 * column for the state BEST, one more for GAP_OF_SUBJECT
    of_best, of_gap = np.zeros(columns + 1, np.int64), np.zeros(columns + 1, np.int64)
    _first_row(best, gap, region.enters, gap_open, gap_extend)
    at = np.searchsorted(f_rows, region.top)
    for row in range(region.top, region.bottom):
        while f_rows[at] == row and f_columns[at] < region.left:
            at += 1
        if row == middle:
            for j in range(columns + 1):
                of_best[j], of_gap[j] = 2 * j, 2 * j + 1
        scores = table[query[row]]
        diagonal, diagonal_crossing = best[0], of_best[0]
        running, running_crossing = NEVER, 0
        for j in range(columns + 1):
            if best[j] - gap_open >= gap[j] - gap_extend:
                of_gap[j] = of_best[j]
            gap[j] = extended(best[j], gap[j], gap_open, gap_extend)
            value, crossing = gap[j], of_gap[j]
            if j > 0:
                if best[j - 1] - gap_open >= running - gap_extend:
                    running_crossing = of_best[j - 1]
                running = extended(best[j - 1], running, gap_open, gap_extend)
                if running >= value:
                    value, crossing = running, running_crossing
                column = region.left + j - 1
                if f_rows[at] == row and f_columns[at] == column:
                    at += 1
                else:
                    pair = diagonal + scores[subject[column]]
                    if pair >= value:
                        value, crossing = pair, diagonal_crossing
            diagonal, diagonal_crossing = best[j], of_best[j]
            best[j], of_best[j] = value, crossing
        while f_rows[at] == row:
            at += 1
    crossing = of_best[columns] if region.leaves == BEST else of_gap[columns]
    return region.left + crossing // 2, GAP_OF_SUBJECT if crossing % 2 else BEST
