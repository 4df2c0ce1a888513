"""The share of a GPU: its cases, cut into batches, and what is known before they are dealt out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.errors import DeviceError
from gpu_tools.hardware.cpu.native_threads import wait_for
from gpu_tools.hardware.gpu.buffer_pool import Room
from gpu_tools.hardware.gpu.driver_calls import Rows, make_calls, taken_together
from gpu_tools.spliced.columns import Jobs, jobs_of
from gpu_tools.spliced.gpu import launch as packed
from gpu_tools.spliced.gpu.layout import AROUND, Draft, drafted, job_bytes
from gpu_tools.spliced.gpu.work import Work

BYTES_PER_BATCH = 1 << 30
"""What one batch may take of GPU memory ..."""
SHARE_PER_BATCH = 8
"""... if this part of what is free is not less: buffers take turns, see `cuda_kept.Room`."""
SMALL_BATCH = 1 << 29
"""The first batch takes no more than this, and the last ones no less, if there is so much left."""
FIRST_BATCHES = 2
"""So many batches a GPU is given at once at first: the small one would be done before the next."""


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


class Beginning(NamedTuple):
    """What comes before a GPU's share is known: calls to be made, and the answer to one of them.

    Attributes
    ----------
    rows : Rows
    memory : ndarray of int64, shape (2,)
        Bytes of the GPU that are free, and all that it has, once the calls are made.
    kept : int
        Bytes that buffers of batches have already.
    """

    rows: Rows
    memory: NDArray[np.int64]
    kept: int

    @property
    def free(self) -> int:
        """Bytes for batches, once the calls are made."""
        return int(self.memory[0]) + self.kept


def beginning(room: Room) -> Beginning:
    """Take what was put down in the buffers that stay, and ask for the memory of the GPU."""
    memory = np.empty(2, dtype=np.int64)
    room.stays.calls.ask_memory(memory)
    return Beginning(taken_together([room.stays.calls]), memory, room.bytes)


def share_of(work: Work, number: int, first: Beginning) -> Share:
    """Return what the current GPU has to do, once programs are laid out.

    It is the one with that number among the GPUs of the call.
    """
    columns, table = work.columns, work.programs.table
    blocks = packed.most_blocks(work.apart, work.ordinals[number])
    memory = first.memory, first.kept, (SHARE_PER_BATCH, BYTES_PER_BATCH, SMALL_BATCH)
    given, dealt = (columns.jobs, columns.first_jobs), (work.order, work.gpus, number)
    cases, jobs, ends, largest, draft, made = _dealt(
        first.rows.numbers, work.told, dealt, given, table, AROUND, memory, blocks
    )
    first.rows.check(made)
    free, broad, others, draft = first.free, work.broad, [], Draft(*draft)
    if broad is not None:
        draft = None
        others, cases = cases[broad[cases]].tolist(), cases[~broad[cases]]
        jobs = jobs.take(~broad[jobs.cases])
        ends, largest = _measured_and_split(table, cases, jobs, AROUND, memory)
    if len(cases):
        refuse_beyond(free, int(cases[largest[0]]), int(largest[1]))
    return Share(cases, jobs, _batches(ends, free // SHARE_PER_BATCH), others, free, blocks, draft)


@njit(cache=True, nogil=True)
def _dealt(calls, told, dealt, given, table, around, memory, most):
    """Return a GPU's cases and their jobs; and, once programs are laid out, see `split`.

    Calls are made before, the first batches are laid out behind that: see `make_calls`, whose
    result is returned, too, and `drafted`.
    """
    made, (order, gpus, number), (jobs, first_jobs) = make_calls(calls), dealt, given
    wait_for(told)
    cases = order[:0] if told[0] < 0 else order[gpus == number]
    own = jobs_of(jobs, first_jobs, cases)
    wait_for(told[1:])
    ends, largest = _split_for(memory, cases, own.cases, job_bytes(table, own, around))
    first = ends[1, : FIRST_BATCHES if told[1] > 0 and len(own.programs) > 0 else 0]
    return cases, own, ends, largest, drafted(table, own, first, around, most), made


@njit(cache=True, nogil=True)
def _measured_and_split(table, cases, jobs, around, memory):
    return _split_for(memory, cases, jobs.cases, job_bytes(table, jobs, around))


@register_jitable
def _split_for(memory, cases, case_of_job, sizes):
    """Split cases for a GPU that has so much memory, see `split`."""
    (free, _), kept, (share, most, small) = memory
    return split(cases, case_of_job, sizes, min(most, (free + kept) // share), small)


def _batches(ends: NDArray[np.int64], part: int) -> list[Batch]:
    """Return batches, given where the cases and jobs of each end, and what it takes."""
    batches, case, job = [], 0, 0
    for past_case, past_job, size in ends.T.tolist():
        batches.append(Batch(slice(case, past_case), slice(job, past_job), size > part))
        case, job = past_case, past_job
    return batches


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
    first = beginning(room)
    first.rows.make()
    return first.free


def refuse_beyond(free: int, case: int, needed: int) -> None:
    """Raise `DeviceError` if a case needs more memory than is free on its GPU."""
    if needed > free:
        raise DeviceError(
            f"case {case + 1} needs {needed >> 20} MB of GPU memory, {free >> 20} MB are free; use"
            " the CPU (cpu) or a larger GPU"
        )
