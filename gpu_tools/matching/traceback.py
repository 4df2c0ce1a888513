"""From the end of an approximate match to its start and its alignment.

Pattern and text are read backwards from the end of the match: R(i, l) is the least cost of the
last i pattern symbols against the last l text symbols. Rows are stored at checkpoints only. The
traceback, which runs forward in the text, computes the cells between two of them again.

Ties, which make the answer the same on every device: the longest match of that distance; within
it, from its start on, an aligned pair goes before a ``D``, and a ``D`` before an ``I``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.matching import recurrence as core
from gpu_tools.model.alphabets import Alphabet
from gpu_tools.model.scoring import EditCosts

_EQUAL, _UNEQUAL, _INSERTION, _DELETION = range(4)
_OPERATIONS = "=XID"
_FAR = np.int32(2**30)
"""Larger than any distance, and small enough to add a cost to it."""

cell = register_jitable(core.cell)


class Tables(NamedTuple):
    """What alignments cost: matches and pair costs by pattern symbol and code, deletion, insertion.

    Attributes
    ----------
    matches : ndarray of bool, shape (S, C)
    pairs : ndarray of int32, shape (S, C)
    weights : tuple of (int, int)
        Deletion and insertion.
    """

    matches: NDArray[np.bool_]
    pairs: NDArray[np.int32]
    weights: tuple[int, int]

    @classmethod
    def of(cls, alphabet: Alphabet, costs: EditCosts) -> Tables:
        """Return the tables of an alphabet under some costs."""
        pairs = costs.pair_costs(alphabet.matches)
        return cls(alphabet.matches, pairs, (costs.deletion, costs.insertion))


@njit(cache=True, nogil=True)
def _fill(rows, first, symbols, codes, pairs, band, weights):
    """Fill rows ``first + 1`` and following of a block, in the band; its row 0 is row `first`."""
    width = rows.shape[1]
    for k in range(1, len(rows)):
        i, left = first + k, _FAR
        of_symbol = pairs[symbols[len(symbols) - i]]
        low, high = max(i - band[0], 0), min(i + band[1], width - 1)
        for column in range(low, high + 1):
            diagonal, pair = _FAR, np.int32(0)
            if column > 0:
                diagonal = rows[k - 1, column - 1]
                pair = of_symbol[codes[len(codes) - column]]
            up = rows[k - 1, column]
            left = np.int32(cell(diagonal, up, left, pair, weights[0], weights[1]))
            rows[k, column] = left
        if low > 0:
            rows[k, low - 1] = _FAR
        if high + 1 < width:
            rows[k, high + 1] = _FAR


@njit(cache=True, nogil=True)
def _align(symbols, codes, distance, tables, stride):
    """Do the work of `trace`; the tables are a plain tuple.

    Rows that are a multiple of `stride` are stored. The alignment is returned as an array of int64,
    shape (r, 2): operation and length of each run, from the start of the match on.
    """
    matches, pairs, weights = tables
    m, width = len(symbols), len(codes)
    band = (distance // weights[0], distance // weights[1])
    n_blocks = (m + stride - 1) // stride
    checkpoints = np.full((n_blocks + 1, width + 1), _FAR, np.int32)
    for column in range(min(width, band[1]) + 1):
        checkpoints[0, column] = column * weights[1]
    rows = np.full((stride + 1, width + 1), _FAR, np.int32)
    for block in range(n_blocks):
        n = min(stride, m - block * stride)
        simd.copy(checkpoints[block], rows[0])
        _fill(rows[: n + 1], block * stride, symbols, codes, pairs, band, weights)
        simd.copy(rows[n], checkpoints[block + 1])
    column = min(width, m + band[1])
    while column > 1 and checkpoints[n_blocks, column] != distance:
        column -= 1
    length, i, block = column, m, n_blocks - 1
    runs, n_runs = np.empty((m + column, 2), np.int64), 0
    while i > 0 or column > 0:
        if 0 < i <= block * stride:
            block = (i - 1) // stride
            simd.copy(checkpoints[block], rows[0])
            n = min(stride, m - block * stride)
            _fill(rows[: n + 1], block * stride, symbols, codes, pairs, band, weights)
        k = i - block * stride
        here = rows[k, column]
        operation = _INSERTION
        if i > 0 and column > 0:
            symbol, code = symbols[m - i], codes[width - column]
            if rows[k - 1, column - 1] + pairs[symbol, code] == here:
                operation = _EQUAL if matches[symbol, code] else _UNEQUAL
        if operation == _INSERTION and column > 0 and rows[k, column - 1] + weights[1] == here:
            operation = _DELETION
        if n_runs == 0 or runs[n_runs - 1, 0] != operation:
            runs[n_runs, 0], runs[n_runs, 1] = operation, 0
            n_runs += 1
        runs[n_runs - 1, 1] += 1
        i -= operation != _DELETION
        column -= operation != _INSERTION
    return length, runs[:n_runs]


def trace(symbols, codes, distance: int, tables: Tables):
    """Return the length of the longest match of a distance at the end of a text, and its CIGAR.

    Parameters
    ----------
    symbols : ndarray of uint8, shape (m,)
        Pattern symbols.
    codes : ndarray of uint8, shape (n,)
        Text up to the end of the match.
    distance : int
        Least cost of a match with that end.
    tables : Tables

    Returns
    -------
    length : int
        Text symbols of the match, at least 1.
    cigar : tuple of (str, int)
        Runs along the text, the pattern being the query.
    """
    longest = longest_match(len(symbols), distance, tables.weights[1])
    window = codes[max(len(codes) - longest, 0) :]
    stride = math.isqrt(len(symbols)) + 1
    length, runs = _align(symbols, window, distance, tuple(tables), stride)
    return length, tuple((_OPERATIONS[operation], n) for operation, n in runs.tolist())


def longest_match(m: int, distance: int, insertion: int) -> int:
    """Return the most text symbols that a match of that distance can have.

    Each one beyond the pattern's length is an insertion.
    """
    return m + distance // insertion
