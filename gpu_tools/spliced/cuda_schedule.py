"""Cases on GPUs: which kernel and which GPU takes a case, and what becomes of what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.batches import owners, within_limit
from gpu_tools.cuda_kept import KEPT, Room
from gpu_tools.device import simulated
from gpu_tools.errors import DeviceError
from gpu_tools.results import SplicedAlignment
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda as packed
from gpu_tools.spliced import cuda_wide as wide
from gpu_tools.spliced.case import Preparation, PreparedCase, finish, result_of
from gpu_tools.spliced.columns import CaseColumns, Jobs
from gpu_tools.spliced.cuda_chains import ChainSearch, Found
from gpu_tools.spliced.cuda_programs import Programs, lay_out_programs
from gpu_tools.spliced.traceback import Swept, runs_of

BYTES_PER_BATCH = 4 << 30
"""What one batch may take of GPU memory, if a quarter of what is free is not less."""
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
    found, spread = Alignments(columns), KEPT.workers(threads).map

    def run(jobs: Jobs, room: Room) -> None:
        work = prepare(columns, jobs, scoring, spread, room.stays.pinned)
        broad = prepare_wide(columns, work.broad, scoring, room)
        for own, search in searches(work, scoring, room, ChainSearch.find_chains):
            found.add(own, search.found())
            done(int(columns.cells[np.unique(own.cases)].sum()))
        for k, result in wide_results(broad, scoring):
            found.others[k] = result
            done(result.cells)

    KEPT.on_gpus(ordinals, run, deal_out(columns, len(ordinals)))
    return found


def scores_on_cuda(
    columns: CaseColumns, scoring: SplicedScoring, ordinals: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)
    spread = KEPT.workers(threads).map

    def run(jobs: Jobs, room: Room) -> None:
        work = prepare(columns, jobs, scoring, spread, room.stays.pinned)
        broad = prepare_wide(columns, work.broad, scoring, room)
        for own, search in searches(work, scoring, room):
            np.maximum.at(scores, own.cases, search.scores())
        for k, result in wide_results(broad, scoring):
            scores[k] = NO_CHAIN if result.score is None else result.score

    KEPT.on_gpus(ordinals, run, deal_out(columns, len(ordinals)))
    return scores


def deal_out(columns: CaseColumns, count: int) -> list[Jobs]:
    """Deal the jobs of cases out to GPUs, by the cases' cells."""
    jobs = columns.jobs
    if count == 1:
        return [jobs]
    whose = owners(columns.cells, count)[jobs.cases]
    return [jobs.take(whose == k) for k in range(count)]


class Work(NamedTuple):
    """What one GPU has to do.

    Attributes
    ----------
    columns : CaseColumns
    programs : Programs
        Of the strands of its jobs.
    apart : bool
        Whether segments are pieces of their own.
    narrow : Jobs
        Those for the packed kernel.
    broad : list of int
        Cases for the other kernel.
    """

    columns: CaseColumns
    programs: Programs | None
    apart: bool
    narrow: Jobs
    broad: list[int]


def prepare(columns: CaseColumns, jobs: Jobs, scoring: SplicedScoring, *how) -> Work:
    """Lay out the programs of jobs and choose their kernels.

    The current GPU is to do them; `how` are further arguments of `lay_out_programs`.
    """
    if not jobs.count:
        return Work(columns, None, False, jobs, [])
    strands = columns.strands
    exons, targets = np.diff(strands.first_exons), np.bincount(jobs.programs)
    chosen = np.flatnonzero(targets)
    apart = packed.run_apart(int(exons[chosen] @ targets[chosen]))
    programs = lay_out_programs(strands, chosen, scoring, apart, *how)
    table, lengths = programs.table[jobs.programs], strands.lengths[jobs.programs]
    suited = packed.fit_packed(table, jobs.lengths, lengths, scoring) & _can_pack()
    if suited.all():
        return Work(columns, programs, apart, jobs, [])
    broad = np.unique(jobs.cases[~suited])
    return Work(columns, programs, apart, jobs.take(~np.isin(jobs.cases, broad)), broad.tolist())


