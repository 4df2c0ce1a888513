"""Faults of a real GPU: no memory, a broken context, a fork, wrong numbers; as JSON.

python3 -m tests.real_gpu.faults [RECORD.json] [--processes 8]

Under `auto` each command must give the CPU's answer, and tell of the CPU once if it took over;
under `cuda` it must give the same answer, or one line and exit code 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from benchmarks import record
from gpu_tools.cli.common.warming import write_inputs

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "list": "spliced-align --base base.fa --targets targets.fa --exons exons.tsv",
    "sites": "spliced-align --base large.fa --targets targets.fa --site-model vertebrate",
    "coding": "spliced-align --base large.fa --targets targets.fa --site-model vertebrate --coding",
    "local": "local-align --query large.fa --subject large.fa --k 1",
    "exact": "match-exact --patterns patterns.fa --text large.fa",
    "approximate": "match-approximate --patterns patterns.fa --text large.fa --best",
    "segments": "max-segments --sequence large.fa --scale gc --all",
    "segment": "max-segments --sequence large.fa --scale gc",
    "submatrix": "max-submatrix --matrix matrix.npy",
}
FAULTS = ("memory", "middle", "fragments", "kernel", "fork", "hidden", "wrong number")
HOLDER = """
import sys, numpy as np
import numba_cuda
from numba import cuda
context, held = cuda.current_context(), []
def free(): return context.get_memory_info().free
for size in (1 << 30, 1 << 26, 1 << 22):
    while free() > size + (int(sys.argv[1]) << 20):
        try: held.append(cuda.device_array(size, np.uint8))
        except Exception: break
print("held", free() >> 20, flush=True)
sys.stdin.read()
"""


def inputs(folder: Path) -> None:
    """Write the files that the commands read: some are large enough to need memory."""
    import numpy as np

    write_inputs(folder)
    random = Random(5)
    exons = (folder / "targets.fa").read_text(encoding="utf-8").split("\n")[1]
    text = "".join(random.choices("ACGT", k=40_000))
    (folder / "large.fa").write_text(f">large\n{text[:20_000]}{exons}{text[20_000:]}\n")
    np.save(folder / "matrix.npy", np.random.default_rng(1).integers(-9, 10, (400, 900)))


def run(folder: Path, fault: str, name: str, device: str) -> tuple[int | None, str, bytes]:
    """Run a command under a fault; return its exit code, standard error and output."""
    output = folder / f"{fault}.{name}.{device}.out".replace(" ", "_")
    words = [*COMMANDS[name].split(), "--device", device, "--quiet", "--output", str(output)]
    inside = fault in ("middle", "fragments", "kernel", "fork")
    module = ["tests.real_gpu.broken", fault] if inside else ["gpu_tools"]
    environment = os.environ | {
        "GPU_TOOLS_LOCKS": str(output.with_suffix(".locks")), "GPU_TOOLS_TINY_RUN": "1",
        "GPU_TOOLS_GPU_START": "0",  # the inputs are small
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }  # fmt: skip
    if fault in ("hidden", "wrong number"):
        environment["CUDA_VISIBLE_DEVICES"] = "" if fault == "hidden" else "7"
    try:
        ended = subprocess.run(
            [sys.executable, "-m", *module, *words], cwd=folder, env=environment,
            capture_output=True, timeout=200, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, "", b""
    content = output.read_bytes() if output.exists() else b""
    return ended.returncode, ended.stderr.decode("utf-8", "replace"), content


def judged(device: str, outcome: tuple[int | None, str, bytes], expected: bytes) -> str:
    """Return ok and what happened, or what is wrong."""
    code, errors, content = outcome
    told = [line for line in errors.splitlines() if "GPU" in line or "CUDA" in line]
    if code is None:
        return "wrong: more than 200 s"
    if "Traceback" in errors:
        return "wrong: a traceback"
    if code == 0 and content != expected:
        return "wrong: another answer"
    if code == 0 and len(told) > 1:
        return "wrong: told more than once"
    if code == 0:
        return "ok: the CPU took over" if told else "ok: the answer"
    if device == "auto":
        return f"wrong: exit code {code}"
    whole = code == 1 and len(told) == 1 and not content
    return "ok: one line" if whole else f"wrong: exit code {code}, {len(told)} lines"


def rows(folder: Path, fault: str, expected: dict[str, bytes], processes: int) -> list[dict]:
    """Run all commands under a fault."""
    jobs = [(name, device) for name in COMMANDS for device in ("auto", "cuda")]
    with ThreadPoolExecutor(processes) as pool:
        outcomes = list(pool.map(lambda job: run(folder, fault, *job), jobs))
    found = []
    for (name, device), outcome in zip(jobs, outcomes, strict=True):
        state = judged(device, outcome, expected[name])
        shown = outcome[1][-1000:] if state.startswith("wrong") or device == "cuda" else ""
        row = {"fault": fault, "command": name, "device": device, "state": state, "told": shown}
        print(fault, name, device, state, flush=True)
        found.append(row)
    return found


def with_little_memory(folder: Path, left: int, expected, processes: int) -> list[dict]:
    """Run all commands while another process holds all memory but so many MiB."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    print(holder.stdout.readline().decode(), end="", flush=True)
    found = rows(folder, "memory", expected, processes)
    holder.communicate()
    return [row | {"left": left} for row in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", nargs="?", help="JSON file to write")
    parser.add_argument("--processes", type=int, default=min(8, os.cpu_count()))
    options = parser.parse_args()
    if problem := record.no_gpu():
        sys.exit(problem)
    start, processes = time.monotonic(), options.processes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs(folder)
        with ThreadPoolExecutor(processes) as pool:
            outcomes = pool.map(lambda each: run(folder, "none", each, "cpu"), COMMANDS)
        expected = {name: outcome[2] for name, outcome in zip(COMMANDS, outcomes, strict=True)}
        found = rows(folder, "none", expected, processes)
        print(f"without a fault: {time.monotonic() - start:.0f} s", flush=True)
        for fault in FAULTS[::-1]:  # those of memory take all of it: one at a time
            if fault == "memory":
                for left in (16, 700, 1500):
                    alone = left > 100
                    found += with_little_memory(folder, left, expected, 1 if alone else processes)
            else:
                alone = fault in ("middle", "fragments")
                found += rows(folder, fault, expected, 1 if alone else processes)
            states = Counter(f"{row['fault']}: {row['state']}" for row in found)
            if options.record:
                seconds = round(time.monotonic() - start, 1)
                record.write(options.record, {"seconds": seconds, "states": states, "runs": found})
    print(*sorted(states.items()), sep="\n")
    sys.exit(any(row["state"].startswith("wrong") for row in found))


if __name__ == "__main__":
    main()
