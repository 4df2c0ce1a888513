"""A strip of target columns in vectors: column c of lane l is element c * lanes + l."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.splicing.recurrence import empty_row


class Strip(NamedTuple):
    """A strip's columns; column c of lane l is element c * lanes + l.

    `profile` holds the lifted scores by base symbol, `start` S' of the empty chain, `drop` what
    turns S' into S, `final` 1 where a chain may end, all of it from element `final_span[0]` to
    before `final_span[1]`. Cells beyond the target have the values of its last column.
    """

    profile: NDArray
    start: NDArray
    drop: NDArray
    final: NDArray
    final_span: tuple[int, int]


def by_column(rows: NDArray, lanes: int) -> NDArray:
    """Return rows in the order of target columns."""
    count, width = rows.shape
    return rows.reshape(count, width // lanes, lanes).transpose(0, 2, 1).reshape(count, width)


def by_lane(rows, lanes: int, dtype) -> NDArray:
    """Return rows with column c of lane l at c * lanes + l."""
    count, width = rows.shape
    blocked = rows.reshape(count, lanes, width // lanes).transpose(0, 2, 1)
    return np.ascontiguousarray(blocked, dtype=dtype).reshape(count, width)


def lanes_of(dtype) -> int:
    """Return the lanes of a vector."""
    return simd.VECTOR_BYTES // dtype.itemsize


@register_jitable
def padded(columns, strips, itemsize):
    """Return the columns, or an array of them, of strips that consist of whole vectors."""
    width = strips * simd.VECTOR_BYTES // itemsize
    return np.maximum(-(-columns // width), 1) * width


def strip_of(target, first: int, width: int, scoring: SplicedScoring, dtype) -> Strip:
    """Return the strip of `width` columns from `first` on."""
    lanes = lanes_of(dtype)
    columns = first + np.arange(width)
    symbols = np.full(width, OTHER, dtype=np.uint8)
    known = (columns >= 1) & (columns <= len(target))
    symbols[known] = target[columns[known] - 1]
    lifted = (scoring.substitution() - scoring.gap)[:N_SYMBOLS, symbols]
    lifted[:, columns > len(target)] = scoring.gap
    free, inside = scoring.ends != "global", np.minimum(columns, len(target))
    start = empty_row(inside, scoring.gap, free)
    final = columns <= len(target) if free else columns == len(target)
    rows = np.vstack([lifted, start, scoring.gap * inside, final])
    laid_out = aligned(by_lane(rows, lanes, dtype))
    return Strip(laid_out[:N_SYMBOLS].ravel(), *laid_out[N_SYMBOLS:], _span(final, lanes))


def aligned(rows: NDArray) -> NDArray:
    """Return rows of whole vectors in memory where each begins at a cache line."""
    made = aligned_zeros(rows.shape, rows.dtype)
    made[:] = rows
    return made


def aligned_zeros(shape: tuple[int, int], dtype) -> NDArray:
    """Return rows of whole vectors, all 0, each beginning at a cache line."""
    return simd.aligned_zeros(shape[0] * shape[1], dtype).reshape(shape)


def aligned_empty(shape: tuple[int, int], dtype) -> NDArray:
    """Return rows of whole vectors, not filled in, each beginning at a cache line."""
    count = shape[0] * shape[1]
    buffer = np.empty(count + simd.VECTOR_BYTES, dtype)
    first = -buffer.ctypes.data % simd.VECTOR_BYTES // buffer.itemsize
    return buffer[first : first + count].reshape(shape)


def aligned_full(shape: tuple[int, int], value: np.integer) -> NDArray:
    """Return rows of whole vectors that hold a value, each beginning at a cache line."""
    made = aligned_zeros(shape, value.dtype)
    made[:] = value
    return made


def _span(final, lanes: int) -> tuple[int, int]:
    """Return the elements, in whole vectors, between which the final columns lie."""
    of_lane = np.flatnonzero(final) % (len(final) // lanes)
    return (int(of_lane.min()) * lanes, int(of_lane.max() + 1) * lanes) if len(of_lane) else (0, 0)
