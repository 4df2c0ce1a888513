"""Site mode on one thread and on two: one case, whose columns they share, and many cases.

Run ``python -m benchmarks.sites.threads [RECORD.json]``. Seconds are by the clock, the least of
some calls; processor seconds are those of all threads together, of the same call: where they do
not grow, the work is shared without loss, whatever else the machine does.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import annotated_records, genes, mutated
from benchmarks.sites.bench_sites import MODEL, SEED, average_case
from gpu_tools import Sequence, SiteCase, site_align, tables_of

REPEATS = 5
THREADS = (1, 2)


def case_sets() -> dict[str, list[SiteCase]]:
    """Return the sources' average case, and 32 human genes with targets at 15 %."""
    rng = np.random.default_rng(SEED)
    average = average_case(rng)
    every = [(g, mutated(rng, g.coding, 0.15, False)) for g in genes(annotated_records())]
    many = [(Sequence("locus", g.codes), Sequence("t", target)) for g, target in every]
    return {
        "42,181 x 1,460, both strands": [_case(*average)],
        "32 human genes, both strands": [_case(*pair) for pair in many],
    }


def _case(base: Sequence, target: Sequence) -> SiteCase:
    return SiteCase(base, target, tables_of(base, MODEL))


def measured(cases: list[SiteCase], threads: int) -> dict:
    """Return clock and processor seconds of the call that took the least time."""
    site_align(cases, device="cpu", threads=threads)
    calls = []
    for _ in range(REPEATS):
        begin = time.perf_counter(), time.process_time()
        site_align(cases, device="cpu", threads=threads)
        calls.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    seconds, processor = min(calls)
    return {"threads": threads, "seconds": seconds, "processor_seconds": processor}


def main() -> None:
    """Print the rows; write the record."""
    found = [
        {"cases": name} | measured(cases, threads)
        for name, cases in case_sets().items() for threads in THREADS
    ]  # fmt: skip
    for line in found:
        print("\t".join(map(str, line.values())))
    if len(sys.argv) > 1:
        record.write(sys.argv[1], {"threads": found})


if __name__ == "__main__":
    main()
