"""Sweeps on a GPU that the CPU's tracebacks can read.

The kernels store the state before each block of rows. A traceback computes again, on the CPU, the
few blocks in which the best chain has exons.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.state import State, fresh_state
from gpu_tools.sites.cpu.sweep import SiteSweep, inputs_of
from gpu_tools.sites.gpu.job import DeviceRows, SiteJob, SweepEnd
from gpu_tools.sites.gpu.launch import SiteLaunch32, SitePackedLaunch, StripLaunch, can_pack
from gpu_tools.sites.gpu.packed_strips import PackedStrips, packed_strips, sizes_of
from gpu_tools.sites.gpu.row_plan import TracebackSlots
from gpu_tools.sites.gpu.strips32 import Strips32
from gpu_tools.splicing.strip import by_lane, lanes_of


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
        self._launches, launches = {}, _launches_of(jobs, scoring, registers)
        for _, launch in launches:
            launch.run()
        for numbers, launch in launches:
            for n, (k, end) in enumerate(zip(numbers, launch.best_ends(), strict=True)):
                self._launches[k], self.ends[k] = (launch, n), end

    def fetch(self, k: int) -> SiteSweep:
        """Return the sweep of job `k` as the CPU's tracebacks read it."""
        launch, n = self._launches[k]
        return sweep_of(launch.jobs[n], launch.rows(n), self.ends[k])


def _launches_of(
    jobs: list[SiteJob], scoring: SplicedScoring, registers: int | None
) -> list[tuple[list[int], StripLaunch]]:
    """Lay jobs out for the two kernels; return the numbers of each launch's jobs with it."""
    packs, launches = can_pack(), []
    packed = [k for k, job in enumerate(jobs) if packs and job.fits_packed]
    others = sorted(set(range(len(jobs))) - set(packed))
    if packed:
        chosen = [jobs[k] for k in packed]
        sizes = [registers] * len(chosen) if registers else sizes_of(chosen)
        strips = list(map(packed_strips, chosen, sizes))
        launches.append((packed, SitePackedLaunch(strips, scoring)))
    if others:
        launches.append((others, SiteLaunch32([Strips32(jobs[k]) for k in others], scoring)))
    return launches


def sweep_of(strips: PackedStrips | Strips32, rows: DeviceRows, end: SweepEnd) -> DeviceSweep:
    """Return what the CPU's sweep returns, made of a job's strips, its rows and its best end."""
    job = strips.job
    inputs = inputs_of(job.limit, job.blocks, job.codes, job.table, job.target, job.scoring, 1)
    return DeviceSweep(*end, inputs, [], [], job, strips.compiled.traceback, rows)


@dataclass
class DeviceSweep(SiteSweep):
    """A GPU's sweep.

    Attributes
    ----------
    job : SiteJob
    traceback : TracebackSlots
        What `rows` mean.
    rows : DeviceRows
    """

    job: SiteJob
    traceback: TracebackSlots
    rows: DeviceRows

    def best_exit(self, block: int, column: int) -> int:
        """Return the largest value with which an exon of a block leaves at a column."""
        slot = self._parts_of(block)[-1]
        return int(self.rows.row(slot, column + 1)[column])

    def snapshot(self, strip: int, block: int) -> State:
        """Return the state before a block."""
        fresh = self._fresh()
        if block == 0:
            return fresh
        exits, exit_rows, exit_kinds, counts = self._pending(block)
        tracks, of_exits = self.inputs.table.tracks, self.traceback.exits[exits]
        rows, waiting, before = (
            self._by_lane(range(a, b)) for a, b in pairwise(self._parts_of(block - 1))
        )
        return fresh._replace(
            rows=np.vstack([rows, fresh.rows[tracks:]]), waiting=waiting,
            waits=self.traceback.waiting[block - 1].copy(), before=before,
            exits=self._by_lane((of_exits[:, None] + np.arange(tracks)).ravel()),
            exit_rows=exit_rows, exit_kinds=exit_kinds, counts=counts,
        )  # fmt: skip

    def _fresh(self) -> State:
        inputs = self.inputs
        return fresh_state(inputs.table, len(inputs.strips[0].start), (0, 0), inputs.weights[1])

    def _parts_of(self, block: int) -> list[int]:
        """Return the first slot of a block's current rows, waiting rows, maxima, and best exit."""
        fresh, tracks = self._fresh(), self.inputs.table.tracks
        first = self.traceback.blocks[block]
        return np.cumsum([first, tracks, len(fresh.waiting), len(fresh.before)]).tolist()

    def _by_lane(self, slots):
        """Return rows as the CPU's sweeps have them, shape (slots, width)."""
        dtype, columns = self.inputs.weights.dtype, self.job.columns
        width = len(self.inputs.strips[0].start)
        made = np.full((len(slots), width), self.inputs.weights[1], dtype=dtype)
        for row, slot in zip(made, slots, strict=True):
            row[:columns] = self.rows.row(int(slot), columns)
        return by_lane(made, lanes_of(dtype), dtype)

    def _pending(self, block: int):
        """Return the exits that some class has not taken before a block.

        These are their numbers, their boundaries, their kinds, and how many there are, then how
        many of them each class has taken.
        """
        table, first = self.inputs.table, self.inputs.blocks[block][0]
        lengths = [intron.min_length for intron in table.introns]
        pending = table.donors.listed(max(first - max(lengths, default=0), 0), first)
        rows = table.donors.boundaries[pending].astype(np.int64)
        taken = [int((rows + length < first).sum()) for length in lengths]
        kinds = table.donors.kinds[pending]
        return np.arange(pending.start, pending.stop), rows, kinds, np.array([len(rows), *taken])
