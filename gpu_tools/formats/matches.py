"""Matches as a table and, beside it, as BED."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple, TextIO

from gpu_tools.formats.fields import bed_line
from gpu_tools.formats.files import open_output
from gpu_tools.formats.tables import write_table


class MatchRow(NamedTuple):
    """One line of the outputs; 0-based half-open, the rest is for the table only."""

    pattern: str
    text: str
    start: int
    end: int
    strand: str
    score: int = 0
    rest: tuple = ()


def write_matches(
    path: str | os.PathLike,
    columns: Sequence[str],
    rows: Iterable[MatchRow],
    bed: str | os.PathLike | None = None,
) -> None:
    """Write matches row by row; the files appear only when complete.

    The table at `path` has 1-based inclusive positions; ``-`` is standard output. BED has 6
    columns; its score is not fitted to 0..1000.
    """
    with open_output(bed) if bed else nullcontext() as stream:
        write_table(path, columns, _written(rows, stream))


def _written(rows: Iterable[MatchRow], stream: TextIO | None) -> Iterator[tuple]:
    for row in rows:
        if stream:
            interval = row.start, row.end
            stream.write(bed_line(row.text, *interval, row.pattern, row.score, row.strand))
        yield (row.pattern, row.text, row.start + 1, row.end, row.strand, *row.rest)
