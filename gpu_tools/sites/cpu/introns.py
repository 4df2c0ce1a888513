"""Introns of a strand in compiled code: which there are, and what they cost."""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.classes import (
    KIND,
    LENGTH,
    LINES,
    MOST_STEPS,
    N_LINES,
    ORIGIN,
    PENALTY,
    STEP,
)

_MOST = np.int64(2**62)


@njit(nogil=True, error_model="numpy")
def _penalty(introns, k, end, start):
    """Return the penalty of an intron of class `k`, which is long enough."""
    first, last = end + introns[k, LENGTH] + introns[k, ORIGIN], start + introns[k, ORIGIN]
    least = _MOST if introns[k, N_LINES] > 0 else 0
    for line in range(introns[k, N_LINES]):
        extra, every = introns[k, LINES + 2 * line], introns[k, LINES + 2 * line + 1]
        if extra >= least:  # so do all lines behind; and LLVM makes no vectors, which take long
            break
        least = min(least, extra + last // every - first // every)
    return introns[k, PENALTY] + least


@njit(nogil=True, error_model="numpy")
def may_join(introns, kind, surplus, low, high, start):
    """Tell whether an exit of a block may precede an entry, given the most that one has more.

    The block has the boundaries `low` to ``high - 1``; its last exits have the least penalties.
    """
    for k in range(len(introns)):
        end = min(high - 1, start - introns[k, LENGTH])
        if introns[k, KIND] == kind and end >= low and surplus >= _penalty(introns, k, end, start):
            return True
    return False


@njit(nogil=True, error_model="numpy")
def joins(introns, kind, surplus, end, start):
    """Tell whether an intron joins two sites of a kind whose penalty is what the exit has more."""
    for k in range(len(introns)):
        first, step = end + introns[k, LENGTH], introns[k, STEP]
        if introns[k, KIND] != kind or first > start:
            continue
        if step > 0:
            first, last = first + introns[k, ORIGIN], start + introns[k, ORIGIN]
            if last // step - first // step > introns[k, MOST_STEPS]:
                continue
        if surplus == _penalty(introns, k, end, start):
            return True
    return False
