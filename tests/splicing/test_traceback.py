"""The search for an exon's entry, and the runs of a chain's operations."""

import numpy as np
import pytest

from gpu_tools import SplicedScoring
from gpu_tools.splicing.best_chains import NO_PAIRS
from gpu_tools.splicing.traceback import (
    CELLS_STORED,
    Entries,
    ExonRows,
    TracedExon,
    pair_scores,
    trace_back,
    trace_exon,
)

NOTHING_COUNTS = SplicedScoring(match=0, mismatch=0, gap=0)


def rows_of(base, target, scoring):
    """Return what a traceback reads of an exon and a target, given their codes."""
    codes = np.array(base, dtype=np.uint8), np.array(target, dtype=np.uint8)
    return ExonRows(*codes, *pair_scores(codes[1], scoring), scoring.gap, NO_PAIRS)


def entries_of(lengths, rows, wanted, stored, columns):
    numbers = (np.array(values, dtype=np.int64) for values in (lengths, rows, wanted))
    return Entries(*numbers, np.array(stored, dtype=np.int16), np.zeros(columns, dtype=np.int32))


@pytest.mark.parametrize(
    ("lengths", "rows", "wanted", "stored", "expected"),
    [
        ([1, 2], [0, 1], [5, 5], [[5, 5, 5], [5, 5, 5]], (0, 0)),  # the shortest
        ([1, 2], [0, 1], [5, 5], [[4, 4, 4], [4, 4, 5]], (1, 2)),  # that explains the value
        ([2, 2], [0, 1], [5, 5], [[4, 5, 5], [5, 5, 5]], (1, 0)),  # the smallest column
        ([2, 2], [1, 0], [5, 5], [[5, 5, 5], [5, 5, 5]], (0, 0)),  # the first of equals
        ([1, 2], [-1, 0], [0, 5], [[5, 5, 5]], (0, 0)),  # the empty chain
    ],
)
def test_which_entry_is_chosen(lengths, rows, wanted, stored, expected):
    exon = rows_of([0, 1], [0, 1], NOTHING_COUNTS)
    found = trace_exon(exon, entries_of(lengths, rows, wanted, stored, 3))
    assert found[:2] == expected


def test_a_value_that_no_entry_explains_is_an_error():
    exon = rows_of([0, 1], [0, 1], NOTHING_COUNTS)
    with pytest.raises(ValueError, match="the sweep is wrong"):
        trace_exon(exon, entries_of([1, 2], [0, 0], [7, 7], [[5, 5, 5]], 3))


@pytest.mark.parametrize("length", [300, 600])
def test_an_exon_is_aligned_with_stored_rows_and_over_several_checkpoints(length):
    assert 301**2 <= CELLS_STORED < 601**2
    codes = np.random.default_rng(1).integers(0, 4, length)
    exon = rows_of(codes, codes, SplicedScoring())
    # each pair gains match - gap = 3
    entries = entries_of([length], [-1], [3 * length], np.zeros((1, length + 1)), length + 1)
    found, column, operations = trace_exon(exon, entries)
    assert (found, column, operations.tolist()) == (0, 0, [0] * length)


def gain_of(base, target, scoring):
    """Return what an exon gains with all of a target: W, computed cell by cell."""
    lifted = scoring.substitution() - scoring.gap
    row = [0] * (len(target) + 1)
    for symbol in base[::-1]:
        below, row[-1] = list(row), row[-1] + scoring.gap
        for c in range(len(target) - 1, -1, -1):
            paired = below[c + 1] + lifted[symbol, target[c]]
            row[c] = max(paired, below[c] + scoring.gap, row[c + 1])
    return row[0]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("length", [1, 5, 15, 16, 17, 33, 50])
def test_the_operations_of_an_exon_gain_as_much_as_any(length, alone):
    """Of random symbols, or of one nucleotide that equals the target's last symbol alone."""
    print("seed", length)
    random, scoring = np.random.default_rng(length), SplicedScoring()
    base, target = random.integers(0, 5, 40), random.integers(0, 5, length)
    if alone:
        base, target[:], target[-1] = np.zeros(1, np.int64), 1, 0
    gain = gain_of(base, target, scoring)
    entries = entries_of([len(base)], [-1], [gain], np.zeros((1, length + 1)), length + 1)
    _, column, operations = trace_exon(rows_of(base, target, scoring), entries)
    counts = np.bincount(operations, minlength=4)
    assert (column, counts[:3].sum(), counts[[0, 1, 3]].sum()) == (0, length, len(base))
    # lifted: a target symbol without a nucleotide costs nothing
    assert counts @ [3, 1, 0, -2] == gain


class _TwoExons:
    """Exons at 4 to 6 and at 9 to 12, or at `start` to 12, entered at the columns 1 and 3."""

    def __init__(self, start):
        self.start = start

    def exon_before(self, end, column):
        if end == 12:
            return TracedExon(self.start, 12, 3, np.array([0, 0, 3], dtype=np.uint8), None)
        return TracedExon(4, 6, 1, np.array([0, 0], dtype=np.uint8), None)

    def end_before(self, exon):
        return 6 if exon.end == 12 else None


@pytest.mark.parametrize(
    ("ends", "start", "first", "cigar"),
    [
        ("global", 9, 0, (("I", 1), ("=", 2), ("N", 3), ("=", 2), ("D", 1))),
        ("free-target", 9, 1, (("=", 2), ("N", 3), ("=", 2), ("D", 1))),
        ("free-target", 6, 1, (("=", 4), ("D", 1))),  # exons that touch
    ],
)
def test_a_chain_with_its_introns_and_its_first_column(ends, start, first, cigar):
    traced = trace_back(_TwoExons(start), 12, 5, SplicedScoring(ends=ends))
    assert traced.intervals == [(4, 6), (start, 12)]
    assert (traced.first_column, traced.cigar) == (first, cigar)
