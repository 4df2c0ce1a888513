"""What GPUs have to do: programs laid out for all, cases dealt out and cut into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools import simd
from gpu_tools.batches import deal_out
from gpu_tools.cuda_kept import Room
from gpu_tools.driver_calls import Rows, free_memory, make_calls
from gpu_tools.errors import DeviceError
from gpu_tools.native_threads import Helpers, do_rest, wait_for
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda as packed
from gpu_tools.spliced.columns import CaseColumns, Jobs, jobs_of
from gpu_tools.spliced.cuda_layout import AROUND, Draft, drafted, job_bytes
from gpu_tools.spliced.cuda_programs import Layout
from gpu_tools.spliced.cuda_shared import lent_arena
from gpu_tools.spliced.widths import costs_of

BYTES_PER_BATCH = 1 << 30
"""What one batch may take of GPU memory ..."""
SHARE_PER_BATCH = 8
"""... if this part of what is free is not less: buffers take turns, see `cuda_kept.Room`."""
SMALL_BATCH = 1 << 29
"""The first batch takes no more than this, and the last ones no less, if there is so much left."""
FIRST_BATCHES = 2
"""So many batches a GPU is given at once at first: the small one would be done before the next."""
STRANDS_A_THREAD = 16
"""Fewer programs than this are not worth a thread of their own."""


class Work:
    """What the GPUs of a call have to do; programs are laid out once for all of them.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    ordinals : sequence of int
        GPUs.
    new : callable
        See `Layout`.
    helpers : Helpers
        Threads that are to lay out programs.

    Attributes
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    ordinals : sequence of int
    apart : bool
        Whether segments are pieces of their own.
    told : ndarray of int64, shape (2,)
        For compiled code to wait for: not 0 once cases are dealt out, and once programs are laid
        out. Below 0 if that has failed.
    order, gpus : ndarray of int64
        Cases, the large ones first, and the number of the GPU that takes each of them.
    constants : ndarray of int32
        Elements of the scoring, see `cuda_job`.
    programs : Programs
        Nothing is in them before.
    """

    def __init__(
        self,
        columns: CaseColumns,
        scoring: SplicedScoring,
        ordinals: Sequence[int],
        new: Callable,
        helpers: Helpers,
    ):
        self.columns, self.scoring, strands = columns, scoring, columns.strands
        self.ordinals, self.told = ordinals, np.zeros(2, dtype=np.int64)
        # memory that is kept need not be mapped
        self.order = new("order", len(columns.cells), np.int64)
        self.gpus = new("gpus", len(columns.cells), np.int64)
        # no Future: threads that ask for its result at once wait for each other
        self._broad: NDArray[np.bool_] | None = None
        self._error: BaseException | None = None
        # no job is without an exon, and where there are many it takes long to look at all
        most = len(ordinals) * packed.most_exons_apart(ordinals[0])
        self.apart = columns.jobs.count <= most >= _count_exons(columns.jobs, strands.first_exons)
        self.constants = packed.constants_of(scoring)
        self._layout = Layout(strands, scoring, self.apart, new)
        self.programs = self._layout.programs
        self._rest = helpers.give(self._layout.task)

    def lay_out(self) -> None:
        """Deal cases out and lay out what is left of the programs, and tell the GPUs."""
        columns, table = self.columns, self.programs.table
        try:
            packable = packed.scores_fit(self.scoring) and all(map(packed.can_pack, self.ordinals))
            limits = columns.strands.lengths, costs_of(self.scoring), AROUND, packable
            dealing = columns.cells, len(self.ordinals), self.order, self.gpus
            made = self._rest, self._layout.counts, table
            if not _deal_and_tell_if_all_fit(dealing, *made, columns.jobs, limits, self.told):
                self._layout.check()
                self._broad = _broad(len(columns.cells), table, columns.jobs, limits)
                self.told[1] = 1
        except BaseException as error:
            self._error = error
            self.told[self.told == 0] = -1
            raise

    @property
    def broad(self) -> NDArray[np.bool_] | None:
        """The cases that do not fit the packed kernel, if there are any, once programs are there.

        If these have failed, their error is raised.
        """
        if self._error is not None:
            raise self._error
        return self._broad


@contextmanager
def begun(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: Sequence[int],
    threads: int,
    prepare: Callable[[CaseColumns], CaseColumns] | None = None,
) -> Iterator[Work]:
    """Begin with work for GPUs, on so many threads; who asks for it has to call `lay_out`.

    Cases may be prepared while the threads begin.
    """
    helpers = Helpers()
    with lent_arena() as arena:
        try:
            helpers.begin(min(threads - 1, columns.strands.count // STRANDS_A_THREAD))
            new = partial(arena.array, ordinal=ordinals[0])
            columns = prepare(columns) if prepare else columns
            yield Work(columns, scoring, ordinals, new, helpers)
        finally:
            helpers.join()


class Batch(NamedTuple):
    """Cases of a share that go together, and their jobs.

    One that the GPU cannot hold beside others is `alone` in its memory.
    """

    cases: slice
    jobs: slice
    alone: bool


class Share(NamedTuple):
    """What one GPU has to do.

    Attributes
    ----------
    narrow : ndarray of int64
        Cases for the packed kernel, the large ones first.
    jobs : Jobs
        Their jobs.
    batches : list of Batch
        Several of which the GPU can hold. The first one is small, as a GPU has nothing to do before
        it; and so are the last ones, as nothing is done beside what comes after them.
    broad : list of int
        Cases for the other kernel.
    free : int
        Bytes of its memory.
    most_blocks : tuple
        See `cuda_layout.lay_out`.
    draft : Draft, optional
        The first batches, if they are laid out.
    """

    narrow: NDArray[np.int64]
    jobs: Jobs
    batches: list[Batch]
    broad: list[int]
    free: int
    most_blocks: tuple[int, int, float]
    draft: Draft | None


def share_of(work: Work, number: int, free: int, first: Rows) -> Share:
    """Return what the current GPU has to do, once programs are laid out.

    It is the one with that number among the GPUs of the call, and has so many bytes free; some
    calls are made `first`.
    """
    columns, table = work.columns, work.programs.table
    blocks = packed.most_blocks(work.apart, work.ordinals[number])
    part = free // SHARE_PER_BATCH
    limits = min(BYTES_PER_BATCH, part), SMALL_BATCH
    given, dealt = (columns.jobs, columns.first_jobs), (work.order, work.gpus, number)
    cases, jobs, ends, largest, draft, made = _dealt(
        first.numbers, work.told, dealt, given, table, AROUND, limits, blocks
    )
    first.check(made)
    broad, others, draft = work.broad, [], Draft(*draft)
    if broad is not None:
        draft = None
        others, cases = cases[broad[cases]].tolist(), cases[~broad[cases]]
        jobs = jobs.take(~broad[jobs.cases])
        ends, largest = _measured_and_split(table, cases, jobs, AROUND, limits)
    if len(cases):
        refuse_beyond(free, int(cases[largest[0]]), int(largest[1]))
    return Share(cases, jobs, _batches(ends, part), others, free, blocks, draft)


@njit(cache=True, nogil=True)
def _dealt(calls, told, dealt, given, table, around, limits, most):
    """Return a GPU's cases and their jobs; and, once programs are laid out, see `split`.

    Calls are made before, the first batches are laid out behind that: see `make_calls`, whose
    result is returned, too, and `drafted`.
    """
    made, (order, gpus, number), (jobs, first_jobs) = make_calls(calls), dealt, given
    wait_for(told)
    cases = order[:0] if told[0] < 0 else order[gpus == number]
    own = jobs_of(jobs, first_jobs, cases)
    wait_for(told[1:])
    ends, largest = split(cases, own.cases, job_bytes(table, own, around), *limits)
    first = ends[1, : FIRST_BATCHES if told[1] > 0 and len(own.programs) > 0 else 0]
    return cases, own, ends, largest, drafted(table, own, first, around, most), made


@njit(cache=True, nogil=True)
def _measured_and_split(table, cases, jobs, around, limits):
    return split(cases, jobs.cases, job_bytes(table, jobs, around), *limits)


def _batches(ends: NDArray[np.int64], part: int) -> list[Batch]:
    """Return batches, given where the cases and jobs of each end, and what it takes."""
    batches, case, job = [], 0, 0
    for past_case, past_job, size in ends.T.tolist():
        batches.append(Batch(slice(case, past_case), slice(job, past_job), size > part))
        case, job = past_case, past_job
    return batches


@njit(cache=True, nogil=True)
def _count_exons(jobs, first_exons):
    """Return the exons of all jobs together."""
    count = 0
    for program in jobs.programs:
        count += first_exons[program + 1] - first_exons[program]
    return count


@njit(cache=True, nogil=True)
def _deal_and_tell_if_all_fit(dealing, rest, counts, table, jobs, limits, told):
    """Deal cases out and lay out programs; tell GPUs, if the packed kernel can take all.

    All at once without Python's lock, which the threads of GPUs want meanwhile. Who lays out
    programs as well does so while cases are dealt out.
    """
    cells, count, order, gpus = dealing
    deal_out(cells, count, order, gpus)
    simd.fetch_add(told, 0, 1)
    longest = np.zeros(len(table), dtype=np.int64)
    for k in range(len(jobs.programs)):
        longest[jobs.programs[k]] = max(longest[jobs.programs[k]], jobs.lengths[k])
    do_rest(rest)
    bases, costs, around, packable = limits
    fit = packable and counts[1] == len(table)
    for k in range(len(table)):
        fit = fit and packed.cells_fit(table[k], longest[k], bases[k], costs, around)
    if fit:
        simd.fetch_add(told, 1, 1)
    return fit


@njit(cache=True, nogil=True)
def _broad(count, table, jobs, limits):
    """Tell of which cases a job does not fit the packed kernel."""
    bases, costs, around, packable = limits
    broad = np.zeros(count, dtype=np.bool_)
    for k in range(len(jobs.programs)):
        own, base = table[jobs.programs[k]], bases[jobs.programs[k]]
        fit = packable and packed.cells_fit(own, jobs.lengths[k], base, costs, around)
        broad[jobs.cases[k]] |= not fit
    return broad


def in_groups(batches: list[Batch], turns: int) -> Iterator[list[Batch]]:
    """Group batches that are laid out together, before one of them is done: `turns` at most.

    The first ones come sooner than the others: the GPU has enough to do with them until those are
    there. One that is alone in the memory keeps all from being together.
    """
    past = (0, 0) if any(batch.alone for batch in batches) else (FIRST_BATCHES, turns)
    groups = batches[: past[0]], batches[past[0] : past[1]]
    yield from (*filter(None, groups), *([batch] for batch in batches[past[1] :]))


@register_jitable
def split(cases, case_of_job, sizes, most, small):
    """Return where each batch's cases and jobs end, what it takes, and the largest case.

    A batch takes no more than `most`, and no more than half of what is left, or `small`, unless it
    is one case. The first one takes no more than `small`.
    """
    past = np.empty((3, max(len(cases), 1)), dtype=np.int64)
    n, job, first_job, taken, largest = 0, 0, 0, 0, (0, 0)
    left, limit = sizes.sum(), min(small, most)
    for k in range(len(cases)):
        size, first_job = 0, job
        while job < len(sizes) and case_of_job[job] == cases[k]:
            size += sizes[job]
            job += 1
        if size > largest[1]:
            largest = k, size
        if size > 0 and taken > 0 and taken + size > limit:
            past[0, n], past[1, n], past[2, n] = k, first_job, taken
            n, left, taken = n + 1, left - taken, 0
            limit = min(max(left // 2, small), most)
        taken += size
    past[0, n], past[1, n], past[2, n] = len(cases), len(sizes), taken
    n += 1
    return past[:, :n], largest


def memory_for(room: Room) -> int:
    """Return the bytes of the current GPU that are free or the room's own."""
    return free_memory() + room.bytes


def refuse_beyond(free: int, case: int, needed: int) -> None:
    """Raise `DeviceError` if a case needs more memory than is free on its GPU."""
    if needed > free:
        raise DeviceError(
            f"case {case + 1} needs {needed >> 20} MB of GPU memory, {free >> 20} MB are free; use"
            " the CPU (cpu) or a larger GPU"
        )
