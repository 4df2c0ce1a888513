"""Local alignment: the score pass on a core beside parasail, and whole calls for the k best.

Run ``python -m benchmarks.local.bench_local cpu|gpu [RECORD.json]``.
Sequences are random and of equal
composition, scored with the defaults, as in the source's experiments; *related* ones differ in
a tenth of their symbols.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks import record
from gpu_tools import AffineScoring, Sequence, local_align
from gpu_tools.errors import DeviceError
from gpu_tools.hardware.device import list_gpus, simulated
from gpu_tools.local import schedule
from gpu_tools.local.anchors import score_reached
from gpu_tools.local.cpu import score_pass as cpu
from gpu_tools.local.problem import ALL, Threshold, make_problem
from gpu_tools.local.search.tiles import tile_side

SCORING = AffineScoring()
REPEATS = 3
PARASAIL = ("sw_stripd_8", "sw_stripd_16", "sw_stripd_sat", "sw_scan_16", "sw_diag_16")
FIRST_LENGTH = 10_000
CPU_LENGTH, SMALL_LENGTH, LARGE_LENGTH, RELATED_LENGTH = 40_000, 10_000, 500_000, 20_000


def random_pair(length: int, seed: int = 0, related: bool = False) -> tuple[Sequence, Sequence]:
    """Return query and subject of `length` nucleotides."""
    rng = np.random.default_rng(seed)
    query, subject = (rng.integers(0, 4, length).astype(np.uint8) for _ in range(2))
    if related:
        subject = np.where(rng.random(length) < 0.1, subject, query)
    return Sequence("query", query), Sequence("subject", subject)


def median_seconds(function, repeats: int = REPEATS) -> float:
    """Return the median time of `repeats` calls after one that is not counted."""
    return statistics.median(_times(function, repeats))


def shortest_seconds(function, repeats: int = 7) -> float:
    """Return the shortest time of `repeats` calls, for a core that others use as well."""
    return min(_times(function, repeats))


def _times(function, repeats: int) -> list[float]:
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return times


def _rates(seconds: float, length: int) -> dict:
    return {"length": length, "seconds": round(seconds, 6),
            "gcups": length**2 / seconds / 1e9}  # fmt: skip


def problem(length: int):
    """Return the problem of a random pair, and the side of its tiles."""
    made = make_problem(*(s.codes for s in random_pair(length)), SCORING)
    return made, schedule.side_on_cpu(made)


def score_pass_one_core(length: int) -> dict:
    """Time the score pass alone on one thread."""
    made = problem(length)
    return _rates(shortest_seconds(lambda: cpu.score_pass(*made)), length)


def parasail_one_core(length: int) -> dict | None:
    """Time parasail's local kernels on the same input; None if it is not installed."""
    try:
        import parasail
    except ImportError:
        return None
    texts = ["".join("ACGT"[code] for code in s.codes) for s in random_pair(length)]
    matrix = parasail.matrix_create("ACGT", SCORING.match, SCORING.mismatch)
    gaps = SCORING.gap_open, SCORING.gap_extend
    rates = {}
    for name in PARASAIL:
        kernel = getattr(parasail, name)
        if not kernel(*texts, *gaps, matrix).saturated:
            seconds = shortest_seconds(lambda kernel=kernel: kernel(*texts, *gaps, matrix))
            rates[name] = length**2 / seconds / 1e9
    return {"length": length, "gcups": rates}


def threshold_known(made) -> Threshold:
    """Return the threshold of a call with k = 1."""
    return Threshold(max(score_reached(made), 1), True)


def threshold_best(made) -> Threshold:
    """Return the same as long as no score is known but those that are met."""
    return Threshold(1, True)


def threshold_all(made) -> Threshold:
    """Return the threshold of all alignments."""
    return ALL


def threshold_high(made) -> Threshold:
    """Return the threshold of alignments with 92 % of the best score."""
    return Threshold(int(0.92 * score_reached(made)), False)


def related_one_core(length: int, threshold_of: Callable) -> dict:
    """Time the score pass of a related pair on one thread."""
    made = make_problem(*(s.codes for s in random_pair(length, related=True)), SCORING)
    given = made, schedule.side_on_cpu(made), threshold_of(made)
    left_out = (cpu.score_pass(*given) < cpu.score_pass(*given[:2])).mean()
    return {**_rates(shortest_seconds(lambda: cpu.score_pass(*given), 3), length),
            "tiles_left_out": round(float(left_out), 4)}  # fmt: skip


def whole_call(length: int, k: int, device: str, related: bool = False) -> dict:
    """Time the public function after a call on another pair, on the CPU a short one."""
    on_cpu = device == "cpu"
    first = random_pair(min(length, FIRST_LENGTH) if on_cpu else length, 1, related)
    threads = threads_beside(device)
    local_align([first], SCORING, k=k, device=device, threads=threads)
    pair, results = random_pair(length, related=related), []

    def call():
        results[:] = local_align([pair], SCORING, k=k, device=device, threads=threads)

    if on_cpu:
        begin = time.perf_counter()
        call()
        seconds = time.perf_counter() - begin
    else:
        seconds = median_seconds(call)
    found = results[0]
    scores = {"best": found[0].score, "last": found[-1].score, "found": len(found)}
    return {**_rates(seconds, length), "k": k, "threads": threads, **scores}


