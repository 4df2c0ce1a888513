"""Memory of annotations on a CPU: commands on random genomes, one process each.

Run ``python -m benchmarks.annotate.bench_memory [RECORD.json] [--tiny]``.
``seeded`` is ``gpu-tools annotate`` with its index built anew. ``exhaustive part`` is a job of the
workflow, of one share of the genome's tiles. Random proteins find no gene, so that windows and
chains take little; the genome, its index and the tables of sites are what grows. `planned` is what
the sum of docs/design/search.md says of the index and the genome alone.
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
from benchmarks.sites.bench_memory import CHILD, write_random
from gpu_tools.search.words import SearchOptions, WordScheme

SEED = 2033
GENOMES, LARGE = (12_000_000, 34_000_000, 240_000_000), 3_000_000_000
PARTS = 16
PROTEINS, RESIDUES = 4, 300
SCRIPT = Path(__file__).parents[2] / "workflow" / "scripts" / "annotation_hits.py"


def planned(nucleotides: int) -> int:
    """Return the megabytes of an index of proteins' words and of the genome."""
    words = WordScheme.chosen("protein", nucleotides, SearchOptions())
    index = 8 * len(words.shapes) * nucleotides // words.sample
    return (index + 2 * nucleotides) // 10**6


def write_proteins(path: Path, rng, residues: int) -> None:
    """Write random proteins."""
    letters = [*"ACDEFGHIKLMNPQRSTVWY"]
    texts = ("".join(rng.choice(letters, residues)) for _ in range(PROTEINS))
    path.write_text("".join(f">p{k}\nM{text}\n" for k, text in enumerate(texts)))


def measured(folder: Path, nucleotides: int, residues: int, part: bool) -> dict:
    """Run a command on a genome of a length; return its peak memory and time."""
    rng = np.random.default_rng(SEED)
    write_random(folder / "genome.fa", rng, nucleotides)
    write_proteins(folder / "proteins.fa", rng, residues)
    words = [
        "--genome", folder / "genome.fa", "--proteins", folder / "proteins.fa", "--site-model",
        "vertebrate", "--device", "cpu", "--threads", "2", "--quiet", "--output", folder / "out",
    ]  # fmt: skip
    child = CHILD
    if part:
        words = [SCRIPT, *words, "--search", "exhaustive", "--tiles", 1, PARTS]
        child = CHILD.replace(
            "    main()\n", "    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
        child = "import runpy\n" + child.replace("start = ", "del sys.argv[0]\nstart = ", 1)
    else:
        words = ["annotate", *words]
    run = subprocess.run(
        [sys.executable, "-c", child, *map(str, words)], check=True, stdout=subprocess.PIPE
    )
    return json.loads(run.stdout)


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure some lengths of genomes."""
    residues = 40 if tiny else RESIDUES
    with tempfile.TemporaryDirectory() as folder:
        for nucleotides in (20_000,) if tiny else GENOMES:
            found = measured(Path(folder), nucleotides, residues, part=False)
            yield f"seeded {nucleotides:,}", found | {"planned_megabytes": planned(nucleotides)}
            if not tiny:
                part = measured(Path(folder), nucleotides, residues, part=True)
                yield f"exhaustive part {nucleotides:,} / {PARTS}", part
    yield f"seeded {LARGE:,}", {"planned_megabytes": planned(LARGE)}


if __name__ == "__main__":
    record.main(measure)
