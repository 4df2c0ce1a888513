"""Which case of site mode is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.threads import map_on_threads, within_limit
from gpu_tools.sites.gpu.batches import (
    BATCHES_AT_A_TIME,
    GpuBatch,
    GpuCall,
    Leave,
    align_in_batches,
)
from gpu_tools.sites.gpu.codon_strips import CodonStrips
from gpu_tools.sites.gpu.job import PackedStrips, SiteJobs, SiteStrand, sizes_of, strips_of
from gpu_tools.sites.gpu.job_table import find_ends_warp
from gpu_tools.sites.gpu.launch import SiteCodonLaunch, SitePackedLaunch
from gpu_tools.sites.gpu.packed_strip import NARROW, WIDE
from gpu_tools.sites.gpu.traceback import trace_packed_warp
from gpu_tools.sites.gpu.traces import follow_chains
from gpu_tools.sites.table import made_once

_log = logging.getLogger(__name__)

STRIPS = 4096
"""Strips of a batch, about, four times as many as an H200 sweeps at a time."""


class SiteGpuOptions(NamedTuple):
    """Sizes that results do not depend on."""

    bytes_per_batch: int | None = None  # of rows that a batch stores in GPU memory, at most
    registers: int | None = None  # registers a lane of all strips; else they are chosen
    usual_exons: int = 128  # exons of a chain for which there is space at first
    every: int | None = None  # steps between checkpoints; else short jobs have none
    memory: int | None = None  # bytes of GPU memory for rows; cases that need more are for the CPU


def align_on_gpus(
    call: GpuCall, ordinals: tuple[int, ...], options: SiteGpuOptions | None = None
) -> list:
    """Align all cases: sweeps and chains on GPUs; tables and alignments on the CPU."""
    strands: dict[int, SiteStrand] = {}
    options = options or SiteGpuOptions()

    def batches_of(share: list[int], free: float, leave: Leave) -> tuple[Iterator[GpuBatch], int]:
        needed = -(-sum(strips_of(call.cases[k]) for k in share) // STRIPS)
        each = _batches(call, share, strands, free / BATCHES_AT_A_TIME, leave, options)
        return each, min(needed, BATCHES_AT_A_TIME)

    later = find_ends_warp, trace_packed_warp
    return align_in_batches(call, ordinals, batches_of, later, options.memory)


def _batches(
    call: GpuCall, share: list[int], strands: dict[int, SiteStrand], free: float, leave: Leave,
    options: SiteGpuOptions,
) -> Iterator[GpuBatch]:  # fmt: skip
    """Yield batches of some cases. While one is swept, the strands of the next are compiled."""
    limit = min(options.bytes_per_batch or free, free)
    follow = partial(follow_chains, options.usual_exons, options.memory)
    for own in within_limit(share, lambda k: strips_of(call.cases[k]), STRIPS):
        jobs, case, names = _jobs(call, own, strands)
        sizes = np.bincount(case, device_bytes(jobs, options.every), len(own))
        fit = (np.bincount(case[~jobs.fits], minlength=len(own)) == 0) & (sizes <= free)
        leave([k for k, fits in zip(own, fit.tolist(), strict=True) if not fits])
        _log.info("site mode: %d cases on a GPU, %d on the CPU", fit.sum(), (~fit).sum())
        for batch in within_limit(np.flatnonzero(fit).tolist(), sizes.__getitem__, limit):
            inside = np.flatnonzero(np.isin(case, batch))
            part = jobs.take(inside)
            yield GpuBatch(
                [own[n] for n in batch], np.searchsorted(batch, case[inside]),
                [names[k] for k in inside], int(device_bytes(part, options.every).sum()),
                partial(_launches_of, part, options), follow,
            )  # fmt: skip


def _jobs(
    call: GpuCall, numbers: list[int], strands: dict[int, SiteStrand]
) -> tuple[SiteJobs, NDArray[np.int64], tuple[str, ...]]:
    """Return the jobs of cases: of the strands on which they have chains; their cases and names."""
    cases, make = [call.cases[k] for k in numbers], partial(SiteStrand, scoring=call.scoring)
    strands |= made_once(
        cases, make, partial(map_on_threads, call.threads),
        lambda table: id(table) not in strands and table.has_chain(),
    )  # fmt: skip
    rows = [
        (n, name, id(case.tables[name]), id(case.target.codes)) for n, case in enumerate(cases)
        for name in "+-" if name in case.tables and id(case.tables[name]) in strands
    ]  # fmt: skip
    case, names, tables, targets = zip(*rows, strict=True) if rows else [()] * 4
    of_table = {table: n for n, table in enumerate(dict.fromkeys(tables))}
    codes = {id(each.target.codes): each.target.codes for each in cases}
    of_codes = {key: n for n, key in enumerate(codes)}
    jobs = SiteJobs.of(
        [strands[table] for table in of_table], list(codes.values()),
        [of_table[table] for table in tables], [of_codes[target] for target in targets],
        call.scoring,
    )  # fmt: skip
    return jobs, np.array(case, np.int64), names


_KINDS = (False, PackedStrips, SitePackedLaunch), (True, CodonStrips, SiteCodonLaunch)


def device_bytes(jobs: SiteJobs, every: int | None = None) -> NDArray[np.int64]:
    """Return about how much device memory each job needs, with its share of its strand's."""
    users = np.bincount(jobs.strand, minlength=len(jobs.strands))[jobs.strand]
    made = (jobs.known.n_bytes + jobs.known.limits.length) // users + jobs.columns
    for coding, kind, _ in _KINDS:
        own = np.flatnonzero(jobs.known.coding == coding)
        sizes = [kind.cut(jobs.take(own), size, every).bytes for size in (NARROW, WIDE)]
        made[own] += np.maximum(*sizes)
    return made


def _launches_of(
    jobs: SiteJobs, options: SiteGpuOptions, buffers: Buffers
) -> list[tuple[NDArray, SitePackedLaunch]]:
    """Lay jobs out for the two kernels; return the numbers of each launch's jobs with it."""
    made = []
    for coding, kind, launch in _KINDS:
        own = np.flatnonzero(jobs.known.coding == coding)
        if len(own):
            chosen = jobs.take(own)
            size = options.registers or sizes_of(chosen)
            made.append((own, launch(kind.cut(chosen, size, options.every), buffers)))
    return made
