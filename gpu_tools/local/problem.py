"""One pair of sequences, encoded and scored, and what is searched for in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import OTHER


class Problem(NamedTuple):
    """Codes of query (rows) and subject (columns), scores by code, penalties.

    `identical` says whether a code is identical to itself; nucleotide ambiguity codes are not.
    """

    query: NDArray[np.uint8]
    subject: NDArray[np.uint8]
    table: NDArray[np.int32]
    gap_open: int
    gap_extend: int
    identical: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return len(self.query), len(self.subject)


class Threshold(NamedTuple):
    """Which alignments are of interest: those of at least `least`, or of these only the best.

    With `only_best`, an alignment that scores less than another one is of no interest.
    """

    least: int
    only_best: bool


ALL = Threshold(1, False)
"""All local alignments."""


class Rectangle(NamedTuple):
    """Rows and columns of a part of the matrix, both half-open."""

    top: int
    bottom: int
    left: int
    right: int


class SearchSizes(NamedTuple):
    """Sizes that change how long a search takes and how much memory it needs, never its result.

    `smallest_tile` is the least side of a tile. A tile's first window begins `margin` rows and
    columns before it. `cells_at_once` cells of a traceback are stored, a byte each. Common words
    are looked for in sequences that both have `words_on_cpu` or `words_on_gpu` symbols, see
    `gpu_tools.local.anchors`.
    """

    smallest_tile: int = 64
    margin: int = 128
    cells_at_once: int = 1 << 25
    words_on_cpu: int = 1 << 13
    words_on_gpu: int = 1 << 18


USUAL_SIZES = SearchSizes()


def make_problem(query, subject, scoring: AffineScoring) -> Problem:
    """Return the problem of two arrays of codes."""
    table = scoring.table()
    identical = np.ones(len(table), dtype=bool)
    if len(identical) == OTHER + 1:
        identical[OTHER] = False
    return Problem(query, subject, table, scoring.gap_open, scoring.gap_extend, identical)
