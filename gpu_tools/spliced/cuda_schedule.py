"""Cases on GPUs: which kernel and which GPU takes a case, and what becomes of what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.batches import shares, within_limit
from gpu_tools.device import simulated
from gpu_tools.errors import DeviceError
from gpu_tools.results import SplicedAlignment
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda as packed
from gpu_tools.spliced import cuda_wide as wide
from gpu_tools.spliced.case import Preparation, PreparedCase, finish, result_of
from gpu_tools.spliced.columns import CaseColumns, Jobs
from gpu_tools.spliced.cuda_chains import Chains, ChainSearch
from gpu_tools.spliced.cuda_programs import Programs, lay_out_apart, lay_out_programs
from gpu_tools.spliced.traceback import Swept, runs_of

BYTES_PER_BATCH = 8 << 30
"""What one batch may take of GPU memory, if half of what is free is not less."""
WIDE_BYTES_PER_BATCH = 1 << 30
"""The same for 32-bit sweeps, whose rows go to host memory."""
NO_CHAIN = np.iinfo(np.int64).min
"""Stands for the score of a case without candidates."""


def on_cuda(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    done: Callable[[int], None],
) -> Sequence[SplicedAlignment]:
    """Align all cases on GPUs.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    threads : int
        CPU threads.
    done : callable
        Told the nominal cells of cases that are done.

    Returns
    -------
    sequence of SplicedAlignment
        In the order of the cases; each is made when it is asked for.

    Raises
    ------
    DeviceError
        If a case does not fit the memory of its GPU.
    """
    with ThreadPoolExecutor(threads) as workers, ThreadPoolExecutor(len(ordinals)) as drivers:
        work = prepare(columns, scoring, ordinals, workers.map)
        found = Alignments(columns)

        def drive(ordinal: int, share: Share) -> None:
            with cuda.gpus[ordinal]:
                broad = prepare_wide(columns, share.broad, scoring)
                for jobs, search in searches(work, share.narrow, scoring):
                    search.find_chains()
                    found.add(jobs, search.chains())
                    done(int(work.columns.cells[np.unique(jobs.cases)].sum()))
                for k, result in wide_results(broad, scoring):
                    found.others[k] = result
                    done(result.cells)

        list(drivers.map(drive, ordinals, deal_out(work, len(ordinals))))
    return found


def scores_on_cuda(
    columns: CaseColumns, scoring: SplicedScoring, ordinals: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)
    with ThreadPoolExecutor(threads) as workers, ThreadPoolExecutor(len(ordinals)) as drivers:
        work = prepare(columns, scoring, ordinals, workers.map)

        def drive(ordinal: int, share: Share) -> None:
            with cuda.gpus[ordinal]:
                broad = prepare_wide(columns, share.broad, scoring)
                for jobs, search in searches(work, share.narrow, scoring):
                    np.maximum.at(scores, jobs.cases, search.scores())
                for k, result in wide_results(broad, scoring):
                    scores[k] = NO_CHAIN if result.score is None else result.score

        list(drivers.map(drive, ordinals, deal_out(work, len(ordinals))))
    return scores


class Work(NamedTuple):
    """Cases, the programs of their strands, and which cases' jobs all fit the packed kernel."""

    columns: CaseColumns
    programs: Programs
    fits: NDArray[np.bool_]


class Share(NamedTuple):
    """What one GPU gets: jobs for the packed kernel, cases for the other one."""

    narrow: Jobs
    broad: list[int]


def prepare(columns: CaseColumns, scoring: SplicedScoring, ordinals, spread: Callable) -> Work:
    """Lay out the programs of cases and choose their kernels; `spread` is a map over threads."""
    jobs, strands = columns.jobs, columns.strands
    fits = np.ones(len(columns.cells), dtype=bool)
    if not jobs.count:
        return Work(columns, None, fits)
    programs = lay_out_programs(strands, scoring, spread)
    table = programs.table[jobs.programs]
    suited = packed.fit_packed(table, jobs.lengths, strands.lengths[jobs.programs], scoring)
    fits[jobs.cases[~suited]] = False
    fits &= simulated() or all(_can_pack(ordinal) for ordinal in ordinals)
    narrow, multiprocessors = fits[jobs.cases], len(ordinals) * _multiprocessors(ordinals[0])
    held_up = packed.held_up(table[narrow], jobs.lengths[narrow], multiprocessors)
    apart = np.unique(jobs.programs[narrow][held_up])
    lay_out_apart(programs, apart, strands, scoring, spread)
    return Work(columns, programs, fits)


def _can_pack(ordinal: int) -> bool:
    return cuda.gpus[ordinal].compute_capability >= packed.PACKED_CAPABILITY


def _multiprocessors(ordinal: int) -> int:
    return 1 if simulated() else cuda.gpus[ordinal].MULTIPROCESSOR_COUNT


def deal_out(work: Work, count: int) -> list[Share]:
    """Deal cases with candidates out to GPUs, by their cells."""
    jobs, fits = work.columns.jobs, work.fits
    if count == 1:
        owner = np.zeros(len(fits), dtype=np.int64)
    else:
        owner = np.empty(len(fits), dtype=np.int64)
        for number, own in enumerate(shares(work.columns.cells.tolist(), count)):
            owner[own] = number
    whose, narrow = owner[jobs.cases], fits[jobs.cases]
    broad = np.flatnonzero(~fits)
    return [
        Share(jobs.take((whose == k) & narrow), broad[owner[broad] == k].tolist())
        for k in range(count)
    ]


