"""Scales as tables with the columns ``symbol`` and ``score``."""

from __future__ import annotations

import os
from decimal import Decimal

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.fields import Location
from gpu_tools.formats.tables import read_table
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scales import DECIMAL_PLACES, LARGEST, Scale, scale_number

SUFFIX = ".tsv"


def known_scales() -> list[str]:
    """Return the names of the shipped scales."""
    return sorted(path.stem for path in resource_path("scales").glob(f"*{SUFFIX}"))


def load_scale(name: str | os.PathLike) -> Scale:
    """Return a shipped scale by its name, or read one from a table with columns symbol and score.

    The symbols are single letters, or all of them pairs.

    Raises
    ------
    InputError
        If there is neither such a scale nor such a file, or a line is bad.
    """
    if str(name) in known_scales():
        return read_scale(resource_path("scales", f"{name}{SUFFIX}"), str(name))
    if not os.path.exists(name):  # noqa: PTH110  (no text is an error to it)
        raise InputError(
            f"unknown scale {str(name)!r}{did_you_mean(str(name), known_scales())}",
            expected=f"{', '.join(known_scales())} or a TSV file",
        )
    return read_scale(name, str(name))


def read_scale(path: str | os.PathLike, name: str) -> Scale:
    """Read a scale from a table; see `load_scale`."""
    scores: dict[str, Decimal] = {}
    for line, row in read_table(path, ("symbol", "score")):
        location, symbol = Location(path, line), row["symbol"].upper()
        if not symbol.isascii() or len(symbol) not in (1, 2):
            raise location.error(f"symbol {symbol!r}", "a letter or a pair of letters")
        if scores and len(symbol) != len(next(iter(scores))):
            raise location.error(f"symbol {symbol!r}", "either letters or pairs, not both")
        if symbol in scores:
            raise location.error(f"symbol {symbol!r} occurs twice")
        scores[symbol] = _score(location, row["score"])
    if not scores:
        raise InputError("no symbol", path=path, expected="at least one row of symbol and score")
    return Scale(name, scores)


def _score(location: Location, text: str) -> Decimal:
    location.number(text, "score")
    score = scale_number(text)
    if score is None:
        raise location.error(
            f"score {text} is out of range",
            f"-{LARGEST} to {LARGEST} with at most {DECIMAL_PLACES} decimal places",
        )
    return score
