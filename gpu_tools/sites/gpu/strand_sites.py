"""The sites of a strand as arrays, from which it is compiled what GPUs do at each boundary."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.introns import Rising, class_arrays, flag_borders
from gpu_tools.sites.table import (
    CLOSED,
    FIRST_ENTRY,
    INNER_ENTRY,
    INNER_EXIT,
    LAST_EXIT,
    IntronClass,
    JunctionArrays,
    SiteTable,
)

_NO_STOPS = np.empty((0, 0, 0), dtype=bool)


class IntronMaxima(NamedTuple):
    """Intron classes, and the maxima over the exits before an entry that kernels have for them.

    Classes of one kind whose penalties rise alike share a *maximum*: exits raise it when a class
    may begin with them, less that class's first penalty. The first three are of classes, `number`
    is that of each class's maximum, and `kinds` are those of maxima.
    """

    class_kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    number: NDArray[np.int64]
    kinds: NDArray[np.int64]


class ListedSites(NamedTuple):
    """A strand's nucleotides and the four lists of a table, see `BoundaryScores`.

    The others are as in `Sites`.
    """

    codes: NDArray[np.uint8]
    first: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    acceptors: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    donors: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    last: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    introns: IntronMaxima
    rising: Rising
    stops: NDArray[np.bool_]
    junctions: JunctionArrays


class Sites(NamedTuple):
    """The sites of a strand, one element a boundary; 0 where there is none.

    `flags` are those of `gpu_tools.sites.table`, with borders. `rising` has a maximum in place of
    each intron class. `stops` is empty if the table has no stop codons.
    """

    codes: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    first_entry: NDArray[np.int32]
    inner_entry: NDArray[np.int32]
    inner_exit: NDArray[np.int32]
    last_exit: NDArray[np.int32]
    entry_kind: NDArray[np.uint8]
    exit_kind: NDArray[np.uint8]
    introns: IntronMaxima
    rising: Rising
    stops: NDArray[np.bool_]
    junctions: JunctionArrays


def listed_sites(codes, table: SiteTable) -> ListedSites:
    """Return the lists of a strand, `codes` being its nucleotides."""
    lists = ((each.usual, each.boundaries, each.scores, each.kinds) for each in table.lists)
    stops = _NO_STOPS if table.stops is None else table.stops
    junctions = table.junction_arrays
    arrays, (first, number) = class_arrays(table), _shared_maxima(table.introns)
    introns = IntronMaxima(*arrays[:3], number, arrays.kinds[first])
    rising, is_first = arrays.rising, np.isin(arrays.rising.far_class, first)
    far = (each[is_first] for each in (number[rising.far_class], *rising[4:]))
    rising = Rising(*rising[:2], rising.near_level[first], *far)
    return ListedSites(np.ascontiguousarray(codes), *lists, introns, rising, stops, junctions)


@cache
def _shared_maxima(introns: tuple[IntronClass, ...]) -> tuple[NDArray, NDArray]:
    """Return the first class of each maximum, and the number of each class's maximum."""
    keys = [(each.kind, each.rising) for each in introns]
    unique = list(dict.fromkeys(keys))
    first, number = [keys.index(key) for key in unique], [unique.index(key) for key in keys]
    return np.array(first, np.int64), np.array(number, np.int64)


def sites_of(codes, table: SiteTable) -> Sites:
    """Return the sites of a strand, `codes` being its nucleotides."""
    return _sites_of(listed_sites(codes, table))


@njit(nogil=True)
def lay_out(listed):
    """Return the sites of listed ones."""
    count, rising = len(listed.codes) + 1, listed.rising
    flags, scores = np.zeros(count, np.uint8), np.zeros((4, count), np.int32)
    kinds = np.zeros((4, count), np.uint8)
    _put(flags, FIRST_ENTRY, scores[0], kinds[0], listed.first)
    _put(flags, INNER_ENTRY, scores[1], kinds[1], listed.acceptors)
    _put(flags, INNER_EXIT, scores[2], kinds[2], listed.donors)
    _put(flags, LAST_EXIT, scores[3], kinds[3], listed.last)
    flag_borders(rising, flags)
    return Sites(
        listed.codes, flags, scores[0], scores[1], scores[2], scores[3], kinds[1], kinds[2],
        listed.introns, rising, listed.stops, listed.junctions,
    )  # fmt: skip


_sites_of = njit(cache=True, nogil=True)(lay_out)


@njit(makes_arrays=False)
def _put(flags, bit, scores, kinds, sites):
    """Put the scores and kinds of a list at its boundaries, and set its flag there."""
    usual, boundaries, of_sites, of_kinds = sites
    if usual != CLOSED:
        for i in range(len(flags)):
            scores[i] = usual
            flags[i] |= bit
    for k in range(len(boundaries)):
        scores[boundaries[k]], kinds[boundaries[k]] = of_sites[k], of_kinds[k]
        flags[boundaries[k]] |= bit


NO_SYMBOL = 5
"""Symbol of the first boundary, before which there is no nucleotide."""


class StoredRows(NamedTuple):
    """The rows that a traceback reads, one behind the other; no exit's score is part of its row.

    First come the rows at the exits, then those from which entries start, `tracks` for each. If
    chains translate, there is a row for each reading frame of an exit, and for each number of
    nucleotides of the split codon before an entry, of which the acceptor's score is part. Rows of
    entries have the penalty of the intron.
    """

    n_exits: int
    n_entries: int
    tracks: int

    @property
    def count(self) -> int:
        """Rows in all."""
        return (self.n_exits + self.n_entries) * self.tracks


@njit
def most_pending(flags, lengths):
    """Return how many groups of exits may wait at a time, at most.

    They are the exits closer to a boundary than the longest least intron, and for each class a
    group that lies farther behind it.
    """
    longest = most = here = 0
    for length in lengths:
        longest = max(longest, length)
    for i in range(len(flags)):
        here += flags[i] & INNER_EXIT != 0
        if i >= longest:
            here -= flags[i - longest] & INNER_EXIT != 0
        most = max(most, here)
    return most + len(lengths) + 2


@njit
def kept_slots(junctions, first, each):
    """Return the first slot of the rows of each donor of junctions, and the slot behind all.

    Each takes so many slots, from slot `first` on, up to its last acceptor; then others may.
    """
    donors, acceptors, numbers = junctions.donors, junctions.acceptors, junctions.kept
    last, until = np.zeros(len(donors), np.int64), np.zeros(len(donors), np.int64)
    slots, past = np.empty(len(donors), np.int64), 0
    for k in range(len(acceptors)):  # by rising acceptors
        last[numbers[k]] = acceptors[k]
    for k in range(len(donors)):
        place = 0
        while place < past and until[place] >= donors[k]:
            place += 1
        past = max(past, place + 1)
        until[place], slots[k] = last[k], first + each * place
    return slots, first + each * past


@njit(makes_arrays=False)
def count(flags, bit):
    """Return how many boundaries have a flag."""
    found = 0
    for flag in flags:
        found += flag & bit != 0
    return found


@njit
def n_maxima(sites):
    """Return how many maxima over exits there are for a kind of split codon: near and far rows."""
    return len(sites.introns.kinds) + len(sites.rising.far_class)
