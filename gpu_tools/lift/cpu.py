"""Compiled steps of a lift: exact words of two sequences, their chain, and the alignment of a box.

A box is a stretch of the reference's locus against a stretch of the new genome. Its rows are the
nucleotides of the stretch and, between them, its *edges*: the places where exons or coding
sequences begin or end. A path crosses an edge at some column and gains the points of that column.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit

EDGE = 255
"""Stands for a nucleotide in rows that are edges."""
GAP, OUTSIDE = -1, -2
"""Columns of rows that are aligned to nothing, and of those that no path crosses."""
OPEN, EXTEND, OPEN_LONG, EXTEND_LONG, OPEN_CODONS, EXTEND_CODONS = range(6)
"""Costs of gaps, by label of the row: short ones, long ones that hardly grow, and whole codons.

A label whose `OPEN_CODONS` is `NO_CODONS` has no gaps of codons.
"""
NO_CODONS = -1
_PAIR, _LOST, _MORE, _LONG_LOST, _LONG_MORE, _BEGIN, _CODONS_LOST, _CODONS_MORE = range(8)
_SOURCE, _ON_LOST, _ON_MORE, _ON_LONG_LOST, _ON_LONG_MORE = 7, 8, 16, 32, 64
_ON_CODONS_LOST, _ON_CODONS_MORE = 128, 256
_NEVER = -(1 << 29)


@njit(cache=True, nogil=True)
def align_box(rows, labels, classes, columns, points, pairs, gaps, begin, end):
    """Align the rows of a box to its columns; return the column of each row, and the score.

    Parameters: nucleotides or `EDGE`, labels and classes of the rows; nucleotides of the columns;
    points of each class at each boundary of columns; scores of pairs and costs of gaps by label.
    A path begins before one of the first `begin` rows at any column, with `begin` of -1 in the
    corner; it ends behind row `end` or a later one, in the corner if there is none.
    """
    # H = max(pair, D, D', I, I'); D(r) = max(D(r-1), H(r-1) - open) - extend, and so D' with the
    # costs of long gaps; I(j) likewise along a row. At an edge each state goes on with its points,
    # and only I and I' may be entered. C(r) = max(C(r-3), H(r-3) - open) - extend over three
    # nucleotides of one label, and three columns likewise.
    n, m = len(rows), len(columns)
    trace = np.zeros((n + 1, m + 1), np.uint16)
    best = np.full(m + 1, _NEVER, np.int32)
    lost, more = best.copy(), best.copy()
    long_lost, long_more = best.copy(), best.copy()
    # of the three rows before, by their number modulo 3: H, and C of lost codons
    bests, codons_lost = np.full((2, 3, m + 1), _NEVER, np.int32)
    top, top_row, top_column = _NEVER, -1, -1
    together = 0
    for r in range(n + 1):
        label = labels[max(r - 1, 0)]
        opening, extending = gaps[label, OPEN], gaps[label, EXTEND]
        long_opening, long_extending = gaps[label, OPEN_LONG], gaps[label, EXTEND_LONG]
        is_edge = r > 0 and rows[r - 1] == EDGE
        symbol = rows[r - 1] if r > 0 and not is_edge else 0
        klass = classes[r - 1] if is_edge else 0
        diagonal, run, long_run, left = _NEVER, _NEVER, _NEVER, _NEVER
        codon_opening, codon_extending = gaps[label, OPEN_CODONS], gaps[label, EXTEND_CODONS]
        in_codons = r > 0 and not is_edge and codon_opening != NO_CODONS
        if not in_codons:
            together = 0
        elif together > 0 and label != labels[r - 2]:
            together = 1
        else:
            together += 1
        left2 = left3 = codons2 = codons3 = codons = _NEVER
        slot = r % 3
        for j in range(m + 1):
            above, flags = best[j], 0
            if r == 0:
                value, source = _NEVER, _BEGIN
                if begin >= 0 or j == 0:
                    value = 0
            elif is_edge:
                gain = points[klass, j]
                value, source = above + gain, _PAIR
                lost[j] += gain
                long_lost[j] += gain
            else:
                value, source = _NEVER, _PAIR
                if j > 0:
                    value = diagonal + pairs[label, symbol, columns[j - 1]]
                if lost[j] > above - opening:
                    lost[j] -= extending
                    flags |= _ON_LOST
                else:
                    lost[j] = above - opening - extending
                if long_lost[j] > above - long_opening:
                    long_lost[j] -= long_extending
                    flags |= _ON_LONG_LOST
                else:
                    long_lost[j] = above - long_opening - long_extending
            if run > left - opening:
                run -= extending
                flags |= _ON_MORE
            else:
                run = left - opening - extending
            if long_run > left - long_opening:
                long_run -= long_extending
                flags |= _ON_LONG_MORE
            else:
                long_run = left - long_opening - long_extending
            if is_edge:
                if more[j] + gain >= run:
                    run = more[j] + gain
                    flags |= _ON_LOST
                if long_more[j] + gain >= long_run:
                    long_run = long_more[j] + gain
                    flags |= _ON_LONG_LOST
            if r > 0:
                if lost[j] > value:
                    value, source = lost[j], _LOST
                if long_lost[j] > value:
                    value, source = long_lost[j], _LONG_LOST
            if run > value:
                value, source = run, _MORE
            if long_run > value:
                value, source = long_run, _LONG_MORE
            if in_codons:
                gained = codons3
                if gained > left3 - codon_opening:
                    flags |= _ON_CODONS_MORE
                else:
                    gained = left3 - codon_opening
                gained -= codon_extending
                gone = _NEVER
                if together >= 3:
                    gone = codons_lost[slot, j]
                    if gone > bests[slot, j] - codon_opening:
                        flags |= _ON_CODONS_LOST
                    else:
                        gone = bests[slot, j] - codon_opening
                    gone -= codon_extending
                codons_lost[slot, j] = gone
                if gone > value:
                    value, source = gone, _CODONS_LOST
                if gained > value:
                    value, source = gained, _CODONS_MORE
                codons3, codons2, codons = codons2, codons, gained
            else:
                codons_lost[slot, j] = _NEVER
            if r <= begin and value < 0:
                value, source = 0, _BEGIN
            more[j], long_more[j] = run, long_run
            diagonal, best[j], bests[slot, j] = above, value, value
            left3, left2, left = left2, left, value
            trace[r, j] = flags | source
            if r >= end and value > top:
                top, top_row, top_column = value, r, j
    if top_row < 0:
        top, top_row, top_column = best[m], n, m
    return _traced(trace, rows, top_row, top_column), top


@njit(nogil=True)
def _traced(trace, rows, r, j):
    """Walk back from a cell; return the column of each row."""
    found = np.full(len(rows), OUTSIDE, np.int64)
    state = _PAIR
    while True:
        cell = trace[r, j]
        is_edge = r > 0 and rows[r - 1] == EDGE
        if state == _PAIR:
            state = cell & _SOURCE
            if state == _BEGIN:
                return found
            if state == _PAIR:
                j -= 0 if is_edge else 1
                r -= 1
                found[r] = j
        elif state == _CODONS_LOST:
            found[r - 3 : r] = GAP
            r -= 3
            if not cell & _ON_CODONS_LOST:
                state = _PAIR
        elif state == _CODONS_MORE:
            j -= 3
            if not cell & _ON_CODONS_MORE:
                state = _PAIR
        elif state in (_LOST, _LONG_LOST):
            on = cell & (_ON_LOST if state == _LOST else _ON_LONG_LOST)
            r -= 1
            found[r] = j if is_edge else GAP
            if not is_edge and not on:
                state = _PAIR
        else:
            short = state == _MORE
            if is_edge and cell & (_ON_LOST if short else _ON_LONG_LOST):
                r -= 1
                found[r] = j
            else:
                on = cell & (_ON_MORE if short else _ON_LONG_MORE)
                j -= 1
                if not on:
                    state = _PAIR


# ---- anchors: exact words of both sequences, and their best chain

_MOST_REPEATS = 8
"""Words that a sequence has more often are no anchors."""
_MATCHES_BEFORE = 400
"""Anchors before one that it is tried to follow."""
_BITS = 2


@njit(cache=True, nogil=True)
def words_of(codes, length):
    """Return the word of nucleotides at each position, -1 where there is none."""
    n = len(codes)
    found = np.full(max(n, 1), -1, np.int64)
    mask, word, run = (1 << (_BITS * length)) - 1, 0, 0
    for i in range(n):
        if codes[i] > 3:
            run = 0
            continue
        word = ((word << _BITS) | codes[i]) & mask
        run += 1
        if run >= length:
            found[i - length + 1] = word
    return found


@njit(cache=True, nogil=True)
def exact_matches(one, two, order, words, length):
    """Return the longest exact matches of at least a word: begin in both, and length.

    `words` are those of `two`, sorted, and `order` their positions.
    """
    rows = np.empty((1024, 3), np.int64)
    n = 0
    mine = words_of(one, length)
    for i in range(len(one)):
        if mine[i] < 0:
            continue
        low = np.searchsorted(words, mine[i])
        high = low
        while high < len(words) and words[high] == mine[i] and high - low <= _MOST_REPEATS:
            high += 1
        if high - low > _MOST_REPEATS:
            continue
        for k in range(low, high):
            j = order[k]
            if i > 0 and j > 0 and one[i - 1] == two[j - 1] and one[i - 1] < 4:
                continue  # it has been found from its begin on
            size = length
            while (
                i + size < len(one) and j + size < len(two)
                and one[i + size] == two[j + size] and one[i + size] < 4
            ):  # fmt: skip
                size += 1
            if n == len(rows):
                rows = np.concatenate((rows, np.empty_like(rows)))
            rows[n, 0], rows[n, 1], rows[n, 2] = i, j, size
            n += 1
    return rows[:n]


@njit(cache=True, nogil=True)
def best_chain(matches, shift):
    """Return the matches of the best chain that rises in both sequences, in order.

    A nucleotide of a match is a point. A difference of the distances costs `shift` points and the
    logarithm of it. Matches are sorted by their begin in the first sequence.
    """
    n = len(matches)
    score, before = np.empty(n, np.float64), np.full(n, -1, np.int64)
    top = -1
    for k in range(n):
        gain = 0.0
        for i in range(k - 1, max(k - 1 - _MATCHES_BEFORE, -1), -1):
            one = matches[k, 0] - matches[i, 0] - matches[i, 2]
            two = matches[k, 1] - matches[i, 1] - matches[i, 2]
            both = max(-one, -two, 0)
            if both >= min(matches[k, 2], matches[i, 2]) - 4:
                continue
            if matches[k, 0] <= matches[i, 0] or matches[k, 1] <= matches[i, 1]:
                continue
            value = score[i] - both
            if one != two:
                value -= shift + np.log2(abs(one - two))
            if value > gain:
                gain, before[k] = value, i
        score[k] = matches[k, 2] + gain
        if top < 0 or score[k] > score[top]:
            top = k
    chain = np.empty(n, np.int64)
    size = 0
    while top >= 0:
        chain[size] = top
        size += 1
        top = before[top]
    return matches[chain[:size][::-1]]
