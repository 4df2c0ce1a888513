"""The packed sweep of many jobs on a GPU: lays out its buffers and runs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.batches import largest_first
from gpu_tools.cuda_kept import Buffers
from gpu_tools.device import simulated
from gpu_tools.ptx import WARP
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda_ends as ends
from gpu_tools.spliced import cuda_job as of_job
from gpu_tools.spliced import cuda_packed as packed
from gpu_tools.spliced import cuda_programs as of
from gpu_tools.spliced import cuda_strip as strip
from gpu_tools.spliced import cuda_trace as trace
from gpu_tools.spliced import piece_tables as of_piece
from gpu_tools.spliced.columns import Jobs
from gpu_tools.spliced.cuda_programs import Programs, place_sources
from gpu_tools.spliced.widths import Extent, bound_cells, costs_of

PACKED_CAPABILITY = (9, 0)
BLOCKS_PER_MULTIPROCESSOR = 28
"""Blocks of one warp that jobs share in, for each multiprocessor."""
BLOCKS_AT_ONCE, BLOCKS_AT_ONCE_APART = 2, 3
"""Blocks that a job gets at most for each of its pieces that are at work at the same time."""
EXONS_APART = 16
"""So many candidates a multiprocessor, each with its target, do not keep a GPU busy."""
_THREADS = 4 if simulated() else 128


def fit_packed(table, lengths, base_lengths, scoring: SplicedScoring) -> NDArray[np.bool_]:
    """Tell of which jobs 16-bit cells and byte scores provably suffice.

    What fits with a target also fits with any shorter one.

    Parameters
    ----------
    table : ndarray of int64, shape (J, cuda_programs.FIELDS)
        The row of each job's program.
    lengths, base_lengths : ndarray of int64, shape (J,)
        Of targets and bases.
    scoring : SplicedScoring
    """
    lifted = scoring.substitution() - scoring.gap
    in_bytes = np.abs(lifted).max() <= 127 and (lifted - scoring.gap).max() <= 127
    if not in_bytes or scoring.gap > 0:
        return np.zeros(len(lengths), dtype=np.bool_)
    return _cells_fit(table, lengths, base_lengths, costs_of(scoring), AROUND)


@njit(cache=True, nogil=True)
def _cells_fit(table, lengths, base_lengths, costs, around):
    """Tell of which jobs 16-bit cells suffice, see `fit_packed`, and what else is counted."""
    fit = np.empty(len(lengths), dtype=np.bool_)
    for k in range(len(lengths)):
        own, stride = table[k], stride_of(lengths[k], around)
        longest = own[of.LONGEST_TRACK]
        extent = Extent(longest, own[of.MOST_BONUS], own[of.BEST_BONUS], base_lengths[k])
        low, high = bound_cells(extent, stride, costs)
        # cells inside a track lack a gap a row, where a row without a pair adds nothing
        high -= costs.gap * min(longest, stride)
        fit[k] = (
            own[of.AMBIGUOUS] == 0
            and low > packed.NEVER + 256
            and high < 2**15 - 256
            and (own[of.N_STOPS] + own[of.N_KEPT]) * stride < 2**31
            and lengths[k] < ends.COLUMNS_AT_MOST
            and own[of.N_EXITS] <= ends.EXITS_AT_MOST
        )
    return fit


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


@njit(cache=True, nogil=True)
def job_bytes(table, programs, lengths, around):
    """Return the device memory that each job takes, see `Takes`."""
    sizes = np.empty(len(programs), dtype=np.int64)
    for k in range(len(programs)):
        sizes[k] = _bytes_of(_takes(table, programs[k], lengths[k], around))
    return sizes


def run_apart(exons: int, ordinal: int) -> bool:
    """Tell whether so few candidates had better be pieces of their own on a GPU.

    These are the candidates of all its jobs together. Then dependent exons hold the jobs up, not
    the arithmetic.
    """
    return exons <= EXONS_APART * count_multiprocessors((ordinal,))


def count_multiprocessors(ordinals: Iterable[int]) -> int:
    """Return the multiprocessors of some GPUs."""
    if simulated():
        return len(tuple(ordinals))
    return sum(cuda.gpus[ordinal].MULTIPROCESSOR_COUNT for ordinal in ordinals)


def can_pack(ordinal: int) -> bool:
    """Tell whether a GPU has the instructions of the packed kernel."""
    return simulated() or cuda.gpus[ordinal].compute_capability >= PACKED_CAPABILITY


class Resident(NamedTuple):
    """Programs, targets and the scoring in the memory of a GPU, for all its launches.

    They are `there` when that event has happened.
    """

    programs: Programs
    numbers: object
    sources: object
    exits: object
    symbols: object
    targets: object
    scoring: object
    there: object

    @classmethod
    def copy(cls, programs: Programs, given: tuple, buffers: Buffers):
        """Start to copy programs to the current GPU, where what is `given` is."""
        parts = {
            "numbers": programs.numbers, "sources": programs.sources,
            "exits": programs.exits.reshape(-1, 8), "symbols": programs.symbols,
        }  # fmt: skip
        copies = [buffers.copy(f"resident {name}", part) for name, part in parts.items()]
        there = cuda.event()
        buffers.calls.record(there)
        buffers.calls.start()
        return cls(programs, *copies, *given, there)


def copy_given(targets: NDArray[np.uint8], scoring: SplicedScoring, buffers: Buffers) -> tuple:
    """Start to copy targets and the scoring to the current GPU, for which programs need not be."""
    parts = {"targets": targets, "scoring": _constants(scoring)}
    given = tuple(buffers.copy(f"resident {name}", part) for name, part in parts.items())
    buffers.calls.start()
    return given


def _constants(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the elements of the scoring, see `cuda_job`."""
    lifted = scoring.substitution() - scoring.gap
    numbers = [0] * of_job.RAISED
    numbers[of_job.GAP], numbers[of_job.PENALTY] = scoring.gap, scoring.intron_penalty
    numbers[of_job.FREE] = int(scoring.ends != "global")
    numbers[of_job.MOST] = max(int(lifted.max()), 0)
    raised = np.maximum(lifted - scoring.gap, 0)
    words = [
        np.ascontiguousarray(scores[:4].astype(np.int8).T).view(np.int32).ravel()
        for scores in (raised, lifted)
    ]
    return np.concatenate([np.array(numbers, dtype=np.int32), *words])


class PackedLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    resident : Resident
    jobs : Jobs
        All of which fit the packed kernel.
    apart : bool
        Whether the programs were laid out with each segment a piece.
    buffers : Buffers
        What it lies in, until the next launch takes them.
    """

    def __init__(self, resident: Resident, jobs: Jobs, apart: bool, buffers: Buffers):
        # the simulator gets by with one warp, which does the work of both
        self.warps = 2 if apart and not simulated() else 1
        self.buffers, self.resident, self.jobs = buffers, resident, jobs
        layout = buffers.pinned("jobs", jobs.count * of_job.FIELDS, np.int64)
        self.layout = layout.reshape(-1, of_job.FIELDS)
        most = _most_blocks(apart)
        takes, self.joins, team = _lay_out(resident.programs.table, jobs, self.layout, AROUND, most)
        self.takes, self.blocks = Takes(*takes), len(team)
        self.cells = buffers.array("cells", self.takes.cells, np.int16)
        self.words = buffers.array("words", self.takes.words, np.int32)
        self.sources = buffers.array("sources", self.takes.sources, np.int32)
        written = buffers.pinned("team", self.blocks, np.int32)
        written[:] = team
        self.table, self.team = buffers.copy("jobs", self.layout), buffers.copy("team", written)
        buffers.calls.wait(resident.there)
        buffers.calls.launch(
            place_sources, jobs.count, _THREADS, self.table, resident.sources, resident.targets,
            resident.scoring, self.sources, self.words,
        )  # fmt: skip

    def run(self) -> None:
        """Clear what the kernel writes and run it, once the calls of the buffers are started."""
        counters = self.buffers.filled("counters", self.jobs.count, np.int32)
        cells = self.buffers.filled("cells", self.takes.cells, np.int16, packed.NEVER_BYTE)
        self.buffers.calls.launch(
            packed.sweep_pieces, self.blocks, (packed.WARP, self.warps), self.table, self.team,
            self.resident.numbers, self.sources, self.resident.symbols, self.words, cells,
            counters, self.resident.scoring,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _lay_out(table, jobs, layout, around, most):
    """Write the table of jobs, and tell what a launch of them needs.

    Parameters
    ----------
    table : ndarray of int64, shape (P, cuda_programs.FIELDS)
    jobs : Jobs
    layout : ndarray of int64, shape (J, cuda_job.FIELDS)
        Written.
    around : Around
    most : tuple
        See `_team`.

    Returns
    -------
    tuple of int
        What jobs take together, see `Takes`.
    bool
        Whether some strand is the second half of another one.
    ndarray of int32
        The job of each block.
    """
    sums, joins = _write_layout(table, jobs, layout, around)
    return sums, joins, _team(table, jobs.programs, jobs.lengths, *most)


@njit(cache=True, nogil=True)
def _write_layout(table, jobs, layout, around):
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
    return sums, joins


def _most_blocks(apart: bool) -> tuple[int, int, float]:
    """Return columns of a chunk, and the most blocks: a job's for each piece at work, all jobs'."""
    if apart:
        return packed.CHUNK, BLOCKS_AT_ONCE_APART, np.inf
    if simulated():
        return packed.CHUNK, BLOCKS_AT_ONCE, 2.0
    count = cuda.get_current_device().MULTIPROCESSOR_COUNT
    return packed.CHUNK, BLOCKS_AT_ONCE, float(BLOCKS_PER_MULTIPROCESSOR * count)


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
