"""Kernels of site mode alone, from laid out jobs."""

from __future__ import annotations

from gpu_tools import SiteCase, SplicedScoring


def coding_kernel(cases: list[SiteCase], scoring: SplicedScoring, repeats: int = 3) -> dict:
    """Time the packed kernel of chains that translate; its memory is cleared in the time, too."""
    from numba import cuda

    from benchmarks.timing import call_seconds
    from gpu_tools.sites.gpu.codon_strips import codon_strips
    from gpu_tools.sites.gpu.job import SiteJob, SiteStrand
    from gpu_tools.sites.gpu.launch import SiteCodonLaunch
    from gpu_tools.sites.gpu.packed_strips import sizes_of

    tables = {id(t): (case.codes(s), t) for case in cases for s, t in case.tables.items()}
    strands = {key: SiteStrand(*each, scoring) for key, each in tables.items()}
    jobs = [SiteJob(strands[id(t)], c.target.codes) for c in cases for t in c.tables.values()]
    packed = [job for job in jobs if job.fits_packed]
    sizes = sizes_of(packed)
    launch = SiteCodonLaunch(list(map(codon_strips, packed, sizes)), scoring)

    def call() -> None:
        launch.run()
        cuda.synchronize()

    least = min(call_seconds(call, repeats))
    cells = sum(len(job.codes) * len(job.target) for job in packed)
    return {
        "seconds": round(least, 6), "gcups": round(cells / least / 1e9, 3),
        "jobs": len(packed), "other_jobs": len(jobs) - len(packed), "strips": launch.n_strips,
        "registers": sorted(set(sizes)),
    }  # fmt: skip