def threads_beside(device: str) -> int:
    """Return one thread for the CPU's figures, and all that there are beside a GPU."""
    return 1 if device == "cpu" else len(os.sched_getaffinity(0))


def more_memory(length: int, k: int, device: str, related: bool = False) -> dict:
    """Return by how many megabytes a call raises a fresh process's peak, and what lies on a GPU."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        seconds, megabytes = pool.submit(_peak, length, k, device, related).result()
    on_gpu = {"gpu_megabytes": _gpu_megabytes(length)} if device != "cpu" else {}
    return {**_rates(seconds, length), "k": k, "megabytes": megabytes, **on_gpu}


def _peak(length: int, k: int, device: str, related: bool) -> tuple[float, int]:
    first, pair = (random_pair(n, related=related) for n in (SMALL_LENGTH // 10, length))
    threads = threads_beside(device)
    local_align([first], SCORING, k=k, device=device, threads=threads)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before, begin = _kilobytes("VmHWM"), time.perf_counter()
    local_align([pair], SCORING, k=k, device=device, threads=threads)
    return time.perf_counter() - begin, (_kilobytes("VmHWM") - before) // 1024


def _kilobytes(name: str) -> int:
    """Return what Linux says of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(name)))


def _gpu_megabytes(length: int) -> int:
    """Return what the score pass of a random pair keeps in GPU memory."""
    launch, _ = packed_launch(random_pair(length))
    arrays = (launch.units, launch.jobs, launch.limits, launch.row, launch.most, launch.scoring)
    return sum(array.nbytes for array in (*launch.inputs, *arrays)) >> 20


def packed_launch(pair, threshold_of: Callable = threshold_all):
    """Lay a pair out for the packed kernel; return the launch, and rows and tiles."""
    from gpu_tools.local.gpu.score_pass import ScoreLaunch, rows_per_lane

    made = make_problem(*(s.codes for s in pair), SCORING)
    side = tile_side(*made.shape, schedule.TILES_FROM_GPU)
    thresholds = [threshold_of(made)]
    rows = rows_per_lane([made], thresholds)
    return ScoreLaunch([made], [side], thresholds, rows), {"rows_per_lane": rows, "side": side}


def gpu_score_pass(
    length: int, related: bool = False, threshold_of: Callable = threshold_all
) -> dict:
    """Time the kernel of the score pass with CUDA events, inputs resident."""
    from numba import cuda

    pair, times = random_pair(length, related=related), []
    packed_launch(pair, threshold_of)[0].run()
    for _ in range(REPEATS):
        launch, sizes = packed_launch(pair, threshold_of)
        begin, end = cuda.event(), cuda.event()
        begin.record()
        launch.run()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end))
    left_out = {"left_out": round(float(launch.shares_left_out()[0]), 4)}
    return {**_rates(statistics.median(times) / 1e3, length), **sizes, **left_out}


def gpu_many_pairs(count: int, length: int) -> dict:
    """Time score passes of many pairs in one call, transfers included."""
    from gpu_tools.local.gpu.score_pass import score_passes

    made = [make_problem(*(s.codes for s in random_pair(length, k)), SCORING) for k in range(count)]
    sides = [tile_side(length, length, schedule.TILES_FROM_GPU)] * count
    seconds = median_seconds(lambda: score_passes(made, sides))
    cells = count * length**2
    return {"pairs": count, "length": length, "seconds": round(seconds, 6),
            "gcups": cells / seconds / 1e9}  # fmt: skip


def published_forward(length: int) -> dict:
    """Time the published forward pass, a launch an anti-diagonal."""
    from numba import cuda

    from benchmarks.published.local_antidiagonals import Forward

    query, subject = random_pair(length)
    forward = Forward(query.codes, subject.codes, SCORING)

    def run():
        forward.run()
        cuda.synchronize()

    return _rates(median_seconds(run, 1), length)


def several_gpus(length: int, count: int) -> dict:
    """Time the score pass of one pair, transfers included, on one GPU and on all `count`."""
    from gpu_tools.local.gpu.score_pass import score_passes

    made = make_problem(*(s.codes for s in random_pair(length)), SCORING)
    sides = [tile_side(length, length, schedule.TILES_FROM_GPU)]
    one, all_of_them = (
        median_seconds(lambda n=n: score_passes([made], sides, tuple(range(n)))) for n in (1, count)
    )
    same = (score_passes([made], sides)[0] == score_passes([made], sides, (0, 1))[0]).all()
    return {**_rates(all_of_them, length), "gpus": count, "seconds_one": round(one, 6),
            "times_as_fast": round(one / all_of_them, 3), "equal": bool(same)}  # fmt: skip


