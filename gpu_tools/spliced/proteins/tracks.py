"""The candidates of a strand, laid out for the sweep of a protein, and bounds on its cells.

Candidates of one start and one phase share their rows: a *track*, as long as the longest of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import encode_protein
from gpu_tools.model.translation import amino_acids
from gpu_tools.spliced.exon_graph import largest_bonus
from gpu_tools.splicing.bounds import Bounds, fit_int16
from gpu_tools.splicing.proteins.rows import (
    ProteinLimits,
    beside_residues,
    lifted_pairs,
    most_of_residues,
)
from gpu_tools.splicing.rows import padded

_CODON = 3
_STOP = encode_protein(b"*")[0]


class ProteinTracks(NamedTuple):
    """T tracks of a strand in reading direction, by start and phase, with B candidates, by end."""

    starts: NDArray[np.int64]  # (T,)
    lasts: NDArray[np.int64]  # (T,) where the longest candidate ends
    phases: NDArray[np.int64]  # (T,)
    before: NDArray[np.int64]  # (T,) how many of `ends` lie before, a nucleotide between
    first_exons: NDArray[np.int64]  # (T + 1,) where each track's candidates begin; last, B
    exon_ends: NDArray[np.int64]  # (B,) index into `ends`
    bonuses: NDArray[np.int64]  # (B,) score added once if the candidate is part of a chain
    ends: NDArray[np.int64]  # (D,) distinct ends, rising
    stops: NDArray[np.bool_]  # (D,) whether a stop codon lies before the end


class Candidates(NamedTuple):
    """The candidates of a strand."""

    codes: NDArray[np.uint8]  # the strand's nucleotides
    tracks: ProteinTracks
    scores: NDArray[np.float64]
    count: int  # of distinct intervals


def candidates_of(
    codes: NDArray[np.uint8], exons: ExonSet, scoring: ProteinScoring, reverse: bool
) -> Candidates:
    """Lay the candidates of a strand out.

    Of equal intervals with one phase the one of the best score stays. An interval that is listed
    with several phases is a candidate for each of them, and one for all if it is listed without.
    """
    size = len(codes)
    left, right = (
        (size - exons.ends, size - exons.starts) if reverse else (exons.starts, exons.ends)
    )
    order = np.lexsort((-exons.scores, right, exons.phases, left))
    order = order[_changes(left[order], exons.phases[order], right[order])]
    left, right, scores = left[order], right[order], exons.scores[order]
    phases, count = exons.phases[order].astype(np.int64), len(exons.unique())
    firsts = np.flatnonzero(_changes(left, phases))
    ends, exon_ends = np.unique(right, return_inverse=True)
    words = (codes[np.maximum(ends - back, 0)] for back in (3, 2, 1))
    stops = (ends > _CODON) & (amino_acids(scoring.genetic_code)[tuple(words)] == _STOP)
    tracks = ProteinTracks(
        left[firsts], np.maximum.reduceat(right, firsts), phases[firsts],
        np.searchsorted(ends, left[firsts]), np.append(firsts, len(left)), exon_ends,
        scoring.exon_bonus(scores), ends, stops,
    )  # fmt: skip
    return Candidates(codes, tracks, scores, count)


def _changes(*columns) -> NDArray[np.bool_]:
    """Return which elements differ from those before them in some column."""
    found = np.ones(len(columns[0]), dtype=bool)
    found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found


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
