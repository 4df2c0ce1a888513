"""Rows of the tables of matching."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.formatting import Row, ms


def approximate(figures: dict) -> Iterator[Row]:
    """Yield a row a problem of approximate matching: the plan that a search chooses."""
    for name, own in figures.items():
        if name.startswith(("unit", "weighted")):
            size, length = own["chosen"]
            plan = own["plans"][f"size {size}, parts of {length}"]
            costs = "unit costs" if name.startswith("unit") else "costs 2, 3, 4"
            what = f"{costs}, m = {own['m']:,}, n = 2^{own['n'].bit_length() - 1}"
            others = (ms(own.get("published", {}).get(d)) for d in ("O-ASM", "w-SCAN", "w-Shuffle"))
            yield what, ms(plan["kernel_ms"]), f"{plan['tcups']:.1f}", *others


def exact(figures: dict) -> Iterator[Row]:
    """Yield a row a problem of exact matching."""
    for name, own in figures.items():
        if name.startswith("exact"):
            what = f"{own['patterns']:,} patterns, {own['symbols']} symbols"
            others = (ms(own.get("published", {}).get(d)) for d in ("rolling", "prefix sums"))
            yield what, f"{own['matches']:,}", ms(own["kernel_ms"]), *others


def cpu(figures: dict) -> Iterator[Row]:
    """Yield a row a problem on one core: own time and the fastest peer's."""
    for name, own in figures.items():
        if "own_ms" in own:
            peers = {k.removesuffix("_ms"): v for k, v in own.items() if k.endswith("_ms")}
            mine = peers.pop("own")
            others = ", ".join(f"{peer} {ms(value)}" for peer, value in peers.items())
            yield name, ms(mine), others
