"""Parallelism and estimated times of cases: tables of spliced-estimate beside the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gpu_tools.formats.fields import Location
from gpu_tools.report.checked import count, read_checked

ESTIMATE, HISTOGRAMS, CALLS = "estimate.tsv", "estimate_histograms.tsv", "estimate_calls.tsv"
"""Tables of spliced-estimate in the folder of the results, or of a batch."""
COUNTS = (
    "n_exons", "cells", "computed_cells", "groups", "largest_group", "longest_chain", "site_cells",
)  # fmt: skip
SECONDS = ("list_cpu_seconds", "list_gpu_seconds", "site_cpu_seconds", "site_gpu_seconds")
MEASURED = ("measured_seconds", "relative_error")


class CaseParallelism(NamedTuple):
    """A row of spliced-estimate: counts and seconds by their columns, and what was measured."""

    base: str
    target: str
    numbers: dict[str, float]
    measured: float | None
    estimated: float | None


class Bar(NamedTuple):
    """A bar of a histogram: values from `first` to `last`, and how often they occur."""

    first: int
    last: int
    count: int


class Parallelism(NamedTuple):
    """What spliced-estimate told of the cases.

    Attributes
    ----------
    cases : list of CaseParallelism
    histograms : dict of str to list of Bar
        By name, ``exon_length`` and others; bases of several batches count in each.
    """

    cases: list[CaseParallelism]
    histograms: dict[str, list[Bar]]


def read_parallelism(folders: Iterable[Path]) -> Parallelism:
    """Read the tables of spliced-estimate that lie in some folders.

    Parameters
    ----------
    folders : iterable of Path

    Returns
    -------
    Parallelism
        Without cases if there are no tables.

    Raises
    ------
    InputError
        If a table is broken.
    """
    folders = list(folders)
    cases = [case for folder in folders for case in _read_cases(folder / ESTIMATE)]
    return Parallelism(cases, _read_histograms(folder / HISTOGRAMS for folder in folders))


def _read_cases(path: Path) -> list[CaseParallelism]:
    if not path.exists():
        return []
    columns = ("base", "target", *COUNTS, *SECONDS)
    checks = dict.fromkeys(COUNTS, count)
    rows = read_checked(path, columns, MEASURED, checks, ("base", "target"))
    return [_case(place, row) for place, row in rows]


def _case(place: Location, row: dict) -> CaseParallelism:
    numbers = {name: place.number(row[name], name) for name in (*COUNTS, *SECONDS)}
    if None in (row[name] for name in MEASURED):
        return CaseParallelism(row["base"], row["target"], numbers, None, None)
    measured, error = (place.number(row[name], name) for name in MEASURED)
    return CaseParallelism(row["base"], row["target"], numbers, measured, measured * (1 + error))


def _read_histograms(paths: Iterable[Path]) -> dict[str, list[Bar]]:
    columns, counted = ("histogram", "from", "to", "count"), Counter()
    for path in filter(Path.exists, paths):
        checks = dict.fromkeys(columns[1:], count)
        for _, row in read_checked(path, columns, (), checks, columns[:3]):
            first, last, occurrences = (int(row[name]) for name in columns[1:])
            counted[row["histogram"], first, last] += occurrences
    found: dict[str, list[Bar]] = {}
    for (name, first, last), occurrences in sorted(counted.items()):
        found.setdefault(name, []).append(Bar(first, last, occurrences))
    return found


def read_calls(path: Path) -> dict[tuple[str, str], float]:
    """Return the seconds of one call with all cases by mode and kind of device, if they are there.

    Raises
    ------
    InputError
        If the table is broken.
    """
    if not path.exists():
        return {}
    rows = read_checked(path, ("mode", "kind", "seconds"), key=("mode", "kind"))
    return {
        (row["mode"], row["kind"]): place.number(row["seconds"], "seconds") for place, row in rows
    }
