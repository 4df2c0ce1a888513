"""A strip of target columns in vectors: column c of lane l is element c * lanes + l."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.splicing.recurrence import empty_chain

_empty_chain = njit(empty_chain)


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
    cells, free = aligned_zeros((N_SYMBOLS + 3, width), dtype), scoring.ends != "global"
    profile, columns = cells[:N_SYMBOLS], cells[N_SYMBOLS:]
    fill_strip(profile, *columns, target, first, scoring.lifted, scoring.gap, free)
    span = final_span(first, width, lanes_of(dtype), len(target), free)
    return Strip(profile.ravel(), *columns, span)


@njit(cache=True, nogil=True, error_model="numpy")
def fill_strip(profile, start, drop, final, target, first, lifted, gap, free):
    """Fill in a strip's columns from column `first` of a target on, see `Strip`."""
    width, n = len(start), len(target)
    lanes = simd.VECTOR_BYTES // start.itemsize
    for place in range(width):
        column = first + place % lanes * (width // lanes) + place // lanes
        inside, symbol = min(column, n), OTHER
        if 1 <= column <= n:
            symbol = target[column - 1]
        for k in range(len(profile)):
            profile[k, place] = gap if column > n else lifted[k, symbol]
        start[place], drop[place] = _empty_chain(inside, gap, free), gap * inside
        final[place] = column == n or (free and column < n)


@register_jitable
def final_span(first, width, lanes, columns, free):
    """Return the elements, in whole vectors, between which a strip's final columns lie.

    The strip begins with column `first` of a target of so many; see `Strip.final`.
    """
    each, last = width // lanes, columns - first
    if last < 0 or (last >= width and not free):
        return 0, 0
    if not free:
        return last % each * lanes, (last % each + 1) * lanes
    return 0, min(last + 1, each) * lanes


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
