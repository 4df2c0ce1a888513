"""Site mode on GPUs: which kernel takes what, and sweeps that the CPU's tracebacks can read.

The kernels keep the state before each block of rows; a traceback computes the few blocks again, on
the CPU, where the best chain has exons.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import cuda

from gpu_tools.hardware.device import simulated
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu import coding, state
from gpu_tools.sites.cpu.coding import SLOTS, CodingState, CodingSweep
from gpu_tools.sites.cpu.state import SiteBorder, State
from gpu_tools.sites.cpu.sweep import SiteSweep
from gpu_tools.sites.gpu.job import DeviceRows, End, Job
from gpu_tools.sites.gpu.launch32 import WideLaunch, WidePlan
from gpu_tools.sites.gpu.packed_launch import PackedLaunch
from gpu_tools.sites.gpu.program import Kept
from gpu_tools.sites.table import INNER_EXIT
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.codons import FRAMES, SPLITS
from gpu_tools.splicing.strip import by_lane, lanes_of, padded, strip_of

PACKED_CAPABILITY = (9, 0)


class Sweeps:
    """Jobs swept on the current GPU, their rows still in its memory.

    Parameters
    ----------
    jobs : list of Job
        Which fit into the memory of the GPU together.
    scoring : SplicedScoring
    spread : callable
        Used like `map` for work of the CPU that may go to several threads.
    """

    def __init__(self, jobs: list[Job], scoring: SplicedScoring, spread=map):
        can_pack = simulated() or cuda.get_current_device().compute_capability >= PACKED_CAPABILITY
        self.places, launches = [None] * len(jobs), []
        for launch, packs in ((PackedLaunch, True), (WideLaunch, False)):
            chosen = [k for k, job in enumerate(jobs) if (job.fits_packed and can_pack) == packs]
            if chosen:
                launches.append(launch([jobs[k] for k in chosen], scoring, spread))
            for number, k in enumerate(chosen):
                self.places[k] = launches[-1], number
        for launch in launches:
            launch.run()
        found = {id(launch): launch.best_ends() for launch in launches}
        self.ends: list[End] = [found[id(launch)][number] for launch, number in self.places]

    def fetch(self, k: int) -> SiteSweep | CodingSweep:
        """Return the sweep of job `k` as the CPU's tracebacks want it."""
        launch, number = self.places[k]
        plan, rows = launch.plans[number], launch.rows(number)
        if plan.job.table.stops is None:
            return site_sweep_of(plan, rows, self.ends[k])
        return coding_sweep_of(plan, rows, self.ends[k])


@dataclass(frozen=True)
class SweptRows:
    """What the rows of a swept job mean.

    Parameters
    ----------
    job : Job
    kept : Kept
    rows : DeviceRows
    dtype : dtype
        The CPU's cells.
    floor : scalar of the dtype
    """

    job: Job
    kept: Kept
    rows: DeviceRows
    dtype: np.dtype
    floor: np.integer

    @property
    def width(self) -> int:
        """Cells of a row on the CPU."""
        return padded(self.job.columns, 1, self.dtype.itemsize)

    def laid_out(self, places):
        """Return rows as the CPU's sweeps have them, shape (places, width)."""
        made = np.full((len(places), self.width), self.floor, dtype=self.dtype)
        for row, place in zip(made, places, strict=True):
            row[: self.job.columns] = self.rows.row(int(place), self.job.columns)
        return by_lane(made, lanes_of(self.dtype), self.dtype)

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


class _Lazily:
    """A sequence made element by element when it is asked for."""

    def __init__(self, make):
        self.make = make

    def __getitem__(self, number: int):
        return self.make(number)


class DeviceSiteSweep(SiteSweep):
    """A sweep whose rows a GPU has kept; `source` says where."""

    source: SweptRows

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        place = self.source.kept.blocks[block] + 1 + len(self.sites.intron_kinds)
        return self.source.rows.cell(place, column)


class DeviceCodingSweep(CodingSweep):
    """A sweep of chains that translate whose rows a GPU has kept."""

    source: SweptRows

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        behind = FRAMES + SLOTS + SPLITS * len(self.sites.intron_kinds)
        return self.source.rows.cell(self.source.kept.blocks[block] + behind, column)


def _source_of(plan, rows: DeviceRows) -> SweptRows:
    job = plan.job
    dtype = narrowest(job.limit.bounds, job.scoring)
    return SweptRows(job, plan.kept, rows, dtype, dtype.type(job.limit.floor))


def _weights(source: SweptRows):
    limit = source.job.limit
    gap = source.job.scoring.gap
    return np.array([gap, limit.floor, limit.bounds.lowest], dtype=source.dtype)


def site_sweep_of(plan, rows: DeviceRows, end: End) -> SiteSweep:
    """Return what `sites.cpu.sweep.sweep` returns, from a plan, its rows and its best end."""
    source, job = _source_of(plan, rows), plan.job
    sites = state.sites_of(job.codes, job.table, source.dtype)
    strip = strip_of(job.target, 0, source.width, job.scoring, source.dtype)
    border = SiteBorder(*np.full((2, len(job.codes) + 1), source.floor))
    snapshots = _Lazily(lambda number: _site_state(source, number))
    sweep = DeviceSiteSweep(
        *end, job.blocks, sites, [strip], [snapshots], [], [border], _weights(source)
    )
    sweep.source = source
    return sweep


def _site_state(source: SweptRows, number: int) -> State:
    """Return the state before a block."""
    job, classes = source.job, len(source.job.sites.intron_kinds)
    fresh = state.fresh_state(job.sites, source.width, (0, 0), source.floor)
    if number == 0:
        return fresh
    first = source.kept.blocks[number - 1]
    exits, exit_rows, counts = source.pending(number)
    (row,) = source.laid_out([first])
    return fresh._replace(
        row=row, before=source.laid_out(range(first + 1, first + 1 + classes)),
        exits=source.laid_out(source.kept.exits[exits]), exit_rows=exit_rows, counts=counts,
    )  # fmt: skip


def coding_sweep_of(plan: WidePlan, rows: DeviceRows, end: End) -> CodingSweep:
    """Return what `gpu_tools.sites.cpu.coding.coding_sweep` returns, likewise."""
    source, job = _source_of(plan, rows), plan.job
    sites = state.sites_of(job.codes, job.table, source.dtype)
    strip = strip_of(job.target, 0, source.width, job.scoring, source.dtype)
    snapshots = _Lazily(lambda number: _coding_state(source, plan.waiting, number))
    sweep = DeviceCodingSweep(
        *end, job.blocks, sites, job.table.stops, strip, snapshots, [], _weights(source)
    )
    sweep.source = source
    return sweep


def _coding_state(source: SweptRows, waiting, number: int) -> CodingState:
    """Return the state before a block."""
    classes = len(source.job.sites.intron_kinds)
    fresh = coding.fresh_state(source.job.sites, source.width, (0, 0), source.floor)
    if number == 0:
        return fresh
    first = source.kept.blocks[number - 1]
    exits, exit_rows, counts = source.pending(number)
    parts = np.cumsum([first, FRAMES, SLOTS, SPLITS * classes])
    rows, waits, before = (source.laid_out(range(a, b)) for a, b in pairwise(parts))
    of_exits = (source.kept.exits[exits][:, None] + np.arange(FRAMES)).ravel()
    return fresh._replace(
        rows=np.vstack([rows, fresh.rows[FRAMES:]]), waiting=waits,
        waits=waiting[number - 1].copy(), before=before, exits=source.laid_out(of_exits),
        exit_rows=exit_rows, counts=counts,
    )  # fmt: skip
