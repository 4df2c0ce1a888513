"""How jobs for the packed kernel are cut into strips, and what share of the GPU each kind gets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.sites.gpu import packed
from gpu_tools.sites.gpu import sweep as skewed
from gpu_tools.sites.gpu.job import LOWEST_HALF, Job
from gpu_tools.sites.gpu.packed_operations import HOT, INTO_ROW
from gpu_tools.sites.gpu.program import (
    CLEAR,
    IN_REGISTERS,
    LAST,
    NO_SYMBOL,
    PUT,
    RAISE,
    Kept,
    Program,
    compile_packed,
)
from gpu_tools.sites.gpu.steps import IDLE, StepTable, compile_skewed
from gpu_tools.sites.table import CLOSED, SiteTable

NANOSECONDS_A_ROW = {1: 9, 4: 5, 8: 8} if simulated() else {4: 75, 8: 140, 16: 330, 24: 405}
"""Time of a row by registers a lane, about, with two such strips for each scheduler of an H200."""
STRIPS_A_MULTIPROCESSOR = 8
QUAD = 4
"""Neighbouring registers whose words lie side by side where the skewed kernel keeps rows."""
_NO_EXIT = -(2**30)
_LONGEST, _TRIED = 64, 40
"""Times that the longest base may take, as multiples of the least: the last one and how many."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A job as a kernel wants it: the job's program, registers a lane of each strip."""

    job: Job
    program: Program | StepTable
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Registers a lane of all strips but the last one, which may have fewer."""
        return self.sizes[0]

    @property
    def strips(self) -> int:
        """Number of strips."""
        return len(self.sizes)

    @property
    def kept(self) -> Kept:
        """The rows that a traceback reads."""
        return self.program.kept

    @property
    def places(self) -> int:
        """Number of places in device memory."""
        return max(self.kept.n_places - self.first_copy, 0)

    @property
    def work(self) -> float:
        """Nanoseconds that all strips take, one after the other."""
        return len(self.job.codes) * sum(NANOSECONDS_A_ROW[size] for size in self.sizes)

    def cells(self, words: NDArray[np.int32]) -> NDArray[np.int16]:
        """Return words of all strips by strip, place, register, lane and half."""
        wide = self.places * self.size * packed.WARP * (self.strips - 1)
        last = self._cells(words[wide:], self.sizes[-1])
        return np.concatenate([self._cells(words[:wide], self.size), self._widened(last)])

    def _widened(self, cells: NDArray[np.int16]) -> NDArray[np.int16]:
        """Return cells of a narrow strip as if it were as wide as the others."""
        _, places, size, lanes, halves = cells.shape
        rows = np.zeros((places, lanes * halves * self.size), dtype=cells.dtype)
        rows[:, : lanes * halves * size] = cells[0].transpose(0, 2, 3, 1).reshape(places, -1)
        columns = rows.reshape(places, lanes, halves, self.size)
        return columns.transpose(0, 3, 1, 2)[None]


class PackedPlan(Plan):
    """A job for the packed kernel with wide strips."""

    program: Program

    @property
    def rows(self) -> int:
        """Boundaries, and as many without meaning as make whole groups of a warp's lanes."""
        return -(-(len(self.job.codes) + 1) // packed.WARP) * packed.WARP

    @property
    def first_copy(self) -> int:
        """Number of the first place in device memory."""
        return packed.HOT_PLACES[self.size]

    @property
    def n_more(self) -> int:
        """How many words `words` has besides those of each boundary."""
        return self.program.operations.size

    def boundary_at(self, number: int) -> int:
        """Return the boundary whose border word is the one of this number."""
        return number

    def words(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return what the kernel reads at each boundary, operations, and last exits."""
        table, padding = self.job.table, (0, self.rows - len(self.job.codes) - 1)
        opened = table.first_entry != CLOSED
        begin = np.where(opened, table.first_entry, LOWEST_HALF).astype(np.int32)
        boundaries = self.program.boundaries | (begin << np.int32(16))
        meaningless = NO_SYMBOL | (LOWEST_HALF << 16)
        return (
            np.pad(boundaries, padding, constant_values=meaningless),
            self._operations().ravel(),
            np.pad(_last_exits(table), padding, constant_values=_NO_EXIT),
        )

    def _operations(self) -> NDArray[np.int32]:
        """Return the operations with their usual kinds marked, and the bonus in both halves."""
        operations, hot = self.program.operations.copy(), packed.HOT_PLACES[self.size]
        code, to, source, bonus = operations.T
        kind = code & (LAST - 1)
        usual = np.isin(kind, (RAISE, PUT)) & (source < hot)
        code[usual & (to >= 0) & (to < hot)] |= HOT
        code[usual & (to == IN_REGISTERS)] |= INTO_ROW
        source[kind == CLEAR] = IN_REGISTERS
        bonus[:] = (bonus << 16) | (bonus & 0xFFFF)
        return operations

    def _cells(self, words: NDArray[np.int32], size: int) -> NDArray[np.int16]:
        shape = -1, self.places, size, packed.WARP, 2
        return words.view(np.int16).reshape(shape)


class SkewedPlan(Plan):
    """A job for the skewed kernel."""

    program: StepTable

    @property
    def rows(self) -> int:
        """Border words: two a step, of enough steps for the last lane to be done with groups."""
        steps = self.program.words.shape[1] + packed.WARP - 1
        return 2 * -(-steps // packed.WARP) * packed.WARP

    @property
    def first_copy(self) -> int:
        """Number of the first place in device memory, which is not used."""
        return self.program.first

    @property
    def n_more(self) -> int:
        """How many words `words` has besides the first two of each step."""
        return self.rows

    def boundary_at(self, number: int) -> int:
        """Return the boundary whose border word is the one of this number."""
        own = number - 2 * (packed.WARP - 1)
        return int(np.searchsorted(self.program.firsts, own, side="right")) - 1

    def words(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the steps' first two words, the other two, and last exits by border word."""
        steps = self.program.words
        padded = np.tile(np.array(IDLE, dtype=np.int32)[:, None], self.rows // 2)
        padded[:, : steps.shape[1]] = steps
        last_exits = np.full(self.rows, _NO_EXIT, dtype=np.int32)
        last_exits[self.program.firsts + 2 * (packed.WARP - 1)] = _last_exits(self.job.table)
        return padded[:2].ravel(), padded[2:].ravel(), last_exits

    def _cells(self, words: NDArray[np.int32], size: int) -> NDArray[np.int16]:
        shape = -1, self.places, size // QUAD, packed.WARP, QUAD, 2
        by_register = words.view(np.int16).reshape(shape).transpose(0, 1, 2, 4, 3, 5)
        return by_register.reshape(-1, self.places, size, packed.WARP, 2)


def _last_exits(table: SiteTable) -> NDArray[np.int32]:
    return np.where(table.last_exit == CLOSED, _NO_EXIT, table.last_exit).astype(np.int32)


def plan_packed(job: Job, size: int) -> Plan:
    """Compile a job for strips of `size` registers a lane; of others if rows lack places then."""
    if size in skewed.HOT_PLACES:
        steps = job.strand.compiled(compile_skewed, compile_skewed)
        fitting = [
            n for n, places in skewed.HOT_PLACES.items() if n <= size and steps.n_hot <= places
        ]
        if fitting:
            return SkewedPlan(job, steps, _sizes(job.columns, max(fitting)))
        size = min(packed.HOT_PLACES)
    hot = packed.HOT_PLACES[size]
    program = job.strand.compiled(hot, partial(compile_packed, hot=hot))
    return PackedPlan(job, program, _sizes(job.columns, size))


def _sizes(columns: int, size: int) -> tuple[int, ...]:
    """Return registers a lane of each strip of a job."""
    whole, last = _strips(columns, size)
    return (size,) * int(whole) + (int(last),) * bool(last)


def _strips(columns, size: int) -> tuple[NDArray, NDArray]:
    """Return how many strips columns fill, and the registers a lane of a last one, 0 if none is.

    The kernel for wide skewed strips also takes the narrowest ones.
    """
    narrow = min(skewed.HOT_PLACES) if size in skewed.HOT_PLACES else size
    whole, rest = np.divmod(columns, 2 * packed.WARP * size)
    last = np.where(rest <= 2 * packed.WARP * narrow, narrow, size)
    return whole, np.where(rest == 0, 0, last)


def kernel_of(size: int) -> int:
    """Return which kernel takes strips of `size` registers a lane: the most that it takes."""
    return max(skewed.HOT_PLACES) if size in skewed.HOT_PLACES else size


def sweep_of(kernel: int):
    """Return a kernel by the most registers a lane that it takes."""
    return (skewed if kernel in skewed.HOT_PLACES else packed).sweep_of(kernel)


def strips_at_once() -> int:
    """Return how many strips the current GPU sweeps at a time."""
    if simulated():
        return STRIPS_A_MULTIPROCESSOR
    return cuda.get_current_device().MULTIPROCESSOR_COUNT * STRIPS_A_MULTIPROCESSOR


def sizes_of(jobs: list[Job]) -> list[int]:
    """Choose registers a lane for each job so that all of them together end soonest.

    A strip of many registers does more cells a second, one of few has done a row sooner. So the
    longest bases get few, and the more the longer they would take else. Skewed strips are all one
    kernel's, so that none is idle before all are begun; wide ones are for all jobs or for none.
    """
    sizes = [*sorted(skewed.HOT_PLACES), *packed.HOT_PLACES]
    n_skewed, n_jobs = len(skewed.HOT_PLACES), len(jobs)
    rows = np.array([len(job.codes) + 1 for job in jobs])
    columns = np.array([job.columns for job in jobs])
    each = rows[:, None] * [NANOSECONDS_A_ROW[size] for size in sizes]
    work = rows[:, None] * np.transpose([_nanoseconds(columns, size) for size in sizes])
    limits = each[:, 0].max() * np.geomspace(1, _LONGEST, _TRIED)
    choices = [_cheapest(each[:, :n_skewed], work[:, :n_skewed], limit) for limit in limits]
    choices += [np.full(n_jobs, k) for k in range(n_skewed, len(sizes))]
    best = min(choices, key=lambda choice: _end(each, work, choice))
    return [sizes[k] for k in best]


def shared_out(plans: list[Plan]) -> list[tuple[int, int]]:
    """Return kernels in the order in which they shall start, and blocks of each.

    A kernel works on its strips in their order, so that each needs to be there from the start,
    with as many blocks as its share of the work asks for. The one with most work comes last, with
    a block for each strip: its blocks also take the places that others leave.
    """
    work, strips = Counter(), Counter()
    for plan in plans:
        work[kernel_of(plan.size)] += plan.work
        strips[kernel_of(plan.size)] += plan.strips
    share = strips_at_once() / work.total()
    last = max(work, key=work.get)
    blocks = {own: min(ceil(work[own] * share), strips[own]) for own in sorted(work)}
    return [*((own, n) for own, n in blocks.items() if own != last), (last, strips[last])]


def in_order(plans: list[Plan], kernel: int) -> list[int]:
    """Return numbers of the plans that a kernel takes, those first whose strips take longest."""
    own = [k for k, plan in enumerate(plans) if kernel_of(plan.size) == kernel]
    return sorted(own, key=lambda k: -plans[k].rows * NANOSECONDS_A_ROW[plans[k].size])


def _nanoseconds(columns: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return the time of a row of all strips of some columns, `size` registers a lane."""
    whole, last = _strips(columns, size)
    times = np.zeros(max(NANOSECONDS_A_ROW) + 1)
    times[list(NANOSECONDS_A_ROW)] = list(NANOSECONDS_A_ROW.values())
    return whole * times[size] + times[last]


def _cheapest(each: NDArray, work: NDArray, limit: float) -> NDArray[np.int64]:
    """Return which size takes least work among those whose strips take no longer than `limit`."""
    allowed = each <= limit
    allowed[:, 0] = True
    return np.where(allowed, work, np.inf).argmin(axis=1)


def _end(each: NDArray, work: NDArray, choice: NDArray[np.int64]) -> float:
    """Return about when all jobs are done."""
    where = np.arange(len(choice)), choice
    return max(work[where].sum() / strips_at_once(), each[where].max())
