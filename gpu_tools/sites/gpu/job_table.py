"""The table of jobs that the kernels of site mode read: a row of numbers for each job."""

from __future__ import annotations

from numba import cuda, int32

from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, shuffle

(
    FLOOR,  # value of cells that nothing has reached, in both halves
    ROWS,  # twice the step behind the last one; of chains that translate that step
    STRIPS,  # strips of target columns
    # where the job's part begins in each buffer; the targets are symbols
    BOUNDARIES, OPERATIONS, TARGET, CELLS, BORDERS, ENDS,
    STRIDE,  # words of a strip's cells
    COLUMNS,  # columns of the target
    FIRST_STORED,  # where the rows for the traceback begin among a strip's rows
    SIZE, LAST_SIZE,  # registers a lane of all strips but the last one, and of the last one
    LIFTING,  # what S' is more than a cell, for each strip before
    SLOTS,  # rows of a strip's cells; of chains that translate those before slots begin
    BORDER_WORDS,  # border words of a strip
    START,  # slot of the empty chain's row, of chains that translate
    FIRST_STEP,  # step to begin with
    OPERANDS,  # steps of the plan, behind which operands stand
    MASK,  # masks an exit's number less the next one to find its rows, of chains that translate
    EXIT_BASE,
    COPY_BASE,  # by how much an entry's stored rows come sooner than the plan says
    CHECKPOINTS,  # where the job's checkpoints begin in their buffer
    EVERY,  # distance of checkpoints in steps, 0 for none
    CHECKPOINT_STRIDE,  # words of a checkpoint
    N_SLOTS,  # slots of a checkpoint
    RING,  # exits whose rows there are at a time, or that a checkpoint has
    KEPT,  # the column from which on leaving out the target's end is free
    BORDER_MASK,  # masks the number of a border word to find its place, see `packed_strip`
) = range(30)  # fmt: skip
"""The numbers of a job's row."""
JOB_NUMBERS = BORDER_MASK + 1


# The best end of each job, of those that the lanes of its strips have noted.


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
    """Find the best end of each job; a thread block is one warp."""
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
