"""Results of many cases: chains as columns, and a Python object of a case on request."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.model.results import SplicedAlignment
from gpu_tools.spliced.case import PreparedCase, result_of
from gpu_tools.spliced.columns import CaseColumns, Jobs
from gpu_tools.splicing.traceback import runs_of

NO_CHAIN = np.iinfo(np.int64).min
"""Stands for the score of a case without candidates."""


class Chains(NamedTuple):
    """Best chains of jobs, as columns.

    Attributes
    ----------
    scores, first_columns, last_columns : ndarray of int64, shape (J,)
        Of the chain; the aligned part of the target.
    first_exons : ndarray of int64, shape (J + 1,)
        Where each job's exons begin in `exons`; a job that another one of its case beats has none.
    exons : ndarray of int64
        Numbers of exons among those of all strands, in transcript order.
    first_runs : ndarray of int64, shape (J + 1,)
        Where each job's runs begin in the next two.
    letters : ndarray of uint8
        Operations, as `traceback` numbers them.
    run_lengths : ndarray of int64
    """

    scores: NDArray[np.int64]
    first_columns: NDArray[np.int64]
    last_columns: NDArray[np.int64]
    first_exons: NDArray[np.int64]
    exons: NDArray[np.int64]
    first_runs: NDArray[np.int64]
    letters: NDArray[np.uint8]
    run_lengths: NDArray[np.int64]


@njit(cache=True)
def _note(job, part, cases, winners, number):
    # compiled: numpy would release Python's lock and wait for it again
    for winner in winners:
        job[cases[winner]], part[cases[winner]] = winner, number


class JobChains(Protocol):
    """What was found for some jobs: the numbers of those that have a chain, and the chains."""

    winners: NDArray[np.int64]
    chains: Chains


class FoundChains(NamedTuple):
    """Chains of jobs each of which has one."""

    winners: NDArray[np.int64]
    chains: Chains

    @classmethod
    def all_of(cls, chains: Chains) -> FoundChains:
        """Return them with the numbers of all jobs."""
        return cls(np.arange(len(chains.scores)), chains)


class Alignments(Sequence[SplicedAlignment]):
    """Results of cases, each made from columns on request.

    Parameters
    ----------
    columns : CaseColumns
    """

    def __init__(self, columns: CaseColumns):
        self.columns = columns
        self.others: dict[int, SplicedAlignment] = {}
        self._parts: list[tuple[Jobs, JobChains]] = []
        self._adding = Lock()
        self._part, self._job = np.full((2, len(columns.cells)), -1)

    def add(self, jobs: Jobs, found: JobChains) -> None:
        """Add what was found for jobs; a case is that of its job which has a chain."""
        with self._adding:  # of several threads
            part = len(self._parts)
            self._parts.append((jobs, found))
        _note(self._job, self._part, jobs.cases, found.winners, part)

    def __len__(self) -> int:
        return len(self.columns.cells)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[each] for each in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        if k in self.others:
            return self.others[k]
        prepared = PreparedCase(self.columns.cases[k], int(self.columns.cells[k]), ())
        if self._part[k] < 0:
            return result_of(prepared)
        return self._result(prepared, *self._parts[self._part[k]], int(self._job[k]))

    def _result(self, prepared: PreparedCase, jobs: Jobs, found: JobChains, job: int):
        strands, strand, chains = self.columns.strands, jobs.strands[job], found.chains
        exons = chains.exons[chains.first_exons[job] : chains.first_exons[job + 1]]
        runs = slice(chains.first_runs[job], chains.first_runs[job + 1])
        intervals = strands.starts[exons].tolist(), strands.ends[exons].tolist()
        return result_of(
            prepared,
            strand="-" if strands.reverse[strand] else "+",
            score=int(chains.scores[job]),
            n_exons=int(strands.first_exons[strand + 1] - strands.first_exons[strand]),
            chain=tuple(zip(*intervals, strict=True)),
            target_start=int(chains.first_columns[job]),
            target_end=int(chains.last_columns[job]),
            cigar=runs_of(chains.letters[runs], chains.run_lengths[runs]),
            exon_scores=tuple(strands.scores[exons].tolist()),
        )
