"""Memory of commands on a CPU by the length of their sequences, one process each.

Run ``python -m benchmarks.hardware.bench_memory [RECORD.json] [--part annotation] [--tiny]``. Site
mode reads a random base and a target from FASTA and tries both strands with two threads. In
``annotation`` random proteins are searched in random genomes, which hold no gene: the genome, its
index and the tables of sites are what grows. ``seeded`` makes the index anew, ``exhaustive part``
is a job of the workflow, of one share of the genome's tiles, and `planned` is what the sum of
docs/design/search.md says of the index and the genome alone. The peak is that of the whole process.
Writing the sequences and starting Python is not in the time.
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
from gpu_tools.search.words import SearchOptions, WordScheme

SEED = 2026
BASES, TARGET = (1_000_000, 10_000_000, 50_000_000, 250_000_000), 800
GENOMES, LARGE, PARTS = (12_000_000, 34_000_000, 240_000_000), 3_000_000_000, 16
PROTEINS, RESIDUES = 4, 300
LINE, LINES_AT_A_TIME = 60, 20_000
SCRIPT = Path(__file__).parents[2] / "workflow" / "scripts" / "annotation_hits.py"
OPTIONS = ("--site-model", "vertebrate", "--device", "cpu", "--threads", "2", "--quiet")
# ru_maxrss would begin with what the process that starts this one had in use
CHILD = """
import json, re, runpy, sys, time
from gpu_tools.cli.main import main
script = sys.argv.pop(1)
start = time.perf_counter()
try:
    runpy.run_path(script, run_name="__main__") if script else main()
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


def measured(script: str, *words) -> dict:
    """Return peak memory and time of a command, or of a script of the workflow."""
    line = [sys.executable, "-c", CHILD, script, *map(str, words), *OPTIONS]
    return json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)


def planned(nucleotides: int) -> int:
    """Return the megabytes of an index of proteins' words and of the genome."""
    words = WordScheme.chosen("protein", nucleotides, SearchOptions())
    index = 8 * len(words.shapes) * nucleotides // words.sample
    return (index + 2 * nucleotides) // 10**6


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure site mode on some lengths of base sequences."""
    target = 50 if tiny else TARGET
    with tempfile.TemporaryDirectory() as name:
        for length in (20_000,) if tiny else BASES:
            rng, base, cdna = np.random.default_rng(SEED), Path(name, "base.fa"), Path(name, "t.fa")
            write_random(base, rng, length)
            write_random(cdna, rng, target)
            words = "spliced-align", "--base", base, "--targets", cdna, "--output", f"{name}/o.tsv"
            yield f"{length:,} x {target:,}", measured("", *words)


def measure_annotation(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure annotations of some lengths of genomes."""
    residues, letters = 40 if tiny else RESIDUES, [*"ACDEFGHIKLMNPQRSTVWY"]
    with tempfile.TemporaryDirectory() as name:
        genome, proteins = Path(name, "genome.fa"), Path(name, "proteins.fa")
        for nucleotides in (20_000,) if tiny else GENOMES:
            rng = np.random.default_rng(SEED)
            write_random(genome, rng, nucleotides)
            texts = ("".join(rng.choice(letters, residues)) for _ in range(PROTEINS))
            proteins.write_text("".join(f">p{k}\nM{text}\n" for k, text in enumerate(texts)))
            words = "--genome", genome, "--proteins", proteins, "--output", f"{name}/out"
            found = measured("", "annotate", *words)
            yield f"seeded {nucleotides:,}", found | {"planned_megabytes": planned(nucleotides)}
            if not tiny:
                part = measured(str(SCRIPT), *words, "--search", "exhaustive", "--tiles", 1, PARTS)
                yield f"exhaustive part {nucleotides:,} / {PARTS}", part
    yield f"seeded {LARGE:,}", {"planned_megabytes": planned(LARGE)}


if __name__ == "__main__":
    record.main(measure, annotation=measure_annotation)
