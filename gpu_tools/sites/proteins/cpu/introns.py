"""The exit of the intron before a cell: the shortest intron that explains the cell's value.

Of introns of one length the one is taken that splits the codon behind fewer nucleotides.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.sites.cpu.state import first_from
from gpu_tools.splicing.proteins.rows import PHASES


@njit(nogil=True)
def _entry(question, cell, phase):
    """Return the entry of an intron of some phase before a cell, and its acceptor, -1 if none."""
    boundary, column, _, inside = cell
    start = boundary - (PHASES - phase) % PHASES
    boundaries = question.lists.acceptors[0]
    acceptor = first_from(boundaries, start)
    open_ = start >= 0 and acceptor < len(boundaries) and boundaries[acceptor] == start
    if not open_ or column < (phase > 0) or (phase == 0 and inside):
        return start, np.int64(-1)
    return start, acceptor


@njit(nogil=True)
def _wanted(question, cell, phase, start, acceptor, one, two):
    """Return the value that an exit's row has, the intron's penalty taken off.

    `one` and `two` are the second last and the last nucleotide before the exit.
    """
    _, column, value, _ = cell
    wanted = value - np.int64(question.lists.acceptors[1][acceptor])
    codes = question.lists.codes
    if phase == 1:
        codon = question.codons[two, codes[start], codes[start + 1]]
        return wanted - question.pairs[codon, column - 1]
    if phase == 2:
        return wanted - question.pairs[question.codons[one, two, codes[start]], column - 1]
    return wanted


@njit(nogil=True, error_model="numpy")
def _penalty(lists, k, end, start):
    """Return the penalty of an intron of class `k`, which is long enough."""
    rising = lists.rising
    first, last = end + lists.lengths[k] + rising.origin, start + rising.origin
    every = rising.near_every[k]
    if every == 0:
        return lists.penalties[k]
    added = last // every - first // every
    for line in range(len(rising.far_class)):
        if rising.far_class[line] == k:
            every = rising.far_every[line]
            added = min(added, rising.far_extra[line] + last // every - first // every)
    return lists.penalties[k] + added


@njit(nogil=True, error_model="numpy")
def may_hold(question, cell, best_exits, low, length):
    """Tell whether a block's best exits, column by column, reach what explains a cell.

    The block begins with boundary `low`; its last exits have the least penalties.
    """
    width, lanes, lists = len(best_exits), question.columns.lanes, question.lists
    for phase in range(PHASES):
        start, acceptor = _entry(question, cell, phase)
        if acceptor < 0 or low > start:
            continue
        column = cell[1] - (phase > 0)
        place = column % (width // lanes) * lanes + column // (width // lanes)
        wanted = _least_wanted(question, cell, phase, start, acceptor)
        for k in range(len(lists.kinds)):
            end = min(low + length - 1, start - lists.lengths[k])
            if lists.kinds[k] != lists.acceptors[2][acceptor] or end < low:
                continue
            if best_exits[place] - _penalty(lists, k, end, start) >= wanted:
                return True
    return False


@njit(nogil=True)
def _least_wanted(question, cell, phase, start, acceptor):
    """Return the least value, whatever the nucleotides before the exit."""
    least = _wanted(question, cell, phase, start, acceptor, 0, 0)
    for one in range(N_SYMBOLS if phase == 2 else 1):
        for two in range(N_SYMBOLS if phase else 1):
            least = min(least, _wanted(question, cell, phase, start, acceptor, one, two))
    return least


@njit(nogil=True)
def exit_in(question, cell, inside, whole, places, low, high):
    """Return the last exit of a block that explains a cell, and its phase; -1 twice if none does.

    The block has the boundaries `low` to ``high - 1``; see `TraceMemory` for its rows.
    """
    boundaries, scores, _ = question.lists.donors
    starts, acceptors = np.empty(PHASES, np.int64), np.empty(PHASES, np.int64)
    for phase in range(PHASES):
        starts[phase], acceptors[phase] = _entry(question, cell, phase)
    last = first_from(boundaries, min(high, cell[0] + 1))
    for donor in range(last - 1, first_from(boundaries, low) - 1, -1):
        end = np.int64(boundaries[donor])
        for phase in range(PHASES):
            if acceptors[phase] < 0 or end < phase:
                continue
            column = cell[1] - (phase > 0)
            row = PHASES + end - phase - low
            value = np.int64((whole if phase else inside)[row, places[column]]) + scores[donor]
            if _explains(question, cell, phase, starts[phase], acceptors[phase], donor, value):
                return end, phase
    return np.int64(-1), np.int64(-1)


@njit(nogil=True)
def _explains(question, cell, phase, start, acceptor, donor, value):
    """Tell whether an exit that leaves a value explains a cell."""
    lists = question.lists
    end, kind = np.int64(lists.donors[0][donor]), lists.donors[2][donor]
    if kind != lists.acceptors[2][acceptor]:
        return False
    one = lists.codes[end - 2] if end >= 2 else 0
    two = lists.codes[end - 1] if end >= 1 else 0
    surplus = value - _wanted(question, cell, phase, start, acceptor, one, two)
    for k in range(len(lists.kinds)):
        if lists.kinds[k] != kind or end + lists.lengths[k] > start:
            continue
        if surplus == _penalty(lists, k, end, start):
            return True
    return False
