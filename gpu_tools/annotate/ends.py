"""The ends of an alignment: what exons outside of the window that it was made in could win."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.sequences import AMINO_ACIDS
from gpu_tools.model.windows import SearchWindow
from gpu_tools.search.windows import CONTEXT, USUAL, longest_intron

SURE = 30
"""Points of a stretch that chance does not align; so many have hits of the search."""
_CODON = 3
_GAP = len(AMINO_ACIDS)
_CODES = np.full(256, _GAP, np.uint8)
_CODES[np.frombuffer(AMINO_ACIDS.encode(), np.uint8)] = np.arange(_GAP)


class LooseEnd(NamedTuple):
    """An end of a target, up to the first stretch that chance does not align.

    Attributes
    ----------
    points : float
        By how much its score is below what the rest of the target has for as many residues.
    residues : int
    """

    points: float
    residues: int

    def reach(self, max_intron: int) -> int:
        """Return the nucleotides beside an alignment in which other exons could win the points."""
        intron = longest_intron(int(self.points) + USUAL, max_intron)
        return _CODON * self.residues + intron + CONTEXT


def loose_ends(
    alignment: ProteinAlignment, scoring: ProteinScoring, codons: tuple[int, int]
) -> tuple[LooseEnd, LooseEnd]:
    """Return both ends of a protein's alignment, in reading direction.

    Parameters
    ----------
    alignment : ProteinAlignment
    scoring : ProteinScoring
    codons : (int, int)
        Points of a start codon and of a stop codon.
    """
    scores, own = _columns(alignment, scoring)
    expected = own * min(max(scores.sum() / max(own.sum(), 1), 0), 1)
    mean = expected.sum() / max(len(alignment.residues.replace("-", "")), 1)
    before, behind = alignment.target_start, alignment.target_length - alignment.target_end
    return (
        _loose(scores, expected, before, mean, 0 if alignment.start_codon else codons[0]),
        _loose(scores[::-1], expected[::-1], behind, mean,
               0 if alignment.stop_codon else codons[1]),
    )  # fmt: skip


def aligned_codes(alignment: ProteinAlignment) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of amino acids and of residues in columns that have both."""
    acids, residues = _lines(alignment)
    both = (acids < _GAP) & (residues < _GAP)
    return acids[both], residues[both]


def _lines(alignment: ProteinAlignment) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of both lines of an alignment."""
    lines = alignment.translation, alignment.residues
    acids, residues = (_CODES[np.frombuffer(line.encode(), np.uint8)] for line in lines)
    return acids, residues


def _columns(alignment: ProteinAlignment, scoring: ProteinScoring) -> tuple[NDArray, NDArray]:
    """Return the score of each column, and of its residue with itself."""
    table = np.full((_GAP + 1, _GAP + 1), -scoring.gap_extend, np.int64)
    table[:_GAP, :_GAP] = scoring.matrix.table()
    acids, residues = _lines(alignment)
    gaps = (acids == _GAP) | (residues == _GAP)
    opens = gaps & ~np.append(False, gaps[:-1])
    own = np.where(residues == _GAP, 0, table[residues, residues])
    return table[acids, residues] - scoring.gap_open * opens, np.maximum(own, 0)


def _loose(
    scores: NDArray, expected: NDArray, left_out: int, mean: float, codon: int
) -> LooseEnd:  # fmt: skip
    """Return the end of columns that lacks most; outside of them so many residues are left out."""
    sums = np.append(0, np.cumsum(scores))
    sure = sums - np.minimum.accumulate(sums) >= SURE
    columns = int(sure.argmax()) if sure.any() else len(scores)
    lacks = np.append(0, np.cumsum(expected - scores))[: columns + 1]
    most = int(lacks.argmax())
    return LooseEnd(float(lacks[most]) + mean * left_out + codon, most + left_out)


def widened(
    window: SearchWindow, near: SearchWindow, chain: tuple[int, int],
    ends: tuple[LooseEnd, LooseEnd], max_intron: int,
) -> SearchWindow | None:  # fmt: skip
    """Return the part of a window in which a better chain may lie than in a part that was tried.

    Parameters
    ----------
    window, near : SearchWindow
        The window, and the part that was tried.
    chain : (int, int)
        The interval of the chain that was found there.
    ends : (LooseEnd, LooseEnd)
        Of its alignment, in reading direction.
    max_intron : int

    Returns
    -------
    SearchWindow or None
        None if there is no such part.
    """
    below, above = (end.reach(max_intron) for end in (ends if window.strand == "+" else ends[::-1]))
    start = max(min(near.start, chain[0] - below), window.start)
    end = min(max(near.end, chain[1] + above), window.end)
    if (start, end) == (near.start, near.end):
        return None
    return window.part(start, end)
