"""The traceback of an exon: rows of gains computed backwards, and the best path through them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring

ROWS_BETWEEN_CHECKPOINTS = 64
_LANES = simd.VECTOR_BYTES // 4
EQUAL, UNEQUAL, INSERTION, DELETION, INTRON = range(5)
LETTERS = "=XIDN"


class ExonRows(NamedTuple):
    """What one backward pass needs, up to the cell where the exon ends.

    `lifted` are pairs' scores by symbols, `profile` by base symbol and target column; see
    `pair_scores`.
    """

    base: NDArray[np.uint8]
    target: NDArray[np.uint8]
    lifted: NDArray[np.int32]
    profile: NDArray[np.int32]
    gap: int


def lifted_scores(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the lifted scores of all pairs of symbols, base symbol first."""
    return (scoring.substitution() - scoring.gap).astype(np.int32)


def pair_scores(target, scoring: SplicedScoring) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return lifted scores of all pairs of symbols, and of each symbol with the target's."""
    lifted = lifted_scores(scoring)
    return lifted, np.take(lifted, target, axis=1)  # C-contiguous, unlike what indexing gives


@njit(cache=True)
def previous_row(scores, columns, gap, before, first, out):
    """Fill W(r, c) for c from `columns` down to `first` from W(r - 1, .).

    `scores` are the base symbol's with each target symbol; all arrays are of int32.
    """
    c = columns
    right = np.int32(before[c] + gap)
    out[c] = right
    gaps, carry = simd.splat(gap), simd.splat(right)
    while c - first >= _LANES:
        c -= _LANES
        paired = simd.add(simd.load(before, c + 1), simd.load(scores, c))
        best = simd.maximum(paired, simd.add(simd.load(before, c), gaps))
        best = simd.maximum(simd.suffix_maximum(best), carry)
        simd.store(out, c, best)
        carry = simd.splat(simd.first_lane(best))
    right = out[c]
    while c > first:
        c -= 1
        right = max(right, np.int32(before[c + 1] + scores[c]), np.int32(before[c] + gap))
        out[c] = right


@njit(cache=True)
def entered_at(entry, gain, first, missing):
    """Return the smallest column from `first` on with entry + gain = missing, or -1."""
    for c in range(first, len(gain)):
        if entry[c] + gain[c] == missing:
            return c
    return -1


@njit(cache=True, nogil=True)
def align_exon(rows, checkpoints, left, column):
    """Walk from the exon's entry to its end, block by block of recomputed rows."""
    every = ROWS_BETWEEN_CHECKPOINTS
    columns = len(rows.target)
    operations = np.empty(left + columns - column, dtype=np.uint8)
    n = 0
    block = np.empty((every + 1, columns + 1), dtype=np.int32)
    while left > 0:
        bottom = (left - 1) // every * every
        for c in range(column, columns + 1):
            block[0, c] = checkpoints[bottom // every, c]
        for r in range(1, left - bottom + 1):
            scores = rows.profile[rows.base[len(rows.base) - bottom - r]]
            previous_row(scores, columns, np.int32(rows.gap), block[r - 1], column, block[r])
        while left > bottom:
            here, below = block[left - bottom], block[left - bottom - 1]
            symbol = rows.base[len(rows.base) - left]
            if column < columns and (
                here[column] == below[column + 1] + rows.lifted[symbol, rows.target[column]]
            ):
                equal = symbol == rows.target[column] and symbol < 4
                operations[n] = EQUAL if equal else UNEQUAL
                left, column = left - 1, column + 1
            elif here[column] == below[column] + rows.gap:
                operations[n] = DELETION
                left -= 1
            else:
                operations[n] = INSERTION
                column += 1
            n += 1
    operations[n : n + columns - column] = INSERTION
    return operations[: n + columns - column]


def _intron_lengths(exons) -> list[int]:
    return [max(a[0], b[0]) - min(a[1], b[1]) for a, b in pairwise(exons)]


def cigar_of(parts, exons) -> list[tuple[str, int]]:
    """Return the runs of the exons' operations with the introns between the exons."""
    cigar = _runs(parts[0])
    for intron, operations in zip(_intron_lengths(exons), parts[1:], strict=True):
        cigar += [("N", intron)] if intron else []
        cigar += _runs(operations)
    return cigar


def _runs(operations) -> list[tuple[str, int]]:
    bounds = [0, *(np.flatnonzero(np.diff(operations)) + 1).tolist(), len(operations)]
    letters = [LETTERS[k] for k in operations[bounds[:-1]].tolist()]
    return [(x, b - a) for x, (a, b) in zip(letters, pairwise(bounds), strict=True)]


def with_leading_gap(cigar, symbols: int):
    """Put the target symbols before the first exon's entry in front, and merge equal runs."""
    merged = []
    for letter, n in ([("I", symbols)] if symbols else []) + cigar:
        if merged and merged[-1][0] == letter:
            n += merged.pop()[1]
        merged.append((letter, n))
    return tuple(merged)
