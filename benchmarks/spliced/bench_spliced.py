"""List mode: cells a second on one core, on all cores and on GPUs, beside its peers.

Run ``python -m benchmarks.spliced.bench_spliced [RECORD.json] [--part several|threads] [--tiny]``:
``several`` times one GPU beside all of the machine, ``threads`` a CPU with more and more threads.
Cells are nominal, as the sources count them: the sum of the exons' lengths times the target's. The
cases have the shape of the sources' data set (`case_sets`).
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
from gpu_tools.model.resources import resource_path

BESIDE_REPEATS = 15


def rates(seconds: float, cases: list[Case]) -> dict:
    """Return time and rate of nominal cells."""
    nominal = sum(case.cells for case in cases)
    return {"seconds": round(seconds, 6), "nominal_gcups": round(nominal / seconds / 1e9, 3)}


def library_call(cases: list[Case], function: Callable, device: str, **options) -> dict:
    """Time a public function on cases."""
    return rates(median_seconds(lambda: function(cases, device=device, **options)), cases)


def columns_call(cases: list[Case], function: Callable, device: str, **options) -> dict:
    """Time a public function on cases that are columns already."""
    columns = case_columns(cases)
    return rates(median_seconds(lambda: function(columns, device=device, **options)), cases)


def inputs_of(tiny: bool) -> tuple[list[Case], Case]:
    """Return the case set and the large case."""
    cases = case_set(TINY if tiny else PUBLISHED)
    return (cases, cases[-1]) if tiny else (cases, il1rapl1_like())


def measure_threads(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Time a CPU with 1, 2, 4 threads and so on, up to all that there are."""
    cases, large = inputs_of(tiny)
    most = cpu_threads(None)
    counts = sorted({most, *(1 << k for k in range(most.bit_length()))})
    for function in (spliced_scores, spliced_align_many):
        for name, own in (("", cases), ("_large_case", [large])):
            for threads in counts:
                figure = columns_call(own, function, "cpu", threads=threads)
                yield f"cpu_{function.__name__}{name}_{threads}_threads", figure


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


def command_beside_parasail(case: Case, targets: int, repeats: int) -> dict:
    """Time the command on a case's base and targets like its own, beside parasail's kernel.

    The targets have a tenth of their nucleotides drawn anew. Times are those of the processor, of
    the command with all targets less that with one.
    """
    try:
        kernels, each = parasail_kernels(case)
    except ImportError as error:
        return {"not measured": str(error)}
    fastest = min(kernels, key=lambda name: median_seconds(kernels[name], 9))
    cells, calls = targets * case.cells, targets * case.cells // each
    pairs = []
    with tempfile.TemporaryDirectory() as name:
        folder = _written(Path(name), case, targets + 1)
        for turn in range(repeats + 1):
            ours = _command(folder, "targets.fa") - _command(folder, "target.fa")
            theirs = _processor_seconds(lambda: [kernels[fastest]() for _ in range(calls)])
            if turn:  # the first one compiles
                pairs.append((cells / ours / 1e9, calls * each / theirs / 1e9))
    times = statistics.median(ours / other for ours, other in pairs)
    ours, other = (round(statistics.median(rates), 3) for rates in zip(*pairs, strict=True))
    return {"kernel": fastest, "gcups": ours, "parasail_gcups": other, "times": round(times, 3)}


def _written(folder: Path, case: Case, targets: int) -> Path:
    """Write the base, its exons, one target, and many; return the folder."""
    rng, length = np.random.default_rng(1), len(case.target)
    drawn = rng.integers(0, 4, (targets, length))
    made = np.where(rng.random((targets, length)) < 0.1, drawn, case.target.codes)
    records = [_fasta(f"t{k}", codes) for k, codes in enumerate(made)]
    exons = zip(case.exons.starts.tolist(), case.exons.ends.tolist(), strict=True)
    (folder / "base.fa").write_text(_fasta("base", case.base.codes))
    (folder / "exons.bed").write_text("".join(f"base\t{a}\t{b}\te\t0\t+\n" for a, b in exons))
    (folder / "targets.fa").write_text("".join(records))
    (folder / "target.fa").write_text(records[0])
    return folder


def _fasta(name: str, codes: NDArray[np.uint8]) -> str:
    return f">{name}\n{''.join('ACGTN'[code] for code in codes)}\n"


def _command(folder: Path, targets: str) -> float:
    """Return the processor seconds of the command with a file of targets."""
    words = f"--base base.fa --targets {targets} --exons exons.bed --output o.tsv --quiet"
    words += " --device cpu --threads 1 --exon-weight 0 --intron-penalty 0 --ends global"
    line = [sys.executable, "-m", "gpu_tools", "spliced-align", *words.split()]
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, check=True, cwd=folder)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def _processor_seconds(function: Callable) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def demo_process(repeats: int) -> dict:
    """Time the command on the demo's 100 cases, files to table and GFF3, as a whole process."""
    with tempfile.TemporaryDirectory() as folder:
        base, targets = (resource_path("demo", f"{k}.fa.gz") for k in ("loci", "mrnas"))
        candidates, table, genes = (Path(folder, k) for k in ("c.gff3", "scores.tsv", "genes.gff3"))
        program = [sys.executable, "-m", "gpu_tools"]
        predict = ["exons", "predict", "--base", base, "--output", candidates, "--quiet"]
        subprocess.run(program + predict, check=True)
        align = ["spliced-align", "--base", base, "--exons", candidates, "--targets", targets]
        align += ["--exon-weight", "0.5", "--intron-penalty", "10", "--ends", "free-target"]
        align += ["--device", "cpu", "--alignments", genes, "--output", table, "--quiet"]
        seconds = median_seconds(lambda: subprocess.run(program + align, check=True), repeats)
        return {"seconds": round(seconds, 3)}


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
        yield f"gpu_{function.__name__}_of_columns", columns_call(cases, function, "cuda")
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
            yield f"{function.__name__} on {device}", columns_call(cases, function, device)


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
    yield "demo_process", demo_process(1 if tiny else 5)
    yield "library_one_core", library_call(some, spliced_align, "cpu", threads=1)
    yield "one_core_beside_parasail", beside_parasail(some)
    yield (
        "command_beside_parasail",
        command_beside_parasail(cases[-1], *((2, 1) if tiny else (1_000, 5))),
    )


if __name__ == "__main__":
    record.main(measure, several=measure_several, threads=measure_threads)
