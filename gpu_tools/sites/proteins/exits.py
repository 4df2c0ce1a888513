"""The exon before a cell that an intron explains, in compiled code that CPU and GPU share.

Of introns before a cell the shortest is taken that explains the cell's value, and of introns of one
length the one that splits the codon behind fewer nucleotides. Cells are a boundary, a column, H',
and whether their exon must have nucleotides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.sites.introns import Introns, joins, penalty_of
from gpu_tools.sites.table import JunctionArrays
from gpu_tools.splicing.best_chains import BannedPairs, is_banned
from gpu_tools.splicing.proteins.rows import PHASES

_NO_SCORE = -(2**62)


class ExitQuestion(NamedTuple):
    """What is read of a strand and a protein to find an exon before a cell.

    `acceptors` and `donors` are boundaries, scores and kinds, `kinds` and `lengths` those of intron
    classes. `codons` are numbers of words of three nucleotides, `pairs` what pairs add to H', by
    codon and residue, and the residues. `points` are those of `target_introns`.
    """

    codes: NDArray[np.uint8]
    acceptors: tuple[NDArray, NDArray, NDArray]
    donors: tuple[NDArray, NDArray, NDArray]
    kinds: NDArray
    lengths: NDArray
    junctions: JunctionArrays
    introns: Introns
    codons: NDArray[np.uint8]
    pairs: tuple[NDArray, NDArray[np.uint8]]
    points: NDArray
    banned: BannedPairs


@njit(nogil=True)
def _entry(boundaries, cell, phase):
    """Return the entry of an intron of some phase before a cell, and its acceptor, -1 if none.

    `boundaries` are those of the acceptors.
    """
    boundary, column, _, inside = cell
    start = boundary - (PHASES - phase) % PHASES
    acceptor = first_from(boundaries, start)
    open_ = start >= 0 and acceptor < len(boundaries) and boundaries[acceptor] == start
    if not open_ or column < (phase > 0) or (phase == 0 and inside):
        return np.int64(start), np.int64(-1)
    return np.int64(start), np.int64(acceptor)


@njit(nogil=True)
def entries_before(question, cell):
    """Return entry and acceptor of introns before a cell, by phase; the acceptor is -1 if none."""
    boundaries = question.acceptors[0]
    return _entry(boundaries, cell, 0), _entry(boundaries, cell, 1), _entry(boundaries, cell, 2)


@njit(nogil=True)
def _split_pair(question, column, phase, start, one, two):
    """Return the score of the codon that an intron of some phase splits, 0 if it splits none.

    `one` and `two` are the second last and the last nucleotide before the exit.
    """
    codes, codons, (pairs, residues) = question.codes, question.codons, question.pairs
    if phase == 1:
        codon = codons[two, codes[start], codes[start + 1]]
        return np.int64(pairs[codon, residues[column - 1]])
    if phase == 2:
        codon = codons[one, two, codes[start]]
        return np.int64(pairs[codon, residues[column - 1]])
    return np.int64(0)


@njit(nogil=True)
def _most_split_pair(question, column, phase, start):
    """Return the largest score of a split codon, whatever the nucleotides before the exit."""
    most = np.int64(_NO_SCORE)
    for one in range(N_SYMBOLS if phase == 2 else 1):
        for two in range(N_SYMBOLS if phase else 1):
            most = max(most, _split_pair(question, column, phase, start, one, two))
    return most


@njit(nogil=True, error_model="numpy")
def may_hold(question, cell, entries, best_exits, low, past):
    """Return whether the best exits of the boundaries `low` to ``past - 1`` may explain a cell.

    `best_exits` are the largest H' of their exits in the cell's column, and in the one before; the
    last exits have the least penalties.
    """
    kinds, introns = question.acceptors[2], question.introns
    donors, joined, numbers, penalties = question.junctions
    for phase in range(PHASES):
        start, acceptor = entries[phase]
        if acceptor < 0 or low > start:
            continue
        points = np.int64(question.acceptors[1][acceptor]) + question.points[phase, cell[1]]
        points += best_exits[1 if phase else 0] + _most_split_pair(question, cell[1], phase, start)
        for k in range(len(question.kinds)):
            end = min(past - 1, start - question.lengths[k])
            if question.kinds[k] != kinds[acceptor] or end < low:
                continue
            if points - penalty_of(introns, k, end, start) >= cell[2]:
                return True
        for k in range(first_from(joined, start), first_from(joined, start + 1)):
            inside = low <= donors[numbers[k]] < past
            if inside and points - penalties[k] >= cell[2]:
                return True
    return False


@njit(nogil=True)
def exit_phase(question, cell, entries, rows, places, low, donor):
    """Return the phase in which an exon that a donor ends explains a cell; -1 if it does not.

    `rows` are those of the boundaries from `low` on and the three before, with and without the
    chains that must have nucleotides; `places` are the elements of columns.
    """
    (boundaries, scores, kinds), codes = question.donors, question.codes
    points, entry_kinds = question.acceptors[1], question.acceptors[2]
    donors, joined, numbers, penalties = question.junctions
    end = np.int64(boundaries[donor])
    one = np.int64(codes[end - 2]) if end >= 2 else 0
    two = np.int64(codes[end - 1]) if end >= 1 else 0
    for phase in range(PHASES):
        start, acceptor = entries[phase]
        if acceptor < 0 or end < phase:
            continue
        column = cell[1] - (phase > 0)
        if phase and is_banned(question.banned, end - phase, column):
            continue
        row = PHASES + end - phase - low
        value = np.int64((rows[1] if phase else rows[0])[row, places[column]]) + scores[donor]
        value += points[acceptor] + question.points[phase, cell[1]]
        value += _split_pair(question, cell[1], phase, start, one, two)
        alike, surplus = kinds[donor] == entry_kinds[acceptor], value - cell[2]
        if alike and joins(question.introns, kinds[donor], surplus, end, start):
            return phase
        for k in range(first_from(joined, start), first_from(joined, start + 1)):
            if donors[numbers[k]] == end and penalties[k] == surplus:
                return phase
    return -1
