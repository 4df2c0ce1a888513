"""Site mode on one core: speed for the sources' average case, a long gene, memory of a long base.

Run ``python -m benchmarks.sites.bench_sites [RECORD.json]``.
Times include tables, chain and alignment
unless said otherwise; only the gene's strand is tried where one is given.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import annotated_records, genes, mutated
from gpu_tools import Sequence, SiteCase, SplicedScoring, load_sites, site_align, tables_of
from gpu_tools.sites.cpu.sweep import sweep

REPEATS = 5
MODEL = load_sites("vertebrate")
SEED = 2026


def average_case(rng) -> tuple[Sequence, Sequence]:
    """Return a base of 42,181 and a target of 1,460 random bases."""
    return Sequence("base", _random(rng, 42_181)), Sequence("target", _random(rng, 1_460))


def _random(rng, length: int):
    return rng.integers(0, 4, length).astype(np.uint8)


def long_gene(rng) -> tuple[Sequence, Sequence, list[tuple[int, int]]]:
    """Return a gene of 50 real exons in about 500 kb, its target at 15 %, and the exons.

    Each exon keeps 150 bases on both sides; introns are shuffled genomic sequence.
    """
    records = annotated_records()
    every = genes(records)
    inner = [(g, k) for g in every for k in range(1, len(g.exons) - 1)]
    chosen = [inner[k] for k in sorted(rng.choice(len(inner), 48, replace=False))]
    chosen = [(every[0], 0), *chosen, (every[0], len(every[0].exons) - 1)]
    background = np.concatenate([r.sequence.codes for r in records])
    parts, exons, length = [], [], 0
    for gene, k in chosen:
        start, end = gene.exons[k]
        low, high = max(start - 150, 0), min(end + 150, len(gene.codes))
        intron = rng.permutation(rng.choice(background, int(rng.integers(8_500, 11_000))))
        exons.append((length + len(intron) + start - low, length + len(intron) + end - low))
        parts += [intron, gene.codes[low:high]]
        length += len(intron) + high - low
    codes = np.concatenate([*parts, background[:3000]])
    coding = np.concatenate([codes[start:end] for start, end in exons])
    return Sequence("gene", codes), Sequence("cdna", mutated(rng, coding, 0.15, False)), exons


def best_of(function) -> float:
    """Return the least time of some calls after one that is not counted."""
    function()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def aligned(base: Sequence, target: Sequence, strands: str, reading: str = "any"):
    """Return the result on one thread."""
    tables = tables_of(base, MODEL, strands, reading=reading)
    (result,) = site_align([SiteCase(base, target, tables)], device="cpu", threads=1)
    return result


def main() -> None:
    """Print the figures; write the record."""
    rng = np.random.default_rng(SEED)
    base, target = average_case(rng)
    cells = len(base) * len(target)
    table = tables_of(base, MODEL, "+")["+"]
    seconds = {
        "sweep alone": best_of(lambda: sweep(base.codes, table, target.codes, SplicedScoring())),
        "one strand": best_of(lambda: aligned(base, target, "+")),
        "both strands": best_of(lambda: aligned(base, target, "+-")),
        "coding, one strand": best_of(lambda: aligned(base, target, "+", "complete")),
    }
    figures = {
        f"42,181 x 1,460, {name}": {"seconds": s, "gcups_a_strand": cells / s / 1e9}
        for name, s in seconds.items()
    }
    gene, cdna, exons = long_gene(rng)
    found = aligned(gene, cdna, "+")
    right = len(set(found.chain) & set(exons))
    figures["long gene"] = {
        "base": len(gene), "target": len(cdna), "exons": len(exons), "exons_right": right,
        "chain": found.n_chain, "seconds": best_of(lambda: aligned(gene, cdna, "+")),
    }  # fmt: skip
    long, short = Sequence("long", _random(rng, 2_000_000)), Sequence("t", _random(rng, 5_000))
    begin = time.perf_counter()
    aligned(long, short, "+")
    figures["2,000,000 x 5,000"] = {
        "seconds": time.perf_counter() - begin,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    for name, values in figures.items():
        print(name, values, sep="\t")
    if len(sys.argv) > 1:
        record.write(sys.argv[1], figures)


if __name__ == "__main__":
    main()
