"""Training of site models from annotated sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_tools.model.annotated_strands import strands_of
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.sequences import encode
from gpu_tools.model.translation import STOP_CODONS
from gpu_tools.sites.model import SITE_FORMAT, SITE_VERSION
from gpu_tools.splicing.site_estimation import Window, site_matrix

ACCEPTOR, DONOR = Window(30, 3, ("AG",), -2), Window(3, 6, ("GT", "GC"), 0)
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
    cutoff : float
        Smallest score of a site in bits, so low that it only spares hopeless ones.
    points_per_bit : float
        Weight of the sites.
    shortest, penalty : int
        Least length of an intron and its penalty.
    rising : tuple of (int, int)
        How the penalty grows with the length, see `gpu_tools.sites.table.IntronClass`.
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
    points_per_bit: float = 0.85
    shortest: int = 30
    penalty: int = 12
    rising: tuple[tuple[int, int], ...] = ((0, 1 << 10), (4, 1 << 13), (8, 1 << 16))
    anywhere: int = -8
    consensus_bits: float = 1.5
    other_bits: float = -2.5
    consensus_cutoff: float = -1.0


def train_sites(
    records: Iterable[AnnotatedSequence], name: str, source: str, design: SiteDesign | None = None
) -> dict[str, Any]:
    """Estimate the matrices of a site model.

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
    weights = design.site_weight, design.cutoff
    strands = [strand for record in records for strand in strands_of(record)]
    major = {
        "donor": site_matrix(strands, "donors", design.donor, *weights),
        "acceptor": site_matrix(strands, "acceptors", design.acceptor, *weights),
    }
    minor = {
        "donor": _consensus(MINOR_DONOR, 0, slice(0, 2), design),
        "acceptor": _consensus(MINOR_ACCEPTOR, len(MINOR_ACCEPTOR), slice(-2, None), design),
    }
    lengths = {"from": [design.shortest], "penalties": [design.penalty]}
    lengths["rising"] = [list(line) for line in design.rising]
    return {
        "format": SITE_FORMAT, "version": SITE_VERSION, "name": name, "source": source,
        "units": "bits", "points_per_bit": design.points_per_bit,
        "introns": [major | lengths, minor | lengths],
        "start": 0, "stop": 0, "begin": design.anywhere, "end": design.anywhere,
        "stops": list(STOP_CODONS),
    }  # fmt: skip


def _consensus(word: str, before: int, fixed: slice, design: SiteDesign) -> dict[str, Any]:
    """Return a matrix that favours a word and demands a part of it."""
    scores = np.full((len(word), 4), design.other_bits)
    scores[np.arange(len(word)), encode(word)] = design.consensus_bits
    rows = scores.tolist()
    for k in range(*fixed.indices(len(word))):
        rows[k] = [0.0 if code == encode(word)[k] else None for code in range(4)]
    return {"before": before, "scores": rows, "cutoff": design.consensus_cutoff}
