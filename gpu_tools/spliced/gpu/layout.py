"""Tables of launches: what jobs take, where it lies in the buffers, which block does which job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.batches import largest_first
from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.gpu.intrinsics import WARP
from gpu_tools.spliced.columns import Jobs, jobs_between
from gpu_tools.spliced.gpu import job_table as of_job
from gpu_tools.spliced.gpu import piece_tables as of_piece
from gpu_tools.spliced.gpu import programs as of
from gpu_tools.spliced.gpu import sweep as packed
from gpu_tools.spliced.gpu import traceback as trace
from gpu_tools.spliced.gpu import traceback_strip as strip


class Around(NamedTuple):
    """What kernels need beyond a target's columns.

    It is handed to compiled functions: constants would stay in the cache on disk, which the
    simulator, with its short warps, shares.

    Attributes
    ----------
    row : int
        Elements of a stored row beyond the target's length.
    words : int
        Elements of a target's words, likewise.
    border : int
        Elements of rows that chains are followed in, beyond the columns.
    strip : int
        Rows of a strip, see `cuda_strip`.
    """

    row: int
    words: int
    border: int
    strip: int


AROUND = Around(1 + packed.LEAD + packed.TAIL, packed.WORDS_AROUND, 2 * WARP, strip.STRIP)


@register_jitable
def stride_of(length, around):
    """Return elements of a stored row: columns 0 to n, and what steps too early or late write."""
    return (length + around.row + packed.UNROLLED - 1) // packed.UNROLLED * packed.UNROLLED


@register_jitable
def word_room(length, around):
    """Return elements of a target's words, which lie there several times, each time shifted."""
    return (length + around.words + 2 * packed.UNROLLED - 2) // packed.UNROLLED * packed.UNROLLED


class Takes(NamedTuple):
    """Elements that jobs take in the buffers of a launch and of `cuda_trace.trace_chains`."""

    cells: int
    sources: int
    words: int
    strips: int
    borders: int
    ways: int
    found: int

    @property
    def space(self) -> int:
        """Elements of the room in which chains are followed."""
        return self.strips + self.borders + self.ways

    @property
    def bytes(self) -> int:
        """Device memory."""
        return _bytes_of(self)


@register_jitable
def _bytes_of(takes):
    """Return the device memory of what jobs take; what was found is there twice."""
    others = takes.sources + takes.words + takes.strips + takes.borders + takes.ways
    return 2 * takes.cells + 4 * (others + 2 * takes.found)


@register_jitable
def _source_elements(segments, sources):
    """Return elements of a job's segments and sources, a multiple of what is loaded at once."""
    elements = of_piece.OF_SEGMENT * segments + of_piece.OF_SOURCE * sources
    return (elements + of_piece.OF_SEGMENT - 1) // of_piece.OF_SEGMENT * of_piece.OF_SEGMENT


