"""Windows of a genome in which a target may have a gene."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple


class SeedHit(NamedTuple):
    """A stretch of a genome that resembles one of a target, without a gap.

    Attributes
    ----------
    start, end : int
        Nucleotides on the record's forward strand.
    first, last : int
        From its first symbol of the target to behind its last one.
    """

    start: int
    end: int
    first: int
    last: int


class SeedChain(NamedTuple):
    """Words that a target and a genome share one behind the other: what a search found in a window.

    Attributes
    ----------
    start, end : int
        From its first nucleotide to behind its last one, on the record's forward strand.
    score : int
    low, high : int
        The window that it would have if no long intron lay at either end of the gene.
    seed : SeedHit, optional
        Its best stretch without a gap.
    """

    start: int
    end: int
    score: int
    low: int
    high: int
    seed: SeedHit | None = None


@dataclass(frozen=True, order=True)
class SearchWindow:
    """A stretch of a genome that a search hands on for exact alignment.

    Parameters
    ----------
    target : int
        Position of the target among those searched, from 0.
    record : int
        Position of the record in the genome, from 0.
    strand : str
        ``+`` or ``-``.
    start, end : int
        0-based half-open on the record's forward strand.
    score : int
        What the search found there; it ranks the windows of one target.
    chains : tuple of SeedChain
        What the search found there; empty if that is not known.
    """

    target: int
    record: int
    strand: str
    start: int
    end: int
    score: int
    chains: tuple[SeedChain, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return self.end - self.start

    def part(self, start: int, end: int) -> SearchWindow:
        """Return the window of the same target from `start` to `end`."""
        return replace(self, start=start, end=end)

    @property
    def near(self) -> SearchWindow:
        """The part that its best chain needs without long introns, or all of it."""
        best = self.best
        return self.part(max(best.low, self.start), min(best.high, self.end)) if best else self

    @property
    def best(self) -> SeedChain | None:
        """The best of its chains, the first one of equals; None if no chain is known."""
        return max(self.chains, key=lambda chain: chain.score, default=None)
