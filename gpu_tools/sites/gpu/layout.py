"""The sites of a strand as arrays, from which plans for GPUs are compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.classes import class_arrays
from gpu_tools.sites.rising import Rising, mark_borders
from gpu_tools.sites.scores import CLOSED
from gpu_tools.sites.table import FIRST_ENTRY, INNER_ENTRY, INNER_EXIT, LAST_EXIT, SiteTable

_NO_STOPS = np.empty((0, 0, 0), dtype=bool)


class ListedSites(NamedTuple):
    """A strand's nucleotides and the four lists of a table, see `BoundaryScores`.

    The others are as in `Sites`.
    """

    codes: NDArray[np.uint8]
    first: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    acceptors: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    donors: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    last: tuple[int, NDArray, NDArray[np.int32], NDArray[np.uint8]]
    intron_kinds: NDArray[np.int64]
    intron_lengths: NDArray[np.int64]
    intron_penalties: NDArray[np.int64]
    rising: Rising
    stops: NDArray[np.bool_]


class Sites(NamedTuple):
    """The sites of a strand, one element a boundary; 0 where there is none.

    `flags` are those of `gpu_tools.sites.table`, with borders. `stops` is empty if the table has
    no stop codons.
    """

    codes: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    first_entry: NDArray[np.int32]
    inner_entry: NDArray[np.int32]
    inner_exit: NDArray[np.int32]
    last_exit: NDArray[np.int32]
    entry_kind: NDArray[np.uint8]
    exit_kind: NDArray[np.uint8]
    intron_kinds: NDArray[np.int64]
    intron_lengths: NDArray[np.int64]
    intron_penalties: NDArray[np.int64]
    rising: Rising
    stops: NDArray[np.bool_]


def listed_sites(codes, table: SiteTable) -> ListedSites:
    """Return the lists of a strand, `codes` being its nucleotides."""
    lists = ((each.usual, each.boundaries, each.scores, each.kinds) for each in table.lists)
    stops = _NO_STOPS if table.stops is None else table.stops
    return ListedSites(np.ascontiguousarray(codes), *lists, *class_arrays(table)[:4], stops)


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
    mark_borders(rising, flags)
    return Sites(
        listed.codes, flags, scores[0], scores[1], scores[2], scores[3], kinds[1], kinds[2],
        listed.intron_kinds, listed.intron_lengths, listed.intron_penalties, rising, listed.stops,
    )  # fmt: skip


_sites_of = njit(cache=True, nogil=True)(lay_out)


@njit
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
