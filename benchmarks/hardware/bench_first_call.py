"""First calls: each command with tiny inputs and an empty compile cache, and once more.

Run ``python -m benchmarks.hardware.bench_first_call [RECORD.json] [--tiny] [--part gpu]``.
Times are those of whole processes, with the start of Python: seconds on the clock, and seconds of
processors together with the processes that a first call starts. The machine should be idle; the
load when a run began is beside its times. Last, ``warm-up`` with an empty cache.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import record
from gpu_tools.cli.common.warming import TINY_RUNS, WIDE, TinyRun, write_inputs
from gpu_tools.hardware.device import FOLDER as LOCKS


def process(line: list[str], folder: Path, cache: str) -> dict[str, float]:
    """Run Python in a folder with a compile cache; return its times."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, LOCKS: str(folder / "locks")}
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    load, before = os.getloadavg()[0], resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *line], cwd=folder, env=environment, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "seconds": round(seconds, 2), "processor_seconds": round(used, 2), "load": round(load, 1)
    }  # fmt: skip


def first_and_second(run: TinyRun, device: str, folder: Path) -> dict[str, dict[str, float]]:
    """Return the times of a run with an empty cache, and with the cache that it leaves."""
    with tempfile.TemporaryDirectory() as cache:
        line = run.line(device)
        return {call: process(line, folder, cache) for call in ("first", "second")}


def measure(tiny: bool = False, device: str = "cpu") -> Iterator[tuple[str, dict]]:
    """Measure the commands on a device, then the warm-up for it."""
    runs = [r for r in TINY_RUNS if WIDE not in r.modes]
    runs = [r for r in runs if r.is_for(device)]
    if tiny:
        runs = [r for r in runs if r.command == "match-exact"][:1]
    firsts = {(r.command, r.modes): r for r in reversed(runs)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for run in reversed(firsts.values()):
            title = " ".join([run.command, *sorted(run.modes)])
            yield title, first_and_second(run, device, folder)
        if not tiny:
            with tempfile.TemporaryDirectory() as cache:
                line = ["-m", "gpu_tools", "warm-up", "--device", device]
                yield "warm-up", {c: process(line, folder, cache) for c in ("first", "second")}


if __name__ == "__main__":
    record.main(measure, gpu=partial(measure, device="cuda"))
