"""The sites of a strand in the form that the compiled loops of site mode read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.sites.classes import class_arrays
from gpu_tools.sites.longest import Longest, longest_of
from gpu_tools.sites.rising import Rising
from gpu_tools.sites.table import SiteTable, once_a_table

WAITING = 4
"""Rows that wait for the end of their first codon, by boundary modulo this."""
_NO_STOPS = np.empty((0, 0, 0), dtype=bool)


class SiteLists(NamedTuple):
    """The sites of a strand in the form that the loops read.

    `first` and `last` are the usual score of first entries and last exits, the boundaries that have
    another one, and their scores; `acceptors` and `donors` the boundaries of inner entries and
    exits, their scores and kinds. `kinds`, `lengths` and `penalties` are those of the intron
    classes. `stops` is empty if the table has no stop codons.
    """

    codes: NDArray[np.uint8]
    first: tuple[int, NDArray, NDArray[np.int32]]
    acceptors: tuple[NDArray, NDArray[np.int32], NDArray[np.uint8]]
    donors: tuple[NDArray, NDArray[np.int32], NDArray[np.uint8]]
    last: tuple[int, NDArray, NDArray[np.int32]]
    kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    rising: Rising
    longest: Longest
    stops: NDArray[np.bool_]


def lists_of(codes, table: SiteTable) -> SiteLists:
    """Return the sites of a strand."""
    inner = ((s.boundaries, s.scores, s.kinds) for s in (table.acceptors, table.donors))
    return SiteLists(
        np.ascontiguousarray(codes), table.first.arrays, *inner, table.last.arrays,
        *class_arrays(table)[:4], longest_of(table.introns, table.length),
        _NO_STOPS if table.stops is None else table.stops,
    )  # fmt: skip


def longest_wait(table: SiteTable) -> int:
    """Return for how many boundaries an exit is pending, at most."""
    return max([0, *(intron.min_length for intron in table.introns)])


@once_a_table
def most_pending(table: SiteTable) -> int:
    """Return how many exits are pending at a time, at most, with one that has just come."""
    return 1 + int(most_waiting(table.donors.boundaries, longest_wait(table)))


@njit(cache=True, nogil=True)
def most_waiting(boundaries, longest):
    """Return how many listed boundaries lie less than so far before one of them, at most."""
    most, first = 1, 0
    for last in range(len(boundaries)):
        while boundaries[first] + longest <= boundaries[last] and first < last:
            first += 1
        most = max(most, last - first + 1)
    return most


def power_of_two(count: int) -> int:
    """Return the least power of two that is not less than a count, 0 for 0."""
    return 1 << (count - 1).bit_length() if count else 0


@njit(nogil=True)
def copy_rows(snapshots, block, rows, lanes):
    """Copy rows of whole vectors to those of a block."""
    count, width = rows.shape
    for k in range(0, count * width, lanes):
        simd.store(snapshots, block * count * width + k, simd.load(rows, k))
