"""The inputs and the state of a sweep on a CPU: rows, strips of target columns, weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.splicing import recurrence as core

_TARGET_OTHER = OTHER + 1
_TARGET_PAD = OTHER + 2

empty_chain = register_jitable(core.empty_chain)


class Stream(NamedTuple):
    """The rows of an `ExonGraph` for the loops; nucleotides reversed, with a vector of padding."""

    symbols: NDArray
    n_rows: int
    track_rows: NDArray[np.int64]
    track_commits: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_bonus: NDArray


class Terms(NamedTuple):
    """A scoring in the form that the loops read.

    `weights` are lifted match and mismatch, gap and intron penalty in the cells' type; `table` is
    the lifted substitution matrix, or has one dimension if pairs are scored by equality.
    """

    weights: NDArray
    table: NDArray
    gap: int
    penalty: int
    free: bool


class Border(NamedTuple):
    """S' of one column: after each row, and above each track."""

    rows: NDArray
    tops: NDArray


class StreamStrip(NamedTuple):
    """A strip's target and its state between two blocks of steps.

    `row` holds column c of lane l at c * lanes + l; `maxima` is the maximum over the empty chain
    and all committed ends, by column; `edge` holds two vectors, the diagonal and the left
    neighbours of the lanes' first columns; `corner` what came in last in each lane's last column;
    `committed` how many ends each lane has committed; `cursor` the windows of tracks and exits
    that some lane may still meet.
    """

    target: NDArray
    first_column: int
    row: NDArray
    maxima: NDArray
    edge: NDArray
    corner: NDArray
    committed: NDArray[np.int64]
    cursor: NDArray[np.int64]


@register_jitable
def lay_out_stream(graph, weights):
    """Return the `Stream` of `GraphArrays`, for cells of the type of `weights`."""
    lanes, n_rows, tracks = simd.VECTOR_BYTES // weights.itemsize, len(graph.codes), graph.tracks
    symbols = np.full(n_rows + 2 * lanes, OTHER, dtype=weights.dtype)
    for row in range(n_rows):
        symbols[lanes + row] = graph.codes[n_rows - 1 - row]
    return Stream(
        symbols, n_rows, tracks.rows, tracks.commits, tracks.exit_rows, tracks.exit_ends,
        graph.exit_bonus.astype(weights.dtype),
    )  # fmt: skip


def _symbols_or_scores(symbols, table):
    raise NotImplementedError("only for jitted code")


@overload(_symbols_or_scores)
def _overload_symbols_or_scores(symbols, table):
    def by_equality(symbols, table):
        codes = simd.aligned_zeros(len(symbols), table.dtype)
        simd.copy(symbols, codes)
        return codes

    def by_profile(symbols, table):
        shape = len(table), len(symbols)
        scores = simd.aligned_zeros(shape[0] * shape[1], table.dtype).reshape(shape)
        for code in range(len(table)):
            for position in range(len(symbols)):
                scores[code, position] = table[code, min(symbols[position], OTHER)]
        return scores

    return by_equality if table.ndim == 1 else by_profile


@register_jitable
def lay_out_strip(target, first_column, width, terms):
    """Return the state of a strip of `width` columns before its first step."""
    weights = terms.weights
    lanes, dtype = simd.VECTOR_BYTES // weights.itemsize, weights.dtype
    symbols, start = np.empty(width, dtype=np.uint8), np.empty(width, dtype=dtype)
    columns = width // lanes
    for lane in range(lanes):
        for c in range(columns):
            position, symbol = first_column - 1 + lane * columns + c, np.uint8(_TARGET_PAD)
            if position < len(target):
                symbol = np.uint8(_TARGET_OTHER) if target[position] == OTHER else target[position]
            symbols[c * lanes + lane] = symbol
    for k in range(width):
        start[k] = empty_chain(first_column + k, terms.gap, terms.free)
    return StreamStrip(
        _symbols_or_scores(symbols, terms.table), first_column, simd.aligned_zeros(width, dtype),
        start, simd.aligned_zeros(2 * lanes, dtype),
        np.zeros(lanes, dtype=dtype), np.zeros(lanes, dtype=np.int64), np.zeros(4, dtype=np.int64),
    )  # fmt: skip


def terms_of(scoring: SplicedScoring, dtype: np.dtype) -> Terms:
    """Return a scoring in the form that the loops read, for cells of a type."""
    values = (scoring.match, scoring.mismatch)
    lifted = [value - scoring.gap for value in values] if scoring.matrix is None else [0, 0]
    weights = np.array([*lifted, scoring.gap, scoring.intron_penalty], dtype=dtype)
    table = np.empty(0) if scoring.matrix is None else scoring.substitution() - scoring.gap
    free = scoring.ends != "global"
    return Terms(weights, table.astype(dtype), scoring.gap, scoring.intron_penalty, free)
