"""Files of a batch of the workflow: its table of cases, and exons under the names of its bases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.fields import Location
from gpu_tools.formats.tables import read_table, write_table
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus

PathLike = str | os.PathLike


class CaseRow(NamedTuple):
    """A row of a batch's table of cases: names of the sheet, and the base's locus."""

    base: str
    target: str
    locus: Locus


def write_case_rows(path: PathLike, rows: Iterable[CaseRow]) -> None:
    """Write a batch's table of cases; the locus is written as NAME:START-END.

    Raises
    ------
    OutputError
        As `tables.write_table`.
    """
    write_table(path, CaseRow._fields, ((*row[:2], row.locus.name) for row in rows))


def read_case_rows(path: PathLike) -> list[CaseRow]:
    """Read a batch's table of cases.

    Raises
    ------
    InputError
        As `tables.read_table`, or if a locus is not NAME:START-END.
    """
    rows = []
    for line, row in read_table(path, CaseRow._fields, comments=False):
        locus = Locus.parse(row["locus"])
        if locus is None:
            raise Location(path, line).error(f"no locus {row['locus']!r}", "NAME:START-END")
        rows.append(CaseRow(row["base"], row["target"], locus))
    return rows


def exons_of_batches(
    paths: Sequence[PathLike],
    cases: Sequence[PathLike],
    read: Callable[[PathLike], Mapping[str, ExonSet]] = read_exons,
) -> dict[str, ExonSet]:
    """Read the exons of the bases of batches.

    Parameters
    ----------
    paths : sequence of path-like
        Each batch's exons, under the names of its bases (see `Locus.exons_under`).
    cases : sequence of path-like
        Each batch's table of cases.
    read : callable
        Reads a file of exons.

    Returns
    -------
    dict of str to ExonSet
        Exons in the records' coordinates, by the name of the base. A base of several batches has
        those of the first.

    Raises
    ------
    InputError
        As `read` and `read_case_rows`.
    """
    found: dict[str, ExonSet] = {}
    for path, table in zip(paths, cases, strict=True):
        exons = read(path)
        for base, locus in {row.base: row.locus for row in read_case_rows(table)}.items():
            if base not in found:
                found[base] = locus.exons_from(base, exons.get(base, ExonSet.empty()))
    return found
