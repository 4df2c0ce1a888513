"""The lists of strands in the memory of a GPU, which tracebacks and plans read."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.sites.introns import Introns, class_arrays
from gpu_tools.sites.table import JunctionArrays, SiteTable

(
    CODES, SITES, CLASSES, MARKS, LENGTH, N_ACCEPTORS, N_DONORS, N_FIRSTS, N_LASTS, N_KEPT,
    N_JUNCTIONS, N_CLASSES, N_MARKS, USUAL_FIRST, USUAL_LAST, OWN,
) = range(16)  # fmt: skip
"""A strand's row of the table of strands: where its part begins in the arrays of nucleotides, of
sites, of intron classes and of counted marks; how long it and its lists are; the points of entries
and exits that are not listed. From `OWN` on come numbers of one mode.
"""


class StrandLists(NamedTuple):
    """The lists of a strand in kernels; see `gpu_tools.sites.cpu.memory.SiteLists`."""

    codes: NDArray[np.uint8]
    first: tuple[int, NDArray, NDArray]
    acceptors: tuple[NDArray, NDArray, NDArray]
    donors: tuple[NDArray, NDArray, NDArray]
    last: tuple[int, NDArray, NDArray]
    introns: Introns
    junctions: JunctionArrays


first_from = cuda.jit(device=True)(simd.first_from)


@cuda.jit(device=True)
def three_lists(sites, at, count):
    """Return three lists of a length that lie one behind the other, and where the next begins."""
    past = at + 3 * count
    return (
        sites[at : at + count],
        sites[at + count : past - count],
        sites[past - count : past],
    ), past


@cuda.jit(device=True)
def lists_on_gpu(strand, sites, codes, classes, counts):
    """Return the lists of a strand, given its row of the table; and where those of a mode begin."""
    acceptors, at = three_lists(sites, strand[SITES], strand[N_ACCEPTORS])
    donors, at = three_lists(sites, at, strand[N_DONORS])
    (firsts, first_scores, _), at = three_lists(sites, at, strand[N_FIRSTS])
    (lasts, last_scores, _), at = three_lists(sites, at, strand[N_LASTS])
    kept, at = sites[at : at + strand[N_KEPT]], at + strand[N_KEPT]
    (joined, numbers, costs), at = three_lists(sites, at, strand[N_JUNCTIONS])
    marks, first = sites[at : at + strand[N_MARKS]], strand[MARKS]
    levels = counts[first : first + strand[N_MARKS] + 1]
    rows = classes[strand[CLASSES] : strand[CLASSES] + strand[N_CLASSES]]
    lists = StrandLists(
        codes[strand[CODES] : strand[CODES] + strand[LENGTH]],
        (strand[USUAL_FIRST], firsts, first_scores), acceptors, donors,
        (strand[USUAL_LAST], lasts, last_scores), Introns(rows, marks, levels, 0, 0, 0),
        JunctionArrays(kept, joined, numbers, costs),
    )  # fmt: skip
    return lists, at + strand[N_MARKS]


def strand_row(table: SiteTable, *own: int) -> list[int]:
    """Return a strand's row of the table with a mode's own numbers; its parts begin nowhere yet."""
    sites = table.acceptors, table.donors, table.first, table.last
    junctions, introns = table.junction_arrays, class_arrays(table).introns
    return [
        *[0] * LENGTH, table.length, *(len(each.boundaries) for each in sites),
        len(junctions.donors), len(junctions.acceptors), len(introns.rows),
        len(introns.boundaries), table.first.usual, table.last.usual, *own,
    ]  # fmt: skip


def copy_strands(
    launch, table: NDArray[np.int64], tables: list[SiteTable], codes: Iterable, own: list[list],
    more: list[NDArray],
) -> list:  # fmt: skip
    """Copy the strands of a launch to the GPU; return what `lists_on_gpu` reads, the table first.

    Where parts begin is written into the table; `own` are lists of a mode, and `more` arrays that
    are copied, too.
    """
    introns = [class_arrays(each).introns for each in tables]
    classes, table[:, CLASSES] = stacked([each.rows for each in introns])
    counts, table[:, MARKS] = stacked([each.counts for each in introns])
    parts = [[*_site_lists(each), *lists] for each, lists in zip(tables, own, strict=True)]
    sizes, lengths = [sum(map(len, each)) for each in parts], table[:, LENGTH]
    table[:, SITES], table[:, CODES] = starts_of(sizes), starts_of(lengths)
    # parts go straight to pinned memory: new memory of the host takes longer than copies
    sites = launch.joined("sites", chain.from_iterable(parts), 1, np.int32, sum(sizes))
    codes = launch.joined("codes", codes, 1, np.uint8, int(lengths.sum()))
    made, *copies = launch.copies("strands", [table, classes, counts, *more])
    return [made, sites, codes, *copies]


def _site_lists(table: SiteTable) -> list[NDArray]:
    """Return the sites of a strand, in the order in which `lists_on_gpu` takes them apart."""
    inner = table.acceptors, table.donors, table.first, table.last
    parts = [part for each in inner for part in (each.boundaries, each.scores, each.kinds)]
    return [*parts, *table.junction_arrays, class_arrays(table).introns.boundaries]


def stacked(parts: list[NDArray]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return arrays of rows below each other, and where each begins; rows are filled with 0."""
    width = max([1, *(part.shape[1] for part in parts)])
    starts = starts_of([*map(len, parts)])
    made = np.zeros((sum(map(len, parts)) + 1, width), np.int32)
    for part, first in zip(parts, starts.tolist(), strict=True):
        made[first : first + len(part), : part.shape[1]] = part
    return made, starts


def starts_of(sizes) -> NDArray[np.int64]:
    """Return where each of some parts begins, by column, given their sizes."""
    sizes = np.array(sizes, dtype=np.int64)
    return np.cumsum(sizes, axis=0) - sizes
