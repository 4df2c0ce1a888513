"""Listed candidates with free ends and those that translate, on both devices.

Run ``python -m benchmarks.spliced.bench_rows [RECORD.json]``. Cells are nominal. The first call is
not timed; the devices' results are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

from benchmarks import record
from benchmarks.case_sets import PUBLISHED, SMALL, Shape, case_set
from benchmarks.spliced.bench_spliced import has_gpu
from benchmarks.timing import median_seconds
from gpu_tools import Case, SplicedScoring, spliced_align

WAYS = {
    "free ends": {"scoring": SplicedScoring(ends="free")},
    "incomplete reading": {"reading": "incomplete"},
}
DEVICES = ("cuda", "cpu")


def measure(shape: Shape = PUBLISHED) -> Iterable[tuple[str, dict]]:
    """Yield name and figures of each measurement."""
    cases = sorted(case_set(shape), key=lambda case: case.cells)
    chosen = {"set": cases, "median case": [cases[len(cases) // 2]], "largest case": cases[-1:]}
    for way, options in WAYS.items():
        for name, own in chosen.items():
            yield f"{way}, {name}", compared(own, **options)


def compared(cases: list[Case], **options) -> dict:
    """Time a call on each device; raise if the results differ."""
    found, cells = {}, sum(case.cells for case in cases)
    figures = {"cases": len(cases), "cells": cells}
    for device in DEVICES:

        def call(device=device):
            found[device] = spliced_align(cases, device=device, **options)

        seconds = median_seconds(call, 1)
        figures[device] = {"seconds": round(seconds, 6), "gcups": round(cells / seconds / 1e9, 3)}
    if found["cuda"] != found["cpu"]:
        raise AssertionError("the devices differ")
    return figures


def main() -> None:
    """Print the figures; write the record."""
    if not has_gpu():
        print("there is no GPU")
        return
    record.write_each(measure(), *sys.argv[1:2])


@pytest.mark.skipif(not has_gpu(), reason="needs a GPU")
def test_tiny():
    """Every figure is there, at a size that takes no time; the devices agree."""
    assert all(figure["cells"] for _, figure in measure(SMALL))


if __name__ == "__main__":
    main()
