"""The table of jobs that the kernels of site mode read: a row of numbers for each job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, shuffle
from gpu_tools.sites.introns import class_arrays
from gpu_tools.sites.table import SiteTable

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
    ADVANCES,  # border words of a strip
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
) = range(29)  # fmt: skip
"""The numbers of a job's row."""
JOB_NUMBERS = KEPT + 1


# What tracebacks on a GPU read beside stored rows: lists of a strand's sites, a row a job.


BOUNDARY, VALUE, KIND = range(3)
"""An element of a list of sites; those of first entries have no kind. One of junctions has the
acceptor, the penalty and the donor.
"""
SITE, FIRST = 3, 2
"""Numbers of an element."""
NO_STOPS = -1


WHOLE, NOT_EXPLAINED, TOO_MANY, OUTSIDE = range(4)
"""Whether a chain was followed to its start, and if not, why: the sweep is wrong, there are more
exons than the buffer takes, or rows are needed that are not in memory.
"""
CHAIN_NUMBERS = 5
"""Numbers of the part of a chain that is still to be followed, the exons up to the end of one."""
FOLLOWED = 2 + CHAIN_NUMBERS
"""Numbers that a traceback returns beside exons: one of those, a count, and what is left."""
(
    AT_JOB,  # the job's row of the table of jobs
    # what is to be followed: boundary and column where it ends, S' there without the exit's score,
    # frame of the last exon's codons if the chain translates, and whether that is the chain's last
    AT_END, AT_COLUMN, AT_VALUE, AT_FRAME, AT_IS_LAST,
    # where the job's symbols, its columns of W and its exons begin in their buffers
    AT_TARGET, AT_GAINS, AT_EXONS,
    AT_MOST_EXONS,  # exons that the job's part of the buffer can take
    AT_BEST_SITES,  # largest sum of sites less penalties of a part of a chain
    AT_CODES,  # where the strand's nucleotides begin in their buffer
    AT_LENGTH,  # nucleotides of the strand
    # where the strand's lists begin in their buffer; `NO_STOPS` without stop codons
    AT_EXITS, AT_ENTRIES, AT_FIRSTS, AT_CLASSES, AT_STOPS, AT_MARKS, AT_JUNCTIONS,
    # elements of the lists
    AT_N_EXITS, AT_N_ENTRIES, AT_N_FIRSTS, AT_N_CLASSES, AT_N_MARKS, AT_N_JUNCTIONS,
    AT_CLASS_SIZE,  # numbers of an intron class
    AT_MARK_SIZE,  # numbers of a mark: its boundary, and how many of each level there are up to it
    AT_USUAL_FIRST,  # score of a first entry that is not listed, `CLOSED` if there is none
    AT_LOW, AT_FIRST_EXIT,  # the first boundary whose rows there are, and the first exit from there
    AT_EXIT_ROWS, AT_ENTRY_ROWS,  # what is taken off the numbers of rows of exits and of entries
) = range(33)  # fmt: skip
"""What the traceback of a job begins with."""
TRACE_NUMBERS = AT_ENTRY_ROWS + 1


class StrandLists(NamedTuple):
    """The lists of a strand, one behind the other, and what tracebacks begin with, of the strand.

    Lists begin as if there were no others in the buffer; what a job has is 0.
    """

    numbers: NDArray[np.int32]
    row: NDArray[np.int64]


def strand_lists(table: SiteTable) -> StrandLists:
    """Lay out the lists of a table."""
    introns, seen = class_arrays(table).introns, table.junctions
    stops = np.zeros(0, np.bool_) if table.stops is None else table.stops.ravel()
    sites = [(s.boundaries, s.scores, s.kinds) for s in (table.donors, table.acceptors)]
    numbers, counts, sizes = _joined_lists(
        *sites, (table.first.boundaries, table.first.scores), introns.rows, stops,
        introns.boundaries, introns.counts, (seen.acceptors, seen.penalties, seen.donors),
    )  # fmt: skip
    row = np.zeros(TRACE_NUMBERS, np.int64)
    row[AT_EXITS : AT_JUNCTIONS + 1] = np.cumsum(sizes) - sizes
    row[AT_N_EXITS : AT_N_JUNCTIONS + 1] = counts
    row[AT_LENGTH], row[AT_USUAL_FIRST] = table.length, table.first.usual
    row[AT_CLASS_SIZE], row[AT_MARK_SIZE] = introns.rows.shape[1], 1 + introns.counts.shape[1]
    if table.stops is None:
        row[AT_STOPS] = NO_STOPS
    return StrandLists(numbers, row)


@njit(cache=True, nogil=True)
def _joined_lists(donors, acceptors, firsts, classes, stops, marks, counts, junctions):
    """Return all lists, one behind the other, and how many elements and numbers each has.

    Of codons there is no count.
    """
    elements = np.array([
        len(donors[0]), len(acceptors[0]), len(firsts[0]), len(classes), len(marks),
        len(junctions[0]),
    ])  # fmt: skip
    width = 1 + counts.shape[1]
    sizes = np.array([
        SITE * len(donors[0]), SITE * len(acceptors[0]), FIRST * len(firsts[0]), classes.size,
        len(stops), width * len(marks), SITE * len(junctions[0]),
    ])  # fmt: skip
    made, n = np.empty(sizes.sum(), np.int32), 0
    for boundaries, scores, kinds in (donors, acceptors):
        for k in range(len(boundaries)):
            made[n + BOUNDARY], made[n + VALUE], made[n + KIND] = boundaries[k], scores[k], kinds[k]
            n += SITE
    for k in range(len(firsts[0])):
        made[n + BOUNDARY], made[n + VALUE] = firsts[0][k], firsts[1][k]
        n += FIRST
    for own in classes:
        for value in own:
            made[n] = value
            n += 1
    for value in stops:
        made[n] = value
        n += 1
    for k in range(len(marks)):
        made[n] = marks[k]
        for level in range(width - 1):
            made[n + 1 + level] = counts[k + 1, level]
        n += width
    for k in range(len(junctions[0])):
        made[n + BOUNDARY], made[n + VALUE] = junctions[0][k], junctions[1][k]
        made[n + KIND] = junctions[2][k]
        n += SITE
    return made, elements, sizes


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
