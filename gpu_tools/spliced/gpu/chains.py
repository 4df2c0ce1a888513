"""Chains of many jobs from the rows that a packed launch has left on the GPU."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.native_threads import Copy, begin_threads
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.driver_calls import make_calls, taken_together
from gpu_tools.hardware.gpu.intrinsics import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.alignments import Chains
from gpu_tools.spliced.gpu import best_ends as ends
from gpu_tools.spliced.gpu import job_table as of_job
from gpu_tools.spliced.gpu import traceback as trace
from gpu_tools.spliced.gpu.launch import PackedLaunch
from gpu_tools.splicing.traceback import INTRON

_THREADS = 4 if simulated() else 128


class ChainSearch:
    """Finds best ends and chains where a launch has run, on the same GPU and in its buffers.

    What is put down begins when the calls of the buffers are started.

    Parameters
    ----------
    launch : PackedLaunch
    scoring : SplicedScoring

    Attributes
    ----------
    jobs : Jobs
        Those of the launch.
    """

    def __init__(self, launch: PackedLaunch, scoring: SplicedScoring):
        self.launch, self.scoring = launch, scoring
        self.jobs, self.buffers = launch.laid.jobs, launch.buffers

    def find_ends(self) -> None:
        """Put the search for best ends down."""
        launch, resident, count = self.launch, self.launch.resident, self.jobs.count
        best = self.best = self.buffers.filled("best", count, np.int64)
        arrays = launch.table, resident.exits, launch.cells, best, resident.scoring
        self.buffers.calls.launch(ends.find_ends, count, ends.FINDERS, *arrays)
        if launch.laid.joins:
            self.buffers.calls.launch(ends.join_halves, count, ends.FINDERS, *arrays)
        self._best = self.buffers.fetch("best", best, count, self.buffers.calls)

    def find_chains(self) -> None:
        """Put the search for the chains that win their cases down.

        It goes before the sweeps of other launches: few warps follow the longest chains, and while
        they do there should be other work.
        """
        launch, resident, buffers = self.launch, self.launch.resident, self.buffers
        count, takes, urgent = self.jobs.count, launch.laid.takes, buffers.urgent
        found, self._gathered = (
            buffers.array(name, takes.found, np.int32) for name in ("found", "gathered")
        )
        written, firsts = (buffers.array(name, count, np.int32) for name in ("written", "firsts"))
        used = buffers.filled("used", 1, np.int32)
        space = buffers.array("space", takes.space, np.int32)
        buffers.calls.record(buffers.event)
        urgent.wait(buffers.event, buffers.calls)
        urgent.launch(
            trace.trace_chains, count, WARP, launch.table, resident.exits, resident.symbols,
            launch.words, resident.targets, launch.cells, self.best, space, written, found,
            resident.scoring,
        )  # fmt: skip
        urgent.launch(
            trace.gather, count, _THREADS, found, written, launch.table, used, firsts,
            self._gathered,
        )  # fmt: skip
        self._used = buffers.fetch("used", used, 1, urgent)
        self._firsts = buffers.fetch("firsts", firsts, count, urgent)

    def raise_scores(self, scores: NDArray[np.int64]) -> None:
        """Have no case's score be lower than the best one of its jobs, once these are there."""
        self.buffers.calls.end()
        rows = taken_together([self.buffers.calls])
        rows.check(_raise_scores(rows.numbers, scores, self.jobs.cases, self._best))

    def found(self) -> Found:
        """Return what was found, once it is; a thread takes the words out of the buffers."""
        buffers, programs, urgent = self.buffers, self.launch.resident.programs, self.buffers.urgent
        urgent.finish()
        # memory that was never used is slow to write, and pinned memory is too dear to give away
        words = buffers.fetch("words", self._gathered, int(self._used[0]), urgent)
        urgent.end()
        rows, copy = taken_together([urgent]), Copy(words)
        firsts, best, first_exits, winners, explained, made = _taken(
            rows.numbers, copy.threads, words, self._firsts, self._best, self.launch.laid.table
        )
        rows.check(made)
        if not explained:
            raise ValueError("no exon explains a value of a row: the sweep is wrong")
        # free ends leave the symbols before the first exon out, unless gaps are worth taking
        keeps_start = self.scoring.ends == "global" or self.scoring.gap > 0
        exons = (programs.exon_of_exit, first_exits), programs.starts, programs.ends
        return Found(copy, firsts, best, exons, keeps_start, winners)


# with Python's lock given away once for both, the calls and what is to be done after them


@njit(cache=True, nogil=True)
def _raise_scores(calls, scores, cases, best):
    """Make calls, see `make_calls`; then have no case's score be lower than that of a job."""
    made = make_calls(calls)
    for k in range(len(cases)):
        scores[cases[k]] = max(scores[cases[k]], ends.score_of(best[k]))
    return made


