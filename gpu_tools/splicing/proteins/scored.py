"""The scores of the columns of a protein's alignment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import AMINO_ACIDS

SURE = 30
"""Points of a stretch that chance does not align; so many have hits of the search."""
_GAP = len(AMINO_ACIDS)
_CODES = np.full(256, _GAP, np.uint8)
_CODES[np.frombuffer(AMINO_ACIDS.encode(), np.uint8)] = np.arange(_GAP)


def aligned_codes(alignment: ProteinAlignment) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of amino acids and of residues in columns that have both."""
    acids, residues = _lines(alignment)
    both = (acids < _GAP) & (residues < _GAP)
    return acids[both], residues[both]


def column_scores(alignment: ProteinAlignment, scoring: ProteinScoring) -> tuple[NDArray, NDArray]:
    """Return the score of each column, and of its residue with itself."""
    table = np.full((_GAP + 1, _GAP + 1), -scoring.gap_extend, np.int64)
    table[:_GAP, :_GAP] = scoring.matrix.table()
    acids, residues = _lines(alignment)
    gaps = (acids == _GAP) | (residues == _GAP)
    opens = gaps & ~np.append(False, gaps[:-1])
    own = np.where(residues == _GAP, 0, table[residues, residues])
    return table[acids, residues] - scoring.gap_open * opens, np.maximum(own, 0)


def sure_stretch(scores: NDArray, points: int = SURE) -> tuple[int, int]:
    """Return where the first stretch of some points begins and ends; the end if there is none.

    It begins behind the lowest sum before it, and ends with the column in which it is sure.
    """
    sums = np.append(0, np.cumsum(scores))
    sure = sums - np.minimum.accumulate(sums) >= points
    if not sure.any():
        return len(scores), len(scores)
    end = int(sure.argmax())
    return end - int(sums[end::-1].argmin()), end


def _lines(alignment: ProteinAlignment) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of both lines of an alignment."""
    lines = alignment.translation, alignment.residues
    acids, residues = (_CODES[np.frombuffer(line.encode(), np.uint8)] for line in lines)
    return acids, residues
