"""Scores in the packed kernel's registers and in memory; see `gpu_tools.local.gpu.packed`.

Scores are *tilted*: a cell's has the penalty of a mismatch added once for each column. Then a
mismatch adds nothing, a match something positive, and if extending a gap costs as much as a
mismatch, extending it along a row is free.

In registers, tilted scores are less the strip's *base*, which moves with them. Scores of cells that
are in registers at one time differ by no more than a bound, the *reach*, so that all of them fit 16
bits, and none is so small that a penalty would make it negative. Where the empty alignment's score
is below that, all cells' are far above it, and the smallest one allowed stands for it.

Beside cells that were left out, scores may be too small for 16 bits, or far below those of others.
These are at least the smallest one allowed, which is no more than what they would be if nothing had
been left out. So scores are never too large, and those of alignments of interest are right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP, any_lane, kernel, shuffle
from gpu_tools.local.problem import Problem

VIRTUAL_LANES = 2 * WARP
LARGEST = (1 << 15) - 1
"""The largest score less its base."""
NOT_REACHED = (1 << 31) - 1
"""More than any score."""
OF_CODE = np.array([0x80, 0x91, 0xA2, 0xB3, 0x88], dtype=np.int32)
"""By query code: which byte is the score's, and its sign; of others the sign alone, which is 0."""
# elements of the scoring: what opening a gap along a row adds to both halves, then, packed, what
# opening and extending one down and extending one along a row add; the tilt; how the base moves;
# strips that stay together; what a pair adds at most, the slack of lowest cells, whether the
# threshold rises with the best score
OPENS_ROW, OPENS, DOWN, ALONG, TILT, FLOOR, LIMIT, LOW, SWING, GROUP, GAIN, SLACK, RISES = range(13)


class Range(NamedTuple):
    """How the base moves: it rises if a score is above `limit`, falls if one is below `low`.

    It moves by `swing`, after which no score is below `low`, or, if it fell, above `limit`. The
    score of an empty alignment is never less than `floor`.
    """

    floor: int
    limit: int
    low: int
    swing: int


def tilt(problem: Problem) -> int:
    """Return what tilted scores gain with each column."""
    return -int(problem.table[0, 1])


def score_range(problem: Problem, rows: int) -> Range | None:
    """Return the range of scores in a strip of `rows` rows a virtual lane, None if 16 bits are few.

    From a cell to one n rows or columns away a score falls by a gap's cost at most, and rises by no
    more than n pairs and what a gap costs that the other path pays.
    """
    down = max(int(problem.table.max()), 0) + problem.gap_extend
    across = down + tilt(problem)
    floor = problem.gap_open + problem.gap_extend + tilt(problem)
    slack = 2 * (floor + across)
    reach = down * VIRTUAL_LANES * rows + across * (VIRTUAL_LANES + WARP) + slack
    low = floor + down * rows + across * WARP + slack
    limit = LARGEST - reach - low
    swing = limit - reach - low
    return Range(floor, limit, low, swing) if swing > 0 else None


def scoring_of(problem: Problem, rows: int, group: int, rises: bool) -> NDArray[np.int32]:
    """Return the elements of the scoring for strips of `rows` rows a virtual lane."""
    per_column, opens, extends = tilt(problem), problem.gap_open, problem.gap_extend
    added = np.array([-opens, -extends, per_column - extends]) & 0xFFFF
    packed = (added | added << 16).astype(np.uint32).view(np.int32)
    bases = score_range(problem, rows)
    slack = opens + extends * rows
    limits = int(problem.table.max()), slack, rises
    first = (per_column - opens) * 65537
    return np.array([first, *packed, per_column, *bases, group, *limits], dtype=np.int32)


def words_of(problem: Problem) -> NDArray[np.int32]:
    """Return, by subject code, the scores with the four query nucleotides, and those of padding."""
    scores = np.ascontiguousarray((problem.table[:4].T + tilt(problem)).astype(np.int8))
    return np.append(scores.view(np.int32).ravel(), np.int32(0))


@kernel()
def look_up_thread(queries, subjects, of_query, of_subject, selectors, words, rows):
    """Translate codes, a thread an element at a time.

    Parameters
    ----------
    queries, subjects : uint8 array
        Codes of all strips' rows, and of all columns.
    of_query, of_subject : int32 array
        A row's part of a selector by code; a column's word.
    selectors : int32 array
        Of each strip, shape (rows, WARP): the bytes that look up a pair of rows' scores in two
        words.
    words : int32 array
        Of each column four scores, one byte a query symbol, plus what a mismatch costs.
    rows : int
        Rows of a virtual lane.
    """
    start, step = cuda.grid(1), cuda.gridsize(1)
    for column in range(start, len(subjects), step):
        words[column] = of_subject[subjects[column]]
    for k in range(start, len(selectors), step):
        # of the strips before and of the lanes before, then of the lane itself
        lane, row = k % WARP, k // WARP % rows
        low = (k // (WARP * rows) * VIRTUAL_LANES + 2 * lane) * rows + row
        pair = of_query[queries[low]] | (of_query[queries[low + rows]] | 0x44) << 8
        selectors[k] = pair


@cuda.jit(device=True)
def halves(packed):
    """Return the lower and the upper half."""
    return int32(int32(packed << int32(16)) >> int32(16)), int32(packed >> int32(16))


@cuda.jit(device=True)
def both(low, high):
    """Return two halves as one."""
    return int32(int32(low & int32(0xFFFF)) | int32(high << int32(16)))


@cuda.jit(device=True)
def rise_of(empty, bottom, arriving, scoring, scratch):
    """Return by how much the base of a strip rises; all lanes agree.

    `empty` is what the score of an empty alignment in the last virtual lane would be. Where cells
    were left out, those that arrive may be far above all others.
    """
    low, high = halves(bottom)
    highest, retained = max(max(low, high), arriving), int32(scoring[LIMIT] - scoring[SWING])
    if any_lane(highest > scoring[LIMIT]):
        return max(scoring[SWING], int32(shuffle(arriving, int32(WARP - 1), scratch) - retained))
    falls = empty < scoring[FLOOR] and any_lane(min(low, high) < scoring[LOW])
    if falls and not any_lane(highest > retained):
        return int32(-min(scoring[FLOOR] - empty, scoring[SWING]))
    return int32(0)


@cuda.jit(device=True)
def lifted(score, rest, floor):
    """Return the best score and the gap that goes on below, in the upper halves."""
    least = max(score, floor)
    gap = max(int32(score + int32(rest >> int32(16))), least)
    return int32(least << int32(16)), int32(gap << int32(16))


@cuda.jit(device=True)
def least_of_interest(rows, columns, scoring, known):
    """Return the least score that can still reach the threshold, so many cells from the end.

    It is compared with the lowest cell of a lane; the others are at most `SLACK` larger.
    """
    return int32(known - scoring[SLACK] - scoring[GAIN] * min(rows, columns))


@cuda.jit(device=True)
def largest_half(highest, lift, slope):
    """Return the larger score; the virtual lane in the upper half is a column behind."""
    low, high = halves(highest)
    return int32(max(low, int32(high + slope)) + lift)
