"""Spliced alignment: cells a second on a core, on all cores and on GPUs, beside its peers.

Run ``python -m benchmarks.spliced.bench_spliced [RECORD.json]``, or with ``several`` before the
record for
one GPU beside all of the machine, with ``threads`` for the CPU with more and more threads. Figures
of the GPU come first. Nominal cells are what the sources count, the sum of the exons' lengths times
the target's; computed cells are those that the sweep really fills, fewer because exons with the
same start share their rows. The cases have the shape of the sources' data set (`case_sets`), and
on one core also the demo's candidates.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import record
from benchmarks.case_sets import (
    PUBLISHED,
    SMALL,
    Shape,
    case_set,
    demo_cases,
    il1rapl1_like,
    many_cases,
)
from benchmarks.timing import median_seconds
from gpu_tools import (
    Case,
    SplicedScoring,
    case_columns,
    spliced_align,
    spliced_align_many,
    spliced_scores,
)
from gpu_tools.errors import DeviceError
from gpu_tools.hardware.device import cpu_threads, list_gpus, simulated
from gpu_tools.model.resources import resource_path
from gpu_tools.spliced.case import Preparation
from gpu_tools.spliced.columns import CaseColumns
from gpu_tools.spliced.cpu import sweep as cpu

REPEATS = 5
SCORING = SplicedScoring()
WEIGHTED = SplicedScoring(exon_weight=0.5, intron_penalty=10)
NOT_MEASURED = "not measured"
"""In place of figures: why there are none on this machine."""


def programs(cases: list[Case], scoring: SplicedScoring = SCORING) -> list[tuple]:
    """Return (program, target codes) of every strand of every case."""
    prepare = Preparation(scoring)
    return [(p, case.target.codes) for case in cases for p in prepare(case).programs]


def computed_shares(cases: list[Case], scoring: SplicedScoring = SCORING) -> dict:
    """Return the share of the nominal cells that tracks have."""
    nominal, made = sum(case.cells for case in cases), programs(cases, scoring)
    tracks = sum(program.n_rows * len(target) for program, target in made)
    return {"tracks": round(tracks / nominal, 4)}


def sweep_one_core(cases: list[Case]) -> dict:
    """Time the sweeps alone on one thread."""
    made = programs(cases)
    seconds = median_seconds(lambda: [cpu.sweep(p, target, SCORING) for p, target in made])
    return _rates(seconds, cases)


def library_call(
    cases: list[Case], device: str, function: Callable = spliced_align, **options
) -> dict:
    """Time a public function, with chains and alignments unless it leaves them out."""
    options["device"] = device
    return _rates(median_seconds(lambda: function(cases, SCORING, **options)), cases)


def columns_call(cases: list[Case], function: Callable, device: str, **options) -> dict:
    """Time a public function on cases that are columns already."""
    columns, options = case_columns(cases), {"device": device, **options}
    return _rates(median_seconds(lambda: function(columns, SCORING, **options)), cases)


def by_threads(cases: list[Case], large: Case) -> Iterator[tuple[str, dict]]:
    """Time a CPU with 1, 2, 4 threads and so on, up to all that there are."""
    most = cpu_threads(None)
    counts = sorted({most, *(1 << k for k in range(most.bit_length()))} - {0})
    for function in (spliced_scores, spliced_align_many):
        for name, own in (("", cases), ("_large_case", [large])):
            for threads in counts:
                figure = columns_call(own, function, "cpu", threads=threads)
                yield f"cpu_{function.__name__}{name}_{threads}_threads", figure


def gpu_kernels(columns: CaseColumns, searches: tuple[str, ...]) -> dict:
    """Time the packed kernels with CUDA events, their inputs resident, and what searches follow."""
    from gpu_tools.hardware.gpu.buffer_pool import Room
    from gpu_tools.spliced.gpu.chains import ChainSearch
    from gpu_tools.spliced.gpu.launch import PackedLaunch
    from gpu_tools.spliced.gpu.layout import lay_out
    from gpu_tools.spliced.gpu.schedule import begin_share
    from gpu_tools.spliced.gpu.work import begun

    room = Room()
    with begun(columns, SCORING, (0,), cpu_threads(None)) as work:
        work.lay_out()
        share, resident = begin_share(work, 0, room)
        table, buffers = resident.programs.table, room.turns[0]
        draft = lay_out(table, share.jobs, [share.jobs.count], share.most_blocks)
        (laid,) = draft.put_into([buffers])
        launch = PackedLaunch(resident, laid, work.apart, buffers)
        swept = milliseconds(launch.run, buffers.calls)
    search = ChainSearch(launch, SCORING)
    after = {
        f"{name}_milliseconds": round(milliseconds(getattr(search, name), calls), 3)
        for name, calls in zip(searches, (buffers.calls, buffers.urgent), strict=False)
    }
    return {
        **_rates(swept / 1e3, columns.cases),
        **after,
        "device_megabytes": round(laid.takes.bytes / 1e6, 1),
    }


def kernels_of(name: str, cases: list[Case]) -> Iterator[tuple[str, dict]]:
    """Time the kernels of calls with chains, and of those for scores alone."""
    from gpu_tools.spliced.gpu.halves import halved
    from gpu_tools.spliced.gpu.launch import count_multiprocessors

    columns = case_columns(cases)
    yield name, gpu_kernels(columns, ("find_ends", "find_chains"))
    halves = halved(columns, count_multiprocessors((0,)))
    cut = halves.strands.count - columns.strands.count
    yield f"{name}_of_scores", gpu_kernels(halves, ("find_ends",)) | {"strands_cut": cut}


def milliseconds(put_down: Callable[[], None], calls) -> float:
    """Return the median time of what a function puts down in `Calls`, between CUDA events there."""
    from numba import cuda

    times = []
    for _ in range(REPEATS + 1):
        begin, end = cuda.event(), cuda.event()
        calls.record(begin)
        put_down()
        calls.record(end)
        calls.finish()
        times.append(cuda.event_elapsed_time(begin, end))
    return statistics.median(times[1:])


def accelerator_2(cases: list[Case]) -> dict:
    """Time the faster published accelerator's kernels on some of the cases."""
    from benchmarks.published import accelerator2

    milliseconds = sum(accelerator2.kernel_milliseconds(case) for case in cases)
    return _rates(milliseconds / 1e3, cases)


