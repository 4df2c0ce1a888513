"""How many sites of a model there are in sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.model import GeneSites, SitesPerKb
from gpu_tools.splicing.site_matrix import SiteModel, site_scores

KB = 1000
CHUNK = 1_000_000
"""Nucleotides that are scored at once."""
MOST_CHUNKS = 40
"""Chunks that are looked at, evenly spread."""


def sites_per_kb_of(model: GeneSites, strands: Iterable[NDArray[np.uint8]]) -> SitesPerKb:
    """Count the sites of a model in strands.

    Parameters
    ----------
    model : GeneSites
    strands : iterable of ndarray of uint8
        Codes of each strand in reading direction. Of long ones a sample counts, `MOST_CHUNKS`
        chunks of `CHUNK` nucleotides in all.

    Returns
    -------
    SitesPerKb
        Rounded to two decimals; boundaries that are sites of several kinds count once. Zeros
        without any known nucleotide.
    """
    totals, known = np.zeros(2), 0
    for chunk in _sample(list(strands)):
        known += np.count_nonzero(chunk != OTHER)
        for k, kind in enumerate(("donor", "acceptor")):
            totals[k] += _count(chunk, [getattr(intron, kind) for intron in model.introns])
    return SitesPerKb(*(round(float(n * KB / max(known, 1)), 2) for n in totals))


def _sample(strands: list[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    starts = [(s, k) for s, codes in enumerate(strands) for k in range(0, len(codes), CHUNK)]
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(MOST_CHUNKS, len(starts))).astype(int))
    for number in chosen:
        strand, start = starts[number]
        yield strands[strand][start : start + CHUNK]


def _count(codes: NDArray[np.uint8], sites: list[SiteModel]) -> int:
    passes = [site_scores(codes, site) >= site.cutoff for site in sites]
    return int(np.count_nonzero(np.any(passes, axis=0)))
