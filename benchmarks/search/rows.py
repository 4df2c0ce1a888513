"""Rows of the tables of the search for windows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.rows import Row


def recall(figures: dict) -> Iterator[Row]:
    """Yield a row a kind of targets, data set and identity: genes in windows, and their size."""
    for kind in ("proteins", "cdnas"):
        for row in _of(figures, kind):
            yield (
                f"{kind} of {row['data']}, {row['identity']} %", str(row["genes"]),
                str(row["whole"]), str(row["part"]), f"{row['windows']:.2f}",
                f"{row['median_length']:,}", f"{100 * row['share_of_cells']:.2g} %",
                f"{row['processor_seconds']:.2g} s",
            )  # fmt: skip


def exhaustive(figures: dict) -> Iterator[Row]:
    """Yield a row a data set and identity: the same alignments in windows as in whole pieces."""
    for row in _of(figures, "exhaustive"):
        yield (
            f"{row['data']}, {row['identity']} %", str(row["credible"]), str(row["same_score"]),
            str(row["same_structure"]), f"{row['processor_seconds']:.0f} s",
            f"{row['processor_seconds_in_windows']:.1f} s",
        )  # fmt: skip


def speed(figures: dict) -> Iterator[Row]:
    """Yield a row a genome: index and search."""
    for row in _of(figures, "speed"):
        yield (
            f"{row['genome']}, {row['targets']:,} proteins", f"{row['index_mb']:,} MB",
            f"{row['index_processor_seconds']:.0f} s", f"{row['search_processor_seconds']:.0f} s",
            f"{row['index_seconds']:.0f} s", f"{row['search_seconds']:.0f} s",
        )  # fmt: skip


def _of(figures: dict, part: str) -> list[dict]:
    return [row for name, row in figures.items() if name.rpartition(" ")[0] == part]
