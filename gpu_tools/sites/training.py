"""Training of site models from annotated sequences."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.annotated_strands import strands_of
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.sequences import encode
from gpu_tools.model.translation import STOP_CODONS
from gpu_tools.sites.density import sites_per_kb_of
from gpu_tools.sites.model import LEAST_EVERY, SITE_FORMAT, SITE_VERSION, sites_from_dict
from gpu_tools.splicing.site_estimation import Window, site_matrix

ACCEPTOR, DONOR = Window(30, 3, ("AG",), -2), Window(3, 6, ("GT", "GC"), 0)
LEAST_SHORTEST, LARGEST_SHORTEST = 20, 60
"""Bounds of the least length of an intron; what annotations have below bridges frameshifts."""
ENOUGH_FOR_SHORTEST = 1000
"""Introns from which their least length is estimated."""
MINOR_DONOR, MINOR_ACCEPTOR = "ATATCCTT", "CCAC"
"""Consensus of the introns AT-AC at their first and at their last nucleotides."""


@dataclass(frozen=True)
class SiteDesign:
    """The choices that training does not estimate.

    Attributes
    ----------
    acceptor, donor : Window
        Columns and words of the sites.
    site_weight : float
        Pseudo-observations of the background in each column.
    cutoff, acceptor_cutoff : float
        Smallest score of a donor and of an acceptor in bits, so low that only hopeless ones are
        spared. Of an acceptor's many columns true ones score as low as -12.3.
    points_per_bit : float
        Weight of the sites.
    shortest, penalty : int
        Least length of an intron, where few are seen, and the penalty of introns.
    rising : tuple of (int, int)
        How the penalty rises with the length, see `gpu_tools.sites.table.IntronClass`; distances
        are powers of two, which can be halved.
    rising_length : int
        Upper quartile of the intron lengths that `rising` is for; where introns are shorter,
        penalties rise faster.
    most_doublings : int
        How often the distances of `rising` are halved at most: each halving doubles the work.
    anywhere : int
        Points for beginning without a start codon, and for ending without a stop codon.
    consensus_bits, other_bits : float
        Score of a nucleotide that agrees with the consensus of the introns AT-AC, and of another.
    consensus_cutoff : float
        Smallest score of their sites: they are rare, and every boundary counts against them.
    """

    acceptor: Window = ACCEPTOR
    donor: Window = DONOR
    site_weight: float = 12.0
    cutoff: float = -10.0
    acceptor_cutoff: float = -14.0
    points_per_bit: float = 0.85
    shortest: int = 30
    penalty: int = 14
    rising: tuple[tuple[int, int], ...] = ((0, 1024), (4, 8192), (8, 65536))
    rising_length: int = 700
    most_doublings: int = 2
    anywhere: int = -8
    consensus_bits: float = 1.5
    other_bits: float = -2.5
    consensus_cutoff: float = -1.0


def train_sites(
    records: Iterable[AnnotatedSequence], name: str, source: str, design: SiteDesign | None = None
) -> dict[str, Any]:
    """Estimate a site model: matrices, lengths of introns, sites per kb.

    Parameters
    ----------
    records : iterable of AnnotatedSequence
        What to train on.
    name, source : str
        What the model is called, and what it was trained on.
    design : SiteDesign, optional
        Choices that are not estimated.

    Returns
    -------
    dict
        Content of the model's JSON file.
    """
    design = design or SiteDesign()
    strands = [strand for record in records for strand in strands_of(record)]
    donor = strands, "donors", design.donor, design.site_weight, design.cutoff
    acceptor = strands, "acceptors", design.acceptor, design.site_weight, design.acceptor_cutoff
    major = {"donor": site_matrix(*donor), "acceptor": site_matrix(*acceptor)}
    lengths = np.array([end - start for s in strands for start, end in s.distinct_introns])
    lengths = lengths[lengths >= LEAST_SHORTEST]
    quartile = float(np.percentile(lengths, 75)) if len(lengths) else design.rising_length
    introns = shortest_intron(lengths, design), rising_penalties(quartile, design)
    content = site_model(name, source, major, introns, design)
    per_kb = sites_per_kb_of(sites_from_dict(content), [strand.codes for strand in strands])
    return content | {"sites_per_kb": per_kb._asdict()}


def site_model(
    name: str, source: str, major: dict[str, Any], introns: tuple[int, list], design: SiteDesign
) -> dict[str, Any]:
    """Return a site model with given matrices of the introns GT-AG.

    Parameters
    ----------
    name, source : str
        What the model is called, and what it is made from.
    major : dict
        The sites ``donor`` and ``acceptor``, see `gpu_tools.splicing.site_estimation.site_matrix`.
    introns : (int, list of list of int)
        Least length of an intron, and how the penalties rise.
    design : SiteDesign
        Choices that are not estimated; its introns AT-AC are the second kind.

    Returns
    -------
    dict
        Content of the model's JSON file.
    """
    minor = {
        "donor": _consensus(MINOR_DONOR, 0, slice(0, 2), design),
        "acceptor": _consensus(MINOR_ACCEPTOR, len(MINOR_ACCEPTOR), slice(-2, None), design),
    }
    lengths = {
        "from": [introns[0]], "penalties": [design.penalty], "rising": introns[1],
    }  # fmt: skip
    return {
        "format": SITE_FORMAT, "version": SITE_VERSION, "name": name, "source": source,
        "units": "bits", "points_per_bit": design.points_per_bit,
        "introns": [major | lengths, minor | lengths],
        "start": 0, "stop": 0, "begin": design.anywhere, "end": design.anywhere,
        "stops": list(STOP_CODONS),
    }  # fmt: skip


def shortest_intron(lengths: NDArray[np.int64], design: SiteDesign) -> int:
    """Return the least length of introns: a tenth less than all but one of a thousand have.

    Parameters
    ----------
    lengths : ndarray of int64
        Lengths of distinct introns. Annotations hold errors: one of a thousand may be shorter
        than the result. With fewer than `ENOUGH_FOR_SHORTEST` it is at most the design's.
    design : SiteDesign

    Returns
    -------
    int
        From `LEAST_SHORTEST` to `LARGEST_SHORTEST`.
    """
    few = len(lengths) < ENOUGH_FOR_SHORTEST
    usual = np.sort(lengths)[len(lengths) // 1000] * 9 // 10 if len(lengths) else design.shortest
    largest = min(design.shortest, LARGEST_SHORTEST) if few else LARGEST_SHORTEST
    return int(min(max(usual, LEAST_SHORTEST), largest))


def rising_penalties(quartile: float, design: SiteDesign) -> list[list[int]]:
    """Return how penalties rise where three of four introns are at most `quartile` long.

    The distances of the design's lines are halved as often as the quartile is half of
    `design.rising_length`, rounded, but not more often than `design.most_doublings`, and none
    below `LEAST_EVERY`.
    """
    doublings = round(math.log2(design.rising_length / quartile))
    divisor = 2 ** min(max(doublings, 0), design.most_doublings)
    while divisor > 1 and design.rising and design.rising[0][1] // divisor < LEAST_EVERY:
        divisor //= 2
    return [[extra, every // divisor] for extra, every in design.rising]


def _consensus(word: str, before: int, fixed: slice, design: SiteDesign) -> dict[str, Any]:
    """Return a matrix that favours a word and demands a part of it."""
    scores = np.full((len(word), 4), design.other_bits)
    scores[np.arange(len(word)), encode(word)] = design.consensus_bits
    rows = scores.tolist()
    for k in range(*fixed.indices(len(word))):
        rows[k] = [0.0 if code == encode(word)[k] else None for code in range(4)]
    return {"before": before, "scores": rows, "cutoff": design.consensus_cutoff}
