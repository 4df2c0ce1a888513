"""Listed candidates with free ends, or whose chains translate, on GPUs.

Their sweeps are programs of rows for the 32-bit kernel of site mode: instead of a base it walks
along the stream of a `SweepProgram`, or along its ways. All rows at ends and entries have places of
their own; chains are followed on the CPU, from the rows that its own sweeps would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.batches import shares, within_limit
from gpu_tools.hardware.gpu.buffer_pool import KEPT, Room
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.gpu.job import DeviceRows, End
from gpu_tools.sites.gpu.program import (
    CLEAR,
    FINAL,
    LAST,
    NO_SYMBOL,
    PUT,
    RAISE,
    SPECIAL,
    emit,
)
from gpu_tools.sites.gpu.row_jobs import RowJob, RowLaunch, RowProgram
from gpu_tools.spliced.case import BASES_KEPT, Case, Preparation, PreparedCase
from gpu_tools.spliced.cpu import free_ends, reading
from gpu_tools.spliced.cpu.free_ends import FreeEnds, FreeSweep
from gpu_tools.spliced.cpu.reading import FIRST, ReadingSweep, Ways
from gpu_tools.spliced.cpu.reading_traceback import Reading, strand_codes
from gpu_tools.spliced.gpu.batches import memory_for, refuse_beyond
from gpu_tools.spliced.program import SweepProgram
from gpu_tools.splicing.bounds import CELL_FLOOR
from gpu_tools.splicing.codons import SPLITS, completes, stop_words

BYTES_PER_BATCH = 4 << 30
"""What one batch may take of GPU memory, if a quarter of what is free is not less."""
MADE_AHEAD = 1024
"""Cases whose programs are made before one of them is swept, at most."""
_ROW, _START, _MAXIMA = range(3)
"""Places of the current row, the empty chain's, the maxima over the ends that may precede an entry:
one, or one a split.
"""


class Compiled(NamedTuple):
    """A program of rows: where its entries and ends begin, and `Ways` if chains translate."""

    rows: RowProgram
    entries: int
    ends: int
    ways: Ways | None = None


class Prepared(NamedTuple):
    """A case, a compiled program of each strand, and the kernel's jobs for them."""

    number: int
    case: PreparedCase
    compiled: list[Compiled]
    jobs: list[RowJob]

    @property
    def device_bytes(self) -> int:
        """Device memory that the jobs take, about."""
        return sum(job.device_bytes for job in self.jobs)


