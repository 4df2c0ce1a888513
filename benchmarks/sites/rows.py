"""Rows of the tables of site mode."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.rows import Row
from benchmarks.formatting import number, seconds


def sites_cpu(figures: dict) -> Iterator[Row]:
    """Yield a row a call of site mode on a CPU."""
    for name, own in figures.items():
        yield name, seconds(own["processor_seconds"]), number(own["gcups_a_core"])


def site_memory(figures: dict) -> Iterator[Row]:
    """Yield a row for each length of a base sequence."""
    for name, own in figures.items():
        yield name, f"{own['peak_megabytes']:,} MB", seconds(own["seconds"])


def whole_calls(figures: dict) -> Iterator[Row]:
    """Yield the times of calls with checkpoints on the GPU, and with rows of all sites there."""
    for name, own in figures.items():
        if name != "about":
            yield name, seconds(own["before"]), seconds(own["after"])
