"""The exit of the intron before a cell: the shortest intron that explains the cell's value.

Of introns of one length the one is taken that splits the codon behind fewer nucleotides.

numba takes long to compile a function that takes many arrays. So few functions take the question.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.loops import first_from
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.splicing.proteins.rows import PHASES

_NO_SCORE = -(2**62)


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
        return start, np.int64(-1)
    return start, acceptor


@njit(nogil=True)
def _split_pair(words, column, phase, start, one, two):
    """Return the score of the codon that an intron of some phase splits, 0 if it splits none.

    `words` are the codes of the strand, the numbers of codons and the scores of pairs; `one` and
    `two` the second last and the last nucleotide before the exit.
    """
    codes, codons, pairs = words
    if phase == 1:
        return pairs[codons[two, codes[start], codes[start + 1]], column - 1]
    if phase == 2:
        return pairs[codons[one, two, codes[start]], column - 1]
    return np.int64(0)


@njit(nogil=True, error_model="numpy")
def _penalty(lengths, penalties, rising, k, end, start):
    """Return the penalty of an intron of class `k`, which is long enough."""
    first, last = end + lengths[k] + rising.origin, start + rising.origin
    every = rising.near_every[k]
    if every == 0:
        return penalties[k]
    added = last // every - first // every
    for line in range(len(rising.far_class)):
        if rising.far_class[line] == k:
            every = rising.far_every[line]
            added = min(added, rising.far_extra[line] + last // every - first // every)
    return penalties[k] + added


@njit(nogil=True, error_model="numpy")
def may_hold(question, cell, best_exits, low, length):
    """Tell whether a block's best exits, column by column, reach what explains a cell.

    The block begins with boundary `low`; its last exits have the least penalties.
    """
    width, lanes, lists = len(best_exits), question.columns.lanes, question.lists
    boundaries, scores, kinds = lists.acceptors
    words = lists.codes, question.codons, question.pairs
    for phase in range(PHASES):
        start, acceptor = _entry(boundaries, cell, phase)
        if acceptor < 0 or low > start:
            continue
        column = cell[1] - (phase > 0)
        place = column % (width // lanes) * lanes + column // (width // lanes)
        points = np.int64(scores[acceptor]) + _most_split_pair(words, cell[1], phase, start)
        for k in range(len(lists.kinds)):
            end = min(low + length - 1, start - lists.lengths[k])
            if lists.kinds[k] != kinds[acceptor] or end < low:
                continue
            penalty = _penalty(lists.lengths, lists.penalties, lists.rising, k, end, start)
            if best_exits[place] - penalty + points >= cell[2]:
                return True
    return False


@njit(nogil=True)
def _most_split_pair(words, column, phase, start):
    """Return the largest score of a split codon, whatever the nucleotides before the exit."""
    most = np.int64(_NO_SCORE)
    for one in range(N_SYMBOLS if phase == 2 else 1):
        for two in range(N_SYMBOLS if phase else 1):
            most = max(most, _split_pair(words, column, phase, start, one, two))
    return most


@njit(nogil=True)
def exit_in(question, cell, inside, whole, places, low, high):
    """Return the last exit of a block that explains a cell, and its phase; -1 twice if none does.

    The block has the boundaries `low` to ``high - 1``; see `TraceMemory` for its rows.
    """
    lists = question.lists
    boundaries, scores, kinds = lists.donors
    entries, points, entry_kinds = lists.acceptors
    codes, words = lists.codes, (lists.codes, question.codons, question.pairs)
    classes = lists.kinds, lists.lengths, lists.penalties, lists.rising
    starts, acceptors = np.empty(PHASES, np.int64), np.empty(PHASES, np.int64)
    for phase in range(PHASES):
        starts[phase], acceptors[phase] = _entry(entries, cell, phase)
    last = first_from(boundaries, min(high, cell[0] + 1))
    for donor in range(last - 1, first_from(boundaries, low) - 1, -1):
        end = np.int64(boundaries[donor])
        one = np.int64(codes[end - 2]) if end >= 2 else 0
        two = np.int64(codes[end - 1]) if end >= 1 else 0
        for phase in range(PHASES):
            start, acceptor = starts[phase], acceptors[phase]
            if acceptor < 0 or end < phase or kinds[donor] != entry_kinds[acceptor]:
                continue
            column = cell[1] - (phase > 0)
            row = PHASES + end - phase - low
            value = np.int64((whole if phase else inside)[row, places[column]]) + scores[donor]
            value += points[acceptor] + _split_pair(words, cell[1], phase, start, one, two)
            if _explains(classes, kinds[donor], end, start, value - cell[2]):
                return end, phase
    return np.int64(-1), np.int64(-1)


@njit(nogil=True)
def _explains(classes, kind, end, start, surplus):
    """Tell whether an intron of a kind costs what an exit's value has too much."""
    kinds, lengths, penalties, rising = classes
    for k in range(len(kinds)):
        if kinds[k] != kind or end + lengths[k] > start:
            continue
        if surplus == _penalty(lengths, penalties, rising, k, end, start):
            return True
    return False
