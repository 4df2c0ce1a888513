"""Symbols as the packed kernel looks up their scores; see `gpu_tools.local.gpu.packed`."""

from __future__ import annotations

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.local.gpu.packed_scores import VIRTUAL_LANES, tilt
from gpu_tools.local.problem import Problem
from gpu_tools.model.sequences import OTHER

OF_CODE = np.array([0x80, 0x91, 0xA2, 0xB3, 0x88], dtype=np.int32)
"""By query code: which byte is the score's, and its sign; of others the sign alone, which is 0."""


def words_of(problem: Problem) -> NDArray[np.int32]:
    """Return, by subject code, the scores with the four query nucleotides, and those of padding."""
    scores = np.ascontiguousarray((problem.table[:4].T + tilt(problem)).astype(np.int8))
    return np.append(scores.view(np.int32).ravel(), np.int32(0))


def all_codes(
    problems: list[Problem], heights, widths, lead: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of all strips' rows and of all columns, these behind `lead` others each."""
    query = _laid_out([p.query for p in problems], heights, 0, OTHER)
    return query, _laid_out([p.subject for p in problems], widths, lead, OTHER + 1)


def _laid_out(parts: list[NDArray[np.uint8]], sizes, lead: int, filling: int):
    """Return codes one after the other, each behind `lead` elements, in space for `sizes`."""
    codes = np.full(int(sizes.sum()), filling, dtype=np.uint8)
    for part, first in zip(parts, (np.cumsum(sizes) - sizes + lead).tolist(), strict=True):
        codes[first : first + len(part)] = part
    return codes


@cuda.jit
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
