"""One pair of sequences, encoded and scored, as the loops want it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.scoring import AffineScoring
from gpu_tools.sequences import OTHER


class Problem(NamedTuple):
    """Codes of query (rows) and subject (columns), scores by code, penalties."""

    query: NDArray[np.uint8]
    subject: NDArray[np.uint8]
    table: NDArray[np.int32]
    gap_open: int
    gap_extend: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return len(self.query), len(self.subject)

    @property
    def identical(self) -> NDArray[np.bool_]:
        """Whether a code is identical to itself; nucleotide ambiguity codes are not."""
        identical = np.ones(len(self.table), dtype=bool)
        if len(identical) == OTHER + 1:
            identical[OTHER] = False
        return identical


def make_problem(query, subject, scoring: AffineScoring) -> Problem:
    """Return the problem of two arrays of codes."""
    return Problem(query, subject, scoring.table(), scoring.gap_open, scoring.gap_extend)