Plan = dict[str, Callable[[], dict | None]]
"""What is measured by name, in order."""


def plan_cpu(cpu_length: int, small: int, large: int, related: int) -> Plan:
    """Return what is measured on the CPU."""
    return {
        "one_core_score_pass": partial(score_pass_one_core, cpu_length),
        "one_core_score_pass_small": partial(score_pass_one_core, small),
        "parasail_one_core": partial(parasail_one_core, cpu_length),
        "parasail_one_core_small": partial(parasail_one_core, small),
        "one_core_k_10": partial(whole_call, cpu_length, 10, "cpu"),
        "one_core_large_k_10": partial(whole_call, large, 10, "cpu"),
        "one_core_large_k_100": partial(whole_call, large, 100, "cpu"),
        "one_core_small_k_100": partial(whole_call, small, 100, "cpu"),
        "one_core_score_pass_related": partial(related_one_core, cpu_length, threshold_all),
        "one_core_score_pass_related_best": partial(related_one_core, cpu_length, threshold_best),
        "one_core_score_pass_related_known": partial(related_one_core, cpu_length, threshold_known),
        "one_core_score_pass_related_high": partial(related_one_core, cpu_length, threshold_high),
        "one_core_large_related_k_1": partial(whole_call, large, 1, "cpu", related=True),
        "one_core_related_k_3": partial(whole_call, related, 3, "cpu", related=True),
        "memory_k_10": partial(more_memory, large, 10, "cpu"),
        "memory_double_k_1": partial(more_memory, 2 * large, 1, "cpu"),
    }


def plan_gpus(small: int, large: int) -> Plan:
    """Return what is measured on GPUs; with two of them, also what both do together."""
    plan = {
        "gpu_score_pass": partial(gpu_score_pass, large),
        "gpu_score_pass_double": partial(gpu_score_pass, 2 * large),
        "gpu_score_pass_best": partial(gpu_score_pass, large, threshold_of=threshold_best),
        "gpu_score_pass_related": partial(gpu_score_pass, 2 * large, related=True),
        "gpu_score_pass_related_best": partial(gpu_score_pass, 2 * large, True, threshold_best),
        "gpu_score_pass_related_known": partial(gpu_score_pass, 2 * large, True, threshold_known),
        "gpu_score_pass_related_high": partial(gpu_score_pass, large, True, threshold_high),
        "gpu_score_pass_fourfold": partial(gpu_score_pass, 4 * large),
        "gpu_many_pairs": partial(gpu_many_pairs, 500, 2000),
        "gpu_more_pairs": partial(gpu_many_pairs, 4000, 2000),
        "gpu_k_10": partial(whole_call, large, 10, "cuda"),
        "gpu_k_100": partial(whole_call, large, 100, "cuda"),
        "gpu_small_k_10": partial(whole_call, small, 10, "cuda"),
        "gpu_small_k_100": partial(whole_call, small, 100, "cuda"),
        "gpu_double_k_10": partial(whole_call, 2 * large, 10, "cuda"),
        "gpu_related_k_1": partial(whole_call, 2 * large, 1, "cuda", related=True),
        "published_forward": partial(published_forward, small),
    }
    count = len(list_gpus())
    if count > 1:
        plan["several_gpus"] = partial(several_gpus, 4 * large, count)
    plan["memory_double_k_10"] = partial(more_memory, 2 * large, 10, "cuda")
    plan["memory_related_k_1"] = partial(more_memory, 2 * large, 1, "cuda", related=True)
    return plan


def measure(plan: Plan, path: str | None = None) -> dict:
    """Measure one after the other; print each and write all so far to a record, if any."""
    found = {}
    for name, figure in plan.items():
        found[name] = figure()
        print(f"{name}: {found[name]}", flush=True)
        if path is not None:
            record.write(path, found)
    return found


def has_gpu() -> bool:
    """Tell whether there is a real GPU."""
    try:
        return bool(list_gpus()) and not simulated()
    except DeviceError:
        return False


def test_tiny():
    """Every figure is there and positive, at a size that takes no time."""
    found = measure(plan_cpu(400, 300, 400, 200) | (plan_gpus(300, 400) if has_gpu() else {}))
    for name, figure in found.items():
        rate = figure["gcups"] if figure else 1.0
        rates = rate.values() if isinstance(rate, dict) else [rate]
        assert all(value > 0 for value in rates), name


if __name__ == "__main__":
    if sys.argv[1:2] == ["gpu"]:
        chosen = plan_gpus(SMALL_LENGTH, LARGE_LENGTH)
    else:
        chosen = plan_cpu(CPU_LENGTH, SMALL_LENGTH, LARGE_LENGTH, RELATED_LENGTH)
    measure(chosen, *sys.argv[2:3])
