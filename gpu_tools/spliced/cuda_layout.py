"""Tables of launches: what jobs take, where it lies in the buffers, which block does which job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.batches import largest_first
from gpu_tools.cuda_kept import Buffers
from gpu_tools.ptx import WARP
from gpu_tools.spliced import cuda_job as of_job
from gpu_tools.spliced import cuda_packed as packed
from gpu_tools.spliced import cuda_programs as of
from gpu_tools.spliced import cuda_strip as strip
from gpu_tools.spliced import cuda_trace as trace
from gpu_tools.spliced import piece_tables as of_piece
from gpu_tools.spliced.columns import Jobs


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


_FACTS = len(Takes._fields) + 3


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


def lay_out(
    programs: NDArray[np.int64],
    jobs: Jobs,
    past: Sequence[int],
    rooms: Sequence[Buffers],
    most: tuple[int, int, float],
) -> list[Laid]:
    """Lay out jobs for several launches.

    Parameters
    ----------
    programs : ndarray of int64, shape (P, cuda_programs.FIELDS)
    jobs : Jobs
        Of all launches.
    past : sequence of int
        Where the jobs of each launch end.
    rooms : sequence of Buffers
        Those of each launch; what was laid out there before is gone.
    most : tuple
        Columns of a chunk, the blocks that a job gets at most for each piece at work at once, and
        those of all jobs of a launch together.
    """
    own = [jobs.take(slice(*ends)) for ends in pairwise([0, *past])]
    tables = [
        buffers.pinned("jobs", each.count * of_job.FIELDS, np.int64).reshape(-1, of_job.FIELDS)
        for each, buffers in zip(own, rooms, strict=True)
    ]
    places = np.array([[table.__array_interface__["data"][0], len(table)] for table in tables])
    facts, teams = _lay_out(programs, jobs, places, AROUND, most)
    laid = []
    for table, each, buffers, fact in zip(tables, own, rooms, facts.tolist(), strict=True):
        *takes, joins, first, past_team = fact
        team = buffers.pinned("team", past_team - first, np.int32)
        _put(teams, first, team)
        laid.append(Laid(each, table, Takes(*takes), bool(joins), team))
    return laid


class First(NamedTuple):
    """A launch laid out in memory that is not pinned, see `lay_out_first`."""

    jobs: Jobs
    table: NDArray[np.int64]
    facts: NDArray[np.int64]
    team: NDArray[np.int32]

    def put_into(self, buffers: Buffers) -> Laid:
        """Return the same in pinned memory."""
        table = buffers.pinned("jobs", self.table.size, np.int64).reshape(self.table.shape)
        team = buffers.pinned("team", len(self.team), np.int32)
        _put_both(self.table, table, self.team, team)
        *takes, joins = self.facts.tolist()
        return Laid(self.jobs, table, Takes(*takes), bool(joins), team)


@register_jitable
def lay_out_first(programs, jobs, around, most):
    """Lay out jobs for a launch in compiled code; returned are the parts of `First`."""
    table = np.empty((len(jobs.programs), of_job.FIELDS), dtype=np.int64)
    facts = np.empty(_FACTS - 2, dtype=np.int64)
    facts[:-1], facts[-1] = _write_table(programs, jobs, table, around)
    team = np.empty(0, dtype=np.int32)
    if len(table):
        team = _team(programs, jobs.programs, jobs.lengths, *most)
    return table, facts, team


@njit(cache=True)
def _put_both(table, into_table, team, into_team):
    # numpy gives Python's lock away for this
    into_table[:] = table
    into_team[:] = team


@njit(cache=True)
def _put(values, first, into):
    # numpy gives Python's lock away for this
    into[:] = values[first : first + len(into)]


@njit(cache=True, nogil=True)
def _lay_out(programs, jobs, places, around, most):
    """Write the tables of launches, given where they are and how many jobs they have.

    Returned are of each launch what its jobs take, whether one joins, and where its part of the
    other result begins and ends: the job of each block.
    """
    facts = np.empty((len(places), _FACTS), dtype=np.int64)
    teams, first = np.empty(0, dtype=np.int32), 0
    for k in range(len(places)):
        past = first + places[k, 1]
        own = Jobs(
            jobs.programs[first:past], jobs.cases[first:past], jobs.targets[first:past],
            jobs.lengths[first:past],
        )  # fmt: skip
        table = simd.bytes_at(places[k, 0], 8 * of_job.FIELDS * places[k, 1]).view(np.int64)
        takes, joins = _write_table(programs, own, table.reshape(-1, of_job.FIELDS), around)
        facts[k, :-3], facts[k, -3], facts[k, -2] = takes, joins, len(teams)
        teams = np.append(teams, _team(programs, own.programs, own.lengths, *most))
        facts[k, -1], first = len(teams), past
    return facts, teams


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
