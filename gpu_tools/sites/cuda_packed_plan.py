"""How jobs for the packed kernel are cut into strips, and what share of the GPU each kind gets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.sites import cuda_packed as packed
from gpu_tools.sites import cuda_skewed as skewed
from gpu_tools.sites.cuda_job import LOWEST_HALF, Job
from gpu_tools.sites.cuda_packed_operations import HOT, INTO_ROW
from gpu_tools.sites.cuda_program import (
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
from gpu_tools.sites.cuda_steps import IDLE, Steps, compile_skewed
from gpu_tools.sites.table import CLOSED, SiteTable

NANOSECONDS_A_ROW = (
    {1: (2, 2), 4: (5, 5)} if simulated()
    else {4: (65, 85), 8: (95, 160), 16: (305, 330), 24: (390, 405)}
)  # fmt: skip
"""Time of a row by registers a lane, with one such strip for each scheduler and with two.

Of an H200, about, and such that the case set of the benchmarks ends soonest:
benchmarks/results/sites-steps-h200.json.
"""
STRIPS_A_MULTIPROCESSOR = 8
QUAD = 4
"""Neighbouring registers whose words lie side by side where the skewed kernel keeps rows."""
_NO_EXIT = -(2**30)
_LONGEST, _TRIED = 64, 40
"""Times that the longest base may take, as multiples of the least: the last one and how many."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A job as a kernel wants it: registers a lane, the job's program, number of strips."""

    job: Job
    size: int
    program: Program | Steps
    strips: int

    @property
    def kept(self) -> Kept:
        """The rows that a traceback reads."""
        return self.program.kept


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
    def strip_words(self) -> int:
        """Words of a strip's rows in device memory."""
        places = self.kept.n_places - self.first_copy
        return max(places, 0) * self.size * packed.WARP

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

    def cells(self, words: NDArray[np.int32]) -> NDArray[np.int16]:
        """Return words of all strips by strip, place, register, lane and half."""
        return words.view(np.int16).reshape(self.strips, -1, self.size, packed.WARP, 2)


class SkewedPlan(Plan):
    """A job for the skewed kernel."""

    program: Steps

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
    def strip_words(self) -> int:
        """Words of a strip's rows in device memory."""
        return (self.kept.n_places - self.first_copy) * self.size * packed.WARP

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

    def cells(self, words: NDArray[np.int32]) -> NDArray[np.int16]:
        """Return words of all strips by strip, place, register, lane and half."""
        quads = words.view(np.int16).reshape(
            self.strips, -1, self.size // QUAD, packed.WARP, QUAD, 2
        )
        by_register = quads.transpose(0, 1, 2, 4, 3, 5)
        return by_register.reshape(self.strips, -1, self.size, packed.WARP, 2)


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
            return SkewedPlan(job, max(fitting), steps, _strips(job, max(fitting)))
        size = min(packed.HOT_PLACES)
    hot = packed.HOT_PLACES[size]
    program = job.strand.compiled(hot, partial(compile_packed, hot=hot))
    return PackedPlan(job, size, program, _strips(job, size))


def _strips(job: Job, size: int) -> int:
    return -(-job.columns // (2 * packed.WARP * size))


def kernel_of(size: int):
    """Return the kernel for strips of `size` registers a lane."""
    return (skewed if size in skewed.HOT_PLACES else packed).sweep_of(size)


def strips_at_once() -> int:
    """Return how many strips the current GPU sweeps at a time."""
    if simulated():
        return STRIPS_A_MULTIPROCESSOR
    return cuda.get_current_device().MULTIPROCESSOR_COUNT * STRIPS_A_MULTIPROCESSOR


def sizes_of(jobs: list[Job]) -> list[int]:
    """Choose registers a lane for each job so that all of them together end soonest.

    A strip of many registers does more cells a second, one of few has done a row sooner. So the
    longest bases get few, and the more the longer they would take else.
    """
    sizes = np.array(sorted(NANOSECONDS_A_ROW, key=NANOSECONDS_A_ROW.get))
    rows = np.array([len(job.codes) + 1 for job in jobs])
    columns = np.array([job.columns for job in jobs])
    alone, beside = np.array([NANOSECONDS_A_ROW[size] for size in sizes]).T
    each = rows[:, None] * alone
    work = rows[:, None] * beside * -(-columns[:, None] // (2 * packed.WARP * sizes))
    limits = each[:, 0].max() * np.geomspace(1, _LONGEST, _TRIED)
    chosen = [_cheapest(each, work, limit) for limit in limits]
    best = chosen[int(np.argmin([_end(each, work, choice) for choice in chosen]))]
    return sizes[best].tolist()


def shared_out(plans: list[Plan]) -> list[tuple[int, int]]:
    """Return sizes in the order in which their kernels shall start, and blocks of each.

    A kernel works on its strips in their order, so that each needs to be there from the start,
    with as many blocks as its share of the work asks for. The one with most work comes last, with
    a block for each strip: its blocks also take the places that others leave.
    """
    work, strips = {}, {}
    for plan in plans:
        own = plan.strips * len(plan.job.codes) * NANOSECONDS_A_ROW[plan.size][1]
        work[plan.size] = work.get(plan.size, 0) + own
        strips[plan.size] = strips.get(plan.size, 0) + plan.strips
    share = strips_at_once() / sum(work.values())
    last = max(work, key=work.get)
    blocks = {size: min(ceil(work[size] * share), strips[size]) for size in sorted(work)}
    return [*((s, n) for s, n in blocks.items() if s != last), (last, strips[last])]


def _cheapest(each: NDArray, work: NDArray, limit: float) -> NDArray[np.int64]:
    """Return which size takes least work among those whose strips take no longer than `limit`."""
    allowed = each <= limit
    allowed[:, 0] = True
    return np.where(allowed, work, np.inf).argmin(axis=1)


def _end(each: NDArray, work: NDArray, choice: NDArray[np.int64]) -> float:
    """Return about when all jobs are done."""
    where = np.arange(len(choice)), choice
    return max(work[where].sum() / strips_at_once(), each[where].max())