def beside_parasail(cases: list[Case]) -> dict:
    """Time sweeps and parasail's fastest global kernel on as many cells, in turns on one core."""
    try:
        kernels, each = parasail_kernels(cases[-1])
    except ImportError as error:
        return {NOT_MEASURED: str(error)}
    made, cells = programs(cases), sum(case.cells for case in cases)
    calls = max(cells // each, 1)
    fastest = min(kernels, key=lambda name: median_seconds(kernels[name], 9))

    def sweep_all() -> None:
        for program, target in made:
            cpu.sweep(program, target, SCORING)

    def theirs() -> None:
        for _ in range(calls):
            kernels[fastest]()

    pairs = [
        (cells / median_seconds(sweep_all, 1) / 1e9, calls * each / median_seconds(theirs, 1) / 1e9)
        for _ in range(3 * REPEATS)
    ]
    times = statistics.median(ours / other for ours, other in pairs)
    ours, other = (round(statistics.median(rates), 3) for rates in zip(*pairs, strict=True))
    return {"kernel": fastest, "gcups": ours, "parasail_gcups": other, "times": round(times, 3)}


def parasail_kernels(case: Case) -> tuple[dict[str, Callable], int]:
    """Return parasail's global kernels on a target and as much of its base, and their cells."""
    import parasail

    target = "".join("ACGT"[code] for code in case.target.codes)
    query = "".join("ACGT"[code] for code in case.base.codes[: len(target)])
    given = query, target, 2, 2, parasail.matrix_create("ACGT", 1, -1)
    names = ("nw_scan_16", "nw_stripd_16", "nw_diag_16", "nw_scan_sat", "nw_stripd_sat")
    kernels = {name: partial(getattr(parasail, name), *given) for name in names}
    return kernels, len(target) * len(query)


def demo_process(repeats: int = REPEATS) -> dict:
    """Time the command on the demo's 100 cases, files to table and GFF3, as a whole process."""
    with tempfile.TemporaryDirectory() as folder:
        base, targets = (str(resource_path("demo", f"{k}.fa.gz")) for k in ("loci", "mrnas"))
        candidates, table, genes = (f"{folder}/{k}" for k in ("c.gff3", "scores.tsv", "genes.gff3"))
        program = [sys.executable, "-m", "gpu_tools"]
        predict = ["exons", "predict", "--base", base, "--output", candidates, "--quiet"]
        subprocess.run(program + predict, check=True)
        align = ["spliced-align", "--base", base, "--exons", candidates, "--targets", targets]
        align += ["--exon-weight", "0.5", "--intron-penalty", "10", "--ends", "free-target"]
        align += ["--device", "cpu", "--alignments", genes, "--output", table, "--quiet"]
        seconds = median_seconds(lambda: subprocess.run(program + align, check=True), repeats)
        return {"seconds": round(seconds, 3)}


def measure(
    shape: Shape = PUBLISHED, large: Case | None = None, processes: int = REPEATS
) -> Iterator[tuple[str, dict]]:
    """Measure everything that this machine can do; of the command on the demo so many processes."""
    cases = case_set(shape)
    if missing := no_gpu():
        yield "gpu", {NOT_MEASURED: missing}
    else:
        yield from measure_gpu(cases, large or il1rapl1_like())
    some, demo = cases[:: max(len(cases) // 40, 1)], demo_cases()
    yield "library_all_cores", library_call(cases, "cpu") | {"cores": cpu_threads(None)}
    yield from by_threads(cases, large or il1rapl1_like())
    yield "demo_process", demo_process(processes)
    yield "library_one_core", library_call(some, "cpu", threads=1)
    yield "one_core_sweep", sweep_one_core(some)
    yield "one_core_sweep_of_the_demo", sweep_one_core(demo)
    yield "one_core_beside_parasail", beside_parasail(some)
    yield "computed_share", computed_shares(cases)
    yield "computed_share_of_the_demo", computed_shares(demo)
    yield "computed_share_of_the_demo_weighted", computed_shares(demo, WEIGHTED)


def measure_gpu(cases: list[Case], large: Case) -> Iterator[tuple[str, dict]]:
    """Measure the GPU on a case set, the published accelerator on a twentieth of it."""
    yield from kernels_of("gpu_kernel", cases)
    yield from kernels_of("gpu_kernel_large_case", [large])
    for function in (spliced_scores, spliced_align_many):
        yield f"gpu_{function.__name__}", library_call(cases, "cuda", function)
        yield f"gpu_{function.__name__}_of_columns", columns_call(cases, function, "cuda")
    yield "gpu_spliced_align", library_call(cases, "cuda")
    yield "gpu_large_case", library_call([large], "cuda")
    yield "gpu_large_case_scores", library_call([large], "cuda", spliced_scores)
    yield "accelerator_2_kernel", accelerator_2(cases[::20])
    yield "accelerator_2_large_case", accelerator_2([large])


def several_gpus(cases: list[Case]) -> Iterator[tuple[str, dict]]:
    """Time many cases on one GPU, on two, and so on."""
    ordinals = [str(gpu.ordinal) for gpu in list_gpus()]
    for function in (spliced_scores, spliced_align_many):
        for count in range(1, len(ordinals) + 1):
            device = f"cuda:{','.join(ordinals[:count])}"
            yield f"{function.__name__} on {device}", columns_call(cases, function, device)


def no_gpu() -> str | None:
    """Return why there is no real GPU, or None if there is one."""
    try:
        list_gpus()
    except DeviceError as error:
        return str(error)
    return "only the simulator" if simulated() else None


def has_gpu() -> bool:
    """Tell whether there is a real GPU."""
    return no_gpu() is None


def _rates(seconds: float, cases: list[Case]) -> dict:
    nominal = sum(case.cells for case in cases)
    computed = sum(program.n_rows * len(target) for program, target in programs(cases))
    return {
        "seconds": round(seconds, 6),
        "nominal_gcups": round(nominal / seconds / 1e9, 3),
        "computed_gcups": round(computed / seconds / 1e9, 3),
    }


def test_tiny():
    """Every figure is there and positive, at a size that takes no time."""
    for name, figure in measure(SMALL, case_set(SMALL)[-1], 1):
        assert figure, name
        assert all(v > 0 for v in figure.values() if not isinstance(v, str)), name


if __name__ == "__main__":
    if sys.argv[1:2] == ["several"]:
        record.write_each(several_gpus(many_cases(case_set())), *sys.argv[2:3])
    elif sys.argv[1:2] == ["threads"]:
        record.write_each(by_threads(case_set(), il1rapl1_like()), *sys.argv[2:3])
    else:
        record.write_each(measure(), *sys.argv[1:2])
