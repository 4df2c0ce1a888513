"""The published sequential algorithm: one thread, exon by exon, row by row."""

from __future__ import annotations

import time

import numpy as np
from numba import int32, njit

from benchmarks.published.problem import Problem, problems
from gpu_tools import Case, SplicedScoring
from gpu_tools.model.sequences import OTHER


@njit(cache=True)
def _enter(row, k, exons, rows, gap):
    """Fill the row from which exon k starts: the best of the empty chain and its predecessors."""
    for j in range(len(row)):
        row[j] = gap * j
    for other in range(k):
        if exons[other, 1] <= exons[k, 0]:
            for j in range(len(row)):
                row[j] = max(row[j], rows[other, j])


@njit(cache=True)
def _advance(row, symbol, target, match, mismatch, gap):
    """Turn the row above into the row of one base symbol."""
    diagonal = row[0]
    row[0] = left = int32(diagonal + gap)
    for j in range(len(target)):
        equal = target[j] == symbol and symbol < OTHER
        pair = int32(diagonal + (match if equal else mismatch))
        diagonal = row[j + 1]
        left = max(pair, int32(max(diagonal, left) + gap))
        row[j + 1] = left


@njit(cache=True)
def _sweep(base, target, exons, match, mismatch, gap):
    rows = np.empty((len(exons), len(target) + 1), dtype=np.int32)
    for k in range(len(exons)):
        _enter(rows[k], k, exons, rows, gap)
        for i in range(exons[k, 0], exons[k, 1]):
            _advance(rows[k], base[i], target, match, mismatch, gap)
    return rows


def _rows(problem: Problem):
    return _sweep(
        problem.base, problem.target, problem.exons, problem.match, problem.mismatch, problem.gap
    )


def last_rows(case: Case, scoring: SplicedScoring | None = None) -> list:
    """Return each strand's last rows, int32 of shape (exons, target length + 1)."""
    return [_rows(problem) for problem in problems(case, scoring or SplicedScoring())]


def score(case: Case, scoring: SplicedScoring | None = None) -> int | None:
    """Return the best chain's score; None without candidates."""
    return max((int(rows[:, -1].max()) for rows in last_rows(case, scoring)), default=None)


def milliseconds(case: Case, scoring: SplicedScoring | None = None) -> float:
    """Return the wall time of the sweep of both strands."""
    parts = problems(case, scoring or SplicedScoring())
    begin = time.perf_counter()
    for problem in parts:
        _rows(problem)
    return (time.perf_counter() - begin) * 1e3