def _can_pack() -> bool:
    return simulated() or cuda.get_current_device().compute_capability >= packed.PACKED_CAPABILITY


def searches(
    work: Work,
    scoring: SplicedScoring,
    room: Room,
    start: Callable[[ChainSearch], None] = lambda search: None,
) -> Iterator[tuple[Jobs, ChainSearch]]:
    """Sweep jobs on the current GPU, batch by batch, and have their best ends found.

    While results of one batch are taken over, the GPU works on the next one in other buffers. What
    else is to be done with a search is begun by `start`.
    """
    if not work.narrow.count:
        return
    before, crowded, batches = None, False, list(_batches(work, room))
    resident = packed.Resident.copy(work.programs, work.columns.targets, room.stays)
    for number, (batch, large) in enumerate(batches):
        if large or crowded:
            if before:
                yield before
            before = None
            room.empty()
        jobs, crowded = work.narrow.take(batch), large
        buffers = room.turns[number % len(room.turns)]
        launch = packed.PackedLaunch(resident, jobs, scoring, work.apart, buffers)
        launch.run()
        search = ChainSearch(launch, jobs, scoring)
        search.find_ends()
        start(search)
        if before:
            yield before
        before = jobs, search
    yield before
    if work.broad:
        room.empty()


def _batches(work: Work, room: Room) -> Iterator[tuple[slice, bool]]:
    """Split jobs, those of a case together, into batches of which the current GPU can hold two.

    A case too large for that is a batch of its own, and told apart.
    """
    jobs, free = work.narrow, free_memory(room)
    sizes = packed.sizes_of(work.programs.table[jobs.programs], jobs.lengths).bytes
    firsts = np.flatnonzero(np.diff(jobs.cases, prepend=-1))
    pasts = np.append(firsts[1:], jobs.count)
    after = np.cumsum(sizes)[pasts - 1]
    largest = int(np.diff(after, prepend=0).argmax())
    refuse_beyond(free, int(jobs.cases[firsts[largest]]), int(np.diff(after, prepend=0)[largest]))
    limit = min(BYTES_PER_BATCH, free // 4)
    k, before = 0, 0
    while k < len(firsts):
        past = max(int(np.searchsorted(after, before + limit, side="right")), k + 1)
        yield slice(firsts[k], pasts[past - 1]), after[past - 1] - before > limit
        k, before = past, after[past - 1]


def free_memory(room: Room) -> int:
    """Return the bytes of the current GPU that are free or the room's own.

    The simulator has what it likes.
    """
    if simulated():
        return 1 << 62
    return cuda.current_context().get_memory_info().free + room.bytes


def refuse_beyond(free: int, case: int, needed: int) -> None:
    """Raise `DeviceError` if a case needs more memory than is free on its GPU."""
    if needed > free:
        raise DeviceError(
            f"case {case + 1} needs {needed >> 20} MB of GPU memory, {free >> 20} MB are free; use"
            " the CPU (cpu) or a larger GPU"
        )


def prepare_wide(
    columns: CaseColumns, chosen: list[int], scoring: SplicedScoring, room: Room
) -> list[tuple[int, PreparedCase]]:
    """Prepare cases for the 32-bit sweep, and refuse those that the current GPU cannot hold."""
    prepare_case, free = Preparation(scoring), free_memory(room) if chosen else 0
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
        self._parts: list[tuple[Jobs, Found]] = []
        self._adding = Lock()
        self._part, self._job = np.full((2, len(columns.cells)), -1)

    def add(self, jobs: Jobs, found: Found) -> None:
        """Add what was found for jobs; a case is that of its job which has a chain."""
        winners = found.winners()
        with self._adding:  # a thread a GPU
            self._job[jobs.cases[winners]] = winners
            self._part[jobs.cases[winners]] = len(self._parts)
            self._parts.append((jobs, found))

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

    def _result(self, prepared: PreparedCase, jobs: Jobs, found: Found, job: int):
        strands, program, chains = self.columns.strands, jobs.programs[job], found.chains
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
