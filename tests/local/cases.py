"""Seeded random pairs of sequences and scorings, for the oracle and the package alike."""

from __future__ import annotations

import numba
import numpy as np

from gpu_tools import AffineScoring, ProteinSequence, Sequence
from gpu_tools.formats.values.matrices import load_matrix


def random_pair(rng, longest: int, letters: str = "ACGTN") -> tuple[str, str]:
    """Return two texts that now and then share stretches, in one place or in two."""
    query, subject = (
        "".join(rng.choice(list(letters), size=int(rng.integers(1, longest + 1)))) for _ in range(2)
    )
    if rng.random() < 0.6:
        begin = int(rng.integers(0, len(query)))
        part = query[begin : begin + int(rng.integers(1, longest))]
        subject = (part + subject + part)[: longest + len(part)]
    return query, subject


def random_scoring(rng, **fixed) -> AffineScoring:
    """Return a scoring; penalties of 0 and linear gaps among them."""
    extend, opened = sorted(int(x) for x in rng.integers(0, 9, 2))
    return AffineScoring(
        int(rng.integers(1, 6)), int(rng.integers(-5, 1)), opened, extend, **fixed
    )  # fmt: skip


def protein_scoring(rng) -> AffineScoring:
    """Return a shipped matrix with random penalties."""
    return random_scoring(rng, matrix=load_matrix(str(rng.choice(["BLOSUM62", "PAM250"]))))


def oracle_pair(scoring: AffineScoring):
    """Return the oracle's score of two letters."""
    if scoring.matrix is None:
        return lambda a, b: scoring.match if a == b and a in "ACGT" else scoring.mismatch
    instead = {"U": "C", "O": "K", "J": "X"}
    letters, scores = scoring.matrix.letters, scoring.matrix.scores
    return lambda a, b: int(
        scores[letters.index(instead.get(a, a)), letters.index(instead.get(b, b))]
    )


def sequences(query: str, subject: str, scoring: AffineScoring) -> tuple[Sequence, Sequence]:
    """Return the texts as the package wants them."""
    kind = Sequence if scoring.matrix is None else ProteinSequence
    return kind.from_text("q", query), kind.from_text("s", subject)


@numba.njit
def tile_scores(query, subject, table, gaps, side):
    """Return the largest score of each tile, cell by cell."""
    opened, extend = gaps
    down, across = -(-len(query) // side), -(-len(subject) // side)
    most = np.zeros((down, across), dtype=np.int64)
    best, falling = np.zeros(len(subject) + 1, np.int64), np.zeros(len(subject) + 1, np.int64)
    for i in range(len(query)):
        diagonal, running = 0, -opened
        for j in range(1, len(subject) + 1):
            falling[j] = max(best[j] - opened, falling[j] - extend)
            running = max(best[j - 1] - opened, running - extend)
            pair = diagonal + table[query[i], subject[j - 1]]
            diagonal = best[j]
            best[j] = max(0, pair, falling[j], running)
            most[i // side, (j - 1) // side] = max(most[i // side, (j - 1) // side], best[j])
    return most


def score_of(problem, start, cigar) -> int:
    """Return the score of an alignment from its CIGAR; every run of I or D is one gap."""
    (row, column), total, before = start, 0, "="
    for operation, n in cigar:
        if operation in "=X":
            rows, columns = problem.query[row : row + n], problem.subject[column : column + n]
            total += int(problem.table[rows, columns].sum())
        else:
            assert operation != before
            total -= problem.gap_open + (n - 1) * problem.gap_extend
        row += n if operation in "=XI" else 0
        column += n if operation in "=XD" else 0
        before = operation
    return total


@numba.njit
def _on_the_way(query, subject, table, gaps):
    """Return each cell's best score before it and best score behind it, each at least 0."""
    opened, extend = gaps
    rows, columns = len(query), len(subject)
    before, behind = np.zeros((rows + 1, columns + 1)), np.zeros((rows + 1, columns + 1))
    falling = np.full(columns + 1, -1e9)
    for i in range(1, rows + 1):
        running = -1e9
        for j in range(1, columns + 1):
            falling[j] = max(before[i - 1, j] - opened, falling[j] - extend)
            running = max(before[i, j - 1] - opened, running - extend)
            pair = before[i - 1, j - 1] + table[query[i - 1], subject[j - 1]]
            before[i, j] = max(0, pair, falling[j], running)
    falling = np.full(columns + 1, -1e9)
    for i in range(rows - 1, -1, -1):
        running = -1e9
        for j in range(columns - 1, -1, -1):
            falling[j] = max(behind[i + 1, j] - opened, falling[j] - extend)
            running = max(behind[i, j + 1] - opened, running - extend)
            pair = behind[i + 1, j + 1] + table[query[i], subject[j]]
            behind[i, j] = max(0, pair, falling[j], running)
    return before[1:, 1:], behind[1:, 1:]


def largest_on_the_way(problem) -> tuple[int, np.ndarray]:
    """Return the best score, and of each cell the best score of alignments through it."""
    gaps = problem.gap_open, problem.gap_extend
    before, behind = _on_the_way(problem.query, problem.subject, problem.table, gaps)
    return int(before.max()), before + behind


def assert_worth(found, problem, side: int, worth) -> None:
    """No tile's bound is less than the scores in it of alignments that are worth finding."""
    gaps = problem.gap_open, problem.gap_extend
    before, behind = _on_the_way(problem.query, problem.subject, problem.table, gaps)
    least = max(worth.least, before.max()) if worth.only_best else worth.least
    before[before + behind < least] = 0
    padded = np.pad(before, [(0, -n % side) for n in before.shape])
    tiles = padded.reshape(padded.shape[0] // side, side, -1, side).max(axis=(1, 3))
    assert (found >= tiles).all()
