"""Site mode on GPUs: the kernels alone, and the public function, compared with the CPU.

Run ``python -m benchmarks.sites.bench_sites_cuda [RECORD.json]``.
Cells are base length times target
length for each strand tried. Kernels are timed with CUDA events, their inputs resident. The public
function is given sites already scored.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import record
from benchmarks.case_sets import PUBLISHED, SMALL, Shape, case_set
from benchmarks.sites.bench_sites import MODEL, SEED, average_case, long_gene
from benchmarks.spliced.bench_spliced import has_gpu, milliseconds
from gpu_tools import Sequence, SiteCase, SplicedScoring, site_align, tables_of

SCORING = SplicedScoring()
REPEATS = 3
COPIES = 1584
"""Copies of the average case, twelve strips for each multiprocessor of an H200."""


def site_cases(pairs: list[tuple[Sequence, Sequence]], strands: str = "+-", reading: str = "any"):
    """Return cases of site mode; bases that repeat are looked at once."""
    bases = {base.name: base for base, _ in pairs}
    made = in_threads(lambda b: tables_of(b, MODEL, strands, reading=reading), bases.values())
    tables = dict(zip(bases, made, strict=True))
    return [SiteCase(base, target, tables[base.name]) for base, target in pairs]


def in_threads(function: Callable, *items: Iterable) -> list:
    """Map a function over items on all cores."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, *items))


def jobs_of(cases: list[SiteCase], scoring: SplicedScoring = SCORING) -> list:
    """Return the jobs of all strands of some cases; bases that repeat are compiled once."""
    from gpu_tools.sites.gpu.job import SiteJob, SiteStrand

    parts = [(case, name, table) for case in cases for name, table in case.tables.items()]
    different = {id(table): (case.codes(name), table) for case, name, table in parts}
    made = in_threads(lambda part: SiteStrand(*part), different.values())
    strands = dict(zip(different, made, strict=True))
    return [SiteJob(strands[id(table)], case.target.codes, scoring) for case, _, table in parts]


def kernel(jobs: list, scoring: SplicedScoring = SCORING) -> dict:
    """Time the kernel that takes the jobs."""
    from gpu_tools.sites.gpu.launch import SitePackedLaunch, launches_of
    from gpu_tools.sites.gpu.sweep32 import COLUMNS_PER_LANE

    in_threads(lambda job: job.fits_packed, jobs)
    ((_, launch),) = launches_of(jobs, scoring)
    packs = isinstance(launch, SitePackedLaunch)
    launch.run()
    seconds = statistics.median(milliseconds(launch.run) for _ in range(REPEATS)) / 1e3
    cells = sum(len(job.codes) * len(job.target) for job in jobs)
    strips = Counter()
    for job in launch.jobs:
        strips.update(job.sizes if packs else [COLUMNS_PER_LANE] * job.numbers.strips)
    return {
        **rates(seconds, cells), "kernel": "packed" if packs else "32 bits", "jobs": len(jobs),
        "strips_by_size": {str(size): strips[size] for size in sorted(strips)},
    }  # fmt: skip


def library(cases: list[SiteCase], device: str) -> tuple[list, dict]:
    """Return the results of the public function, and the time of one call."""
    begin = time.perf_counter()
    results = site_align(cases, SCORING, device=device)
    return results, rates(time.perf_counter() - begin, sum(case.cells for case in cases))


def rates(seconds: float, cells: int) -> dict:
    """Return time and rate of nominal cells."""
    return {"seconds": round(seconds, 6), "gcups": round(cells / seconds / 1e9, 3)}


def compared(cases: list[SiteCase]) -> dict:
    """Time the public function on both devices; raise if the results differ."""
    on_gpu, cuda = library(cases, "cuda")
    on_cpu, cpu = library(cases, "cpu")
    if on_gpu != on_cpu:
        raise AssertionError("the devices differ")
    return {"cuda": cuda, "cpu_all_cores": cpu, "equal_cases": len(cases)}


def measure(shape: Shape = PUBLISHED, every: int = 10, copies: int = COPIES) -> Iterable:
    """Yield name and figures of each measurement."""
    cases = site_cases([(case.base, case.target) for case in case_set(shape)])
    jobs = jobs_of(cases)
    yield "case_set_kernel", kernel(jobs)
    yield "four_case_sets_kernel", kernel(jobs * 4)
    rng = np.random.default_rng(SEED)
    (average,), (gene, cdna, exons) = site_cases([average_case(rng)], "+"), long_gene(rng)
    (job,) = jobs_of([average])
    yield "average_case_kernel", kernel([job])
    yield "average_case_copies_kernel", kernel([job] * copies)
    long = site_cases([(gene, cdna)], "+")
    yield "long_gene_kernel", kernel(jobs_of(long))
    yield "case_set_kernel_one_strand", kernel(jobs[::2])
    (coding,) = site_cases([(average.base, average.target)], "+", "complete")
    yield "coding_copies_kernel", kernel(jobs_of([coding]) * (copies // 4))
    free = replace(SCORING, ends="free-target")
    yield "free_target_copies_kernel", kernel(jobs_of([average], free) * (copies // 4), free)
    # what is compiled, and copied for the first time, is not measured
    library([average], "cuda")
    (found,), seconds = library(long, "cuda")
    right = len(set(found.chain) & set(exons))
    yield "long_gene_library", {**seconds, "exons": len(exons), "exons_right": right}
    yield "some_cases_library", compared(sorted(cases, key=lambda case: case.cells)[::-every])


def main() -> None:
    """Print the figures; write the record."""
    if not has_gpu():
        print("there is no GPU")
        return
    record.write_each(measure(), *sys.argv[1:2])


@pytest.mark.skipif(not has_gpu(), reason="needs a GPU")
def test_tiny():
    """Every figure is there, at a size that takes no time; the devices agree."""
    assert len(dict(measure(SMALL, 1, 8))) == 10


if __name__ == "__main__":
    main()