def align_on_gpus(
    cases: list[Case],
    mode: FreeEnds | Reading,
    ordinals: tuple[int, ...],
    threads: int,
    done: Callable[[int], None],
) -> list[SplicedAlignment]:
    """Align all cases on GPUs.

    Parameters
    ----------
    cases : list of Case
        Checked cases.
    mode : FreeEnds or Reading
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    threads : int
        CPU threads.
    done : callable
        Told the nominal cells of cases that are done.

    Returns
    -------
    list of SplicedAlignment
        In the order of the cases.

    Raises
    ------
    DeviceError
        If a case does not fit the memory of its GPU.
    """
    results, spread = [None] * len(cases), KEPT.workers(threads).map
    make = JobMaker(mode)

    def run(share: list[int], room: Room) -> None:
        free = memory_for(room)
        groups = (share[k : k + MADE_AHEAD] for k in range(0, len(share), MADE_AHEAD))
        made = (one for group in groups for one in spread(lambda k: make(k, cases[k]), group))
        limit = min(BYTES_PER_BATCH, free // 4)
        for batch in within_limit(made, partial(_bytes_within, free), limit):
            swept = list(_swept(batch, mode.scoring))
            concluded = spread(lambda pair: _conclude(mode, *pair), zip(batch, swept, strict=True))
            for prepared, result in zip(batch, concluded, strict=True):
                results[prepared.number] = result
                done(result.cells)

    KEPT.on_gpus(ordinals, run, shares([case.cells for case in cases], len(ordinals)))
    return results


def _bytes_within(free: int, prepared: Prepared) -> int:
    """Return the device memory that a case takes; raise `DeviceError` if that is not free."""
    refuse_beyond(free, prepared.number, prepared.device_bytes)
    return prepared.device_bytes


def _swept(batch: list[Prepared], scoring: SplicedScoring) -> Iterator[list]:
    """Yield rows and best end of each case's jobs, worked out on the current GPU."""
    jobs = [job for prepared in batch for job in prepared.jobs]
    if jobs:
        launch = RowLaunch(jobs, scoring)
        launch.run()
        numbered = enumerate(launch.best_ends())
    for prepared in batch:
        own = islice(numbered, len(prepared.jobs)) if prepared.jobs else ()
        yield [(launch.rows(k), end) for k, end in own]


def _conclude(mode: FreeEnds | Reading, prepared: Prepared, swept: list) -> SplicedAlignment:
    pairs = zip(prepared.compiled, swept, strict=True)
    return mode.conclude(prepared.case, [sweep_of(compiled, *own) for compiled, own in pairs])


def sweep_of(compiled: Compiled, rows: DeviceRows, end: End) -> FreeSweep | ReadingSweep:
    """Return what the CPU's sweep returns."""
    entries = rows.rows(compiled.entries, compiled.ends)
    ends = rows.rows(compiled.ends, compiled.rows.n_places)
    if compiled.ways is None:
        return FreeSweep(ends, entries, *end)
    return ReadingSweep(compiled.ways, ends, entries)


class JobMaker:
    """Makes jobs of cases; what their base and candidates determine is made once.

    Parameters
    ----------
    mode : FreeEnds or Reading
    """

    def __init__(self, mode: FreeEnds | Reading):
        self.mode, self.prepare = mode, Preparation(mode.scoring)
        self._compiled: dict[SweepProgram, Compiled] = {}

    def __call__(self, number: int, case: Case) -> Prepared:
        """Return a case with the jobs of its strands; raises `ScoringError` beyond 28 bits."""
        prepared, target = self.prepare(case), case.target.codes
        for program in prepared.programs:
            self.mode.check(program, len(target) + 1)
        compiled = [self._compile(prepared, program) for program in prepared.programs]
        jobs = [RowJob(each.rows, target, CELL_FLOOR) for each in compiled]
        return Prepared(number, prepared, compiled, jobs)

    def _compile(self, prepared: PreparedCase, program: SweepProgram) -> Compiled:
        # two threads may do the same work once
        compiled = self._compiled.get(program)
        if compiled is None:
            penalty = self.mode.scoring.intron_penalty
            if isinstance(self.mode, FreeEnds):
                compiled = compile_free(program, penalty)
            else:
                codes = strand_codes(prepared, program)
                compiled = compile_reading(program, codes, penalty, self.mode.complete)
            if len(self._compiled) >= 2 * BASES_KEPT:
                self._compiled.clear()
            self._compiled[program] = compiled
        return compiled


def compile_free(program: SweepProgram, penalty: int) -> Compiled:
    """Compile what `spliced.cpu.free_ends` does: a boundary for each row of the stream."""
    tracks, ends = len(program.starts), len(program.ends)
    entries = _MAXIMA + 1
    first_end = entries + tracks
    most = 1 + 2 * (ends + tracks + program.n_rows) + program.n_exons
    written = _boundaries(program.codes), np.empty((most, 4), dtype=np.int32)
    places = entries, first_end
    n = _free_operations(free_ends.stream_of(program), ends, penalty, places, written)
    return _compiled(written, n, places, first_end + ends)


def compile_reading(
    program: SweepProgram, codes: NDArray[np.uint8], penalty: int, complete: bool
) -> Compiled:
    """Compile what `gpu_tools.spliced.cpu.reading` does: a boundary for each row of each way."""
    ways = reading.ways_of(program, codes, complete)
    n_ways, exits = len(ways.tracks), len(ways.exit_ends)
    entries = _MAXIMA + SPLITS
    first_exit = entries + n_ways
    most = SPLITS + 2 * exits + (SPLITS + 2) * n_ways + len(ways.leave_exits)
    firsts = program.track_rows[ways.tracks]
    bases = [program.codes[first : first + n] for first, n in zip(firsts, ways.rows, strict=True)]
    written = (
        _boundaries(np.concatenate([np.empty(0, np.uint8), *bases])),
        np.empty((most, 4), dtype=np.int32),
    )
    places = entries, first_exit
    of_program = program.starts, program.exit_bonus, codes, stop_words()
    n = _reading_operations(of_program, ways, penalty, places, written)
    return _compiled(written, n, places, first_exit + exits, ways)


def _boundaries(symbols: NDArray[np.uint8]) -> NDArray[np.int32]:
    return np.concatenate([[NO_SYMBOL], symbols], dtype=np.int32)


def _compiled(written, n: int, places, n_places: int, ways: Ways | None = None) -> Compiled:
    boundaries, operations = written
    rows = RowProgram(boundaries, operations[:n].copy(), n_places, _ROW, 1, _START)
    return Compiled(rows, *places, ways)


@njit
def _close(written, boundary, before, n):
    """Mark a boundary and its last operation, if it has any."""
    boundaries, operations = written
    if n > before:
        operations[n - 1, 0] |= LAST
        boundaries[boundary] |= SPECIAL
    return n


@njit(cache=True, nogil=True)
def _free_operations(stream, ends, penalty, places, written):
    """Write the operations of all boundaries; return how many."""
    _, track_rows, commits, exit_rows, exit_ends, exit_bonus, leave_bonus = stream
    entries, first_end = places
    operations, committed, exon = written[1], 0, 0
    n = before = 0
    for end in range(ends):
        n = emit(operations, n, CLEAR, first_end + end, 0, 0)
    n = emit(operations, n, PUT, _MAXIMA, _START, 0)
    for track in range(len(commits)):
        for end in range(committed, commits[track]):
            n = emit(operations, n, RAISE, _MAXIMA, first_end + end, -penalty)
        committed = commits[track]
        n = emit(operations, n, PUT, entries + track, _MAXIMA, 0)
        n = emit(operations, n, PUT, _ROW, _MAXIMA, 0)
        for r in range(track_rows[track], track_rows[track + 1]):
            before = _close(written, r, before, n)
            n = emit(operations, n, FINAL, _ROW, r, leave_bonus[r])
            while exon < len(exit_rows) and exit_rows[exon] == r:
                n = emit(operations, n, RAISE, first_end + exit_ends[exon], _ROW, exit_bonus[exon])
                exon += 1
            n = emit(operations, n, RAISE, _ROW, _START, 0)
    return _close(written, len(leave_bonus), before, n)


@njit(cache=True, nogil=True)
def _reading_operations(of_program, ways, penalty, places, written):
    """Write the operations of all boundaries; return how many."""
    starts, bonus, codes, stops = of_program
    tracks, all_ways, n_rows, first_leaves, leave_exons, leave_exits, ends, kinds = ways
    entries, first_exit = places
    operations, committed, boundary = written[1], 0, 0
    n = before = 0
    for place in range(SPLITS):
        n = emit(operations, n, CLEAR, _MAXIMA + place, 0, 0)
    for exit in range(len(ends)):
        n = emit(operations, n, CLEAR, first_exit + exit, 0, 0)
    for k in range(len(tracks)):
        first = starts[tracks[k]]
        while committed < len(ends) and ends[committed] <= first:
            if kinds[committed] < SPLITS:
                to = _MAXIMA + kinds[committed]
                n = emit(operations, n, RAISE, to, first_exit + committed, -penalty)
            committed += 1
        n = _enter(operations, n, all_ways[k] == FIRST, entries + k)
        for split in range(SPLITS):
            bases = 0 if split == 0 else (1 if split < 3 else 2)
            if bases == all_ways[k] and completes(codes, stops, split, first):
                n = emit(operations, n, RAISE, entries + k, _MAXIMA + split, 0)
        n = emit(operations, n, PUT, _ROW, entries + k, 0)
        leave = first_leaves[k]
        for done in range(n_rows[k]):
            before, boundary = _close(written, boundary, before, n), boundary + 1
            while leave < first_leaves[k + 1] and ends[leave_exits[leave]] == first + done + 1:
                to, added = first_exit + leave_exits[leave], bonus[leave_exons[leave]]
                n = emit(operations, n, RAISE, to, _ROW, added)
                leave += 1
    return _close(written, boundary, before, n)


@njit
def _enter(operations, n, is_first, entry):
    """Begin a way's entry with the empty chain, or with nothing."""
    if is_first:
        return emit(operations, n, PUT, entry, _START, 0)
    return emit(operations, n, CLEAR, entry, 0, 0)
