"""What GPUs have to do: programs laid out for all, cases dealt out and cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numpy.typing import NDArray

from gpu_tools.ahead import helped
from gpu_tools.batches import dealt
from gpu_tools.cuda_kept import KEPT, Room
from gpu_tools.device import simulated
from gpu_tools.errors import DeviceError
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda as packed
from gpu_tools.spliced.columns import CaseColumns, Jobs
from gpu_tools.spliced.cuda_programs import Programs, begin_programs
from gpu_tools.spliced.cuda_shared import lent_arena

BYTES_PER_BATCH = 2 << 30
"""What one batch may take of GPU memory, if a quarter of what is free is not less."""
SMALL_BATCH = 1 << 29
"""The last batches take no less than this, if there is so much left."""
STRANDS_A_THREAD = 32
"""Fewer programs than this are not worth a thread of their own."""


class Share(NamedTuple):
    """What one GPU has to do.

    Attributes
    ----------
    narrow : ndarray of int64
        Cases for the packed kernel, the large ones first.
    broad : list of int
        Cases for the other kernel.
    """

    narrow: NDArray[np.int64]
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
    strands, jobs = columns.strands, columns.jobs
    n_exons = int(_chosen_exons(jobs.programs, strands.first_exons))
    apart = packed.run_apart(n_exons // len(ordinals), ordinals[0])
    helpers = min(threads - 1, strands.count // STRANDS_A_THREAD)
    with lent_arena() as arena:
        new = partial(arena.array, ordinal=ordinals[0])
        programs, lay_out = begin_programs(strands, scoring, apart, new)
        with helped(KEPT.workers(threads), helpers, lay_out):
            targets = new("targets", len(columns.targets), np.uint8)
            targets[:] = columns.targets
            chosen, longest = dealt(columns.cells, len(ordinals)), _longest_targets(columns)
            lay_out()
        broad = _broad(columns, programs, longest, scoring)
        if not all(map(packed.can_pack, ordinals)):
            broad[:] = True
        shares = [_share(own, broad) for own in chosen]
        yield Work(columns, programs, targets, apart, shares)


def _share(cases: NDArray[np.int64], broad: NDArray[np.bool_]) -> Share:
    """Return a GPU's share of the cases, of which some are broad."""
    chosen = broad[cases]
    return Share(cases[~chosen], cases[chosen].tolist()) if chosen.any() else Share(cases, [])


@njit(cache=True, nogil=True)
def _chosen_exons(programs, first_exons):
    """Return the exons of all jobs together."""
    count = 0
    for program in programs:
        count += first_exons[program + 1] - first_exons[program]
    return count


def _longest_targets(columns: CaseColumns) -> NDArray[np.int64]:
    """Return the length of the longest target of each strand."""
    longest = np.zeros_like(columns.strands.lengths)
    raise_to(longest, columns.jobs.programs, columns.jobs.lengths)
    return longest


def _broad(
    columns: CaseColumns, programs: Programs, longest: NDArray[np.int64], scoring: SplicedScoring
) -> NDArray[np.bool_]:
    """Tell of which cases a job does not fit the packed kernel.

    `longest` is the length of each strand's longest target: mostly even those fit.
    """
    jobs, bases = columns.jobs, columns.strands.lengths
    broad = np.zeros(len(columns.cells), dtype=np.bool_)
    if not packed.fit_packed(programs.table, longest, bases, scoring).all():
        table = programs.table[jobs.programs]
        suited = packed.fit_packed(table, jobs.lengths, bases[jobs.programs], scoring)
        broad[jobs.cases[~suited]] = True
    return broad


@njit(cache=True, nogil=True)
def raise_to(highest, places, values):
    """Have no number be lower than the values for its place."""
    for k in range(len(places)):
        highest[places[k]] = max(highest[places[k]], values[k])


class Batch(NamedTuple):
    """Cases of a share that go together, and their jobs.

    One that the GPU cannot hold beside others is `alone` in its memory.
    """

    cases: slice
    jobs: slice
    alone: bool


def batches_of(work: Work, cases: NDArray[np.int64], jobs: Jobs, room: Room) -> list[Batch]:
    """Split cases into batches, each at most a quarter of what the current GPU can hold.

    The last batches are small: nothing is done beside what comes after them.
    """
    free, table = free_memory(room), work.programs.table
    sizes = packed.job_bytes(table, jobs.programs, jobs.lengths, packed.AROUND)
    most = min(BYTES_PER_BATCH, free // 4)
    ends, largest = _split(cases, jobs.cases, sizes, most, SMALL_BATCH)
    refuse_beyond(free, int(cases[largest[0]]), int(largest[1]))
    batches, case, job = [], 0, 0
    for past_case, past_job, size in ends.T.tolist():
        batches.append(Batch(slice(case, past_case), slice(job, past_job), size > free // 4))
        case, job = past_case, past_job
    return batches


@njit(cache=True, nogil=True)
def _split(cases, case_of_job, sizes, most, small):
    """Return where each batch's cases and jobs end, what it takes, and the largest case.

    A batch takes no more than `most`, and no more than half of what is left, or `small`, unless it
    is one case.
    """
    past = np.empty((3, len(cases)), dtype=np.int64)
    n, job, first_job, taken, largest = 0, 0, 0, 0, (0, 0)
    left = sizes.sum()
    limit = min(max(left // 2, small), most)
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
