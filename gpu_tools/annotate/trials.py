"""The states of a window on the way to its hits, in the order of docs/design/annotation.md.

The chains of words of a window are tried by their cores, then by the near part of the best one,
which is widened to where its loose ends may lie. Nothing is aligned here.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from gpu_tools.annotate.options import Alignment
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import SearchWindow, SeedChain, SeedHit
from gpu_tools.sites.api import SiteCase

PROMISING = 30
"""Least score of a core whose window is aligned, about what chance reaches.

All residues of a part are aligned, or pay for being left out: a gene's outweigh those that lie
elsewhere, words of chance do not outweigh the residues around them. It was chosen on proteins of
worm, fly and *Dictyostelium*, whose hits have cores of 78 or more."""
WEAK = 0.5
"""Share of the least score of a hit below which a chain of words is weak, and its core tried, and
below which a near part is refused: the worm's and the fly's proteins, and those of other kingdoms
in the worm, have the same hits as without it."""
NARROW = 2
"""Ratio of a window to its near part above which that is aligned first: in about one of two cases
more follows, so that a larger part spares nothing."""
NEIGHBOURS = 100
"""Residues of a core on both sides of the best stretch of a chain."""
_BESIDE = 1200
"""Nucleotides of introns among a core's residues on either side."""
_CODON = 3


# First state: chains of words, of which cores refuse those that chance has made.


class Core(NamedTuple):
    """A part of a window, and the residues of the target from `first` to before `last` for it."""

    window: SearchWindow
    first: int
    last: int

    def case(self, case: SiteCase) -> SiteCase:
        """Return the case of the core's residues alone."""
        return replace(case, target=case.target.part(self.first, self.last))


def cores_of(window: SearchWindow, residues: int, least: int) -> dict[SeedChain, Core]:
    """Return the cores of the chains of a window; of no chain if one is not weak."""
    if any(chain.score >= WEAK * least for chain in window.chains):
        return {}
    return {
        chain: _core(window, chain.seed, residues) for chain in window.chains
        if window.start <= chain.seed.start and chain.seed.end <= window.end
    }  # fmt: skip


def _core(window: SearchWindow, seed: SeedHit, residues: int) -> Core:
    """Return the core around the best stretch of a chain."""
    beside = _CODON * NEIGHBOURS + _BESIDE
    low, high = max(seed.start - beside, window.start), min(seed.end + beside, window.end)
    first, last = max(seed.first - NEIGHBOURS, 0), min(seed.last + NEIGHBOURS, residues)
    return Core(window.part(low, high), first, last)


def without(window: SearchWindow, refused: Set[SeedChain]) -> list[SearchWindow]:
    """Return a window without some of its chains; nothing if it had these alone."""
    chains = tuple(chain for chain in window.chains if chain not in refused)
    return [replace(window, chains=chains)] if chains or not refused else []


def is_promising(core: Alignment) -> bool:
    """Return whether more than a core is aligned."""
    return core.score is not None and core.score >= PROMISING


# Later states: a part of a window is aligned.


@dataclass(frozen=True)
class Trial:
    """A window, the part of it that is aligned, and the best chain there.

    Parameters
    ----------
    window : SearchWindow
        All that belongs to it.
    part : SearchWindow
        What is aligned of it.
    offset : int
        Where the sequence that holds the window begins in its record.
    alignment : SplicedAlignment or ProteinAlignment, optional
        The best chain, in its record's coordinates; None before the part is aligned.
    """

    window: SearchWindow
    part: SearchWindow
    offset: int = 0
    alignment: Alignment | None = None

    @classmethod
    def near(cls, window: SearchWindow, offset: int = 0) -> Trial:
        """Return the trial of a window's near part, or of all of the window if that is narrow."""
        near = window.near
        return cls(window, near if len(window) > NARROW * len(near) else window, offset)

    @property
    def interval(self) -> tuple[int, int]:
        """Where the chain lies in the window's sequence."""
        start, end = interval_of(self.alignment)
        return start - self.offset, end - self.offset

    def wanted(self, least: int) -> int:
        """Return the score from which on the part's chain is wanted; `least` is that of a hit.

        Below it a part that is not all of the window holds nothing of a hit in the window.
        """
        return least if self.part == self.window else math.ceil(WEAK * least)

    def widened(self, below: int, above: int) -> Trial | None:
        """Return the trial of as much beside the chain, None if that has been tried."""
        part, window, (start, end) = self.part, self.window, self.interval
        start = max(min(part.start, start - below), window.start)
        end = min(max(part.end, end + above), window.end)
        wide = window.part(start, end)
        return None if wide == part else replace(self, part=wide)

    def ends_beside(
        self, wide: SearchWindow, symbols: tuple[int, int], length: int
    ) -> list[tuple[Core, Core]]:
        """Return the cores of the target's ends, each in the part and in a window wider there.

        The ends have so many `symbols` of the target's `length`, in reading direction.
        """
        part = self.part
        sides = part.part(wide.start, part.end), part.part(part.start, wide.end)
        first, last = sides if part.strand == "+" else sides[::-1]
        ends = (first, 0, symbols[0]), (last, length - symbols[1], length)
        return [
            (Core(part, *stretch), Core(side, *stretch)) for side, *stretch in ends if side != part
        ]

    def long_intron(self, longest: int) -> tuple[int, int] | None:
        """Return the longest intron if it is longer than `longest`."""
        introns = [(a[1], b[0]) for a, b in pairwise(sorted(self.alignment.chain))]
        worst = max(introns, key=lambda intron: intron[1] - intron[0], default=(0, 0))
        return worst if worst[1] - worst[0] > longest else None

    def cut(self, intron: tuple[int, int]) -> list[SearchWindow]:
        """Return both parts of the window, cut in the middle of an intron."""
        middle = sum(intron) // 2 - self.offset
        return self._beside(middle, middle)

    def beside_hit(self) -> list[SearchWindow]:
        """Return the parts of the window beside the chain in which words were found."""
        beside = self._beside(*self.interval)
        return [one for one in beside if one.chains] if self.window.chains else beside

    def with_other_words(self) -> list[SearchWindow]:
        """Return the window without the chains of words in the part; nothing if that is all."""
        part, window = self.part, self.window
        if part == window:
            return []
        inside = {
            chain for chain in window.chains
            if part.start <= chain.start and chain.end <= part.end
        }  # fmt: skip
        return without(window, inside | {window.best})

    def _beside(self, start: int, end: int) -> list[SearchWindow]:
        """Return the window before and behind a place, with the chains that have symbols there.

        They may begin in the hit: the best chain of words of a copy may begin with the hit's words.
        """
        window = self.window
        parts = window.part(window.start, start), window.part(end, window.end)
        return [
            replace(part, chains=tuple(
                chain for chain in part.chains
                if chain.start < part.end and part.start < chain.end
            ))
            for part in parts if len(part) > 0
        ]  # fmt: skip
