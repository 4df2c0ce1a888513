"""Cores of windows: whether a weak chain of words lies in a gene, asked of few residues.

A window that chance has made is as long as the target asks for, and most of the time of a search
goes to those of long targets. Around a gene's words the neighbouring residues align as well, around
those of chance they cost more than the words bring.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gpu_tools.model.windows import SearchWindow, SeedChain, SeedHit
from gpu_tools.sites.api import SiteCase

WEAK = 0.5
"""Score of a chain of words, as a share of the least score of a hit, below which its core is tried.
"""
SPARED = 3
"""A window has so many times the cells of its core, at least, or the core is not tried."""
LEAST = 0
"""Least score of a core: hits at 30 to 50 % identity have 32 and more, 9 in 10 others less."""
NO_CHAIN = 1 << 28
"""A least score that no chain has, so that none is traced."""
_NEIGHBOURS = 100
_NUCLEOTIDES = 3 * _NEIGHBOURS + 1200


class WindowCore(NamedTuple):
    """A part of a window, and the residues of the target from `first` to before `last` for it."""

    window: SearchWindow
    first: int
    last: int

    def case(self, case: SiteCase) -> SiteCase:
        """Return the question for the residues alone, given that for all of them."""
        codes = case.target.codes[self.first : self.last]
        return replace(case, target=replace(case.target, codes=codes))


def cores_of(window: SearchWindow, residues: int, least: int) -> dict[SeedChain, WindowCore]:
    """Return the cores of a window of weak chains, without chains that are tried as they are.

    Parameters
    ----------
    window : SearchWindow
    residues : int
        Of the target.
    least : int
        Least score of a hit.
    """
    if any(chain.score >= WEAK * least for chain in window.chains):
        return {}
    cores = {chain: _core(window, chain.seed, residues) for chain in window.chains}
    return {chain: core for chain, core in cores.items() if core}


def _core(window: SearchWindow, seed: SeedHit, residues: int) -> WindowCore | None:
    """Return the core around a seed, None if little is spared or the seed is not all there."""
    if seed.start < window.start or seed.end > window.end:
        return None
    low, high = seed.start - _NUCLEOTIDES, seed.end + _NUCLEOTIDES
    part = window.part(max(low, window.start), min(high, window.end))
    first, last = max(seed.first - _NEIGHBOURS, 0), min(seed.last + _NEIGHBOURS, residues)
    core = WindowCore(part, first, last)
    return core if len(window) * residues >= SPARED * len(part) * (last - first) else None
