"""The table of jobs that the kernels of site mode read: a row of numbers for each job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, shuffle
from gpu_tools.sites.introns import class_arrays
from gpu_tools.sites.table import BoundaryScores, SiteTable


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
    parts: int  # rows stored for an entry
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
    AT_MOST_EXONS, AT_PARTS, AT_BEST_SITES, AT_CODES, AT_LENGTH, AT_EXITS, AT_ENTRIES, AT_FIRSTS,
    AT_CLASSES, AT_STOPS, AT_MARKS, AT_JUNCTIONS, AT_N_EXITS, AT_N_ENTRIES, AT_N_FIRSTS,
    AT_N_CLASSES, AT_N_MARKS, AT_N_JUNCTIONS, AT_CLASS_SIZE, AT_MARK_SIZE, AT_USUAL_FIRST, AT_LOW,
    AT_FIRST_EXIT, AT_EXIT_ROWS, AT_ENTRY_ROWS,
) = range(len(TraceNumbers._fields))  # fmt: skip
"""Where the elements of `TraceNumbers` are."""


_NOTHING = TraceNumbers(*[0] * len(TraceNumbers._fields))


class StrandLists(NamedTuple):
    """The lists of a strand, one behind the other, and the part of `TraceNumbers` about them."""

    numbers: NDArray[np.int32]
    about: dict[str, int]

    def about_from(self, first: int, **more) -> TraceNumbers:
        """Return what is known of a strand if the lists begin at an element of a buffer.

        The rest, which a job has, is 0; `more` is known, too.
        """
        starts = ("exits", "entries", "firsts", "classes", "stops", "marks", "junctions")
        moved = {name: self.about[name] + first for name in starts if self.about[name] >= 0}
        return _NOTHING._replace(**self.about, **more)._replace(**moved)


def strand_lists(table: SiteTable) -> StrandLists:
    """Lay out the lists of a table."""
    stops = [] if table.stops is None else table.stops.astype(np.int32).ravel()
    introns, seen = class_arrays(table).introns, table.junctions
    classes = introns.rows.astype(np.int32)
    parts = {
        "exits": _elements(table.donors, SITE), "entries": _elements(table.acceptors, SITE),
        "firsts": _elements(table.first, FIRST),
        "classes": classes,
        "stops": np.array(stops, dtype=np.int32),
        "marks": np.column_stack([introns.boundaries, introns.counts[1:]]).astype(np.int32),
        "junctions": np.stack([seen.acceptors, seen.penalties, seen.donors], 1).astype(np.int32),
    }  # fmt: skip
    sizes = [part.size for part in parts.values()]
    about = dict(zip(parts, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    about |= {f"n_{name}": len(part) for name, part in parts.items() if name != "stops"}
    about |= {"usual_first": table.first.usual, "length": table.length}
    about |= {"class_size": classes.shape[1], "mark_size": parts["marks"].shape[1]}
    if table.stops is None:
        about["stops"] = NO_STOPS
    return StrandLists(np.concatenate([part.ravel() for part in parts.values()]), about)


def _elements(scores: BoundaryScores, numbers: int) -> NDArray[np.int32]:
    return _side_by_side(scores.boundaries, scores.scores, scores.kinds, numbers)


@njit(cache=True, nogil=True)
def _side_by_side(boundaries, scores, kinds, numbers):
    """Return the elements of a list of sites, with or without kinds."""
    made = np.empty((len(boundaries), numbers), np.int32)
    for k in range(len(boundaries)):
        made[k, BOUNDARY], made[k, VALUE] = boundaries[k], scores[k]
        if numbers > KIND:
            made[k, KIND] = kinds[k]
    return made


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
