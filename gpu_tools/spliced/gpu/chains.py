"""Chains that the GPU has traced, from its words to columns."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.alignments import Chains
from gpu_tools.spliced.gpu import best_ends, traceback
from gpu_tools.spliced.gpu import job_table as of_job
from gpu_tools.spliced.gpu.graph_tables import GraphTables
from gpu_tools.spliced.gpu.launch import ListLaunch
from gpu_tools.splicing.exon_traceback import INTRON


class TracedChains:
    """The chains of a launch, which become columns when one is first asked for.

    Parameters
    ----------
    launch : ListLaunch
        Whose traceback has been started; its buffers are free afterwards.
    graphs : GraphTables
    scoring : SplicedScoring

    Attributes
    ----------
    winners : ndarray of int64
        The jobs that have a chain.
    """

    def __init__(self, launch: ListLaunch, graphs: GraphTables, scoring: SplicedScoring):
        self._words, self._firsts = launch.chain_words()
        self._best = launch.best_numbers().copy()
        self._first_exits = launch.layout.table[:, of_job.EXITS]
        self._graphs, self._decoding = graphs, Lock()
        # free ends leave the symbols before the first exon out, unless gaps are worth taking
        self._keeps_start = scoring.ends == "global" or scoring.gap > 0
        counts = self._words[self._firsts]
        if (counts < 0).any():
            raise ValueError("no exon explains a value of a row: the sweep is wrong")
        self.winners = np.flatnonzero(counts)

    @property
    def chains(self) -> Chains:
        """The chains as columns."""
        with self._decoding:
            return self._chains

    @cached_property
    def _chains(self) -> Chains:
        graphs = self._graphs
        exons = (graphs.exon_of_exit, self._first_exits), graphs.starts, graphs.ends
        columns = decode(self._words, self._firsts, *exons, self._keeps_start)
        score, last = best_ends.score_of(self._best), best_ends.column_of(self._best)
        return Chains(score, columns[0], last, *columns[1:])


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
            first += traceback.HEAD + own[first + 2]
        if n_exons and keeps_start:
            n = _add_run(letters, lengths, n, first_runs[job], traceback.INSERTION, own[at[0] + 1])
        elif n_exons:
            first_columns[job] = own[at[0] + 1]
        for k in range(n_exons):
            if k > 0:
                one, other = exons[begin + k - 1], exons[begin + k]
                right = max(exon_starts[one], exon_starts[other])
                intron = right - min(exon_ends[one], exon_ends[other])
                n = _add_run(letters, lengths, n, first_runs[job], INTRON, intron)
            for run in own[at[k] + traceback.HEAD : at[k] + traceback.HEAD + own[at[k] + 2]]:
                letter = run & ((1 << traceback.OPERATION_BITS) - 1)
                length = run >> traceback.OPERATION_BITS
                n = _add_run(letters, lengths, n, first_runs[job], letter, length)
        first_exons[job + 1], first_runs[job + 1] = begin + n_exons, n
    return first_columns, first_exons, exons, first_runs, letters[:n], lengths[:n]


@njit(nogil=True)
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
