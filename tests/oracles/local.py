"""Naive definitions of local and global alignment; imports nothing from gpu_tools.

Sequences are texts, `pair(a, b)` scores two letters, a gap of n symbols costs
open + (n - 1) * extend. A gap step looks at all lengths, so nothing is shared with the usual three
recurrences.
"""

from __future__ import annotations


def fill(query, subject, pair, gaps, used=frozenset(), local=True):
    """Return the whole matrix: best score of an alignment that ends before (i, j)."""
    opened, extend = gaps
    rows, columns = len(query) + 1, len(subject) + 1
    score = [[None] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            ways = [0] if local or i == j == 0 else []
            if i and j and (i - 1, j - 1) not in used:
                ways.append(score[i - 1][j - 1] + pair(query[i - 1], subject[j - 1]))
            ways += [score[i - n][j] - opened - (n - 1) * extend for n in range(1, i + 1)]
            ways += [score[i][j - n] - opened - (n - 1) * extend for n in range(1, j + 1)]
            score[i][j] = max(ways)
    return score


def trace(query, subject, pair, gaps, used=frozenset()):
    """Global alignment, letters from first to last: walking back, pair before D before I.

    A gap is left at its shortest length that is as good.
    """
    opened, extend = gaps
    score = fill(query, subject, pair, gaps, used, local=False)
    i, j, letters = len(query), len(subject), []
    while i or j:
        here = score[i][j]
        free = i and j and (i - 1, j - 1) not in used
        if free and here == score[i - 1][j - 1] + pair(query[i - 1], subject[j - 1]):
            letters.append("=" if query[i - 1] == subject[j - 1] else "X")
            i, j = i - 1, j - 1
            continue
        for letter, most in (("D", j), ("I", i)):
            step = [(0, 1), (1, 0)][letter == "I"]
            fits = [
                n for n in range(1, most + 1)
                if here == score[i - n * step[0]][j - n * step[1]] - opened - (n - 1) * extend
            ]  # fmt: skip
            if fits:
                letters += letter * fits[0]
                i, j = i - fits[0] * step[0], j - fits[0] * step[1]
                break
    return score[-1][-1], "".join(reversed(letters))


def k_best(query, subject, pair, gaps, k, least=1):
    """Fill, take the best, forbid its pairs, fill again.

    Yields (score, start, end, letters). Of equal scores the end that is first by row, then
    column; then the start that is last by row, then column.
    """
    used = set()
    for _ in range(k):
        score = fill(query, subject, pair, gaps, used)
        best = max(map(max, score))
        if best < least:
            return
        end = min((i, j) for i, row in enumerate(score) for j, v in enumerate(row) if v == best)
        start = last_start(query, subject, pair, gaps, used, best, end)
        shifted = {(i - start[0], j - start[1]) for i, j in used}
        part, other = query[start[0] : end[0]], subject[start[1] : end[1]]
        total, letters = trace(part, other, pair, gaps, shifted)
        assert total == best
        yield best, start, end, letters
        used |= set(pairs(start, letters))


def last_start(query, subject, pair, gaps, used, best, end):
    """Return the last start, by row, then column, of an alignment of score `best` to `end`."""
    back = fill(
        query[: end[0]][::-1], subject[: end[1]][::-1], pair, gaps,
        {(end[0] - 1 - i, end[1] - 1 - j) for i, j in used}, local=False,
    )  # fmt: skip
    return max(
        (end[0] - i, end[1] - j)
        for i, row in enumerate(back) for j, v in enumerate(row) if v == best and (i or j)
    )  # fmt: skip


def pairs(start, letters):
    """Yield the aligned pairs of an alignment."""
    i, j = start
    for letter in letters:
        if letter in "=X":
            yield i, j
        i += letter in "=XI"
        j += letter in "=XD"
