"""The columns of a protein's sweep in vectors: column c of lane l is element c * lanes + l.

Column j stands for the first j residues. Columns beyond the protein's last residue are padding.
Cells are lifted: H' = H + extend * j, so that a residue left out costs nothing more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import N_CODONS, ProteinScoring
from gpu_tools.splicing.bounds import Bounds
from gpu_tools.splicing.rows import aligned_empty, lanes_of, padded


class ProteinLimits(NamedTuple):
    """The type of a sweep's cells, and the value of a cell that no chain has reached.

    No cell and no intermediate value leaves the bounds.
    """

    dtype: np.dtype
    none: int
    bounds: Bounds


class ProteinColumns(NamedTuple):
    """What a sweep reads of a protein and its scoring.

    `profile` holds the lifted scores of codons, row by row of `ProteinScoring.substitution`;
    `start` H' of a chain that begins, its points left out; `span` the elements, in whole vectors,
    between which columns lie in which a chain may end; `none` is the value of a cell that no chain
    has reached; `costs` are `ProteinScoring.codon_gaps`; `weights` are gap open, frameshift, and
    frameshift less gap extend. `symbols` are the codes of nucleotides that the strand has: 5 with
    ambiguity codes, else 4.
    """

    profile: NDArray
    start: NDArray
    span: tuple[int, int]
    none: np.integer
    costs: NDArray
    weights: NDArray
    lanes: int
    symbols: int

    @property
    def width(self) -> int:
        """Elements of a row."""
        return len(self.start)

    def place(self, column):
        """Return the element of a column, or those of an array of columns."""
        each = self.width // self.lanes
        return column % each * self.lanes + column // each


def begun(residues: int, scoring: ProteinScoring) -> NDArray[np.int64]:
    """Return H' of a chain that begins with some residues left out, 0 to `residues`."""
    left_out = np.arange(residues + 1)
    if scoring.free:
        return left_out * scoring.gap_extend
    return np.where(left_out, -scoring.gap_open, 0)


def lay_out(
    target: NDArray[np.uint8], scoring: ProteinScoring, symbols: int, limits: ProteinLimits
) -> ProteinColumns:
    """Lay a protein's columns out for sweeps of strands with so many symbols."""
    dtype, lanes, residues = limits.dtype, lanes_of(limits.dtype), len(target)
    width = int(padded(residues + 1, 1, dtype.itemsize))
    each = width // lanes
    columns = np.arange(width).reshape(lanes, each).T.ravel()
    # a column without a residue has the scores of none
    scores = np.zeros((N_CODONS, scoring.substitution.shape[1] + 1), dtype)
    scores[:, :-1] = scoring.substitution + scoring.gap_extend
    symbols_of = np.full(width + 1, scores.shape[1] - 1)
    symbols_of[1 : residues + 1] = target
    laid_out = aligned_empty((N_CODONS + 1, width), dtype)
    scores.take(symbols_of[columns], axis=1, out=laid_out[:-1])
    laid_out[-1] = begun(residues, scoring)[np.minimum(columns, residues)]
    last = len(target) % each * lanes
    shift = scoring.frameshift
    return ProteinColumns(
        laid_out[:-1].ravel(), laid_out[-1], (0, width) if scoring.free else (last, last + lanes),
        dtype.type(limits.none), scoring.codon_gaps.astype(dtype),
        np.array([scoring.gap_open, shift, shift - scoring.gap_extend], dtype), lanes, symbols,
    )  # fmt: skip


def lifted_pairs(target: NDArray[np.uint8], scoring: ProteinScoring) -> NDArray[np.int64]:
    """Return what pairs add to H', by codon and residue."""
    return scoring.substitution[:, target] + scoring.gap_extend


def most_of_residues(pairs: NDArray[np.int64], scoring: ProteinScoring) -> NDArray[np.int64]:
    """Return the most that each residue adds to H', by a pair or within a frameshift, at least 0.

    A frameshift with a residue adds the gap extend and costs its own points, which may be fewer.
    """
    return np.maximum(pairs.max(axis=0), _most_of_shift(scoring))


def beside_residues(columns: int, scoring: ProteinScoring) -> int:
    """Return the most that frameshifts add in columns without a residue: the first, and padding."""
    return columns * _most_of_shift(scoring)


def _most_of_shift(scoring: ProteinScoring) -> int:
    return max(scoring.gap_extend - scoring.frameshift, 0)
