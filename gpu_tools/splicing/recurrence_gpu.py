"""The recurrence of `recurrence`, compiled for GPUs in 32 bits."""

from __future__ import annotations

from numba import cuda, int32


@cuda.jit(device=True)
def cell(diagonal, up, left, lifted_score, gap):
    """Return `recurrence.cell` in 32 bits: without conversion sums have 64 bits."""
    return max(max(int32(diagonal + lifted_score), int32(up + gap)), left)
