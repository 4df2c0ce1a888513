"""Kernels of site mode alone, from laid out jobs."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import call_seconds
from gpu_tools import SiteCase, SplicedScoring
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.proteins.api import ProteinCase


def coding_kernel(cases: list[SiteCase], scoring: SplicedScoring, repeats: int = 3) -> dict:
    """Time the packed kernel of chains that translate; its memory is cleared in the time, too."""
    from gpu_tools.sites.gpu.codon_strips import CodonStrips
    from gpu_tools.sites.gpu.job import SiteJobs, SiteStrand, sizes_of
    from gpu_tools.sites.gpu.launch import SiteCodonLaunch

    tables = {id(t): (case.codes(s), t) for case in cases for s, t in case.tables.items()}
    strands, number = [SiteStrand(*each, scoring) for each in tables.values()], [*tables]
    pairs = [(number.index(id(t)), k) for k, c in enumerate(cases) for t in c.tables.values()]
    jobs = SiteJobs.of(strands, [c.target.codes for c in cases], *zip(*pairs, strict=True), scoring)
    packed = jobs.take(np.flatnonzero(jobs.fits))
    sizes = sizes_of(packed)
    launch = SiteCodonLaunch(CodonStrips.cut(packed, sizes))
    cells = int((packed.known.limits.length * (packed.columns - 1)).sum())
    return {
        **_timed(launch, cells, repeats), "jobs": packed.count,
        "other_jobs": jobs.count - packed.count, "strips": launch.n_strips,
        "registers": sorted(set(sizes.tolist())),
    }  # fmt: skip


def protein_kernel(cases: list[ProteinCase], scoring: ProteinScoring, repeats: int = 3) -> dict:
    """Time the packed kernel of proteins; its memory is cleared in the time, too."""
    from gpu_tools.sites.proteins.gpu.schedule import ProteinLaunch
    from gpu_tools.sites.proteins.gpu.strips import ProteinJobs

    jobs = ProteinJobs(cases, scoring, cpu_threads(None))
    launch = ProteinLaunch(jobs, np.flatnonzero(jobs.fits))
    cells = sum(case.cells for case in cases)
    return {
        **_timed(launch, cells, repeats), "jobs": len(launch.table),
        "other_jobs": int((~jobs.fits).sum()), "strips": launch.n_strips,
    }  # fmt: skip


def _timed(launch, cells: int, repeats: int) -> dict:
    from numba import cuda

    def call() -> None:
        launch.run()
        cuda.synchronize()

    least = min(call_seconds(call, repeats))
    return {"seconds": round(least, 6), "gcups": round(cells / least / 1e9, 3)}
