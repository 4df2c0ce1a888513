"""Results of many cases: chains as columns, and a Python object of a case on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.results import Runs, SplicedAlignment
from gpu_tools.spliced.case import CaseColumns, result_of
from gpu_tools.splicing.traceback import LETTERS, letters_of

NO_CHAIN = np.iinfo(np.int64).min
"""Stands for the score of a case without candidates."""
_CASES_AT_ONCE = 1024
"""Results that are made together, for arrays have a cost each."""


_EMPTY = SplicedAlignment("", "", 0, 0).with_runs(Runs("", np.empty(0, np.int64), {}))


class Chains(NamedTuple):
    """Best chains of J jobs, as columns; a job that another one of its case beats has no exons."""

    scores: NDArray[np.int64]  # (J,)
    first_columns: NDArray[np.int64]  # (J,) where the aligned part of the target begins
    last_columns: NDArray[np.int64]  # (J,) and where it ends
    first_exons: NDArray[np.int64]  # (J + 1,) where each job's exons begin in `exons`
    exons: NDArray[np.int64]  # numbers among the exons of all strands, in transcript order
    first_runs: NDArray[np.int64]  # (J + 1,) where each job's runs begin in the next two
    letters: str
    run_lengths: NDArray[np.int64]
    sums: NDArray[np.int64]  # (J, 5) of each operation's lengths, in the order of `LETTERS`

    @classmethod
    def make(cls, *columns) -> Chains:
        """Return chains from columns that have operations as `splicing.traceback` numbers them."""
        *others, first_runs, operations, lengths = columns
        sums = _sums(first_runs, operations, lengths)
        return cls(*others, first_runs, letters_of(operations), lengths, sums)


@njit(cache=True, nogil=True)
def _sums(first_runs, operations, lengths):
    """Return the sum of each operation's lengths, shape (jobs, operations)."""
    sums = np.zeros((len(first_runs) - 1, len(LETTERS)), np.int64)
    for job in range(len(sums)):
        for k in range(first_runs[job], first_runs[job + 1]):
            sums[job, operations[k]] += lengths[k]
    return sums


class Alignments(Sequence[SplicedAlignment]):
    """Results of cases, each made from columns on request.

    Parameters
    ----------
    columns : CaseColumns
    """

    def __init__(self, columns: CaseColumns):
        self.columns = columns
        self.others: dict[int, SplicedAlignment] = {}
        self._parts: list[tuple[NDArray[np.int64], Callable[[], Chains]]] = []
        self._adding = Lock()
        self._part, self._job = np.full((2, len(columns.cells)), -1)

    def add(
        self, jobs: NDArray[np.int64], winners: NDArray[np.int64], chains: Callable[[], Chains]
    ) -> None:
        """Add jobs, by number, with the chains of their winners, called when one is read."""
        with self._adding:  # of several threads
            part = len(self._parts)
            self._parts.append((jobs, chains))
        cases = self.columns.jobs.cases[jobs[winners]]
        self._job[cases], self._part[cases] = winners, part

    def __len__(self) -> int:
        return len(self.columns.cells)

    def __getitem__(self, k):
        chosen = range(len(self))[k]
        if isinstance(k, slice):
            return list(self._results(chosen))
        return next(self._results(range(chosen, chosen + 1)))

    def __iter__(self) -> Iterator[SplicedAlignment]:
        return self._results(range(len(self)))

    def _results(self, numbers: range) -> Iterator[SplicedAlignment]:
        """Yield the results of some cases."""
        for first in range(0, len(numbers), _CASES_AT_ONCE):
            some = np.array(numbers[first : first + _CASES_AT_ONCE])
            made: dict[int, SplicedAlignment] = {}
            for part in np.unique(self._part[some]).tolist():
                own = some[self._part[some] == part]
                found = self._of_part(part, own) if part >= 0 else map(self._without_columns, own)
                made |= zip(own.tolist(), found, strict=True)
            yield from map(made.__getitem__, some.tolist())

    def _without_columns(self, k: int) -> SplicedAlignment:
        columns = self.columns
        return self.others.get(k) or result_of(columns.cases[k], int(columns.cells[k]))

    def _of_part(self, part: int, cases: NDArray[np.int64]) -> Iterator[SplicedAlignment]:
        """Yield the results of cases that were found together."""
        (jobs, make_chains), chosen = self._parts[part], self._job[cases]
        chains = make_chains()
        strands = self.columns.jobs.strands[jobs[chosen]]
        exons, exons_of = _parts_of(chains.first_exons, chosen)
        of_strand, exons = self.columns.strands, chains.exons[exons]
        starts, ends = of_strand.starts[exons].tolist(), of_strand.ends[exons].tolist()
        chain, scores = [*zip(starts, ends, strict=True)], of_strand.scores[exons].tolist()
        fields = (
            np.where(of_strand.reverse[strands], "-", "+"), chains.scores[chosen],
            of_strand.first_exons[strands + 1] - of_strand.first_exons[strands],
            chains.first_columns[chosen], chains.last_columns[chosen],
        )  # fmt: skip
        columns = exons_of, _runs_of(chains, chosen), *(f.tolist() for f in fields)
        of_case = (
            [self.columns.cases[k] for k in cases.tolist()],
            self.columns.cells[cases].tolist(),
        )
        for case, cells, own, runs, strand, score, n_exons, start, end in zip(
            *of_case, *columns, strict=True
        ):
            # a changed copy takes less time than a new object
            yield _EMPTY.changed(
                base=case.base.name, target=case.target.name, base_length=len(case.base),
                target_length=len(case.target), cells=cells, strand=strand, score=score,
                n_exons=n_exons, chain=tuple(chain[own]), target_start=start, target_end=end,
                exon_scores=tuple(scores[own]), _runs=runs, _counts=runs.columns,
            )  # fmt: skip


def _runs_of(chains: Chains, chosen: NDArray[np.int64]) -> list[Runs]:
    """Return the runs of chosen jobs."""
    letters, lengths, sums = chains.letters, chains.run_lengths, chains.sums[chosen].tolist()
    bounds = chains.first_runs[chosen].tolist(), chains.first_runs[chosen + 1].tolist()
    return [
        Runs(letters[first:past], lengths[first:past], dict(zip(LETTERS, own, strict=True)))
        for first, past, own in zip(*bounds, sums, strict=True)
    ]


def _parts_of(first: NDArray[np.int64], chosen: NDArray[np.int64]):
    """Return where the elements of chosen parts are, and the slice of each part among these."""
    counts = first[chosen + 1] - first[chosen]
    past = np.cumsum(counts)
    at = np.arange(past[-1]) + np.repeat(first[chosen] - past + counts, counts)
    bounds = [0, *past.tolist()]
    return at, [*map(slice, bounds, bounds[1:])]
