"""Scores along a strand in little memory: one for most boundaries, and a list of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import LIMIT_INT32

CLOSED = -(2**62)
"""Score where a chain may not enter or leave."""


@dataclass(frozen=True, eq=False)
class BoundaryScores:
    """Scores of the boundaries of a strand for one kind of entry or exit.

    Attributes
    ----------
    length : int
        How many boundaries there are.
    usual : int
        Score of each boundary that is not listed; `CLOSED` unless all boundaries are open.
    boundaries : ndarray of int32 or int64, shape (K,)
        The listed boundaries, rising.
    scores : ndarray of int32, shape (K,)
        Their scores, none of them `CLOSED`.
    kinds : ndarray of uint8, shape (K,)
        Their kinds.
    """

    length: int
    usual: int
    boundaries: NDArray = field(repr=False)
    scores: NDArray[np.int32] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def from_array(cls, scores: NDArray, kinds: NDArray[np.uint8] | None = None) -> BoundaryScores:
        """List scores of all boundaries, `CLOSED` where there is none; and kinds, 0 by default.

        Where kinds are given, each open boundary is listed.
        """
        scores, usual = np.asarray(scores), CLOSED
        if kinds is None and len(scores) and not (scores == CLOSED).any():
            usual = int(np.partition(scores, len(scores) // 2)[len(scores) // 2])
            checked_scores(np.array([usual]))
        listed = np.flatnonzero(scores != usual)
        of_kind = np.zeros(len(listed), np.uint8) if kinds is None else np.asarray(kinds)[listed]
        return cls.from_lists(len(scores), usual, listed, scores[listed], of_kind)

    @classmethod
    def from_lists(cls, length: int, usual: int, boundaries, scores, kinds) -> BoundaryScores:
        """Check listed scores and hold them in narrow integers."""
        return cls(
            length, usual, boundaries.astype(boundary_type(length), copy=False),
            checked_scores(scores), kinds.astype(np.uint8, copy=False),
        )  # fmt: skip

    def listed(self, low: int, high: int) -> slice:
        """Return which of the listed boundaries lie in [low, high)."""
        # keys of another type would have the whole array converted
        ends = np.array([low, high], dtype=self.boundaries.dtype)
        return slice(*np.searchsorted(self.boundaries, ends).tolist())

    def open_between(self, low: int, high: int) -> NDArray[np.int64]:
        """Return the open boundaries in [low, high)."""
        if self.usual != CLOSED:
            return np.arange(low, high)
        return self.boundaries[self.listed(low, high)].astype(np.int64)

    def between(self, low: int, high: int, dtype=np.int64, closed: int = CLOSED) -> NDArray:
        """Return the scores of the boundaries in [low, high), `closed` where there is none."""
        made = np.full(high - low, closed if self.usual == CLOSED else self.usual, dtype=dtype)
        part = self.listed(low, high)
        made[self.boundaries[part] - low] = self.scores[part]
        return made

    def kinds_between(self, low: int, high: int) -> NDArray[np.uint8]:
        """Return the kinds of the boundaries in [low, high), 0 where none is listed."""
        made, part = np.zeros(high - low, dtype=np.uint8), self.listed(low, high)
        made[self.boundaries[part] - low] = self.kinds[part]
        return made

    def at(self, boundary: int) -> int:
        """Return the score of a boundary."""
        # a key of another type would have the whole array converted
        k = int(np.searchsorted(self.boundaries, self.boundaries.dtype.type(boundary)))
        is_listed = k < len(self.boundaries) and self.boundaries[k] == boundary
        return int(self.scores[k]) if is_listed else self.usual

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last open boundary, None if there is none."""
        if self.usual != CLOSED:
            return 0, self.length - 1
        return (int(self.boundaries[0]), int(self.boundaries[-1])) if len(self.boundaries) else None

    @cached_property
    def largest(self) -> int:
        """The largest magnitude, 0 if no boundary is open."""
        usual = 0 if self.usual == CLOSED else abs(self.usual)
        return max(usual, int(np.abs(self.scores).max(initial=0)))

    @cached_property
    def highest(self) -> int:
        """The highest score that is listed, 0 if none is above."""
        return int(self.scores.max(initial=0))

    @property
    def arrays(self) -> tuple[int, NDArray, NDArray[np.int32]]:
        """What compiled loops read: usual score, listed boundaries, and their scores."""
        return self.usual, self.boundaries, self.scores


def boundary_type(length: int) -> type:
    """Return the integers that hold numbers up to `length`, that included."""
    return np.int32 if length < 2**31 else np.int64


def checked_scores(scores: NDArray) -> NDArray[np.int32]:
    """Return scores, which are whole numbers of any type, in 32 bits.

    Raises
    ------
    ScoringError
        If one is too large.
    """
    largest = np.abs(scores).max(initial=0)
    if not largest < LIMIT_INT32:
        raise ScoringError(f"a site's score of {largest:.0f} is too large; expected less than 2^30")
    return scores.astype(np.int32, copy=False)
