"""Scales: a number for each symbol, or for each pair of neighbouring symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError

DECIMAL_PLACES = 6
"""Decimal places that a score may have."""
LARGEST = 1000
"""Largest magnitude of a score: with all places a score still fits into 32 bits."""
_UNKNOWN = np.iinfo(np.int32).min


def scale_number(text: str) -> Decimal | None:
    """Return a decimal number, None if the text is none that a score may be."""
    try:
        number = Decimal(text)
        places = -number.normalize().as_tuple().exponent
    except (InvalidOperation, TypeError):  # no number, or infinite
        return None
    return number if abs(number) <= LARGEST and places <= DECIMAL_PLACES else None


@dataclass(frozen=True)
class Scale:
    """Scores of symbols, held as whole numbers so that sums of decimals are exact."""

    name: str  # for messages
    # by symbol or by pair of symbols, upper case; ASCII, all keys of one length. A pair's
    # score stands at its second symbol; a sequence's first symbol then scores 0.
    scores: Mapping[str, Decimal]

    @cached_property
    def places(self) -> int:
        """Decimal places of the most precise score."""
        return max(0, *(-score.normalize().as_tuple().exponent for score in self.scores.values()))

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        width = len(next(iter(self.scores)))
        table = np.full((256,) * width, _UNKNOWN, dtype=np.int32)
        for symbols, score in self.scores.items():
            table[tuple(symbols.encode("ascii"))] = int(score.scaleb(self.places))
        return table

    def values(self, symbols: bytes) -> NDArray[np.int32]:
        """Return the scores of symbols, in either case, as multiples of ``10**-places``."""
        upper = np.frombuffer(symbols.upper(), dtype=np.uint8)
        if self._table.ndim == 1:
            values = self._table[upper]
        else:
            values = np.zeros(len(upper), dtype=np.int32)
            values[1:] = self._table[upper[:-1], upper[1:]]
        unknown = np.flatnonzero(values == _UNKNOWN)
        if unknown.size:
            raise self._no_score(upper, int(unknown[0]))
        return values

    def _no_score(self, upper: NDArray[np.uint8], at: int) -> InputError:
        shown = upper[at + 1 - self._table.ndim : at + 1].tobytes().decode("latin-1")
        return InputError(
            f"{shown!r} has no score in the scale {self.name}", position=at + 1,
            expected=f"symbols of {', '.join(list(self.scores)[:12])} ...",
        )  # fmt: skip

    def less(self, constant: Decimal) -> Scale:
        """Return the scale with a constant subtracted from every score.

        A pair scale's first symbol, which has no pair, goes on scoring 0.
        """
        return Scale(self.name, {key: score - constant for key, score in self.scores.items()})

    def text(self, total: int) -> str:
        """Return a sum of values as a decimal number."""
        return format(Decimal(int(total)).scaleb(-self.places).normalize() + 0, "f")

    def smallest(self, score: float) -> int:
        """Return the smallest sum of values that is at least `score`."""
        return int(np.ceil(Decimal(str(score)).scaleb(self.places)))
