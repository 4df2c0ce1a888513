"""Bounds on the cells of a protein's sweep over candidates, and the value for `no chain`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.spliced.exon_graph import largest_bonus
from gpu_tools.spliced.proteins.tracks import ProteinTracks
from gpu_tools.splicing.bounds import Bounds, fit_int16
from gpu_tools.splicing.proteins.columns import (
    ProteinLimits,
    beside_residues,
    lifted_pairs,
    most_of_residues,
)
from gpu_tools.splicing.rows import padded


def may_begin(tracks: ProteinTracks) -> NDArray[np.bool_]:
    """Return in which tracks a chain may begin: those in front of which no codon is split."""
    return tracks.phases <= 0


def protein_limits(
    tracks: ProteinTracks, target: NDArray[np.uint8], scoring: ProteinScoring
) -> ProteinLimits:
    """Work out the limits of a sweep.

    A chain may be any candidate in which it may begin, all codons and all residues left out. The
    value for `no chain` is so low that what is computed from it alone scores less than that: H'
    rises by residues, by bonuses and negative intron penalties, and in the first column, in front
    of which stands `no chain`, by one frameshift. Padding behind the last residue reaches no chain.

    No row has less than `no chain` and a gap opened; a codon left out opens one more.

    Parameters
    ----------
    tracks : ProteinTracks
        Of which one at least may be a chain's first.
    target : ndarray of uint8, shape (m,)
        Encoded residues.
    scoring : ProteinScoring

    Raises
    ------
    ScoringError
        If 32 bits could overflow.
    """
    pairs = lifted_pairs(target, scoring)
    exons = np.repeat(np.arange(len(tracks.starts)), np.diff(tracks.first_exons))
    most = int(most_of_residues(pairs, scoring).sum()) + largest_bonus(
        tracks.before, exons, tracks.exon_ends, tracks.bonuses, len(tracks.ends),
        scoring.intron_penalty,
    )  # fmt: skip
    none = _least_score(tracks, exons, scoring) - most - beside_residues(1, scoring) - 1
    once = 2 * scoring.gap_open + max(scoring.gap_extend, scoring.stop) + scoring.frameshift
    step = int(np.abs(tracks.bonuses).max()) + abs(scoring.intron_penalty)
    step += int(np.abs(pairs).max(initial=0))
    columns = int(padded(len(target) + 1, 1, 2))
    highest = most + scoring.gap_extend * len(target)
    highest += beside_residues(columns - len(target), scoring)
    bounds = Bounds(none - once - step, highest + step)
    narrow = fit_int16(np.array([bounds.magnitude]))[0]
    return ProteinLimits(np.dtype(np.int16 if narrow else np.int32), none, bounds)


def _least_score(tracks: ProteinTracks, exons: NDArray, scoring: ProteinScoring) -> int:
    """Return the largest H' of a chain of one candidate whose codons are all left out, or less."""
    lengths = tracks.ends[tracks.exon_ends] - tracks.starts[exons]
    costs = lengths // 3 * max(scoring.gap_extend, scoring.stop)
    whole = (tracks.bonuses - costs)[may_begin(tracks)[exons]].max()
    return int(whole) - 2 * scoring.gap_open - scoring.frameshift
