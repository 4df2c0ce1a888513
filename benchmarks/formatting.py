"""How figures stand in tables."""

from __future__ import annotations

import contextlib
import string
from collections.abc import Callable, Iterator

Row = tuple[str, ...]


def ms(value: float | None) -> str:
    """Return a time with three digits that count; nothing for None."""
    if value is None:
        return ""
    return f"{value:,.0f} ms" if value >= 100 else f"{float(f'{value:.3g}'):g} ms"


def seconds(value: float) -> str:
    """Return a time in seconds, as milliseconds below one second."""
    return ms(1e3 * value) if value < 1 else f"{float(f'{value:.3g}'):g} s"


def number(value: float) -> str:
    """Return a number with three digits that count, or all of an integer's."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):g}"


CONVERSIONS = {
    "t": seconds, "m": ms, "n": number, "p": lambda share: f"{100 * share:.2g} %",
    "M": lambda nucleotides: f"{nucleotides / 1e6:.3g}",
}  # fmt: skip


class _Cells(string.Formatter):
    """Format strings with conversions: s, ms, numbers, shares and millions."""

    def convert_field(self, value, conversion):
        return CONVERSIONS[conversion](value) if conversion else value


def rows_by(cells: str, part: str = "") -> Callable[[dict], Iterator[Row]]:
    """Return a function that yields a row for each figure whose name begins with `part`.

    `cells` are format strings between bars. They name the entries of a figure, its ``name``, and
    its ``kind``, which is the name without the number behind it. A figure that lacks an entry has
    no row.
    """

    def rows(figures: dict) -> Iterator[Row]:
        for name, own in figures.items():
            if name.startswith(part) and isinstance(own, dict):
                named = {"name": name, "kind": name.rpartition(" ")[0]} | own
                with contextlib.suppress(KeyError):
                    yield tuple(_Cells().vformat(cell, (), named) for cell in cells.split(" | "))

    return rows
