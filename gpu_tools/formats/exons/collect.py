"""Collects candidate exons line by line into one set a sequence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gpu_tools.model.exon_set import ANY_PHASE, EXON_TYPES, ExonSet

_DTYPES = (np.int64, np.int64, np.bool_, np.float64, np.uint8, np.float64, np.int8)


def exon_type_code(name: str | None) -> int:
    """Return the code of Init, Intr, Term or Sngl, and 0 for any other name."""
    return EXON_TYPES.index(name) if name in EXON_TYPES else 0


def format_number(value: float) -> str:
    """Return the shortest decimal text that reads back as the same number."""
    return np.format_float_positional(value, trim="-")


def exon_rows(exons: ExonSet) -> Iterator[tuple[int, int, str, str, str | None, str | None]]:
    """Yield start, end, strand, score, type and probability; None for what is not known."""
    for k in range(len(exons)):
        probability = exons.probabilities[k]
        yield (
            exons.starts[k], exons.ends[k], "-" if exons.reverse[k] else "+",
            format_number(exons.scores[k]), EXON_TYPES[exons.types[k]] or None,
            None if np.isnan(probability) else format_number(probability),
        )  # fmt: skip


class ExonCollector:
    """Exons by sequence name; in the order in which the sequences were first named."""

    def __init__(self):
        self._rows: dict[str, list[tuple]] = {}

    def add_sequence(self, name: str) -> None:
        """Make a sequence known, also if no exon follows."""
        self._rows.setdefault(name, [])

    def add(
        self,
        name: str,
        interval: tuple[int, int],
        reverse: bool,
        score: float = 0.0,
        exon_type: int = 0,
        probability: float = math.nan,
        phase: int = ANY_PHASE,
    ) -> None:
        """Add an exon, 0-based half-open, to the sequence `name`."""
        row = (*interval, reverse, score, exon_type, probability, phase)
        self._rows.setdefault(name, []).append(row)

    def sets(self) -> dict[str, ExonSet]:
        """Return one set a sequence, or an empty dict if there is no exon at all."""
        if not any(self._rows.values()):
            return {}
        return {name: _to_set(rows) for name, rows in self._rows.items()}


def _to_set(rows: list[tuple]) -> ExonSet:
    columns = zip(*rows, strict=True) if rows else [()] * len(_DTYPES)
    return ExonSet(
        *(np.array(column, dtype) for column, dtype in zip(columns, _DTYPES, strict=True))
    )
