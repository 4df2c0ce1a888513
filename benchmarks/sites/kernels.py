"""Kernels of site mode alone, from laid out jobs."""

from __future__ import annotations

from benchmarks.timing import call_seconds
from gpu_tools import SiteCase, SplicedScoring
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.proteins.api import ProteinCase


def coding_kernel(cases: list[SiteCase], scoring: SplicedScoring, repeats: int = 3) -> dict:
    """Time the packed kernel of chains that translate; its memory is cleared in the time, too."""
    from gpu_tools.sites.gpu.codon_strips import codon_strips
    from gpu_tools.sites.gpu.job import SiteJob, SiteStrand, sizes_of
    from gpu_tools.sites.gpu.launch import SiteCodonLaunch

    tables = {id(t): (case.codes(s), t) for case in cases for s, t in case.tables.items()}
    strands = {key: SiteStrand(*each, scoring) for key, each in tables.items()}
    jobs = [SiteJob(strands[id(t)], c.target.codes) for c in cases for t in c.tables.values()]
    packed = [job for job in jobs if job.fits]
    sizes = sizes_of(packed)
    launch = SiteCodonLaunch(list(map(codon_strips, packed, sizes)), scoring)
    cells = sum(len(job.codes) * len(job.target) for job in packed)
    return {
        **_timed(launch, cells, repeats), "jobs": len(packed),
        "other_jobs": len(jobs) - len(packed), "strips": launch.n_strips,
        "registers": sorted(set(sizes)),
    }  # fmt: skip


def protein_kernel(cases: list[ProteinCase], scoring: ProteinScoring, repeats: int = 3) -> dict:
    """Time the packed kernel of proteins; its memory is cleared in the time, too."""
    from gpu_tools.sites.proteins.gpu.plan import ProteinStrand
    from gpu_tools.sites.proteins.gpu.schedule import ProteinLaunch
    from gpu_tools.sites.proteins.gpu.strips import ROWS_AGAIN, LaidOutProtein, ProteinJob

    tables = {id(t): (case.codes(s), t) for case in cases for s, t in case.tables.items()}
    strands = {key: ProteinStrand(*each, scoring, ROWS_AGAIN) for key, each in tables.items()}
    targets = {id(case.target): LaidOutProtein(case.target.codes, scoring) for case in cases}
    jobs = [
        ProteinJob(strands[id(table)], targets[id(case.target)])
        for case in cases for table in case.tables.values()
    ]  # fmt: skip
    launch = ProteinLaunch([job for job in jobs if job.fits], scoring)
    cells = sum(len(job.strand.codes) * len(job.target) for job in launch.jobs)
    return {
        **_timed(launch, cells, repeats), "jobs": len(launch.jobs),
        "other_jobs": len(jobs) - len(launch.jobs),
        "strips": sum(job.strips for job in launch.jobs),
    }  # fmt: skip


def _timed(launch, cells: int, repeats: int) -> dict:
    from numba import cuda

    def call() -> None:
        launch.run()
        cuda.synchronize()

    least = min(call_seconds(call, repeats))
    return {"seconds": round(least, 6), "gcups": round(cells / least / 1e9, 3)}
