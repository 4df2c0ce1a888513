"""Runs of values on their way from a GPU's memory to the lanes of a warp.

A block is a warp, a lane owns a run of neighbouring values; the runs pass through shared memory
piece by piece, so that whole lines are read. The next piece can be fetched meanwhile.
"""

from __future__ import annotations

from numba import cuda, uint32

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics import WARP, load4

THREADS = WARP
"""One warp a block: its lanes need not wait for others between two pieces."""
PIECE = 32
"""Values of a run in shared memory at a time; a line of 128 bytes holds 32 of 4 bytes."""
PIECES = 2 if simulated() else 8
RUN = PIECE * PIECES
TILE = THREADS * RUN
STRIDE = PIECE + 1
"""Places of a run's piece in shared memory: runs that begin in different banks."""
STAGED = THREADS * STRIDE


@cuda.jit(device=True)
def _run_and_fours(part):
    """Return which run the lane reads for one of eight parts of the pieces, and which four of it.

    What depends on the part is a constant, so that the eight share their address.
    """
    lane, before = uint32(cuda.threadIdx.x), uint32(part * WARP)
    run = uint32(lane // uint32(8)) + uint32(before // uint32(8))
    return uint32(run), uint32(uint32(lane % uint32(8)) + uint32(before % uint32(8)))


@cuda.jit(device=True)
def _at(first, part):
    """Return where the lane's four values of one of eight parts of the pieces stand."""
    run, fours = _run_and_fours(part)
    return first + (run * uint32(RUN) + fours * uint32(4))


@cuda.jit(device=True)
def _four(values, at):
    """Return four values, zeros behind the last one."""
    none = values.dtype.type(0)
    one = values[at] if at < len(values) else none
    two = values[at + 1] if at + 1 < len(values) else none
    three = values[at + 2] if at + 2 < len(values) else none
    four = values[at + 3] if at + 3 < len(values) else none
    return one, two, three, four


@cuda.jit(device=True)
def fetch(values, first, whole):
    """Return the lane's eighth of a piece of all runs; `first` is where the first run's begins.

    `whole`: no run ends beyond the values; the lane then waits for memory once.
    """
    if whole:  # without a branch in between, all loads are on their way at once
        return (
            load4(values, _at(first, 0)), load4(values, _at(first, 1)),
            load4(values, _at(first, 2)), load4(values, _at(first, 3)),
            load4(values, _at(first, 4)), load4(values, _at(first, 5)),
            load4(values, _at(first, 6)), load4(values, _at(first, 7)),
        )  # fmt: skip
    return (
        _four(values, _at(first, 0)), _four(values, _at(first, 1)),
        _four(values, _at(first, 2)), _four(values, _at(first, 3)),
        _four(values, _at(first, 4)), _four(values, _at(first, 5)),
        _four(values, _at(first, 6)), _four(values, _at(first, 7)),
    )  # fmt: skip


@cuda.jit(device=True)
def _put(stage, part, four):
    run, fours = _run_and_fours(part)
    to = uint32(run * uint32(STRIDE) + fours * uint32(4))
    stage[to], stage[to + uint32(1)], stage[to + uint32(2)], stage[to + uint32(3)] = four


@cuda.jit(device=True)
def put(stage, fetched):
    """Write what all lanes fetched to shared memory; lane k's piece begins at ``k * STRIDE``."""
    cuda.syncthreads()
    _put(stage, 0, fetched[0])
    _put(stage, 1, fetched[1])
    _put(stage, 2, fetched[2])
    _put(stage, 3, fetched[3])
    _put(stage, 4, fetched[4])
    _put(stage, 5, fetched[5])
    _put(stage, 6, fetched[6])
    _put(stage, 7, fetched[7])
    cuda.syncthreads()


@cuda.jit(device=True)
def fill(stage, values, first, whole):
    """Fetch a piece of all runs and put it into shared memory; little code where not `whole`."""
    if whole:
        put(stage, fetch(values, first, True))
        return
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, THREADS * PIECE, THREADS):
        at = first + k // PIECE * RUN + k % PIECE
        value = values[at] if at < len(values) else values.dtype.type(0)
        stage[k // PIECE * STRIDE + k % PIECE] = value
    cuda.syncthreads()
