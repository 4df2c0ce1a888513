"""Memory of site mode on a CPU: the command on random base sequences, one process each.

Run ``python -m benchmarks.sites.bench_memory [RECORD.json] [--tiny]``.
The command reads both sequences from FASTA and tries both strands with two threads. The peak is
that of the whole process. Writing the base sequences and starting Python is not in the time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import record

SEED = 2026
BASES, TARGET = (1_000_000, 10_000_000, 50_000_000, 250_000_000), 800
LINE, LINES_AT_A_TIME = 60, 20_000
# ru_maxrss would begin with what the process that starts this one had in use
CHILD = """
import json, re, sys, time
from gpu_tools.cli.main import main
start = time.perf_counter()
try:
    main()
except SystemExit as end:
    assert not end.code
seconds = time.perf_counter() - start
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(json.dumps({"peak_megabytes": int(peak[1]) // 1024, "seconds": round(seconds, 1)}))
"""


def write_random(path: Path, rng, length: int) -> None:
    """Write a FASTA record of random nucleotides, line by line: this process remains small."""
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    with path.open("wb") as stream:
        stream.write(f">{path.stem}\n".encode())
        for first in range(0, length, LINE * LINES_AT_A_TIME):
            text = letters[rng.integers(0, 4, min(LINE * LINES_AT_A_TIME, length - first))]
            for k in range(0, len(text), LINE):
                stream.write(text[k : k + LINE].tobytes() + b"\n")


def measured(folder: Path, base: int, target: int) -> dict:
    """Run the command on sequences of two lengths; return its peak memory and time."""
    rng, files = np.random.default_rng(SEED), {"base": base, "target": target}
    for name, length in files.items():
        write_random(folder / f"{name}.fa", rng, length)
    command = (
        "spliced-align", "--base", folder / "base.fa", "--targets", folder / "target.fa",
        "--site-model", "vertebrate", "--device", "cpu", "--threads", "2", "--quiet",
        "--output", folder / "scores.tsv",
    )  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", CHILD, *command], check=True, stdout=subprocess.PIPE
    )
    return json.loads(run.stdout)


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure some lengths of base sequences."""
    target = 50 if tiny else TARGET
    with tempfile.TemporaryDirectory() as folder:
        for base in (20_000,) if tiny else BASES:
            yield f"{base:,} x {target:,}", measured(Path(folder), base, target)


if __name__ == "__main__":
    record.main(measure)
