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


class JobNumbers(NamedTuple):
    """A job's row of the table."""

    floor: int  # value of cells that nothing has reached, in both halves
    rows: int  # border words of a strip, two a step
    strips: int  # strips of target columns
    # where the job's part begins in each buffer; the targets are symbols
    boundaries: int = 0
    operations: int = 0
    target: int = 0
    cells: int = 0
    borders: int = 0
    ends: int = 0
    stride: int = 0  # words of a strip's cells
    columns: int = 0  # columns of the target
    first_stored: int = 0  # where the rows for the traceback begin among a strip's rows
    # registers a lane of all strips but the last one, and of the last one
    size: int = 0
    last_size: int = 0
    lifting: int = 0  # what S' is more than a cell, for each strip before
    slots: int = 0  # rows of a strip's cells; of chains that translate those before slots begin
    advances: int = 0  # border words of a strip
    # most of the rest is for chains that translate, whose `rows` is the end step
    start: int = 0  # slot of the empty chain's row
    first_step: int = 0  # step to begin with
    operands: int = 0  # steps of the plan, behind which operands stand
    mask: int = 0  # masks an exit's number less `exit_base` to find its rows
    exit_base: int = 0
    copy_base: int = 0  # by how much an entry's stored rows come sooner than the plan says
    checkpoints: int = 0  # where the job's checkpoints begin in their buffer
    every: int = 0  # distance of checkpoints in steps, 0 for none
    checkpoint_stride: int = 0  # words of a checkpoint
    n_slots: int = 0  # slots of a checkpoint
    ring: int = 0  # exits whose rows a checkpoint has
    kept: int = 0  # the column from which on leaving out the target's end is free


FLOOR, ROWS, STRIPS = range(3)
BOUNDARIES, OPERATIONS, TARGET, CELLS, BORDERS, ENDS = range(3, 9)
STRIDE, COLUMNS, FIRST_STORED, SIZE, LAST_SIZE, LIFTING = range(9, 15)
SLOTS, ADVANCES, START = range(15, 18)
FIRST_STEP, OPERANDS, MASK, EXIT_BASE, COPY_BASE = range(18, 23)
CHECKPOINTS, EVERY, CHECKPOINT_STRIDE, N_SLOTS, RING, KEPT = range(23, 29)


# What tracebacks on a GPU read beside stored rows: lists of a strand's sites, a row a job.


BOUNDARY, VALUE, KIND = range(3)
"""An element of a list of sites; those of first entries have no kind. One of junctions has the
acceptor, the penalty and the donor.
"""
SITE, FIRST = 3, 2
"""Numbers of an element."""
NO_STOPS = -1


class RowsInMemory(NamedTuple):
    """Which of a job's stored rows there are."""

    low: int = 0  # the first boundary whose rows there are
    first_exit: int = 0  # the first exit from there on
    # what is taken off the numbers of rows of exits and of entries
    exit_rows: int = 0
    entry_rows: int = 0


class ChainLeft(NamedTuple):
    """The part of a chain that is still to be followed: the exons up to the end of one."""

    end: int  # boundary where it ends
    column: int  # column where it ends
    value: int  # S' there, without the exit's score
    frame: int  # that of the last exon's codons, if the chain translates
    is_last: int  # whether it is the chain's last exon


WHOLE, NOT_EXPLAINED, TOO_MANY, OUTSIDE = range(4)
"""Whether a chain was followed to its start, and if not, why: the sweep is wrong, there are more
exons than the buffer takes, or rows are needed that are not in memory.
"""
FOLLOWED = 2 + len(ChainLeft._fields)
"""Numbers that a traceback returns beside exons: one of these, a count, and a `ChainLeft`."""


class TraceNumbers(NamedTuple):
    """What the traceback of a job begins with; the last four are those of `RowsInMemory`."""

    job: int  # the job's row of the table of jobs
    # what is to be followed, see `ChainLeft`
    end: int
    column: int
    value: int
    frame: int
    is_last: int
    # where the job's symbols, its columns of W and its exons begin in their buffers
    target: int
    gains: int
    exons: int
    most_exons: int  # exons that the job's part of the buffer can take
    best_sites: int  # largest sum of sites less penalties of a part of a chain
    codes: int  # where the strand's nucleotides begin in their buffer
    length: int  # nucleotides of the strand
    # where the strand's lists begin in their buffer; `NO_STOPS` without stop codons
    exits: int
    entries: int
    firsts: int
    classes: int
    stops: int
    marks: int
    junctions: int
    # elements of the lists
    n_exits: int
    n_entries: int
    n_firsts: int
    n_classes: int
    n_marks: int
    n_junctions: int
    class_size: int  # numbers of an intron class
    mark_size: int  # numbers of a mark: its boundary, and how many of each level there are up to it
    usual_first: int  # score of a first entry that is not listed, `CLOSED` if there is none
    low: int
    first_exit: int
    exit_rows: int
    entry_rows: int


(
    AT_JOB, AT_END, AT_COLUMN, AT_VALUE, AT_FRAME, AT_IS_LAST, AT_TARGET, AT_GAINS, AT_EXONS,
    AT_MOST_EXONS, AT_BEST_SITES, AT_CODES, AT_LENGTH, AT_EXITS, AT_ENTRIES, AT_FIRSTS,
    AT_CLASSES, AT_STOPS, AT_MARKS, AT_JUNCTIONS, AT_N_EXITS, AT_N_ENTRIES, AT_N_FIRSTS,
    AT_N_CLASSES, AT_N_MARKS, AT_N_JUNCTIONS, AT_CLASS_SIZE, AT_MARK_SIZE, AT_USUAL_FIRST, AT_LOW,
    AT_FIRST_EXIT, AT_EXIT_ROWS, AT_ENTRY_ROWS,
) = range(len(TraceNumbers._fields))  # fmt: skip
"""Where the elements of `TraceNumbers` are."""


class StrandLists(NamedTuple):
    """The lists of a strand, one behind the other, and what `TraceNumbers` say of the strand.

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
    row = np.zeros(len(TraceNumbers._fields), np.int64)
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
