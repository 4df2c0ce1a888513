"""Site mode on GPUs: kernels alone, and the public function, for the sources' shape of cases.

Run ``python -m benchmarks.bench_sites_cuda [RECORD.json]``. Cells are base length times target
length for each strand tried.
"""

from __future__ import annotations

import os
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks import record
from benchmarks.bench_sites import MODEL, SEED, average_case, long_gene
from benchmarks.bench_spliced import REPEATS, has_gpu, milliseconds
from benchmarks.case_sets import PUBLISHED, SMALL, Shape, case_set
from benchmarks.timing import median_seconds
from gpu_tools import Sequence, SiteCase, SplicedScoring, site_align, tables_of

SCORING = SplicedScoring()


def site_cases(pairs: list[tuple[Sequence, Sequence]], reading: str = "any", strands: str = "+-"):
    """Return cases of site mode; bases that repeat are looked at once."""
    bases = {base.name: base for base, _ in pairs}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        made = pool.map(lambda b: tables_of(b, MODEL, strands, reading=reading), bases.values())
        tables = dict(zip(bases, made, strict=True))
    return [SiteCase(base, target, tables[base.name]) for base, target in pairs]


def jobs_of(cases: list[SiteCase]):
    """Return the jobs of all strands of all cases."""
    from gpu_tools.sites.cuda_job import Job

    return [
        Job(case.codes(strand), table, case.target.codes, SCORING)
        for case in cases for strand, table in case.tables.items()
    ]  # fmt: skip


def kernel(cases: list[SiteCase]) -> dict:
    """Time the kernel that takes the cases with CUDA events, its inputs resident."""
    from gpu_tools.sites.cuda_packed_launch import PackedLaunch
    from gpu_tools.sites.cuda_wide_launch import WideLaunch

    jobs = jobs_of(cases)
    (packs,) = {job.fits_packed for job in jobs}
    launch = (PackedLaunch if packs else WideLaunch)(jobs, SCORING)
    launch.run()
    seconds = statistics.median(milliseconds(launch.run) for _ in range(REPEATS)) / 1e3
    return {**rates(seconds, cases), "kernel": "packed" if packs else "32-bit"}


def library(cases: list[SiteCase], **options) -> dict:
    """Time the public function, sites already scored: sweeps, chains and alignments."""
    return rates(median_seconds(lambda: site_align(cases, SCORING, **options), 3), cases)


def rates(seconds: float, cases: list[SiteCase]) -> dict:
    """Return time and rate of nominal cells."""
    cells = sum(case.cells for case in cases)
    return {"seconds": round(seconds, 6), "gcups": round(cells / seconds / 1e9, 3)}


def measure(shape: Shape = PUBLISHED, some: int = 20) -> dict:
    """Measure kernels on a case set and on single cases, and the public function beside them."""
    pairs = [(case.base, case.target) for case in case_set(shape)]
    rng = np.random.default_rng(SEED)
    cases, one, (gene, cdna, exons) = site_cases(pairs), average_case(rng), long_gene(rng)
    long = site_cases([(gene, cdna)], strands="+")
    (found,) = site_align(long, SCORING, device="cuda")
    return {
        "case_set_kernel": kernel(cases),
        "case_set_kernel_one_strand": kernel(site_cases(pairs, strands="+")),
        "case_set_library": library(cases, device="cuda"),
        "some_cases_library_cpu": library(cases[::some], device="cpu"),
        "coding_kernel": kernel(site_cases(pairs[::some], "complete")),
        "average_case_kernel": kernel(site_cases([one])),
        "average_case_library": library(site_cases([one]), device="cuda"),
        "long_gene_kernel": kernel(long),
        "long_gene_library": library(long, device="cuda"),
        "long_gene_exons": {"exons": len(exons), "right": len(set(found.chain) & set(exons))},
    }


def test_tiny():
    """Every figure is there and positive, at a size that takes no time."""
    if has_gpu():
        for name, figure in measure(SMALL, 1).items():
            assert all(v > 0 for v in figure.values() if not isinstance(v, str)), name


if __name__ == "__main__":
    if not has_gpu():
        sys.exit("there is no GPU")
    found = measure()
    for name, figure in found.items():
        print(f"{name}: {figure}")
    if len(sys.argv) > 1:
        record.write(sys.argv[1], found)
