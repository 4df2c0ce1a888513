"""Sweeps on a GPU that the CPU's tracebacks can read.

The kernels store the state before each block of rows. A traceback computes again, on the CPU, the
few blocks in which the best chain has exons.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu import coding, state
from gpu_tools.sites.cpu.coding import SLOTS as WAITING
from gpu_tools.sites.cpu.coding import CodingState, CodingSweep
from gpu_tools.sites.cpu.state import SiteBorder, State
from gpu_tools.sites.cpu.sweep import SiteSweep
from gpu_tools.sites.gpu.job import DeviceRows, SiteJob, SweepEnd
from gpu_tools.sites.gpu.launch import launches_of
from gpu_tools.sites.gpu.packed_strips import PackedStrips
from gpu_tools.sites.gpu.row_plan import TracebackSlots
from gpu_tools.sites.gpu.strips32 import Strips32
from gpu_tools.sites.table import INNER_EXIT
from gpu_tools.splicing.codons import FRAMES, SPLITS
from gpu_tools.splicing.strip import by_lane, lanes_of, padded, strip_of


class Sweeps:
    """Jobs swept on the current GPU, their rows still in its memory.

    Parameters
    ----------
    jobs : list of SiteJob
        They fit into the memory of the GPU together.
    scoring : SplicedScoring
    registers : int, optional
        Registers a lane of all packed strips; without it, they are chosen.
    """

    def __init__(self, jobs: list[SiteJob], scoring: SplicedScoring, registers: int | None = None):
        self.ends: list[SweepEnd] = [None] * len(jobs)
        self._launches, launches = {}, launches_of(jobs, scoring, registers)
        for _, launch in launches:
            launch.run()
        for numbers, launch in launches:
            for n, (k, end) in enumerate(zip(numbers, launch.best_ends(), strict=True)):
                self._launches[k], self.ends[k] = (launch, n), end

    def fetch(self, k: int) -> SiteSweep | CodingSweep:
        """Return the sweep of job `k` as the CPU's tracebacks read it."""
        launch, n = self._launches[k]
        return sweep_of(launch.jobs[n], launch.rows(n), self.ends[k])


def sweep_of(strips: PackedStrips | Strips32, rows: DeviceRows, end: SweepEnd):
    """Return what the CPU's sweep returns, made of a job's strips, its rows and its best end."""
    job, compiled = strips.job, strips.compiled
    stored = StoredRows(job, compiled.traceback, rows, job.dtype.type(job.limit.floor))
    sites = state.sites_of(job.codes, job.table, job.dtype)
    weights = [job.scoring.gap, job.limit.floor, job.limit.bounds.lowest]
    weights = np.array(weights, dtype=job.dtype)
    strip = strip_of(job.target, 0, stored.width, job.scoring, job.dtype)
    if job.table.stops is None:
        border = SiteBorder(*np.full((2, len(job.codes) + 1), stored.floor))
        snapshots = _Lazily(stored.site_state)
        sweep = DeviceSiteSweep(
            *end, job.blocks, sites, [strip], [snapshots], [], [border], weights
        )
    else:
        snapshots = _Lazily(lambda number: stored.coding_state(compiled.waiting, number))
        sweep = DeviceCodingSweep(
            *end, job.blocks, sites, job.table.stops, strip, snapshots, [], weights
        )
    sweep.stored = stored
    return sweep


class StoredRows(NamedTuple):
    """What the rows of a swept job mean.

    Attributes
    ----------
    job : SiteJob
    traceback : TracebackSlots
    rows : DeviceRows
    floor : scalar of the CPU's type of cells
    """

    job: SiteJob
    traceback: TracebackSlots
    rows: DeviceRows
    floor: np.integer

    @property
    def width(self) -> int:
        """Cells of a row on the CPU."""
        return padded(self.job.columns, 1, self.job.dtype.itemsize)

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        classes, coding = len(self.job.sites.intron_kinds), self.job.table.stops is not None
        before = FRAMES + WAITING + SPLITS * classes if coding else 1 + classes
        slot = self.traceback.blocks[block] + before
        return int(self.rows.row(slot, column + 1)[column])

    def by_lane(self, slots):
        """Return rows as the CPU's sweeps have them, shape (slots, width)."""
        made = np.full((len(slots), self.width), self.floor, dtype=self.job.dtype)
        for row, slot in zip(made, slots, strict=True):
            row[: self.job.columns] = self.rows.row(int(slot), self.job.columns)
        return by_lane(made, lanes_of(self.job.dtype), self.job.dtype)

    def pending(self, number: int):
        """Return the exits that some class has not taken before a block.

        Returns
        -------
        tuple of ndarray
            Their numbers, their boundaries, and how many there are, then how many of them each
            class has taken.
        """
        sites, last = self.job.sites, self.job.blocks[number][0] - 1
        rows = np.flatnonzero(sites.flags & INNER_EXIT)
        longest = int(sites.intron_lengths.max(initial=0))
        exits = np.flatnonzero((rows <= last) & (rows + longest > last))
        taken = [int((rows[exits] + n <= last).sum()) for n in sites.intron_lengths]
        return exits, rows[exits], np.array([len(exits), *taken], dtype=np.int64)

    def site_state(self, number: int) -> State:
        """Return the state before a block."""
        fresh = state.fresh_state(self.job.sites, self.width, (0, 0), self.floor)
        if number == 0:
            return fresh
        first, classes = self.traceback.blocks[number - 1], len(self.job.sites.intron_kinds)
        exits, exit_rows, counts = self.pending(number)
        (row,) = self.by_lane([first])
        return fresh._replace(
            row=row, before=self.by_lane(range(first + 1, first + 1 + classes)),
            exits=self.by_lane(self.traceback.exits[exits]), exit_rows=exit_rows, counts=counts,
        )  # fmt: skip

    def coding_state(self, waiting, number: int) -> CodingState:
        """Return the state before a block if chains translate; `waiting` as in `RowPlan`."""
        fresh = coding.fresh_state(self.job.sites, self.width, (0, 0), self.floor)
        if number == 0:
            return fresh
        first, classes = self.traceback.blocks[number - 1], len(self.job.sites.intron_kinds)
        exits, exit_rows, counts = self.pending(number)
        parts = np.cumsum([first, FRAMES, WAITING, SPLITS * classes])
        rows, waits, before = (self.by_lane(range(a, b)) for a, b in pairwise(parts))
        of_exits = (self.traceback.exits[exits][:, None] + np.arange(FRAMES)).ravel()
        return fresh._replace(
            rows=np.vstack([rows, fresh.rows[FRAMES:]]), waiting=waits,
            waits=waiting[number - 1].copy(), before=before, exits=self.by_lane(of_exits),
            exit_rows=exit_rows, counts=counts,
        )  # fmt: skip


class _Lazily:
    """A sequence whose elements are made when they are read."""

    def __init__(self, make: Callable):
        self.make = make

    def __getitem__(self, number: int):
        return self.make(number)


class _BestExitOnDevice:
    """A sweep whose rows a GPU has stored."""

    stored: StoredRows

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        return self.stored.best_exit(block, column)


class DeviceSiteSweep(_BestExitOnDevice, SiteSweep):
    """A GPU's sweep."""


class DeviceCodingSweep(_BestExitOnDevice, CodingSweep):
    """A GPU's sweep of chains that translate."""