def searches(work: Work, jobs: Jobs, scoring: SplicedScoring) -> Iterator[tuple[Jobs, ChainSearch]]:
    """Sweep jobs on the current GPU, batch by batch, and have their best ends found."""
    if not jobs.count:
        return
    batches = list(_batches(work, jobs))
    resident = packed.Resident.copy(work.programs, work.columns.targets)
    for batch in batches:
        launch = packed.PackedLaunch(resident, batch, scoring)
        launch.run()
        search = ChainSearch(launch, batch, scoring)
        search.find_ends()
        yield batch, search


def _batches(work: Work, jobs: Jobs) -> Iterator[Jobs]:
    """Split jobs into batches that fit the current GPU, the jobs of a case together."""
    sizes = packed.sizes_of(work.programs.table[jobs.programs], jobs.lengths).bytes
    of_case = np.bincount(jobs.cases, sizes, minlength=len(work.fits)).astype(np.int64)
    free, largest = free_memory(), int(of_case.argmax())
    refuse_beyond(free, largest, int(of_case[largest]))
    limit = min(BYTES_PER_BATCH, free // 2)
    number, used, numbers = 0, 0, np.zeros(len(of_case), dtype=np.int64)
    for case in np.unique(jobs.cases).tolist():
        used += int(of_case[case])
        if used > limit and used > of_case[case]:
            number, used = number + 1, int(of_case[case])
        numbers[case] = number
    own = numbers[jobs.cases]
    for k in range(number + 1):
        yield jobs.take(own == k)


def free_memory() -> int:
    """Return the bytes that are free on the current GPU; the simulator has what it likes."""
    return 1 << 62 if simulated() else cuda.current_context().get_memory_info().free


def refuse_beyond(free: int, case: int, needed: int) -> None:
    """Raise `DeviceError` if a case needs more memory than is free on its GPU."""
    if needed > free:
        raise DeviceError(
            f"case {case + 1} needs {needed >> 20} MB of GPU memory, {free >> 20} MB are free; use"
            " the CPU (cpu) or a larger GPU"
        )


def prepare_wide(
    columns: CaseColumns, chosen: list[int], scoring: SplicedScoring
) -> list[tuple[int, PreparedCase]]:
    """Prepare cases for the 32-bit sweep, and refuse those that the current GPU cannot hold."""
    prepare_case, free = Preparation(scoring), free_memory() if chosen else 0
    made = [(k, prepare_case(columns.cases[k])) for k in chosen]
    for numbered in made:
        refuse_beyond(free, numbered[0], _wide_bytes(numbered))
    return made


def wide_results(
    made: list[tuple[int, PreparedCase]], scoring: SplicedScoring
) -> Iterator[tuple[int, SplicedAlignment]]:
    """Align cases with 32-bit sweeps on the current GPU; chains are followed on the CPU."""
    for batch in within_limit(made, _wide_bytes, WIDE_BYTES_PER_BATCH):
        jobs = [
            wide.Job(program, prepared.case.target.codes)
            for _, prepared in batch
            for program in prepared.programs
        ]
        sweeps = iter(zip(jobs, wide.sweep(jobs, scoring), strict=True))
        for k, prepared in batch:
            own = [next(sweeps) for _ in prepared.programs]
            swept = [Swept(job.program, sweep, job.target, scoring) for job, sweep in own]
            yield k, finish(prepared, swept)


def _wide_bytes(numbered: tuple[int, PreparedCase]) -> int:
    _, prepared = numbered
    target = prepared.case.target.codes
    return sum(wide.device_bytes(wide.Job(p, target)) for p in prepared.programs)


class Alignments(Sequence[SplicedAlignment]):
    """Results of cases, each made from columns when it is asked for.

    Parameters
    ----------
    columns : CaseColumns
    """

    def __init__(self, columns: CaseColumns):
        self.columns = columns
        self.others: dict[int, SplicedAlignment] = {}
        self._parts: list[tuple[Jobs, Chains]] = []
        self._adding = Lock()
        self._part, self._job = np.full((2, len(columns.cells)), -1)

    def add(self, jobs: Jobs, chains: Chains) -> None:
        """Add the chains of jobs; a case is that of its job which has one."""
        winners = np.flatnonzero(np.diff(chains.first_exons))
        with self._adding:  # a thread a GPU
            self._job[jobs.cases[winners]] = winners
            self._part[jobs.cases[winners]] = len(self._parts)
            self._parts.append((jobs, chains))

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

    def _result(self, prepared: PreparedCase, jobs: Jobs, chains: Chains, job: int):
        strands, program = self.columns.strands, jobs.programs[job]
        exons = chains.exons[chains.first_exons[job] : chains.first_exons[job + 1]]
        runs = slice(chains.first_runs[job], chains.first_runs[job + 1])
        intervals = strands.starts[exons].tolist(), strands.ends[exons].tolist()
        return result_of(
            prepared,
            strand="-" if strands.reverse[program] else "+",
            score=int(chains.scores[job]),
            n_exons=int(np.diff(strands.first_exons[program : program + 2])[0]),
            chain=tuple(zip(*intervals, strict=True)),
            target_start=int(chains.first_columns[job]),
            target_end=int(chains.last_columns[job]),
            cigar=runs_of(chains.letters[runs], chains.run_lengths[runs]),
            exon_scores=tuple(strands.scores[exons].tolist()),
        )
