"""Approximate and exact matching: beside their peers on one core, and beside the published designs.

Run ``python -m benchmarks.matching.bench_matching [RECORD.json] [--part gpu|files|files-gpu]
[--tiny]``. On a GPU the kernels are timed with all data resident. Every timed search is compared
with another implementation in the same run. TCUPS counts pattern symbols times text symbols,
without warm-up. ``files`` times whole processes on a FASTA file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.matching.gpus import many_matches, several_gpus
from benchmarks.matching.kernels import WEIGHTED, approximate_gpu, exact_gpu
from benchmarks.matching.peers import (
    LETTERS,
    approximate_one_core,
    exact_one_core,
    many_one_core,
    pattern_letters,
    random_patterns,
    random_text,
)
from benchmarks.timing import median_ms
from gpu_tools.hardware.device import list_gpus
from gpu_tools.model.scoring import EditCosts

STARTS = {
    "cuda": "from numba import cuda; cuda.current_context()",
    "cpu": "import numba",
}
"""What any program on numba does at least before it begins."""


def measure_files(tiny: bool = False, device: str = "cpu") -> Iterator[tuple[str, dict]]:
    """Time the whole process on a FASTA file and on a tiny one, reading the file, and a start."""
    megabytes = 16 if tiny else 200 if device == "cpu" else 1000
    yield "file to table", file_to_table(megabytes, device, 1 if tiny else 3)


def file_to_table(megabytes: int, device: str, repeats: int) -> dict:
    """Return the times of processes, for a file of so many megabytes."""
    rng = np.random.default_rng(1)
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

        # what an installed program has: its modules compiled, by the first run here
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "compiled"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def process_ms(*command):
            return median_ms(
                lambda: subprocess.run(
                    command, stdout=subprocess.DEVNULL, check=True, env=environment
                ),
                repeats,
            )

        def process(path):
            return process_ms(
                sys.executable, "-m", "gpu_tools", "match-exact", "--patterns", str(patterns),
                "--text", str(path), "--output", str(Path(folder, "found.tsv")), "--quiet",
                "--device", device, "--both-strands",
            )  # fmt: skip

        measured = {
            "cat": process_ms("cat", str(text)),
            "process": process(text),
            "process_tiny": process(tiny),
            "start": process_ms(sys.executable, "-c", STARTS[device]),
        }
        return {
            "bytes": text.stat().st_size,
            **{f"{name}_ms": value for name, value in measured.items()},
        }


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure one core beside the peers."""
    n = 20_000 if tiny else 1 << 23
    rng = np.random.default_rng(2018)
    for m, limit in ((20, 2), (32, 4), (100, 10), (1024, 103), (64, None), (1024, None)):
        name = f"approximate m={m} {'best' if limit is None else f'D={limit}'}"
        yield name, approximate_one_core(rng, n, m, limit)
    yield "approximate K=100 D=2", many_one_core(rng, n, 100)
    for count in (1, 256, 10_000):
        yield f"exact K={count}", exact_one_core(rng, n, count)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure the kernels and the published designs."""
    rng, n, large, exact = np.random.default_rng(2018), 1 << 22, 1 << 30, 1 << 27
    if tiny:
        yield "exact K=1", exact_gpu(rng, 64, 1, 4, False)
        yield "unit m=4", approximate_gpu(rng, random_text(rng, 16), 4, EditCosts(), False)
        return
    for count in (1, 256, 10_000):
        yield f"exact K={count}", exact_gpu(rng, exact, count, 4, count < 1000)
    yield "exact K=256, two symbols", exact_gpu(rng, exact, 256, 2, True)
    yield "exact K=256, 20 symbols", exact_gpu(rng, exact, 256, 20, True)
    text = random_text(rng, n)
    for m in (32, 64, 128, 256, 512, 1024):
        yield f"unit m={m}", approximate_gpu(rng, text, m, EditCosts(), True)
    yield "weighted m=1024", approximate_gpu(rng, text, 1024, WEIGHTED, True)
    text = random_text(rng, large)
    for name, costs in (("unit", EditCosts()), ("weighted", WEIGHTED)):
        yield f"{name} m=1024 large", approximate_gpu(rng, text, 1024, costs, False)
    yield "many matches", many_matches(rng, n, 100, 20, 5)
    if len(list_gpus()) > 1:
        yield "several GPUs", several_gpus(rng, large, 1024)


if __name__ == "__main__":
    files_on_gpu = partial(measure_files, device="cuda")
    record.main(measure, gpu=measure_gpu, files=measure_files, **{"files-gpu": files_on_gpu})
