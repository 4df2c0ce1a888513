"""The best path through a box of a lift, by every state of a naive automaton, and a path's score.

A row is a nucleotide, given as (label, code), or an edge, given as (label, None, points). Costs of
gaps are (open, extend, open of a long one, extend of a long one, open of one of codons, cost of a
codon) by label; a gap of codons takes three rows of one label or three columns at once, and a label
whose cost to open it is -1 has none.
"""

from functools import cache

NONE, LOST, MORE, LONG_LOST, LONG_MORE, CODONS_LOST, CODONS_MORE = range(7)


def best_score(rows, columns, pairs, gaps, begin, end):
    """Return the best score; `begin` and `end` as in `gpu_tools.lift.cpu.align_box`."""
    n, m = len(rows), len(columns)

    @cache
    def best(r, j, state):
        """Return the best score of a path that reaches a cell and ends in a state."""
        options = [-(10**9)]
        if state == NONE and r == 0 and (begin >= 0 or j == 0):
            options.append(0)
        if state == NONE and 0 < r <= begin:
            options.append(0)
        row = rows[r - 1] if r else None
        label = rows[max(r - 1, 0)][0]
        every = range(7)
        has_codons = row is not None and row[1] is not None and gaps[label][4] != -1
        alike = r >= 3 and all(one[0] == label and one[1] is not None for one in rows[r - 3 : r])
        if has_codons and state == CODONS_LOST and alike:
            before = [best(r - 3, j, s) - gaps[label][4] * (s != state) for s in every]
            options.append(max(before) - gaps[label][5])
        if has_codons and state == CODONS_MORE and j >= 3:
            before = [best(r, j - 3, s) - gaps[label][4] * (s != state) for s in every]
            options.append(max(before) - gaps[label][5])
        if row is not None and row[1] is None and state not in (CODONS_LOST, CODONS_MORE):
            ends = (NONE, CODONS_LOST, CODONS_MORE) if state == NONE else (state,)
            options.append(max(best(r - 1, j, s) for s in ends) + row[2][j])
        elif row is not None and row[1] is not None:
            if state == NONE and j:
                before = max(best(r - 1, j - 1, s) for s in every)
                options.append(before + pairs[label][row[1]][columns[j - 1]])
            if state in (LOST, LONG_LOST):
                options.append(best(r - 1, j, state) - gaps[label][2 * (state == LONG_LOST) + 1])
                options += (best(r - 1, j, s) - opened(label, state) for s in every if s != state)
        if state in (MORE, LONG_MORE) and j:
            options.append(best(r, j - 1, state) - gaps[label][2 * (state == LONG_MORE) + 1])
            options += (best(r, j - 1, s) - opened(label, state) for s in every if s != state)
        return max(options)

    def opened(label, state):
        k = 2 * (state in (LONG_LOST, LONG_MORE))
        return gaps[label][k] + gaps[label][k + 1]

    cells = [(r, j) for r in range(min(end, n + 1), n + 1) for j in range(m + 1)] or [(n, m)]
    return max(best(r, j, s) for r, j in cells for s in range(7))
