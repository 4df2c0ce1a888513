"""Pairs of residues and codons that a chain must not have.

A pair is a residue and the place of the codon that is aligned to it: where the codon's first
nucleotide lies in reading direction, whether the codon is whole or an intron splits it. What is
left out and frameshifts, with a residue or without, make no pair.

In the profile a banned pair scores what it costs to leave out its codon and its residue. So the
cell it leads to has that value anyway, and is never raised. A split codon is scored behind its
intron, so there the cell of the exit is closed from which a banned pair would be made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.splicing.best_chains import BannedPairs


class Bans(NamedTuple):
    """Banned pairs as a sweep reads them."""

    pairs: BannedPairs  # of codons' places and residues
    scores: NDArray  # of cells' type: what the profile has; its own scores while it has these


def bans_of(
    banned: BannedPairs, codes: NDArray[np.uint8], scoring: ProteinScoring, dtype: np.dtype
) -> Bans:
    """Lay banned pairs of a strand out for sweeps with cells of some type."""
    # at a strand's end no codon is whole, and what its score would be does not matter
    words = (codes[np.minimum(banned.rows + k, len(codes) - 1)] for k in range(3))
    costs = 2 * scoring.gap_open + scoring.codon_gaps[scoring.codons[tuple(words)]]
    return Bans(banned, -costs.astype(dtype))


def pairs_of(alignment: ProteinAlignment) -> BannedPairs:
    """Return the pairs that a chain aligns: codons' places on its strand, and residues."""
    size, strand = alignment.base_length, alignment.strand
    nucleotides = np.concatenate([
        np.arange(start, end) if strand == "+" else np.arange(size - end, size - start)
        for start, end in alignment.chain
    ])  # fmt: skip
    at, residue, pairs = 0, alignment.target_start, []
    for letter, length in alignment.cigar:
        paired = length if letter == "M" else int(letter in "UV")
        pairs += [(at + 3 * k, residue + k) for k in range(paired)]
        residue += paired + (length if letter == "I" else letter == "G")
        at += 3 * paired + length * {"D": 3, "F": 1, "G": 1}.get(letter, 0)
    firsts, residues = np.array(pairs, np.int64).reshape(-1, 2).T
    return BannedPairs(nucleotides[firsts], np.ascontiguousarray(residues))


@njit(nogil=True, error_model="numpy", makes_arrays=False)
def exchange(bans, number, place, profile, pairs, width, lanes):
    """Exchange scores of a place's banned pairs with those of its codon, from `pairs` on.

    `number` is that of the first pair from the place on; it returns the first one behind it.
    """
    (rows, columns), scores, each = bans.pairs, bans.scores, width // lanes
    while number < len(rows) and rows[number] == place:
        column = columns[number] + 1
        if column < width:
            element = pairs + column % each * lanes + column // each
            other = scores[number]
            scores[number] = profile[element]
            profile[element] = other
        number += 1
    return number


@njit(nogil=True, error_model="numpy", makes_arrays=False)
def close_exits(bans, boundary, exits, first, none, lanes):
    """Close cells of an exit from which a split codon would make a banned pair.

    `first` is the exit's row of phase 0.
    """
    (rows, columns), width = bans.pairs, exits.shape[1]
    # a split codon begins at most two nucleotides before the exit
    each, number = width // lanes, first_from(rows, boundary - 2)
    while number < len(rows) and rows[number] < boundary:
        column, row = columns[number], first + boundary - rows[number]
        if column < width:
            exits[row, column % each * lanes + column // each] = none
        number += 1
