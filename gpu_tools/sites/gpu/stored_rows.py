"""Rows that the kernels have stored for tracebacks, read cell by cell."""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.job_table import (
    CELLS,
    FIRST_STORED,
    LAST_SIZE,
    LIFTING,
    SIZE,
    STRIDE,
    STRIPS,
)
from gpu_tools.sites.gpu.packed_columns import QUAD, WIDE
from gpu_tools.sites.gpu.sweep32 import COLUMNS_PER_LANE, STRIP

_LOG_LANES = (2 * WARP).bit_length() - 1
_LOG_STRIP, _LOG_COLUMNS = STRIP.bit_length() - 1, COLUMNS_PER_LANE.bit_length() - 1


@cuda.jit(device=True)
def packed_layout(job):
    """Return where the packed kernel's rows lie: two strips' widths as powers of two, and places.

    A strip of eight registers a lane has twice the columns of one of four.
    """
    log = int32(3 if job[SIZE] == WIDE else 2)
    last_log = int32(3 if job[LAST_SIZE] == WIDE else 2)
    first = job[CELLS], job[FIRST_STORED], job[STRIDE]
    return log, last_log, int32(job[STRIPS] - 1), int32(job[LIFTING]), first


@cuda.jit(device=True)
def packed_value(memory, layout, row, column):
    """Return a cell of a stored row that the packed kernel wrote."""
    log, last_log, last_strip, lifting, (cells, first_stored, stride) = layout
    strip = int32(column >> int32(log + _LOG_LANES))
    left = int32(column - int32(strip << int32(log + _LOG_LANES)))
    if strip == last_strip:
        log = last_log
    half, k = int32(left >> log), int32(left & int32(int32(1 << log) - 1))
    word = int32((k & ~int32(QUAD - 1)) * WARP + (half >> 1) * QUAD + (k & int32(QUAD - 1)))
    first = cells + strip * stride + (first_stored + row) * int64(WARP << log)
    value = int32(int32(memory[first + word] << int32(16 - 16 * (half & 1))) >> int32(16))
    return int32(value + strip * lifting)


@cuda.jit(device=True)
def layout32(job):
    """Return where the 32-bit kernel's rows lie."""
    return job[CELLS], job[FIRST_STORED], job[STRIDE]


@cuda.jit(device=True)
def value32(memory, layout, row, column):
    """Return a cell of a stored row that the 32-bit kernel wrote."""
    cells, first_stored, stride = layout
    strip, left = int32(column >> _LOG_STRIP), int32(column & (STRIP - 1))
    lane, k = int32(left >> _LOG_COLUMNS), int32(left & (COLUMNS_PER_LANE - 1))
    return memory[cells + strip * stride + (first_stored + row) * int64(STRIP) + k * WARP + lane]