@njit(cache=True, nogil=True)
def _taken(calls, copying, words, firsts, best, jobs):
    """Make calls, see `make_calls`, and have words copied, see `begin_threads`.

    Return copies of what else buffers hold of jobs: where words begin, best ends, first exits.
    Then the jobs that have a chain, whether all chains are explained, and what became of the calls.
    """
    made = make_calls(calls)
    begin_threads(copying)
    winners, n, explained = np.empty(len(firsts), dtype=np.int64), 0, True
    for job in range(len(firsts)):
        n_exons = words[firsts[job]]
        explained &= n_exons >= 0
        if n_exons != 0:
            winners[n] = job
            n += 1
    exits = jobs[:, of_job.EXITS].copy()
    return firsts.copy(), best.copy(), exits, winners[:n], explained, made


class Found:
    """What a search has found, as the GPU has written it.

    Parameters
    ----------
    words : Copy of ndarray of int32
        See `cuda_trace.gather`; to be waited for before the buffers are used again.
    firsts : ndarray of int32, shape (J,)
        Where each job's words begin.
    best : ndarray of int64, shape (J,)
        Best ends, see `cuda_ends`.
    exons : tuple
        Of each exit its exon, and where the exits of each job begin; starts and ends of exons.
    keeps_start : bool
        Whether the target's symbols before the first exon are aligned.
    winners : ndarray of int64
        The jobs that have a chain.
    """

    def __init__(self, words: Copy, firsts, best, exons, keeps_start: bool, winners):
        self.words, self.firsts, self.best, self.exons = words, firsts, best, exons
        self.keeps_start, self.winners, self._decoding = keeps_start, winners, Lock()

    @property
    def chains(self) -> Chains:
        """The chains as columns; made when one is first asked for."""
        with self._decoding:
            return self._chains

    @cached_property
    def _chains(self) -> Chains:
        columns = decode(self.words.result(), self.firsts, *self.exons, self.keeps_start)
        best = self.best
        return Chains(ends.score_of(best), columns[0], ends.column_of(best), *columns[1:])


@njit(cache=True, nogil=True)
def decode(found, firsts, numbers, exon_starts, exon_ends, keeps_start):
    """Put what the kernel found into columns, see `Chains`.

    Parameters
    ----------
    found : ndarray of int32
    firsts : ndarray of int32, shape (J,)
        Where each job's part of `found` begins.
    numbers : tuple of ndarray of int64
        Of each exit its exon, and where the exits of each job begin.
    exon_starts, exon_ends : ndarray of int64
        Exons on the forward strand.
    keeps_start : bool
        Whether the target's symbols before the first exon are aligned.

    Returns
    -------
    first_columns, first_exons, exons, first_runs, letters, run_lengths : ndarray
    """
    exon_of_exit, first_exits = numbers
    count = len(first_exits)
    first_columns = np.zeros(count, dtype=np.int64)
    first_exons, first_runs = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    exons = np.empty(found[firsts].sum(), dtype=np.int64)
    # an exon's head has more elements than an intron and the first symbols have runs
    letters, lengths = np.empty(len(found), np.uint8), np.empty(len(found), np.int64)
    n = 0
    for job in range(count):
        own, n_exons, begin = found[firsts[job] :], found[firsts[job]], first_exons[job]
        at, first = np.empty(n_exons, dtype=np.int64), 1
        for k in range(n_exons - 1, -1, -1):  # the last exon was found first
            at[k] = first
            exons[begin + k] = exon_of_exit[first_exits[job] + own[first]]
            first += trace.HEAD + own[first + 2]
        if n_exons and keeps_start:
            n = _add_run(letters, lengths, n, first_runs[job], trace.INSERTION, own[at[0] + 1])
        elif n_exons:
            first_columns[job] = own[at[0] + 1]
        for k in range(n_exons):
            if k > 0:
                one, other = exons[begin + k - 1], exons[begin + k]
                right = max(exon_starts[one], exon_starts[other])
                intron = right - min(exon_ends[one], exon_ends[other])
                n = _add_run(letters, lengths, n, first_runs[job], INTRON, intron)
            for run in own[at[k] + trace.HEAD : at[k] + trace.HEAD + own[at[k] + 2]]:
                letter = run & ((1 << trace.OPERATION_BITS) - 1)
                length = run >> trace.OPERATION_BITS
                n = _add_run(letters, lengths, n, first_runs[job], letter, length)
        first_exons[job + 1], first_runs[job + 1] = begin + n_exons, n
    return first_columns, first_exons, exons, first_runs, letters[:n], lengths[:n]


@njit(cache=True, nogil=True)
def _add_run(letters, lengths, n, first, letter, length):
    """Add a run behind a job's other ones, the first of which is `first`; return how many follow.

    A run without symbols is none, and one like the last one makes that longer.
    """
    if length == 0:
        return n
    if n > first and letters[n - 1] == letter:
        lengths[n - 1] += length
        return n
    letters[n], lengths[n] = letter, length
    return n + 1
