"""Chains of swept jobs, followed on the GPU that swept them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.gpu.job import SiteJob, SweepEnd
from gpu_tools.sites.gpu.job_table import TARGET
from gpu_tools.sites.gpu.launch import StripLaunch, scores32, starts_of, together
from gpu_tools.sites.gpu.trace_table import NOT_EXPLAINED, OUTSIDE, TOO_MANY, TraceNumbers
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.traceback import TracedChain, align_chain

USUAL_EXONS = 128
"""Exons of a chain that space is made for at first."""


class DeviceChain(NamedTuple):
    """The best chain of a job.

    Attributes
    ----------
    score, end, column : int
        Its score, the boundary where it ends, and the target column.
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides in reading direction.
    exons : ndarray of int32, shape (E, 4)
        As `gpu_tools.splicing.traceback.align_chain` reads them.
    """

    score: int
    end: int
    column: int
    codes: NDArray[np.uint8]
    exons: NDArray[np.int32]


def trace(
    found: DeviceChain, table: SiteTable, codes, target, scoring: SplicedScoring
) -> TracedChain:
    """Align a chain that was followed on a GPU; the counterpart of the CPU's `trace`."""
    return align_chain(codes, target, found.exons, scoring)


def follow(
    launch: StripLaunch, ends: dict[int, SweepEnd], usual_exons: int = USUAL_EXONS
) -> dict[int, DeviceChain]:
    """Follow the chains of some jobs of a launch; leave those out whose rows are not all there.

    Parameters
    ----------
    launch : StripLaunch
        It has run.
    ends : dict of int to SweepEnd
        The best ends by job; each has a score.
    usual_exons : int
        Exons of a chain that space is made for; longer chains are followed again.

    Returns
    -------
    dict of int to DeviceChain
    """
    lists = _OnDevice(launch, [launch.jobs[k].job for k in ends])
    exons = lists.exons(ends, usual_exons)
    longer = {k: ends[k] for k, own in exons.items() if own is TOO_MANY}
    if longer:
        most = max(len(launch.jobs[k].job.table.donors.boundaries) for k in longer) + 1
        exons |= lists.exons(longer, most)
    return {
        k: DeviceChain(*ends[k], launch.jobs[k].job.codes, own)
        for k, own in exons.items()
        if own is not OUTSIDE
    }


class _OnDevice:
    """Lists of sites, nucleotides and targets of a launch's jobs, in the GPU's memory."""

    def __init__(self, launch: StripLaunch, jobs: list[SiteJob]):
        self.launch, self.scoring = launch, jobs[0].scoring
        strands = list({id(job.strand): job.strand for job in jobs}.values())
        lists, of_lists = together([each.lists.numbers for each in strands])
        codes, of_codes = together([each.codes for each in strands])
        self._about = {
            id(each): each.lists.about_from(first, codes=own, best_sites=each.limits.best_sites)
            for each, first, own in zip(strands, of_lists, of_codes, strict=True)
        }
        self._buffers = lists, codes, launch.targets
        self._scores = cuda.to_device(np.array(scores32(self.scoring), dtype=np.int32))

    def exons(self, ends: dict[int, SweepEnd], most: int) -> dict[int, NDArray[np.int32] | int]:
        """Return the exons of the jobs' chains.

        It is `TOO_MANY` where there are more than `most`, `OUTSIDE` where rows are not there.
        """
        widths = [(end.column // (4 * WARP) + 1) * 4 * WARP for end in ends.values()]
        gains = starts_of([[width] for width in widths])[:, 0].tolist()
        traces = [
            self._numbers(k, end, gains=own, exons=n * most, most_exons=most)
            for n, ((k, end), own) in enumerate(zip(ends.items(), gains, strict=True))
        ]
        exons = cuda.device_array((most * len(ends), 4), dtype=np.int32)
        device_memset(exons, 0, exons.nbytes)
        counts = cuda.device_array(len(ends), dtype=np.int32)
        self.launch.trace_kernel[len(ends), WARP](
            cuda.to_device(np.array(traces, dtype=np.int64)), self.launch.device_table,
            self.launch.cells, *self._buffers, cuda.device_array(2 * sum(widths), dtype=np.int32),
            cuda.device_array(sum(widths), dtype=np.int32), self._scores, exons, counts,
        )  # fmt: skip
        found = exons.copy_to_host().reshape(len(ends), most, 4)
        return dict(zip(ends, map(_in_order, found, counts.copy_to_host().tolist()), strict=True))

    def _numbers(self, k: int, end: SweepEnd, **places) -> TraceNumbers:
        job = self.launch.jobs[k].job
        value = end.score - job.table.last.at(end.end) - self.scoring.gap * end.column
        parts, target = self.launch.jobs[k].compiled.stored.parts, self.launch.table[k, TARGET]
        return self._about[id(job.strand)]._replace(
            job=k, end=end.end, column=end.column, value=value, target=target, parts=parts,
            **self.launch.jobs[k].rows_in_memory._asdict(), **places,
        )  # fmt: skip


def _in_order(exons: NDArray[np.int32], count: int) -> NDArray[np.int32] | int:
    """Return a chain's exons in reading direction, given those of a kernel."""
    if count == NOT_EXPLAINED:
        raise ValueError("no exon or exit explains a value: the sweep is wrong")
    for why_none in (TOO_MANY, OUTSIDE):
        if count == why_none:
            return why_none
    return exons[:count][::-1].copy()
