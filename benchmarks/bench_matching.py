"""Approximate and exact matching: beside their peers on one core, and beside the published designs.

Run ``python -m benchmarks.bench_matching [RECORD.json]``. On a machine with a GPU the kernels are
timed by CUDA events with all data resident, after a kernel that sleeps until all launches are
queued, so that no launch waits for the host; medians. Every timed search is compared with another
implementation in the same run. TCUPS counts pattern symbols times text symbols, without warm-up.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.matching_peers import (
    LETTERS,
    approximate_one_core,
    as_milliseconds,
    exact_one_core,
    many_one_core,
    pattern_letters,
    random_patterns,
    random_text,
)
from benchmarks.timing import median_seconds
from gpu_tools.device import list_gpus
from gpu_tools.errors import DeviceError
from gpu_tools.matching import Pattern, PatternSet, match_approximate
from gpu_tools.scoring import EditCosts
from gpu_tools.sequences import Sequence

REPEATS = 5
WEIGHTED = EditCosts(2, 3, 4)


def event_milliseconds(start, repeats: int = REPEATS, before=lambda: None) -> float:
    """Return the median time of a kernel on the device, whose data are there.

    `before` is called before each start and not timed.
    """
    from numba import cuda

    before()
    start()
    cuda.synchronize()
    _sleep()[1, 1]()
    events = [(cuda.event(), cuda.event()) for _ in range(repeats)]
    for begin, end in events:
        before()
        begin.record()
        start()
        end.record()
    cuda.synchronize()
    return round(statistics.median(a.elapsed_time(b) for a, b in events), 4)


@cache
def _sleep():
    from numba import cuda

    @cuda.jit
    def sleep():
        for _ in range(10):
            cuda.nanosleep(1_000_000)

    return sleep


class Approximate:
    """One pattern and one text on the device.

    Parameters
    ----------
    text : Sequence
    m : int
        Rows of a random pattern.
    costs : EditCosts
    """

    def __init__(self, rng, text: Sequence, m: int, costs: EditCosts):
        from gpu_tools.matching import cuda, ends_cuda
        from gpu_tools.matching.alphabet import ALPHABETS
        from gpu_tools.matching.cuda_costs import CostKernels
        from gpu_tools.matching.traceback import longest_match

        self.codes, self.costs = text.codes, costs
        self.pattern = rng.integers(0, 4, m).astype(np.uint8)
        self.symbols = (1 << self.pattern).astype(np.uint8)
        matches = ALPHABETS["dna"].matches
        pairs = costs.pair_costs(matches)
        self.kernels = cuda.UnitKernels(matches) if costs.unit else CostKernels(pairs, costs)
        # as the search itself does: a sample bounds the distance, and with it the warm-up
        sample = Sequence("sample", text.codes[: ends_cuda.sample(1)])
        patterns = PatternSet([Pattern("p", self.symbols)])
        self.bound = match_approximate(patterns, [sample], costs=costs, device="cpu")[0].distance
        self.warm = -(-longest_match(m, self.bound, costs.insertion) // 8) * 8

    def measured(self, resident, size: int, length: int) -> tuple[float, int]:
        """Return a kernel's milliseconds, and the best distance that it finds."""
        from numba import cuda

        begins = np.arange(0, len(self.codes), length)
        parts = np.column_stack(
            (np.zeros_like(begins), begins, np.minimum(begins + length, len(self.codes)))
        )
        table = self.kernels.table([0], [self.symbols], size, self.warm)
        lift = int(self.kernels.lifts([self.symbols])[0])
        first = cuda.to_device(np.array([[self.bound - lift, -lift]], dtype=np.int32))
        found = cuda.device_array_like(first), cuda.device_array((1 << 20, 3), np.int64)
        count = cuda.to_device(np.zeros(1, np.int32))
        start = self.kernels.prepared(resident, parts, table, (*found, count))
        milliseconds = event_milliseconds(start, before=lambda: found[0].copy_to_device(first))
        return milliseconds, int(found[0].copy_to_host()[0, 0]) + lift

    def time(self, resident, plans) -> dict:
        """Time the kernel for several plans; all give the same distance."""
        figures, distances = {}, set()
        for size, length in plans:
            milliseconds, distance = self.measured(resident, size, length)
            distances.add(distance)
            cells = len(self.symbols) * len(self.codes)
            figures[f"size {size}, parts of {length}"] = {
                "kernel_ms": milliseconds, "tcups": round(cells / milliseconds / 1e9, 3),
            }  # fmt: skip
        if len(distances) != 1:
            raise AssertionError(f"plans give different distances {distances}")
        return {"distance": distances.pop(), "plans": figures}


