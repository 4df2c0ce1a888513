"""List mode: cells a second on one core, on all cores and on GPUs, beside its peers.

Run ``python -m benchmarks.spliced.bench_spliced [RECORD.json] [--part several|threads] [--tiny]``:
``several`` times one GPU beside all of the machine, ``threads`` a CPU with more and more threads.
Cells are nominal, as the sources count them: the sum of the exons' lengths times the target's. The
cases have the shape of the sources' data set (`case_sets`).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import record
from benchmarks.case_sets import PUBLISHED, TINY, case_set, il1rapl1_like, many_cases
from benchmarks.timing import median_seconds
from gpu_tools import (
    Case,
    case_columns,
    spliced_align,
    spliced_align_many,
    spliced_scores,
)
from gpu_tools.hardware.device import cpu_threads, list_gpus

BESIDE_REPEATS = 15


def rates(seconds: float, cases: list[Case]) -> dict:
    """Return time and rate of nominal cells."""
    nominal = sum(case.cells for case in cases)
    return {"seconds": round(seconds, 6), "nominal_gcups": round(nominal / seconds / 1e9, 3)}


def library_call(cases: list[Case], function: Callable, device: str, columns=False, **options):
    """Return time and rate of a public function on cases, or on cases that are columns already."""
    own = case_columns(cases) if columns else cases
    return rates(median_seconds(lambda: function(own, device=device, **options)), cases)


def inputs_of(tiny: bool) -> tuple[list[Case], Case]:
    """Return the case set and the large case."""
    cases = case_set(TINY if tiny else PUBLISHED)
    return (cases, cases[-1]) if tiny else (cases, il1rapl1_like())


def measure_threads(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Time a CPU with 1, 2, 4 threads and so on, up to all that there are."""
    cases, _ = inputs_of(tiny)
    most = cpu_threads(None)
    counts = sorted({most, *(1 << k for k in range(most.bit_length()))})
    for function in (spliced_scores, spliced_align_many):
        for threads in counts:
            figure = library_call(cases, function, "cpu", True, threads=threads)
            yield f"cpu_{function.__name__}_{threads}_threads", figure


def beside_parasail(cases: list[Case]) -> dict:
    """Time scores and parasail's fastest global kernel on as many cells, in turns on one core."""
    try:
        kernels, each = parasail_kernels(cases[-1])
    except ImportError as error:
        return {"not measured": str(error)}
    columns, cells = case_columns(cases), sum(case.cells for case in cases)
    calls = max(cells // each, 1)
    fastest = min(kernels, key=lambda name: median_seconds(kernels[name], 9))

    def ours() -> None:
        spliced_scores(columns, device="cpu", threads=1)

    def theirs() -> None:
        for _ in range(calls):
            kernels[fastest]()

    pairs = [
        (cells / median_seconds(ours, 1) / 1e9, calls * each / median_seconds(theirs, 1) / 1e9)
        for _ in range(BESIDE_REPEATS)
    ]
    times = statistics.median(ours / other for ours, other in pairs)
    ours, other = (round(statistics.median(rates), 3) for rates in zip(*pairs, strict=True))
    return {"kernel": fastest, "gcups": ours, "parasail_gcups": other, "times": round(times, 3)}


def parasail_kernels(case: Case) -> tuple[dict[str, Callable], int]:
    """Return parasail's global kernels on a target and as much of its base, and their cells."""
    import parasail

    target = "".join("ACGT"[code] for code in case.target.codes)
    query = "".join("ACGT"[code] for code in case.base.codes[: len(target)])
    inputs = query, target, 2, 2, parasail.matrix_create("ACGT", 1, -1)
    names = ("nw_scan_16", "nw_striped_16", "nw_diag_16", "nw_scan_sat", "nw_striped_sat")
    kernels = {name: partial(getattr(parasail, name), *inputs) for name in names}
    return kernels, len(target) * len(query)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure the GPU on a case set, the published accelerator on a twentieth of it."""
    from benchmarks.spliced.kernels import kernels

    cases, large = inputs_of(tiny)
    if tiny:
        yield "gpu_kernel", kernels(cases[:1])
        yield "accelerator_2_kernel", accelerator_2(cases[:1])
        return
    for name, own in (("gpu_kernel", cases), ("gpu_kernel_large_case", [large])):
        figures = kernels(own)
        yield name, figures | rates(figures["run_ms"] / 1e3, own)
    for function in (spliced_scores, spliced_align_many):
        yield f"gpu_{function.__name__}", library_call(cases, function, "cuda")
        yield f"gpu_{function.__name__}_of_columns", library_call(cases, function, "cuda", True)
    yield "gpu_spliced_align", library_call(cases, spliced_align, "cuda")
    yield "gpu_large_case", library_call([large], spliced_align, "cuda")
    yield "gpu_large_case_scores", library_call([large], spliced_scores, "cuda")
    yield "accelerator_2_kernel", accelerator_2(cases[::20])
    yield "accelerator_2_large_case", accelerator_2([large])


def accelerator_2(cases: list[Case]) -> dict:
    """Time the faster published accelerator's kernels."""
    from benchmarks.published import accelerator2

    return rates(sum(accelerator2.kernel_milliseconds(case) for case in cases) / 1e3, cases)


def measure_several(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Time many cases on one GPU, on two, and so on."""
    cases = many_cases(inputs_of(tiny)[0], 1 if tiny else 40_000)
    ordinals = [str(gpu.ordinal) for gpu in list_gpus()]
    for function in (spliced_scores, spliced_align_many):
        for count in range(1, len(ordinals) + 1):
            device = f"cuda:{','.join(ordinals[:count])}"
            yield f"{function.__name__} on {device}", library_call(cases, function, device, True)


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure everything that this machine can do."""
    if missing := record.no_gpu():
        yield "gpu", {"not measured": missing}
    else:
        yield from measure_gpu(tiny)
    cases, _ = inputs_of(tiny)
    some = cases[:: max(len(cases) // 40, 1)]
    yield "library_all_cores", library_call(cases, spliced_align, "cpu")
    yield from measure_threads(tiny)
    yield "one_core_beside_parasail", beside_parasail(some)


if __name__ == "__main__":
    record.main(measure, several=measure_several, threads=measure_threads)
