"""Windows of a genome in which a target may have a gene."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    chains : tuple of (int, int)
        Where what was found lies, as `start` and `end`; empty if that is not known.
    """

    target: int
    record: int
    strand: str
    start: int
    end: int
    score: int
    chains: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return self.end - self.start
