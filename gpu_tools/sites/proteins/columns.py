"""The columns of a protein's sweep in vectors: column c of lane l is element c * lanes + l.

Column j stands for the first j residues. Columns beyond the protein's last residue are padding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import N_CODONS, ProteinScoring
from gpu_tools.sites.proteins.limits import protein_limits
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.strip import aligned, by_lane, lanes_of, padded


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

    def place(self, column: int) -> int:
        """Return the element of a column."""
        each = self.width // self.lanes
        return column % each * self.lanes + column // each


def columns_of(
    target: NDArray[np.uint8], table: SiteTable, scoring: ProteinScoring, symbols: int
) -> ProteinColumns:
    """Lay a protein's columns out for a sweep over the sites of a table."""
    count = len(target) + 1
    limits = protein_limits(table, target, scoring, int(padded(count, 1, 2)))
    dtype, lanes = limits.dtype, lanes_of(limits.dtype)
    width = int(padded(count, 1, dtype.itemsize))
    profile = np.zeros((N_CODONS, width), dtype=np.int64)
    profile[:, 1:count] = scoring.substitution[:, target] + scoring.gap_extend
    begun = np.minimum(np.arange(width), len(target))
    start = begun * scoring.gap_extend if scoring.free else np.where(begun, -scoring.gap_open, 0)
    laid_out = aligned(by_lane(np.vstack([profile, start]), lanes, dtype))
    each = width // lanes
    last = len(target) % each * lanes
    shift = scoring.frameshift
    return ProteinColumns(
        laid_out[:-1].ravel(), laid_out[-1], (0, width) if scoring.free else (last, last + lanes),
        dtype.type(limits.none), scoring.codon_gaps.astype(dtype),
        np.array([scoring.gap_open, shift, shift - scoring.gap_extend], dtype), lanes, symbols,
    )  # fmt: skip
