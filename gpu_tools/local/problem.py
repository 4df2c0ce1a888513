"""One pair of sequences, encoded and scored, as the loops want it."""

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


class Worth(NamedTuple):
    """Which alignments are worth finding: of at least `least`, of these perhaps only the best.

    Then none that scores less than another one is worth anything.
    """

    least: int
    only_best: bool


ALL = Worth(1, False)


def make_problem(query, subject, scoring: AffineScoring) -> Problem:
    """Return the problem of two arrays of codes."""
    table = scoring.table()
    identical = np.ones(len(table), dtype=bool)
    if len(identical) == OTHER + 1:
        identical[OTHER] = False
    return Problem(query, subject, table, scoring.gap_open, scoring.gap_extend, identical)