@register_jitable
def _takes(table, program, length, around):
    """Return what a job takes, from its program's row of the table and its target's length."""
    columns, longest = length + 1, table[program, of.LONGEST_TRACK]
    strips = longest // around.strip + table[program, of.MOST_EXITS] + 1
    lanes = longest // strip.SLOTS + strips
    # runs that are no deletions take a target symbol each, and a deletion follows one or begins
    runs = 2 * columns + table[program, of.N_ENDS] * (trace.HEAD + 2)
    return Takes(
        (table[program, of.N_STOPS] + table[program, of.N_KEPT]) * stride_of(length, around),
        _source_elements(table[program, of.N_SEGMENTS], table[program, of.N_SOURCES]),
        (packed.UNROLLED + 1) * word_room(length, around), 2 * strips,
        2 * (columns + around.border), lanes * (columns // 2 + around.border), 1 + runs,
    )  # fmt: skip


@register_jitable
def job_bytes(table, jobs, around):
    """Return the device memory that each job takes, see `Takes`."""
    sizes = np.empty(len(jobs.programs), dtype=np.int64)
    for k in range(len(sizes)):
        sizes[k] = _bytes_of(_takes(table, jobs.programs[k], jobs.lengths[k], around))
    return sizes


class Laid(NamedTuple):
    """Jobs laid out for a launch.

    Attributes
    ----------
    jobs : Jobs
    table : ndarray of int64, shape (J, cuda_job.FIELDS)
        In pinned memory.
    takes : Takes
        Of all jobs together.
    joins : bool
        Whether one is the second half of a strand.
    team : ndarray of int32
        The job of each block, in pinned memory.
    """

    jobs: Jobs
    table: NDArray[np.int64]
    takes: Takes
    joins: bool
    team: NDArray[np.int32]


class Draft(NamedTuple):
    """Jobs laid out for launches that follow each other, in memory that is not pinned.

    Attributes
    ----------
    jobs : Jobs
    table : ndarray of int64, shape (J, cuda_job.FIELDS)
    facts : ndarray of int64, shape (L, _FACTS)
        What the jobs of each launch take, whether one joins, where its jobs and its blocks end.
    teams : ndarray of int32
        The job of each block, its number in its launch.
    """

    jobs: Jobs
    table: NDArray[np.int64]
    facts: NDArray[np.int64]
    teams: NDArray[np.int32]

    def put_into(self, rooms: Sequence[Buffers]) -> list[Laid]:
        """Return the launches that there are buffers for; what was laid out in those is gone."""
        laid, first, first_block = [], 0, 0
        for (*takes, joins, past, past_block), buffers in zip(
            self.facts.tolist(), rooms, strict=False
        ):
            table = buffers.pinned("jobs", (past - first) * of_job.FIELDS, np.int64)
            table = table.reshape(-1, of_job.FIELDS)
            team = buffers.pinned("team", past_block - first_block, np.int32)
            _take(self.table, first, table, self.teams, first_block, team)
            jobs = self.jobs.take(slice(first, past))
            laid.append(Laid(jobs, table, Takes(*takes), bool(joins), team))
            first, first_block = past, past_block
        return laid


_FACTS = len(Takes._fields) + 3


def lay_out(
    programs: NDArray[np.int64],
    jobs: Jobs,
    past: Sequence[int],
    most: tuple[int, int, float],
) -> Draft:
    """Lay out jobs for several launches.

    Parameters
    ----------
    programs : ndarray of int64, shape (P, cuda_programs.FIELDS)
    jobs : Jobs
        Of all launches.
    past : sequence of int
        Where the jobs of each launch end.
    most : tuple
        Columns of a chunk, the blocks that a job gets at most for each piece at work at once, and
        those of all jobs of a launch together.
    """
    return Draft(*_lay_out(programs, jobs, np.array(past, dtype=np.int64), AROUND, most))


@njit(cache=True, nogil=True)
def _lay_out(programs, jobs, past, around, most):
    return drafted(programs, jobs, past, around, most)


@register_jitable
def drafted(programs, jobs, past, around, most):
    """Lay out jobs in compiled code, see `lay_out`; returned are the parts of a `Draft`."""
    facts, first = np.empty((len(past), _FACTS), dtype=np.int64), 0
    table = np.empty((past.max() if len(past) else 0, of_job.FIELDS), dtype=np.int64)
    teams = np.empty(0, dtype=np.int32)
    for k in range(len(past)):
        own = jobs_between(jobs, first, past[k])
        takes, joins = _write_table(programs, own, table[first : past[k]], around)
        teams = np.append(teams, _team(programs, own.programs, own.lengths, *most))
        facts[k, :-3], facts[k, -3] = takes, joins
        facts[k, -2], facts[k, -1], first = past[k], len(teams), past[k]
    return jobs_between(jobs, 0, first), table, facts, teams


@njit(cache=True)
def _take(table, first, into_table, teams, first_block, into_team):
    # numpy gives Python's lock away for this
    into_table[:] = table[first : first + len(into_table)]
    into_team[:] = teams[first_block : first_block + len(into_team)]


@njit(cache=True, nogil=True)
def _write_table(table, jobs, layout, around):
    """Write the table of jobs, see `cuda_job`; return what they take, and whether one joins."""
    programs, cases, targets, lengths = jobs
    sums, joins = (0, 0, 0, 0, 0, 0, 0), False
    first = 0
    for k in range(len(programs)):
        program = programs[k]
        cells, sources, words, strips, borders, ways, found = sums
        layout[k, of_job.COLUMNS] = lengths[k] + 1
        layout[k, of_job.STRIDE] = stride_of(lengths[k], around)
        layout[k, of_job.PIECES] = table[program, of.N_PIECES]
        layout[k, of_job.SEGMENTS] = table[program, of.N_SEGMENTS]
        layout[k, of_job.STOPS] = table[program, of.N_STOPS]
        layout[k, of_job.N_SOURCES] = table[program, of.N_SOURCES]
        layout[k, of_job.N_EXITS] = table[program, of.N_EXITS]
        layout[k, of_job.NUMBERS] = table[program, of.NUMBERS]
        layout[k, of_job.PROGRAM_SOURCES] = table[program, of.SOURCES]
        layout[k, of_job.EXITS] = table[program, of.EXITS] // 8
        layout[k, of_job.SYMBOLS], layout[k, of_job.TARGET] = table[program, of.SYMBOLS], targets[k]
        layout[k, of_job.CELLS], layout[k, of_job.SOURCES] = cells, sources
        layout[k, of_job.WORDS], layout[k, of_job.FOUND] = words, found
        layout[k, of_job.WORD_ROOM] = word_room(lengths[k], around)
        # the room in which a chain is followed lies together
        room = strips + borders + ways
        own = _takes(table, program, lengths[k], around)
        layout[k, of_job.STRIPS], layout[k, of_job.BORDERS] = room, room + own.strips
        layout[k, of_job.WAYS] = room + own.strips + own.borders
        if cases[k] != cases[first]:
            first = k
        layout[first : k + 1, of_job.PAST_RIVALS] = k + 1
        layout[k, of_job.FIRST_RIVAL] = first
        layout[k, of_job.BEHIND] = table[program, of.BEHIND]
        joins |= table[program, of.BEHIND] != 0
        layout[k, of_job.MIRRORED] = table[program, of.MIRRORED]
        layout[k, of_job.LAST_ENTRY] = table[program, of.LAST_ENTRY]
        layout[k, of_job.LAST_COMMITTED] = table[program, of.LAST_COMMITTED]
        sums = (
            cells + own.cells, sources + own.sources, words + own.words, strips + own.strips,
            borders + own.borders, ways + own.ways, found + own.found,
        )  # fmt: skip
    return np.array(sums), joins


@njit(cache=True, nogil=True)
def _team(table, programs, lengths, chunk, at_once, blocks):
    """Return the job of each block, those with the most work a block first.

    A job gets blocks for the pieces that are at work at the same time, and for some that come next;
    if pieces are filled, no more than its share of the work.
    """
    n = len(programs)
    work, sizes = np.empty(n, dtype=np.float64), np.empty(n, dtype=np.float64)
    for k in range(n):
        chunks = (lengths[k] + chunk - 1) // chunk
        work[k] = table[programs[k], of.N_PIECES] * chunks
        sizes[k] = at_once * work[k] / (table[programs[k], of.LAST_TICK] + chunks)
    share = blocks / work.sum()
    for k in range(n):
        most = np.ceil(min(sizes[k], work[k] * share))
        sizes[k] = min(max(most, 1), table[programs[k], of.N_PIECES])
    order = largest_first((work / sizes).astype(np.int64))
    team, first = np.empty(np.int64(sizes.sum()), dtype=np.int32), 0
    for k in order:
        past = first + np.int64(sizes[k])
        team[first:past] = k
        first = past
    return team
