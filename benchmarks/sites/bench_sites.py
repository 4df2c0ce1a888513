"""Site mode on a CPU and on a GPU beside it: one core, several threads, long genes, many cases.

Run ``python -m benchmarks.sites.bench_sites [RECORD.json] [--part gpu|coding] [--tiny]``.
``coding`` times the kernel of chains that translate beside whole calls. Cells are base length times
target length for each strand tried. Times include chains and alignments; sites are scored before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import annotated_records, genes, mutated
from benchmarks.case_sets import case_set
from benchmarks.sites.kernels import coding_kernel
from benchmarks.timing import call_seconds
from gpu_tools import Sequence, SiteCase, load_sites, site_align, tables_of
from gpu_tools.model.scoring import GENE_SCORING

MODEL = load_sites("vertebrate")
SEED = 2026
FLANK = 150
"""Bases that an exon of the long gene retains on both sides."""


def random_case(rng, base: int, target: int) -> tuple[Sequence, Sequence]:
    """Return a base and a target of random nucleotides."""
    first, second = (rng.integers(0, 4, n).astype(np.uint8) for n in (base, target))
    return Sequence("base", first), Sequence("target", second)


def long_gene(rng, count: int = 50) -> tuple[Sequence, Sequence, list[tuple[int, int]]]:
    """Return a gene of real exons, its target at 15 %, and the exons; 50 are in about 500 kb.

    Introns are shuffled genomic sequence.
    """
    records = annotated_records()
    every = genes(records)
    inner = [(g, k) for g in every for k in range(1, len(g.exons) - 1)]
    chosen = [inner[k] for k in sorted(rng.choice(len(inner), count - 2, replace=False))]
    chosen = [(every[0], 0), *chosen, (every[0], len(every[0].exons) - 1)]
    background = np.concatenate([r.sequence.codes for r in records])
    parts, exons, length = [], [], 0
    for gene, k in chosen:
        start, end = gene.exons[k]
        low, high = max(start - FLANK, 0), min(end + FLANK, len(gene.codes))
        intron = rng.permutation(rng.choice(background, int(rng.integers(8_500, 11_000))))
        exons.append((length + len(intron) + start - low, length + len(intron) + end - low))
        parts += [intron, gene.codes[low:high]]
        length += len(intron) + high - low
    codes = np.concatenate([*parts, background[:3000]])
    coding = np.concatenate([codes[start:end] for start, end in exons])
    return Sequence("gene", codes), Sequence("cdna", mutated(rng, coding, 0.15, False)), exons


def site_cases(pairs, strands: str = "+-", reading: str = "any") -> list[SiteCase]:
    """Return cases of site mode; sites of a base object that repeats are scored once."""
    bases = {id(base): base for base, _ in pairs}
    tables = {k: tables_of(base, MODEL, strands, reading=reading) for k, base in bases.items()}
    return [SiteCase(base, target, tables[id(base)]) for base, target in pairs]


def timed(
    cases: list[SiteCase], device: str, threads: int | None = None, repeats: int = 5, scoring=None
) -> dict:
    """Return the least time of some calls of the public function, and of the processor's time.

    The processor's time says what a core can do where the machine has other work, too.
    """
    busy = []

    def call() -> list:
        begin = time.process_time()
        found = site_align(cases, scoring, device=device, threads=threads)
        busy.append(time.process_time() - begin)
        return found

    least, cells = min(call_seconds(call, repeats)), sum(case.cells for case in cases)
    figures = {"seconds": round(least, 6), "gcups": round(cells / least / 1e9, 3)}
    if device != "cpu":
        return figures
    core = {"processor_seconds": round(min(busy), 6), "gcups_a_core": cells / min(busy) / 1e9}
    return figures | {name: round(value, 3) for name, value in core.items()}


def found_exons(case: SiteCase, exons, device: str) -> dict:
    """Return how many of the exons of a gene are right."""
    (found,) = site_align([case], device=device)
    return {"exons": len(exons), "exons_right": len(set(found.chain) & set(exons))}


def human_genes(rng, count: int | None) -> list[SiteCase]:
    """Return human genes with targets at 15 %, both strands."""
    every = genes(annotated_records())[:count]
    targets = (mutated(rng, gene.coding, 0.15, False) for gene in every)
    return site_cases(
        [(Sequence("l", g.codes), Sequence("t", t)) for g, t in zip(every, targets, strict=True)]
    )


def many_targets(rng, tiny: bool) -> list[tuple[Sequence, Sequence]]:
    """Return eight random targets of 1 to 2 kb on one megabase."""
    lengths = rng.integers(50, 100, 2) if tiny else rng.integers(1_000, 2_000, 8)
    base, _ = random_case(rng, 2_000 if tiny else 1_000_000, 1)
    return [(base, random_case(rng, 1, int(length))[1]) for length in lengths]


def on_genome(rng) -> list[tuple[Sequence, Sequence]]:
    """Return 60 random targets of some 1,700 nucleotides on three megabases."""
    base, _ = random_case(rng, 3_000_000, 1)
    return [(base, random_case(rng, 1, int(n))[1]) for n in rng.integers(700, 2_700, 60)]


def many_loci(rng, tiny: bool) -> list[tuple[Sequence, Sequence]]:
    """Return pairs of the usual size, each a locus of its own."""
    count, sizes = (1, (12, 3)) if tiny else (396, (42_181, 1_460))
    return [random_case(rng, *sizes) for _ in range(count)]


def measure_coding(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure chains that translate on a GPU: the kernel alone, and whole calls."""
    rng = np.random.default_rng(SEED)
    sets = ("loci", many_loci(rng, tiny)), ("genome", [] if tiny else on_genome(rng))
    for name, pairs in sets[: 1 if tiny else 2]:
        made = site_cases(pairs, "+" if tiny else "+-", "complete")
        yield f"coding_{name}_kernel", coding_kernel(made, GENE_SCORING)
        yield f"coding_{name}_library", timed(made, "cuda", repeats=2, scoring=GENE_SCORING)


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure a CPU."""
    rng, sizes = np.random.default_rng(SEED), (2_000, 100) if tiny else (42_181, 1_460)
    pair, name = random_case(rng, *sizes), "{:,} x {:,}".format(*sizes)
    for strands in ("+", "+-"):
        for reading in ("any", "complete"):
            figures = timed(site_cases([pair], strands, reading), "cpu", 1)
            yield f"{name}, strands {strands}, reading {reading}", figures
    gene, cdna, exons = long_gene(rng, 3 if tiny else 50)
    (case,) = site_cases([(gene, cdna)], "+")
    right = found_exons(case, exons, "cpu")
    yield "long gene", {"base": len(gene), "target": len(cdna), **right, **timed([case], "cpu", 1)}
    many = human_genes(rng, 1 if tiny else None)
    for threads in (1, 2):
        yield f"human genes, {threads} threads", timed(many, "cpu", threads)
    pairs, scoring = many_targets(rng, tiny), GENE_SCORING
    for reading, threads in (("any", 1), ("any", 2), ("complete", 1), ("incomplete", 1)):
        figures = timed(site_cases(pairs, reading=reading), "cpu", threads, 3, scoring)
        yield f"eight targets, free-target, reading {reading}, {threads} threads", figures
    long = random_case(rng, *((3_000, 50) if tiny else (2_000_000, 5_000)))
    yield "long base", timed(site_cases([long], "+"), "cpu", 1, 1)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure a GPU; results are compared with the CPU's."""
    rng = np.random.default_rng(SEED)
    if tiny:
        yield "some_cases_library", compared(site_cases([random_case(rng, 24, 5)], "+"))
        return
    pairs = [(case.base, case.target) for case in case_set()]
    cases = site_cases(pairs)
    yield "some_cases_library", compared(cases[:101])
    yield "case_set_library", timed(cases, "cuda", repeats=3)
    for name, chosen, reading in (
        ("case_set_free_library", pairs, "any"),
        ("genome_library", on_genome(rng), "any"),
        ("coding_library", many_targets(rng, tiny), "complete"),
    ):
        made = site_cases(chosen, reading=reading)
        yield name, timed(made, "cuda", repeats=3, scoring=GENE_SCORING)
    gene, cdna, exons = long_gene(rng)
    (case,) = site_cases([(gene, cdna)], "+")
    right = found_exons(case, exons, "cuda")
    yield "long_gene_library", {**timed([case], "cuda"), **right}


def compared(cases: list[SiteCase]) -> dict:
    """Time the public function on both devices; raise if the results differ."""
    if site_align(cases, device="cuda") != site_align(cases, device="cpu"):
        raise AssertionError("the devices differ")
    both = {name: timed(cases, name, repeats=1) for name in ("cuda", "cpu")}
    return {**both, "equal_cases": len(cases)}


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu, coding=measure_coding)
