"""Print the tables of docs/matching.md from a record.

Run ``python -m benchmarks.matching.tables benchmarks/results/matching-h200.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

EXACT = {
    "exact K=1": "DNA, 1 pattern",
    "exact K=256": "DNA, 256 patterns",
    "exact K=10000": "DNA, 10,000 patterns",
    "exact K=256, two symbols": "two symbols, 256 patterns",
    "exact K=256, 20 symbols": "20 symbols, 256 patterns",
}
PUBLISHED = ("O-ASM", "w-SCAN", "w-Shuffle")
ON_GPUS = {
    "unit_kernel_ms": "unit costs, kernel",
    "weighted_kernel_ms": "costs 2, 3, 4, kernel",
    "exact_kernel_ms": "exact, kernel",
    "exact_call_ms": "exact, whole call",
    "approximate_call_ms": "unit costs, whole call",
}


def milliseconds(value: float | None) -> str:
    """Return a time with three digits that count, nothing for None."""
    return "" if value is None else f"{float(f'{value:.3g}'):g} ms"


def approximate_rows(figures: dict):
    """Yield a row for each problem of approximate matching: the plan that a search takes."""
    for name, figure in figures.items():
        if not name.startswith(("unit", "weighted")):
            continue
        size, length = figure["chosen"]
        plan = figure["plans"][f"size {size}, parts of {length}"]
        costs = "unit costs" if name.startswith("unit") else "costs 2, 3, 4"
        published = figure.get("published", {})
        yield (
            f"{costs}, m = {figure['m']:,}, n = 2^{figure['n'].bit_length() - 1}",
            milliseconds(plan["kernel_ms"]), f"{plan['tcups']:.1f}",
            *(milliseconds(published.get(design)) for design in PUBLISHED),
        )  # fmt: skip


def exact_rows(figures: dict):
    """Yield a row for each problem of exact matching."""
    for name in filter(figures.__contains__, EXACT):
        figure = figures[name]
        published = figure.get("published", {})
        yield (
            EXACT[name], f"{figure['matches']:,}", milliseconds(figure["kernel_ms"]),
            milliseconds(published.get("rolling")), milliseconds(published.get("prefix sums")),
        )  # fmt: skip


def gpu_rows(figures: dict):
    """Yield a row for each of what was measured on one GPU and on several."""
    runs = [value for value in figures.get("several GPUs", {}).values() if isinstance(value, dict)]
    for name in ON_GPUS if runs else ():
        yield ON_GPUS[name], *(milliseconds(run[name]) for run in runs)


def file_rows(figures: dict):
    """Yield the times of whole processes."""
    for name, value in figures.get("file to table", {}).items():
        yield (
            name.removesuffix("_ms"),
            milliseconds(value) if name.endswith("_ms") else f"{value:,}",
        )


def main() -> None:
    """Print the tables of the record named by the first argument."""
    recorded = json.loads(Path(sys.argv[1]).read_text())
    print(recorded["commit"], *recorded["gpus"])
    for rows in (approximate_rows, exact_rows, gpu_rows, file_rows):
        print()
        for row in rows(recorded["figures"]):
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
