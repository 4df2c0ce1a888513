"""Cases on GPUs: which kernel and which GPU takes a case, and what becomes of what they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numpy.typing import NDArray

from gpu_tools.batches import dealt, within_limit
from gpu_tools.device import simulated
from gpu_tools.errors import DeviceError
from gpu_tools.results import SplicedAlignment
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda as packed
from gpu_tools.spliced import cuda_wide as wide
from gpu_tools.spliced.case import Preparation, PreparedCase, finish, result_of
from gpu_tools.spliced.columns import CaseColumns, Jobs
from gpu_tools.spliced.cuda_chains import ChainSearch, Found
from gpu_tools.spliced.cuda_kept import KEPT, Room
from gpu_tools.spliced.cuda_programs import Programs, lay_out_programs
from gpu_tools.spliced.cuda_shared import lent_arena, together
from gpu_tools.spliced.traceback import Swept, runs_of

BYTES_PER_BATCH, SMALL_BATCH = 2 << 30, 1 << 30
"""What one batch may take of GPU memory, if a quarter of what is free is not less, and the last."""
WIDE_BYTES_PER_BATCH = 1 << 30
"""The same for 32-bit sweeps, whose rows go to host memory."""
STRANDS_A_THREAD = 32
"""Fewer programs than this are not worth a thread of their own."""
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
    found = Alignments(columns)

    def run(share: Share, room: Room) -> None:
        broad = prepare_wide(columns, share.broad, scoring, room)
        for own, search in searches(work, share, scoring, room, ChainSearch.find_chains):
            found.add(own, search.found())
            done(int(columns.cells[own.cases[own.first_of_cases()]].sum()))
        for k, result in wide_results(broad, scoring):
            found.others[k] = result
            done(result.cells)

    with laid_out(columns, scoring, ordinals, threads) as work:
        KEPT.on_gpus(ordinals, run, work.shares)
    return found


def scores_on_cuda(
    columns: CaseColumns, scoring: SplicedScoring, ordinals: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)

    def run(share: Share, room: Room) -> None:
        broad = prepare_wide(columns, share.broad, scoring, room)
        for own, search in searches(work, share, scoring, room):
            _raise_to(scores, own.cases, search.scores())
        for k, result in wide_results(broad, scoring):
            scores[k] = NO_CHAIN if result.score is None else result.score

    with laid_out(columns, scoring, ordinals, threads) as work:
        KEPT.on_gpus(ordinals, run, work.shares)
    return scores


@njit(cache=True, nogil=True)
def _raise_to(scores, cases, found):
    for k in range(len(cases)):
        scores[cases[k]] = max(scores[cases[k]], found[k])


class Share(NamedTuple):
    """What one GPU has to do.

    Attributes
    ----------
    narrow : Jobs
        Those for the packed kernel, of large cases first.
    broad : list of int
        Cases for the other kernel.
    """

    narrow: Jobs
    broad: list[int]


class Work(NamedTuple):
    """What GPUs have to do.

    Attributes
    ----------
    columns : CaseColumns
    programs : Programs
        Of all strands.
    targets : ndarray of uint8
        Symbols of all targets.
    apart : bool
        Whether segments are pieces of their own.
    shares : list of Share
        Of each GPU.
    """

    columns: CaseColumns
    programs: Programs
    targets: NDArray[np.uint8]
    apart: bool
    shares: list[Share]


@contextmanager
def laid_out(
    columns: CaseColumns, scoring: SplicedScoring, ordinals: Sequence[int], threads: int
) -> Iterator[Work]:
    """Lay out the programs of cases once for all GPUs, choose the cases' kernels, deal them out."""
    exons = np.diff(columns.strands.first_exons)
    of_all = int(exons @ np.bincount(columns.jobs.programs, minlength=len(exons)))
    apart = packed.run_apart(of_all // len(ordinals), ordinals[0])
    pool, count = KEPT.workers(threads), min(threads, columns.strands.count // STRANDS_A_THREAD + 1)
    with lent_arena() as arena:
        new = partial(arena.array, ordinal=ordinals[0])
        crew = partial(together, pool, count)
        programs = lay_out_programs(columns.strands, scoring, apart, crew, new)
        targets = new("targets", len(columns.targets), np.uint8)
        targets[:] = columns.targets
        broad = _broad(columns, programs, scoring)
        if not all(map(packed.can_pack, ordinals)):
            broad[:] = True
        yield Work(columns, programs, targets, apart, deal_out(columns, broad, len(ordinals)))


def _broad(columns: CaseColumns, programs: Programs, scoring: SplicedScoring) -> NDArray[np.bool_]:
    """Tell of which cases a job does not fit the packed kernel."""
    jobs, bases = columns.jobs, columns.strands.lengths
    broad, longest = np.zeros(len(columns.cells), dtype=np.bool_), np.zeros_like(bases)
    np.maximum.at(longest, jobs.programs, jobs.lengths)
    if not packed.fit_packed(programs.table, longest, bases, scoring).all():
        table = programs.table[jobs.programs]
        suited = packed.fit_packed(table, jobs.lengths, bases[jobs.programs], scoring)
        broad[jobs.cases[~suited]] = True
    return broad


def deal_out(columns: CaseColumns, broad: NDArray[np.bool_], count: int) -> list[Share]:
    """Deal cases out to GPUs by their cells, the large ones first."""
    jobs = columns.jobs
    past = np.cumsum(np.bincount(jobs.cases, minlength=len(broad)))
    shares = []
    for own in dealt(columns.cells, count):
        narrow = jobs.take(_jobs_of(own[~broad[own]], past))
        shares.append(Share(narrow, own[broad[own]].tolist()))
    return shares


@njit(cache=True, nogil=True)
def _jobs_of(cases, past):
    """Return the jobs of cases, where `past` is the one behind each case's last."""
    jobs, n = np.empty(2 * len(cases), dtype=np.int64), 0
    for case in cases:
        for job in range(past[case - 1] if case > 0 else 0, past[case]):
            jobs[n] = job
            n += 1
    return jobs[:n]


def searches(
    work: Work,
    share: Share,
    scoring: SplicedScoring,
    room: Room,
    start: Callable[[ChainSearch], None] = lambda search: None,
) -> Iterator[tuple[Jobs, ChainSearch]]:
    """Sweep jobs on the current GPU, batch by batch, and have their best ends found.

    While results of one batch are taken over, the GPU works on the next one in other buffers. What
    else is to be done with a search is begun by `start`.
    """
    if not share.narrow.count:
        return
    before, crowded, batches = None, False, _batches(work, share.narrow, room)
    resident = packed.Resident.copy(work.programs, work.targets, scoring, room.stays)
    for number, (batch, large) in enumerate(batches):
        if large or crowded:
            if before:
                yield before
            before = None
            room.empty()
        jobs, crowded = share.narrow.take(batch), large
        buffers = room.turns[number % len(room.turns)]
        launch = packed.PackedLaunch(resident, jobs, work.apart, buffers)
        launch.run()
        search = ChainSearch(launch, scoring)
        search.find_ends()
        start(search)
        if before:
            yield before
        before = jobs, search
    yield before
    if share.broad:
        room.empty()


def _batches(work: Work, jobs: Jobs, room: Room) -> list[tuple[slice, bool]]:
    """Split jobs, those of a case together, into batches of which the current GPU can hold two.

    A case too large for that is a batch of its own, and told apart. The last batches are small:
    nothing is done beside what comes after them.
    """
    free, table = free_memory(room), work.programs.table
    sizes = packed.job_bytes(table, jobs.programs, jobs.lengths, packed.AROUND)
    firsts = jobs.first_of_cases()
    pasts = np.append(firsts[1:], jobs.count)
    after = np.cumsum(sizes)[pasts - 1]
    largest = int(np.diff(after, prepend=0).argmax())
    refuse_beyond(free, int(jobs.cases[firsts[largest]]), int(np.diff(after, prepend=0)[largest]))
    batches, most, k, before = [], min(BYTES_PER_BATCH, free // 4), 0, 0
    while k < len(firsts):
        limit = min(max((after[-1] - before) // 2, SMALL_BATCH), most)
        past = max(int(np.searchsorted(after, before + limit, side="right")), k + 1)
        alone = after[past - 1] - before > free // 4
        batches.append((slice(firsts[k], pasts[past - 1]), alone))
        k, before = past, after[past - 1]
    return batches


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
