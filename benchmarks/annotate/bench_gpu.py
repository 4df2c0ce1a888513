"""Annotation on a GPU beside the CPU: the same genes, and the time of either.

Run ``python -m benchmarks.annotate.bench_gpu [RECORD.json] [--tiny]``. The genome is the demo's ten
human loci with random records behind them; the proteins are those of mouse and random ones. The
exhaustive search of the small genome runs on both devices, and of the large one on the GPU alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import record
from gpu_tools import ProteinSequence, Sequence, load_sites
from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import ProteinTargets, protein_targets
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.translation import longest_protein

SEED = 2034
DEMO = Path(__file__).parents[2] / "resources" / "demo"
SMALL, LARGE, RECORD = 2_000_000, 12_000_000, 1_000_000
FEW, MANY, MOST, RESIDUES = 50, 500, 6_250, 400


def genome(rng, nucleotides: int) -> list[Sequence]:
    """Return the demo's loci and random records."""
    loci = read_fasta(DEMO / "loci.fa.gz")
    return loci + [
        Sequence(f"random{k}", rng.integers(0, 4, RECORD).astype(np.uint8))
        for k in range(nucleotides // RECORD)
    ]


def proteins(rng, count: int) -> ProteinTargets:
    """Return the proteins of the demo's mRNAs and random ones."""
    found = [
        ProteinSequence(one.name, longest_protein(one.codes))
        for one in read_fasta(DEMO / "mrnas.fa.gz")
    ]
    for k in range(count - len(found)):
        found.append(ProteinSequence(f"p{k}", rng.integers(0, 20, RESIDUES).astype(np.uint8)))
    return protein_targets(found[:count], load_sites("vertebrate"))


def call(records, targets, search: str, device: str) -> tuple[dict, GenomeAnnotation]:
    """Time an annotation; return figures and genes."""
    options = AnnotationOptions(search=search)
    begin, spent = time.perf_counter(), time.process_time()
    found = annotate_genome(records, [targets], options, device=device)
    wall, processor = time.perf_counter() - begin, time.process_time() - spent
    residues = sum(map(len, targets.sequences))
    cells = 2 * residues * sum(map(len, records))
    figures = {"seconds": round(wall, 2), "processor_seconds": round(processor, 2),
               "genes": len(found.genes)}  # fmt: skip
    rate = {"gcups": round(cells / wall / 1e9, 2)} if search == "exhaustive" else {}
    return figures | rate, found


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure a GPU; genes of the small genome are compared with the CPU's."""
    rng = np.random.default_rng(SEED)
    records = genome(rng, SMALL)[:1] if tiny else genome(rng, SMALL)
    targets = proteins(rng, 2 if tiny else FEW)
    call(records[:1], targets, "exhaustive", "cuda")  # compiles
    for search in ("seeded", "exhaustive"):
        found = {}
        for device in ("cuda", "cpu"):
            figures, found[device] = call(records, targets, search, device)
            yield f"{search} {SMALL:,} x {FEW} on {device}", figures
        if found["cuda"] != found["cpu"]:
            raise AssertionError("the devices differ")
    if tiny:
        return
    large, many = genome(rng, LARGE), proteins(rng, MANY)
    for search in ("seeded", "exhaustive"):
        yield f"{search} {LARGE:,} x {MANY} on cuda", call(large, many, search, "cuda")[0]
    figures, _ = call(large, proteins(rng, MOST), "exhaustive", "cuda")
    yield f"exhaustive {LARGE:,} x {MOST} on cuda", figures


if __name__ == "__main__":
    record.main(measure, needs_gpu=True)