def approximate_gpu(rng, text: Sequence, m: int, costs: EditCosts, published: bool) -> dict:
    """Time the kernels, and the published designs on the same problem."""
    from gpu_tools.matching import cuda, ends_cuda

    n = len(text)
    problem, resident = Approximate(rng, text, m, costs), cuda.resident(text.codes)
    load = -(-n // (cuda.multiprocessors() * problem.kernels.warps))
    chosen = ends_cuda.plan(problem.kernels, m, problem.warm, load)
    plans = [chosen]
    for size in problem.kernels.sizes if published else ():
        if problem.kernels.lanes_for(m, size) <= cuda.WARP:
            length = -(-load * problem.kernels.lanes_for(m, size) // (8 * cuda.WARP)) * 8
            if length >= 16 and (size, length) != chosen:
                plans.append((size, length))
    figures = {"n": n, "m": m, "chosen": list(chosen), **problem.time(resident, plans)}
    if published:
        figures["published"] = _published_approximate(problem, figures["distance"])
    return figures


def _published_approximate(problem: Approximate, distance: int) -> dict:
    from benchmarks.published.matching.approximate import KERNELS
    from benchmarks.published.matching.approximate import Problem as Published

    costs = problem.costs
    weights = (costs.insertion, costs.deletion, costs.substitution)
    published, figures = Published(problem.pattern, problem.codes, weights), {}
    for name in KERNELS:
        if published.distance(name) != distance:
            raise AssertionError(f"{name} gives another distance than {distance}")
        figures[name] = event_milliseconds(lambda name=name: published.launch(name), 3)
    return figures


def exact_gpu(rng, n: int, count: int, symbols: int, published: bool) -> dict:
    """Time the exact kernel, and the published designs on the same problem."""
    from numba import cuda as numba_cuda

    from benchmarks.published.matching.exact import Problem as Published
    from gpu_tools.matching import cuda, exact_cuda
    from gpu_tools.matching.exact_cpu import Searcher
    from gpu_tools.matching.index import library

    text = Sequence("text", rng.integers(0, symbols, n, dtype=np.uint8))
    own = [rng.integers(0, symbols, int(m)).astype(np.uint8) for m in rng.integers(10, 31, count)]
    patterns = PatternSet([
        Pattern(str(k), (1 << codes).astype(np.uint8)) for k, codes in enumerate(own)
    ])  # fmt: skip
    searcher = Searcher(library(patterns.probes(), patterns.matches), 1)
    resident = cuda.resident(text.codes, 16)
    hits = numba_cuda.device_array((1 << 24, 2), np.int64)
    total, milliseconds = 0, 0.0
    for index in searcher.indexes:
        on_device = exact_cuda.on_device(searcher, index)
        total += exact_cuda.launch(resident, on_device, hits)
        count_on_device = numba_cuda.to_device(np.zeros(1, np.int32))
        start = exact_cuda.prepared(resident, on_device, hits, count_on_device)
        milliseconds += event_milliseconds(start)
    figures = {
        "n": n, "patterns": count, "symbols": symbols, "scans": len(searcher.indexes),
        "matches": total, "kernel_ms": round(milliseconds, 4),
    }  # fmt: skip
    if published:
        problem = Published(own, text.codes, 1 << 24)
        figures["published"] = {}
        for name in ("rolling", "prefix sums"):
            found = problem.occurrences(name)
            if len(found) != total:
                raise AssertionError(f"{name} finds {len(found)} matches instead of {total}")
            figures["published"][name] = event_milliseconds(
                lambda name=name: problem.launch(name), 3
            )
    return figures


def several_gpus(rng, count: int, m: int, n: int) -> dict:
    """Time whole calls on one GPU and on two; matches are equal."""
    text, figures, found = random_text(rng, n), {"n": n, "patterns": count, "m": m}, []
    many = PatternSet([
        Pattern(str(k), (1 << rng.integers(0, 4, m)).astype(np.uint8)) for k in range(count)
    ])  # fmt: skip
    for device in ("cuda:0", "cuda:0,1"):

        def search(device=device):
            return match_approximate(many, [text], device=device)

        found.append(search())
        figures[f"{device}_ms"] = as_milliseconds(median_seconds(search, 3))
    if found[0] != found[1]:
        raise AssertionError("two GPUs give other matches than one")
    return figures


def file_to_table(rng, megabytes: int, device: str) -> dict:
    """Time the whole process on a FASTA file and on a tiny one, and reading the file."""
    with tempfile.TemporaryDirectory() as folder:
        text, tiny, patterns = (Path(folder, name) for name in ("text.fa", "tiny.fa", "p.fa"))
        rows = np.full((1 << 18, 64), ord("\n"), dtype=np.uint8)
        with text.open("wb") as stream:
            for k in range(megabytes // 16):
                if k < 8:  # then these again and again: only the size matters
                    rows[:, :63] = LETTERS[rng.integers(0, 4, (1 << 18, 63), dtype=np.uint8)]
                stream.write(b">t%d\n" % k if k % 6 == 0 else b"")
                stream.write(rows.tobytes())
        tiny.write_bytes(b">t\n" + rows[:100].tobytes())
        words = pattern_letters(random_patterns(rng, 256, 15, 30))
        patterns.write_text("".join(f">{k}\n{word}\n" for k, word in enumerate(words)))

        def process(path):
            command = [
                sys.executable, "-m", "gpu_tools", "match-exact", "--patterns", str(patterns),
                "--text", str(path), "--output", str(Path(folder, "found.tsv")), "--quiet",
                "--device", device, "--both-strands",
            ]  # fmt: skip
            return median_seconds(lambda: subprocess.run(command, check=True), 3)

        seconds = {"process": process(text), "process_tiny": process(tiny)}
        seconds["cat"] = median_seconds(
            lambda: subprocess.run(["cat", text], stdout=subprocess.DEVNULL, check=True), 3
        )
        size = text.stat().st_size
    return {
        "bytes": size,
        **{f"{name}_ms": as_milliseconds(value) for name, value in seconds.items()},
    }


def measure_cpu(n: int = 1 << 23) -> Iterator[tuple[str, dict]]:
    """Measure one core beside the peers."""
    rng = np.random.default_rng(2018)
    for m, limit in ((20, 2), (32, 4), (100, 10), (1024, 103), (64, None), (1024, None)):
        name = f"approximate m={m} {'best' if limit is None else f'D={limit}'}"
        yield name, approximate_one_core(rng, n, m, limit)
    yield "approximate K=100 D=2", many_one_core(rng, n, 100)
    for count in (1, 256, 10_000):
        yield f"exact K={count}", exact_one_core(rng, n, count)


def measure_gpu(
    n: int = 1 << 22, large: int = 1 << 30, exact: int = 1 << 27
) -> Iterator[tuple[str, dict]]:
    """Measure the kernels and the published designs."""
    rng = np.random.default_rng(2018)
    for count in (1, 256, 10_000):
        yield f"exact K={count}", exact_gpu(rng, exact, count, 4, count < 1000)
    yield "exact K=256, two symbols", exact_gpu(rng, exact, 256, 2, True)
    text = random_text(rng, n)
    for m in (32, 64, 128, 256, 512, 1024):
        yield f"unit m={m}", approximate_gpu(rng, text, m, EditCosts(), True)
    yield "weighted m=1024", approximate_gpu(rng, text, 1024, WEIGHTED, True)
    text = random_text(rng, large)
    for name, costs in (("unit", EditCosts()), ("weighted", WEIGHTED)):
        yield f"{name} m=1024 large", approximate_gpu(rng, text, 1024, costs, False)
    if len(list_gpus()) > 1:
        yield "several GPUs", several_gpus(rng, 256, 256, large >> 4)


def test_tiny():
    """Every figure is there and positive, at a size that takes no time."""
    figures = dict(measure_cpu(20_000))
    assert len(figures) == 10
    for figure in figures.values():
        assert all(value > 0 for key, value in figure.items() if key.endswith("_ms"))


def main() -> None:
    """Measure what this machine can, and write it to the file named by the first argument."""
    try:
        list_gpus()
        measured, megabytes, device = measure_gpu(), 1000, "cuda"
    except DeviceError:
        measured, megabytes, device = measure_cpu(), 200, "cpu"
    last = ("file to table", lambda: file_to_table(np.random.default_rng(1), megabytes, device))
    figures = {}
    for name, figure in chain(measured, ((name, make()) for name, make in [last])):
        figures[name] = figure
        print(f"{name}: {figure}", flush=True)
        if len(sys.argv) > 1:
            record.write(Path(sys.argv[1]), figures)


if __name__ == "__main__":
    main()
