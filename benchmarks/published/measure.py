"""The published designs on the case set, and on the IL1RAPL1-like case, in one run.

Run ``python -m benchmarks.published.measure [RECORD.json] [--tiny]`` on a machine with a GPU. Every
score is compared with the library's. Rates are nominal cells a second; `mean` and `best` are over
cases, as the sources give them, `total` is all cells by all time. Every fifth case of the set is
measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks import case_sets, record
from benchmarks.published import accelerator1, accelerator2, sequential
from gpu_tools import Case, ExonSet, Sequence, spliced_align

SEQUENTIAL_SHARE = 20
"""One case in 20 is timed sequentially."""


def measure_set(cases: list[Case], repeats: int) -> Iterator[tuple[str, dict]]:
    """Measure all three designs on a set of cases, all of which have candidates.

    All of them have candidates. Each design's scores are checked, which also warms up.
    """
    expected = [result.score for result in spliced_align(cases, device="cpu")]
    some = cases[::SEQUENTIAL_SHARE]
    check(sequential, some, expected[::SEQUENTIAL_SHARE])
    yield "sequential", rates(some, sequential.milliseconds, repeats)
    for name, design in (("accelerator1", accelerator1), ("accelerator2", accelerator2)):
        check(design, cases, expected)
        yield f"{name}_kernel", rates(cases, design.kernel_milliseconds, repeats)
        yield f"{name}_wall", rates(cases, design.wall_milliseconds, repeats)


def check(design, cases: list[Case], expected: list[int]) -> None:
    """Raise if a design's score is not the expected one."""
    for case, score in zip(cases, expected, strict=True):
        if design.score(case) != score:
            raise AssertionError(f"{design.__name__} is wrong on {case.target.name}")


def rates(cases: list[Case], milliseconds, repeats: int) -> dict:
    """Time each case, the median of some runs, and return cells a second over all cases."""
    times = [statistics.median(milliseconds(case) for _ in range(repeats)) for case in cases]
    each = [case.cells / time / 1e6 for case, time in zip(cases, times, strict=True)]
    total = sum(case.cells for case in cases)
    return {
        "cases": len(cases),
        "repeats": repeats,
        "cells": total,
        "milliseconds": round(sum(times), 3),
        "mean_gcups": round(statistics.mean(each), 4),
        "best_gcups": round(max(each), 4),
        "total_gcups": round(total / sum(times) / 1e6, 4),
    }


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the figures of each set of cases."""
    if tiny:
        base, target = Sequence.from_text("b", "ACGTACGTAC"), Sequence.from_text("t", "ACG")
        case = Case(base, target, ExonSet.from_intervals([(0, 3), (5, 9)]))
        yield "tiny", dict(measure_set([case], 1))
        return
    for title, cases in (
        ("published_shape", case_sets.case_set()[::5]),
        ("il1rapl1_like", [case_sets.il1rapl1_like()]),
    ):
        yield title, dict(measure_set(cases, 1))


if __name__ == "__main__":
    record.main(measure, needs_gpu=True)
