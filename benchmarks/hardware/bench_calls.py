"""Whole calls on a GPU as a user waits for them: functions of the library, and commands.

Run ``python -m benchmarks.hardware.bench_calls FOLDER [RECORD.json] [--part commands] [--tiny]``.
FOLDER holds ``genome.fa.gz``, ``cds.fa.gz`` and ``proteins.fa.gz`` of one genome. Calls are warm:
the first one, which may compile and makes space, is not counted, and of the others the shortest is.
Sites are scored before. The second part times commands, processes of their own that compile
nothing, and annotation by the library on both devices; its genes are compared.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.case_sets import case_set
from benchmarks.local.bench_local import random_pair
from benchmarks.sites.bench_proteins import SCORING, loci, on_base, random_base, random_proteins
from benchmarks.sites.bench_sites import on_genome, site_cases
from benchmarks.timing import processor_time
from gpu_tools import ProteinSequence, load_sites, local_align, site_align, spliced_align
from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import protein_targets
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.scoring import GENE_SCORING
from gpu_tools.model.sequences import decode, encode_protein
from gpu_tools.sites.proteins.api import protein_align

SEED, SOME = 2046, 60
PAIRS, LENGTH = 4_000, 2_000


def timed(call: Callable[[], object], cells: int = 0, repeats: int = 3, warm: bool = True) -> dict:
    """Return the least time of some calls, the processor's time of that one, and the rate."""
    if warm:
        call()
    times = []
    for _ in range(repeats):
        begin, spent = time.perf_counter(), processor_time()
        call()
        times.append((time.perf_counter() - begin, processor_time() - spent))
    seconds, processor = min(times)
    rate = {"gcups": round(cells / seconds / 1e9, 1)} if cells else {}
    return {"seconds": round(seconds, 4), "processor_seconds": round(processor, 2)} | rate


def cells_of(cases: list) -> int:
    """Return the nominal cells of cases."""
    return sum(case.cells for case in cases)


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure functions of the library."""
    rng, some = np.random.default_rng(SEED), slice(1 if tiny else None)
    listed = case_set()[some]
    yield "list mode, 1,010 cases", timed(partial(spliced_align, listed, device="cuda"))
    if tiny:
        return
    pairs = [(case.base, case.target) for case in listed]
    sets = (
        ("site mode, 1,010 cases", pairs, "any", None),
        ("site mode, 60 targets on 3 Mb", on_genome(rng), "any", GENE_SCORING),
        ("site mode, coding, 60 targets on 3 Mb", on_genome(rng), "complete", GENE_SCORING),
    )
    for name, chosen, reading, scoring in sets:
        cases = site_cases(chosen, reading=reading)
        yield name, timed(partial(site_align, cases, scoring, device="cuda"), cells_of(cases))
    base, lengths = random_base(rng, 3_000_000), rng.integers(233, 900, 200)
    for name, cases in (
        ("proteins, 396 loci", loci(rng, 396, 42_181, 486)),
        ("proteins, 200 on 3 Mb", on_base(base, random_proteins(rng, lengths), "+-")),
    ):
        call = partial(protein_align, cases, SCORING, device="cuda")
        yield name, timed(call, cells_of(cases), 2)
    short = [random_pair(LENGTH, seed) for seed in range(PAIRS)]
    call = partial(local_align, short, device="cuda")
    yield "local alignment, 4,000 pairs of 2 kb", timed(call, PAIRS * LENGTH**2)


def commands(folder: Path, tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure commands, and annotation on both devices."""
    genome, cdnas = (read_fasta(folder / f"{name}.fa.gz") for name in ("genome", "cds"))
    proteins = [
        ProteinSequence(one.name, one.codes)
        for one in read_fasta(folder / "proteins.fa.gz", encode_protein)
    ]
    device, model = ("cpu" if tiny else "cuda"), load_sites("fly")
    with tempfile.TemporaryDirectory() as name:
        files = {}
        for key, own in (("genome", genome), ("some", cdnas[:SOME]), ("all", cdnas)):
            files[key] = Path(name, f"{key}.fa")
            own = own[:1] if tiny and key != "genome" else own
            files[key].write_text("".join(f">{one.name}\n{decode(one.codes)}\n" for one in own))
        files["proteins"] = folder / "proteins.fa.gz"
        for title, key, more in (
            (f"spliced-align, {SOME} cDNAs", "some", []),
            (f"spliced-align --coding, {SOME} cDNAs", "some", ["--coding"]),
            (f"spliced-align, {len(cdnas)} cDNAs", "all", []),
            (f"spliced-align, {len(proteins)} proteins", "proteins", []),
        ):
            if tiny and key == "proteins":
                continue
            kind = "--proteins" if key == "proteins" else "--cdnas"
            line = [sys.executable, "-m", "gpu_tools", "spliced-align", kind, files[key]]
            line += ["--genome", files["genome"], "--site-model", "fly", "--device", device]
            line += ["--quiet", *more]
            call = partial(subprocess.run, line, check=True, capture_output=True)
            yield title, {"seconds": timed(call, repeats=1)["seconds"]}
    targets, found = [protein_targets(proteins[: 1 if tiny else None], model)], {}

    def annotate(where: str, search: str) -> None:
        options = AnnotationOptions(search=search)
        found[where, search] = annotate_genome(genome, targets, options, device=where)

    for where in dict.fromkeys((device, "cpu")):
        call = partial(annotate, where, "seeded")
        yield f"annotate, {len(proteins)} proteins, {where}", timed(call, repeats=1)
    if found[device, "seeded"] != found["cpu", "seeded"]:
        raise AssertionError("the devices differ")
    call = partial(annotate, device, "exhaustive")
    yield f"annotate, {len(proteins)} proteins, exhaustive", timed(call, repeats=1, warm=False)


if __name__ == "__main__":
    record.main(measure, needs_folder=True, needs_gpu=True, commands=commands)
