"""Seeded random pairs of sequences and scorings, for the oracle and the package alike."""

from __future__ import annotations

import numba
import numpy as np

from gpu_tools import AffineScoring, ProteinSequence, Sequence
from gpu_tools.formats.scales import load_matrix
from gpu_tools.hardware.device import resolve
from gpu_tools.local import cpu
from gpu_tools.local.problem import ALL, Batch, make_problem, make_tiles
from gpu_tools.local.schedule import LocalSearch, search_pairs

LINEAR, AFFINE = AffineScoring(3, -2, 4, 4), AffineScoring(5, -4, 16, 4)


def codes(rng, length, letters=4):
    return rng.integers(0, letters, length).astype(np.uint8)


def changed(rng, sequence, rate=0.1, letters=4):
    """Return a copy with substitutions and, half as many, symbols left out and put in."""
    changes = rng.random(len(sequence)) < rate
    copy = np.where(changes, codes(rng, len(sequence), letters), sequence)
    copy = np.delete(copy, np.flatnonzero(rng.random(len(copy)) < rate / 4))
    places = np.flatnonzero(rng.random(len(copy)) < rate / 4)
    return np.insert(copy, places, codes(rng, len(places), letters))


def related(rng, length, letters=4):
    """Return codes of a pair; before, behind or between what they share may lie something else."""
    query = codes(rng, length, letters)
    subject = changed(rng, query, float(rng.choice([0.0, 0.05, 0.2])), letters)
    kind = rng.integers(0, 4)
    other = codes(rng, int(rng.integers(1, length // 2)), letters)
    if kind == 1:
        query = np.concatenate([other, query])
    elif kind == 2:
        subject = np.concatenate([subject, other, subject[: length // 3]])
    elif kind == 3:
        subject = np.concatenate([subject[: length // 2], other, subject[length // 2 :]])
    return query, subject


def problem_of(seed, letters=4, length=500):
    """Return a problem of related sequences, of proteins if there are more letters."""
    rng = np.random.default_rng(seed)
    query, subject = related(rng, int(rng.integers(length // 2, length)), letters)
    if letters > 4:
        scoring = AffineScoring(gap_open=11, gap_extend=1, matrix=load_matrix("BLOSUM62"))
    else:
        scoring = (LINEAR, AFFINE, random_scoring(rng))[seed % 3]
    return make_problem(query, subject, scoring), scoring


PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX*UOJ"


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
    match, mismatch = int(rng.integers(1, 6)), int(rng.integers(-5, 1))
    return AffineScoring(match, mismatch, opened, extend, **fixed)


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
    """Return the texts as sequences."""
    kind = Sequence if scoring.matrix is None else ProteinSequence
    return kind.from_text("q", query), kind.from_text("s", subject)


NO_PAIRS = np.zeros(0, np.int64), np.zeros(0, np.int64)


@numba.njit
def tile_scores(query, subject, table, gaps, side, forbidden=NO_PAIRS):
    """Return the largest score of each tile, cell by cell, without forbidden pairs."""
    barred = np.zeros((len(query), len(subject)), np.bool_)
    for k in range(len(forbidden[0])):
        if 0 <= forbidden[0][k] < len(query):
            barred[forbidden[0][k], forbidden[1][k]] = True
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
            pair = 0 if barred[i, j - 1] else pair
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


def assert_bounds_of_interest(found, problem, side: int, threshold) -> None:
    """No tile's bound is less than the scores in it of alignments of interest."""
    gaps = problem.gap_open, problem.gap_extend
    before, behind = _on_the_way(problem.query, problem.subject, problem.table, gaps)
    least = max(threshold.least, before.max()) if threshold.only_best else threshold.least
    before[before + behind < least] = 0
    padded = np.pad(before, [(0, -n % side) for n in before.shape])
    tiles = padded.reshape(padded.shape[0] // side, side, -1, side).max(axis=(1, 3))
    assert (found >= tiles).all()


def searched(problem, scoring, device: str = "cpu", threads: int = 1, **options):
    """Return the alignments of a problem's sequences, with options that only tests need."""
    kind = Sequence if scoring.matrix is None else ProteinSequence
    pairs = [(kind("q", problem.query), kind("s", problem.subject))]
    search = LocalSearch(scoring, **options)
    (found,) = search_pairs(pairs, search, resolve(device), threads, lambda cells: None)
    return found


def batch_of(problem, side: int, threshold=ALL):
    """Return a problem as a batch, and its tiles."""
    nothing = np.empty(0, np.uint8)
    spans = np.cumsum([0, len(problem.query), 0, len(problem.subject)]).reshape(1, 4)
    symbols = np.concatenate([problem.query, problem.subject])
    batch = Batch(problem._replace(query=nothing, subject=nothing), symbols, spans)
    return batch, make_tiles(batch, np.full(1, side), *threshold)


def bounds_of(passes, problem, side: int):
    """Return the bounds of a problem's tiles from those of score passes of it alone."""
    (tiles, upper), shape = passes, [-(-n // side) for n in problem.shape]
    return upper[tiles.first[0] :][: np.prod(shape)].reshape(shape)


def score_pass(problem, side: int, threshold=ALL):
    """Return the bounds of a score pass on the CPU."""
    batch, tiles = batch_of(problem, side, threshold)
    cpu.score_passes(batch, tiles, upper := cpu.empty_bounds(tiles), range(1))
    return bounds_of((tiles, upper), problem, side)


def letters_of(alignment) -> str:
    """Return the letters of an alignment's columns."""
    return "".join(letter * n for letter, n in alignment.cigar)
