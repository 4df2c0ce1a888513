"""Tables of results, checked: numbers are numbers and rows differ, or an error names the line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpu_tools.formats.fields import Location
from gpu_tools.formats.tables import read_table

Check = Callable[[Location, str, str], object]


def count(place: Location, text: str, what: str) -> int:
    """Return an integer that is not negative."""
    number = place.integer(text, what)
    if number < 0:
        raise place.error(f"{what} {number} is negative")
    return number


def fraction(place: Location, text: str, what: str) -> float:
    """Return a number from 0 to 1."""
    number = place.number(text, what)
    if not 0 <= number <= 1:
        raise place.error(f"{what} {text} is out of range", "0 to 1")
    return number


def one_of(*words: str) -> Check:
    """Return the check of a column that holds one of some words."""

    def check(place: Location, text: str, what: str) -> str:
        if text not in words:
            raise place.error(f"{what} {text!r} is unknown", " or ".join(words))
        return text

    return check


def unique(places: Mapping[tuple, int], key: tuple, place: Location) -> None:
    """Note the key of a row; the key of an earlier row is an error."""
    first = places.setdefault(key, place.line)
    if first != place.line:
        raise place.error(f"the row of line {first} again", "a row for each")


def read_checked(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    checks: Mapping[str, Check] | None = None,
    key: Sequence[str] = (),
) -> list[tuple[Location, dict]]:
    """Return the rows of a table and their places.

    Parameters
    ----------
    path : Path
    required, optional : sequence of str
        Columns, see `read_table`.
    checks : mapping of str to callable
        By column: raises for a text that it cannot hold. None is not looked at.
    key : sequence of str
        Columns that together differ between rows.

    Raises
    ------
    InputError
        As `read_table`, for a wrong text, and for two rows of one key.
    """
    found, places = [], {}
    for line, row in read_table(path, required, optional, comments=False):
        place = Location(path, line)
        for name, check in (checks or {}).items():
            if row[name] is not None:
                check(place, row[name], name)
        if key:
            unique(places, tuple(row[name] for name in key), place)
        found.append((place, row))
    return found
