"""Naive definitions of maximum segments and submatrices; imports nothing from gpu_tools."""

from __future__ import annotations

from itertools import accumulate


def best_by_enumeration(values):
    """Best (start, end, sum) over all segments: first start, then shortest; None without any."""
    best = None
    for start in range(len(values)):
        total = 0
        for end in range(start + 1, len(values) + 1):
            total += values[end - 1]
            if total > 0 and (best is None or total > best[2]):
                best = (start, end, total)
    return best


def best_by_kadane(values):
    """The largest sum of a segment, 0 for the empty one."""
    best = running = 0
    for value in values:
        running = max(running + value, 0)
        best = max(best, running)
    return best


def maximal_by_definition(values):
    """Ruzzo and Tompa's segments after their propositions.

    A segment qualifies if each proper part of it has a smaller sum; the maximal ones are those that
    lie in no other one that qualifies.
    """
    sums = [0, *accumulate(values)]
    qualified = [
        (i, j)
        for i in range(len(sums))
        for j in range(i + 1, len(sums))
        if all(sums[i] < sums[k] for k in range(i + 1, j + 1))
        and all(sums[k] < sums[j] for k in range(i, j))
    ]
    return [
        (i, j, sums[j] - sums[i])
        for i, j in qualified
        if not any((a, b) != (i, j) and a <= i and j <= b for a, b in qualified)
    ]


def maximal_by_list(values):
    """Ruzzo and Tompa's own algorithm, with a plain list and plain searches."""
    candidates, total = [], 0
    for position, value in enumerate(values):
        before, total = total, total + value
        if value <= 0:
            continue
        new = (position, position + 1, before, total)
        while True:
            lower = [k for k, c in enumerate(candidates) if c[2] < new[2]]
            if not lower or candidates[lower[-1]][3] >= new[3]:
                break
            merged = candidates[lower[-1]]
            new = (merged[0], new[1], merged[2], new[3])
            del candidates[lower[-1] :]
        candidates.append(new)
    return [(start, end, high - low) for start, end, low, high in candidates]


def best_submatrix(matrix):
    """Best ((row start, row end, column start, column end), sum); None without a positive one.

    Ties: first row start, then column start, then row end, then column end.
    """
    rows, columns = len(matrix), len(matrix[0])
    corner = [[0] * (columns + 1) for _ in range(rows + 1)]
    for r in range(rows):
        for c in range(columns):
            corner[r + 1][c + 1] = matrix[r][c] + corner[r][c + 1] + corner[r + 1][c] - corner[r][c]
    best = None
    for top in range(rows):
        for left in range(columns):
            for bottom in range(top + 1, rows + 1):
                for right in range(left + 1, columns + 1):
                    total = (
                        corner[bottom][right] - corner[top][right]
                        - corner[bottom][left] + corner[top][left]
                    )  # fmt: skip
                    if total > 0 and (best is None or total > best[1]):
                        best = ((top, bottom, left, right), total)
    return best


def disjoint_submatrices(matrix, taken=()):
    """The best rectangle of the free cells, then those of the cells that are left, by recursion.

    As ((row start, row end, column start, column end), sum); ties as in `best_submatrix`.
    """
    best = None
    for top in range(len(matrix)):
        for left in range(len(matrix[0])):
            for bottom in range(top + 1, len(matrix) + 1):
                for right in range(left + 1, len(matrix[0]) + 1):
                    cells = {(r, c) for r in range(top, bottom) for c in range(left, right)}
                    if cells & set(taken):
                        break
                    total = sum(matrix[r][c] for r, c in cells)
                    if total > 0 and (best is None or total > best[0][1]):
                        best = ((top, bottom, left, right), total), cells
    if best is None:
        return []
    return [best[0], *disjoint_submatrices(matrix, {*taken, *best[1]})]
