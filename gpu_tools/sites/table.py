"""Where exons may begin and end on a strand, and what that scores.

Boundary i lies before nucleotide i; m nucleotides have the boundaries 0 to m. A chain enters its
first exon at a *first* entry and the others at an *inner* one (an acceptor). It leaves its last
exon at a *last* exit and the others at an *inner* one (a donor).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import LIMIT_INT32

CLOSED = -(2**62)
"""Score where a chain may not enter or leave."""
FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT = 1, 2, 4, 8


class IntronClass(NamedTuple):
    """Introns of one kind that are at least so long.

    Attributes
    ----------
    kind : int
        Kind of the sites at both ends; exits and entries of different kinds make no intron.
    min_length : int
        Shortest intron.
    penalty : int
        Subtracted for the intron; of all classes an intron belongs to, the least counts.
    rising : tuple of (int, int)
        How the penalty grows with the length: lines (extra, every), see `penalty_between`. The
        first line's extra is 0; `extra` rises from line to line, and each `every` is a multiple of
        the one before. Without lines the penalty is constant.
    """

    kind: int
    min_length: int
    penalty: int
    rising: tuple[tuple[int, int], ...] = ()

    def penalty_between(self, exits: NDArray[np.int64], entry: int) -> NDArray[np.int64]:
        """Return the penalties of introns from some exits to an entry, all of them long enough.

        A line adds `extra` points, and one point for each multiple of `every` behind the shortest
        intron, up to the entry. The least line counts.
        """
        shortest = np.asarray(exits) + self.min_length
        lines = [extra + entry // every - shortest // every for extra, every in self.rising]
        return self.penalty + np.min(lines or [np.zeros_like(shortest)], axis=0)

    @property
    def largest_step(self) -> int:
        """The largest magnitude that is added to a row at a time."""
        return abs(self.penalty) + max((extra for extra, _ in self.rising), default=0)


@dataclass(frozen=True)
class SiteTable:
    """Scores at the boundaries of one strand of a base sequence, in reading direction.

    Attributes
    ----------
    first_entry, inner_entry, inner_exit, last_exit : ndarray of int64, shape (m + 1,)
        Score of each boundary, `CLOSED` where the chain may not do that.
    introns : tuple of IntronClass
        Which introns there are.
    entry_kind, exit_kind : ndarray of uint8, shape (m + 1,), optional
        Kind of each inner entry and exit, 0 by default.
    stops : ndarray of bool, shape (5, 5, 5), optional
        Which words of three codes are stop codons. If given, chains must translate: whole codons,
        no stop among them but for the last one, the first and the last codon not split by an
        intron, none in three exons, at least two in all.
    """

    first_entry: NDArray[np.int64] = field(repr=False)
    inner_entry: NDArray[np.int64] = field(repr=False)
    inner_exit: NDArray[np.int64] = field(repr=False)
    last_exit: NDArray[np.int64] = field(repr=False)
    introns: tuple[IntronClass, ...]
    entry_kind: NDArray[np.uint8] = field(default=None, repr=False)
    exit_kind: NDArray[np.uint8] = field(default=None, repr=False)
    stops: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self):
        for name in ("entry_kind", "exit_kind"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(len(self.first_entry), dtype=np.uint8))
        largest = max(self.largest_scores())
        if largest >= LIMIT_INT32:
            raise ScoringError(f"a site's score of {largest} is too large; expected less than 2^30")

    @property
    def scores(self) -> tuple[NDArray[np.int64], ...]:
        """The four arrays of scores, in the order of the flags."""
        return self.first_entry, self.inner_entry, self.inner_exit, self.last_exit

    def largest_scores(self) -> list[int]:
        """Return the largest magnitudes of the four kinds of scores, then of the penalties."""
        largest = [int(np.abs(s[s != CLOSED]).max(initial=0)) for s in self.scores]
        return [*largest, max((intron.largest_step for intron in self.introns), default=0)]

    @property
    def length(self) -> int:
        """Nucleotides of the strand."""
        return len(self.first_entry) - 1

    def flags(self) -> NDArray[np.uint8]:
        """Return what a chain may do at each boundary, one bit a kind of entry or exit."""
        flags = np.zeros(self.length + 1, dtype=np.uint8)
        for bit, scores in zip(
            (FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT), self.scores, strict=True
        ):
            flags |= np.where(scores == CLOSED, 0, bit).astype(np.uint8)
        return flags

    def has_chain(self) -> bool:
        """Return whether an exon can be entered as the first and left as the last."""
        entries = np.flatnonzero(self.first_entry != CLOSED)
        exits = np.flatnonzero(self.last_exit != CLOSED)
        return bool(len(entries) and len(exits) and entries[0] < exits[-1])
