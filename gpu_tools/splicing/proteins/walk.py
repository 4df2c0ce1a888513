"""The walk back through the cells of an exon: which moves explain them.

Of moves that explain a cell the first of these is taken: a codon with a residue; a frameshift with
a residue; a codon left out; a frameshift; residues left out, as few as can be; the first exon's
begin; an intron.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.splicing.proteins.rows import PHASES

(
    _PAIR, _SHIFT_PAIR_1, _SHIFT_PAIR_2, _LEFT_OUT, _SHIFT_1, _SHIFT_2, _RESIDUES, BEGIN, AT_INTRON,
    BEFORE,
) = range(10)  # fmt: skip
CODON, RESIDUE, MISSING, SHIFT, SHIFTED, INTRON = "M", "I", "D", "F", "G", "NUV"
"""Letters of runs, those of miniprot's CIGAR: codons with residues, residues left out, codons left
out, nucleotides too many, nucleotides too few with a residue, introns by phase."""
LETTERS = CODON + RESIDUE + MISSING + SHIFT + SHIFTED + INTRON
CODON_RUN, RESIDUE_RUN, MISSING_RUN, SHIFT_RUN, SHIFTED_RUN, INTRON_RUN = range(6)
"""Numbers of letters in `LETTERS`."""


class TracedProtein(NamedTuple):
    """A chain and its alignment, in reading direction of the strand.

    `intervals` are the exons, `first` the residues before the alignment, and `runs` letters and
    lengths: codons, residues, nucleotides of frameshifts and introns.
    """

    intervals: list[tuple[int, int]]
    first: int
    last: int
    runs: list[tuple[str, int]]


class Cell(NamedTuple):
    """A cell on the path: boundary, residues, and H'.

    `inside` tells whether its exon must have nucleotides, `gap` whether the path leaves the codon
    out that ends there.
    """

    boundary: int
    column: int
    value: int
    inside: bool
    gap: bool = False


@njit(cache=True, nogil=True)
def add_run(runs, count, first, second):
    """Append a pair of numbers; return the pairs, perhaps in more space, and how many there are."""
    if count == len(runs):
        more = np.empty((2 * count + 1, 2), np.int64)
        # numba takes long to compile an assignment to a slice
        for k in range(count):
            more[k, 0], more[k, 1] = runs[k, 0], runs[k, 1]
        runs = more
    runs[count, 0], runs[count, 1] = first, second
    return runs, count + 1


@njit(cache=True, nogil=True)
def add_moves(runs, count, moves, n_moves):
    """Append moves as runs, numbers of `LETTERS` and lengths; return what `add_run` returns.

    Codons with residues are joined, and so is what is left out in one gap.
    """
    for k in range(n_moves):
        move, length = moves[k, 0], moves[k, 1]
        if move == _RESIDUES:
            letter = RESIDUE_RUN
        elif move == _PAIR:
            letter = CODON_RUN
        elif move == _LEFT_OUT:
            letter = MISSING_RUN
        else:
            letter = SHIFT_RUN if move in (_SHIFT_1, _SHIFT_2) else SHIFTED_RUN
            length = 1 if move in (_SHIFT_1, _SHIFT_PAIR_1) else 2
        joins = letter in (CODON_RUN, MISSING_RUN)
        if joins and count and runs[count - 1, 0] == letter:
            runs[count - 1, 1] += length
        else:
            runs, count = add_run(runs, count, letter, length)
    return runs, count


def runs_in_order(runs, count: int) -> list[tuple[str, int]]:
    """Return letters and lengths of runs that were appended from the last one on."""
    return [(LETTERS[letter], length) for letter, length in runs[:count][::-1].tolist()]


@njit(cache=True, nogil=True)
def walk(
    inside_rows, whole, gap_rows, places, low, codes, codons, pairs, codon_costs, weights,
    i, j, value, inside, gap, found,
):  # fmt: skip
    """Follow a path through the rows of a block; return where it leaves them, and why.

    `places` are the elements of columns. Moves and lengths are written to `found`; the result is a
    `Cell`'s fields, the number of moves, and what follows: `BEFORE` for the block before, or
    `AT_INTRON` where no move explains the cell, so that an intron or a chain's begin does.
    """
    count = 0
    gap_open, shift, extend = weights[0], weights[1], weights[2]
    while i >= low:
        k = i - low + PHASES
        codon = np.int64(codons[codes[i - 3], codes[i - 2], codes[i - 1]]) if i >= 3 else -1
        if gap:
            found[count, 0], found[count, 1] = _LEFT_OUT, 1
            value += codon_costs[codon]
            gap = whole[k - 3, places[j]] - gap_open != value
            i, count = i - 3, count + 1
            if not gap:
                value, inside = np.int64(whole[k - 3, places[j]]), False
            continue
        move, length = _move(
            inside_rows if inside else whole, whole, gap_rows, places, k, i, j, value, codon,
            pairs, gap_open, shift, extend,
        )  # fmt: skip
        if move == _LEFT_OUT:
            gap = True
            continue
        if move == AT_INTRON:
            return i, j, value, inside, gap, count, move
        found[count, 0], found[count, 1] = move, length
        count += 1
        if move == _RESIDUES:
            j -= length
            value = np.int64((inside_rows if inside else whole)[k, places[j]])
            continue
        if move in (_PAIR, _SHIFT_PAIR_1, _SHIFT_PAIR_2):
            j -= 1
        i -= 3 if move == _PAIR else (1 if move in (_SHIFT_1, _SHIFT_PAIR_1) else 2)
        value, inside = np.int64(whole[i - low + PHASES, places[j]]), False
    return i, j, value, inside, gap, count, BEFORE


@njit(nogil=True)
def _move(here, whole, gap_rows, places, k, i, j, value, codon, pairs, gap_open, shift, extend):
    """Return the first move that explains a cell, and its length; `AT_INTRON` if none does."""
    at, before = places[j], places[max(j - 1, 0)]
    if i >= 3 and j and whole[k - 3, before] + pairs[codon, j - 1] == value:
        return _PAIR, 1
    if j and i >= 1 and whole[k - 1, before] - shift + extend == value:
        return _SHIFT_PAIR_1, 1
    if j and i >= 2 and whole[k - 2, before] - shift + extend == value:
        return _SHIFT_PAIR_2, 1
    if i >= 3 and gap_rows[k, at] == value:
        return _LEFT_OUT, 1
    if i >= 1 and whole[k - 1, at] - shift == value:
        return _SHIFT_1, 1
    if i >= 2 and whole[k - 2, at] - shift == value:
        return _SHIFT_2, 1
    for length in range(1, j + 1):
        if here[k, places[j - length]] - gap_open == value:
            return _RESIDUES, length
    return AT_INTRON, 0
