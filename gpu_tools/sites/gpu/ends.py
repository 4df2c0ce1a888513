"""The best end of each job, of those that the lanes of its strips have noted."""

from __future__ import annotations

from numba import cuda, int32

from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, shuffle
from gpu_tools.sites.gpu.job_table import ENDS, STRIPS

SCORE, NUMBER, COLUMN = range(3)
"""What a lane says of its best end; the number is its boundary's."""
LOWEST_SCORE = -(2**31)


@cuda.jit(device=True)
def _better(one, other):
    """Return the better one of two ends: the larger score, the first number, the first column."""
    if one[0] != other[0]:
        return one if one[0] > other[0] else other
    if one[1] != other[1]:
        return one if one[1] < other[1] else other
    return one if one[2] <= other[2] else other


@kernel()
def find_ends_warp(jobs, ends, found):
    """Find the best end of each job; a thread block is one warp.

    Parameters
    ----------
    jobs : int64 array, shape (J, 30)
        See `gpu_tools.sites.gpu.job_table`.
    ends : int32 array, shape (strips, WARP, 3)
        Score, number and column of the best end of each strip and lane.
    found : int32 array, shape (J, 3)
        Those of each job; written. Of equal scores the first number, then the first column.
    """
    scratch = cuda.shared.array(WARP, int32)
    lane, job = int32(cuda.threadIdx.x), jobs[cuda.blockIdx.x]
    best = int32(LOWEST_SCORE), int32(0), int32(0)
    for strip in range(job[ENDS], job[ENDS] + job[STRIPS]):
        own = ends[strip, lane]
        best = _better(best, (own[SCORE], own[NUMBER], own[COLUMN]))
    distance = int32(1)
    while distance < WARP:
        source = int32(lane ^ distance)
        other = (
            shuffle(best[0], source, scratch), shuffle(best[1], source, scratch),
            shuffle(best[2], source, scratch),
        )  # fmt: skip
        best = _better(best, other)
        distance = int32(distance * 2)
    if lane == 0:
        for k in range(3):
            found[cuda.blockIdx.x, k] = best[k]
