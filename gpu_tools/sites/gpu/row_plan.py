"""Site mode's operations on rows of cells, compiled from a table of sites for a GPU.

All that is special about site mode happens column by column: a row is stored, raised to another
row plus a bonus, or cleared. So a kernel knows nothing of exons and introns. At each boundary it
advances the current rows by one nucleotide and then does the boundary's operations. A *slot* is a
numbered row of cells. Exits share a slot with those before them if no entry can tell them apart,
that is, if no entry lies between the boundaries from which on they may precede one. Such exits are
a *group*. The rows that a traceback reads are stored in slots of their own, see `StoredRows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.introns import (
    BORDER,
    CLEAR,
    PUT,
    RAISE,
    Rising,
    class_arrays,
    emit,
    flag_borders,
    is_border,
    most_operations,
    write_border,
)
from gpu_tools.sites.table import (
    CLOSED,
    FIRST_ENTRY,
    INNER_ENTRY,
    INNER_EXIT,
    LAST_EXIT,
    JunctionArrays,
    SiteTable,
)

# The sites of a strand as arrays, from which plans for GPUs are compiled.


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
    junctions: JunctionArrays


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
    junctions: JunctionArrays


def listed_sites(codes, table: SiteTable) -> ListedSites:
    """Return the lists of a strand, `codes` being its nucleotides."""
    lists = ((each.usual, each.boundaries, each.scores, each.kinds) for each in table.lists)
    stops = _NO_STOPS if table.stops is None else table.stops
    junctions = table.junction_arrays
    return ListedSites(
        np.ascontiguousarray(codes), *lists, *class_arrays(table)[:4], stops, junctions
    )


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
        listed.intron_kinds, listed.intron_lengths, listed.intron_penalties, rising, listed.stops,
        listed.junctions,
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


LAST = 8
"""Added to the kind of a boundary's last operation."""
SPECIAL = 8
"""Added to a boundary's symbol if the boundary has operations."""
NO_SYMBOL = 5
"""Symbol of the first boundary, before which there is no nucleotide."""
CURRENT = -1
"""Number of the current row, which is in registers."""


class StoredRows(NamedTuple):
    """The rows that a traceback reads, one behind the other; no site's score is part of them.

    First come the rows at the exits, `tracks` for each, then those from which entries start,
    `parts` for each. If chains translate, there is a row for each reading frame of an exit, and for
    each number of nucleotides of the split codon before an entry; acceptors and penalties are then
    part of it. Else an entry has a row for each intron class of its kind, in the order of classes,
    and as its last one, if the table has junctions, that of the entry's.
    """

    n_exits: int
    n_entries: int
    tracks: int
    parts: int

    @property
    def count(self) -> int:
        """Rows in all."""
        return self.n_exits * self.tracks + self.n_entries * self.parts


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
    return len(sites.intron_kinds) + len(sites.rising.far_class)


@njit
def write_plan(sites, before):
    """Compile a table whose chains need not translate; `before` is the first maximum's slot."""
    flags, kinds = sites.flags, sites.intron_kinds
    exits, entries, parts = count(flags, INNER_EXIT), count(flags, INNER_ENTRY), 1
    for kind in kinds:
        parts = max(parts, _classes_of(kinds, kind))
    groups, junctions = before + n_maxima(sites), sites.junctions
    if len(junctions.donors) > 0:
        parts, groups = parts + 1, kept_slots(junctions, groups + 1, 1)[1]
    slots = before, groups, groups + most_pending(flags, sites.intron_lengths)
    most = (2 + len(kinds)) * exits + 2 * len(kinds) * entries + n_maxima(sites) + 1
    most += count(flags, BORDER) * most_operations(sites.rising)
    most += len(junctions.donors) + 3 * len(junctions.acceptors)
    operations, boundaries = np.empty((most, 4), np.int32), np.empty(len(flags), np.int32)
    boundaries[0] = NO_SYMBOL
    boundaries[1:] = sites.codes
    at_exits, at_entries = _flagged(flags, INNER_EXIT, exits), _flagged(flags, INNER_ENTRY, entries)
    joins = np.ones(exits, np.bool_)
    for k in range(len(kinds)):
        _part(at_exits, sites.exit_kind, at_entries, sites.entry_kind, len(flags), joins, kinds[k],
              sites.intron_lengths[k], sites.rising, k)  # fmt: skip
    counts = exits, entries, 1, parts
    n, n_hot = _write_operations(sites, slots, counts, boundaries, operations, joins)
    return boundaries, operations[:n], slots[2], counts, n_hot


@njit
def _flagged(flags, bit, found):
    """Return the boundaries that have a flag, which are so many."""
    boundaries, n = np.empty(found + 1, np.int32), 0
    for i in range(len(flags)):
        boundaries[n] = i  # without a branch, which processors could not predict
        n += flags[i] & bit != 0
    return boundaries[:found]


@njit(makes_arrays=False)
def _part(exits, exit_kind, entries, entry_kind, boundaries, joins, kind, length, rising, of_class):
    """Tell which exits join the group of the one of their kind before, as far as a class decides.

    They do if the class's maximum is not read between the boundaries from which on the two may
    precede an entry. It is read at the class's entries and just before its borders.
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    at, is_read, mark, marks = 0, True, 0, rising.boundaries
    for k in range(len(exits)):
        if exit_kind[exits[k]] != kind:
            continue
        until = min(exits[k] + length, boundaries)
        while at < len(entries) and entries[at] < until:
            is_read |= entry_kind[entries[at]] == kind
            at += 1
        while mark < len(marks) and marks[mark] <= until:
            is_read |= is_border(rising, of_class, mark)
            mark += 1
        joins[k] &= not is_read
        is_read = False


@njit(makes_arrays=False)
def _classes_of(kinds, kind):
    """Return how many intron classes have a kind."""
    count = 0
    for other in kinds:
        count += other == kind
    return count


@njit(makes_arrays=False)
def _take(kind, length, to, row, k, groups, counts, free, operations, n):
    """Raise class `k`'s maximum to the groups whose exits lie far enough behind `row`.

    `groups` are, of each group of exits so far, its last boundary, its slot, its kind, and how many
    classes have yet to take it. `counts` says how many groups there are, then how many each class
    has looked at. `free` are the slots of groups that are done, the last one to be used first;
    `free[0]` says how many.
    """
    while counts[1 + k] < counts[0]:
        group = counts[1 + k]
        if groups[group, 2] == kind:
            if groups[group, 0] + length > row:
                break
            n = emit(operations, n, RAISE, to, groups[group, 1], 0)
            groups[group, 3] -= 1
            if groups[group, 3] == 0:
                free[0] += 1
                free[free[0]] = groups[group, 1]
        counts[1 + k] += 1
    return n


@njit(makes_arrays=False)
def _leave(row, kind, bonus, classes, groups, counts, free, operations, n, current):
    """Put the current row into the slot of a new group of exits."""
    group, to = counts[0], free[free[0]]
    free[0] -= 1
    counts[0] += 1
    groups[group, 0], groups[group, 1], groups[group, 2], groups[group, 3] = row, to, kind, classes
    return emit(operations, n, PUT, to, current, bonus)


@njit(makes_arrays=False)
def _join(row, kind, bonus, groups, counts, operations, n, current):
    """Raise the slot of the last group of a kind to the current row."""
    group = counts[0] - 1
    while groups[group, 2] != kind:
        group -= 1
    groups[group, 0] = row
    return emit(operations, n, RAISE, groups[group, 1], current, bonus)


@njit(makes_arrays=False)
def _through_classes(
    kinds, lengths, penalties, boundary, kind, bonus, first, row, stored, groups, taken, free,
    operations, n,
):  # fmt: skip
    """Raise the row to the maxima of an acceptor's intron classes, which are stored."""
    for k in range(len(kinds)):
        if kinds[k] == kind:
            n = _take(
                kind, lengths[k], first + k, boundary, k, groups, taken, free, operations, n
            )  # fmt: skip
            n = emit(operations, n, PUT, stored, first + k, 0)
            n = emit(operations, n, RAISE, row, first + k, bonus - penalties[k])
            stored += 1
    return n


@njit(makes_arrays=False)
def _through_junctions(
    junctions, kept, through, join, boundary, stored, row, bonus, operations, n
):  # fmt: skip
    """Raise the row to those kept at donors of an acceptor's junctions, from number `join` on.

    Their maximum goes through a slot, and is stored. Return how many operations there are, and the
    number of the next junction.
    """
    acceptors, kind = junctions.acceptors, PUT
    while join < len(acceptors) and acceptors[join] == boundary:
        source, penalty = kept[junctions.kept[join]], junctions.penalties[join]
        n = emit(operations, n, kind, through, source, -penalty)
        kind, join = RAISE, join + 1
    if kind == RAISE:
        n = emit(operations, n, PUT, stored, through, 0)
        n = emit(operations, n, RAISE, row, through, bonus)
    return n, join


@njit
def _write_operations(sites, slots, counts, boundaries, operations, joins):
    """Write the operations of all boundaries; return how many, and the slots used for them.

    `slots` are the first maximum, the first group and the first stored row; `counts` is what
    `StoredRows` holds.
    """
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    flags, entry_kind, exit_kind = sites.flags, sites.entry_kind, sites.exit_kind
    kinds, lengths, penalties = sites.intron_kinds, sites.intron_lengths, sites.intron_penalties
    inner_entry, inner_exit = sites.inner_entry, sites.inner_exit
    rising, row = sites.rising, CURRENT
    (first, first_group, stored), (n_exits, _, _, parts) = slots, counts
    classes, groups = len(kinds), np.empty((n_exits, 4), np.int64)
    taken, free = np.zeros(1 + classes, np.int64), np.arange(stored, first_group - 1, -1)
    free[0] = fewest = len(free) - 1
    through, keep, join = first + n_maxima(sites), 0, 0
    kept = kept_slots(sites.junctions, through + 1, 1)[0]
    n, exit_to, entry_to = 0, stored, stored + n_exits
    special = BORDER | INNER_EXIT | INNER_ENTRY
    for slot in range(n_maxima(sites)):
        n = emit(operations, n, CLEAR, first + slot, 0, 0)
    for i in range(len(flags)):
        before, flag = (0 if i == 0 else n), flags[i]
        if flag & special == 0 and i > 0:
            continue
        if flag & BORDER:
            for k in range(classes):
                # others have no border here: exits may yet join a group that they look at
                if is_border(rising, k, first_from(rising.boundaries, i)):
                    n = _take(kinds[k], lengths[k], first + k, i - 1, k, groups, taken, free,
                              operations, n)  # fmt: skip
            n = write_border(rising, i, 1, first, operations, n)
        if flag & INNER_EXIT:
            kind, bonus, takers = exit_kind[i], inner_exit[i], _classes_of(kinds, exit_kind[i])
            if takers > 0:
                n = emit(operations, n, PUT, exit_to, row, 0)
                if joins[exit_to - stored]:
                    n = _join(i, kind, bonus, groups, taken, operations, n, row)
                else:
                    n = _leave(i, kind, bonus, takers, groups, taken, free, operations, n, row)
                    fewest = min(fewest, free[0])
            if keep < len(kept) and sites.junctions.donors[keep] == i:
                if takers == 0:
                    n = emit(operations, n, PUT, exit_to, row, 0)
                n, keep = emit(operations, n, PUT, kept[keep], row, bonus), keep + 1
            exit_to += 1
        if flag & INNER_ENTRY:
            kind, bonus = entry_kind[i], inner_entry[i]
            n = _through_classes(
                kinds, lengths, penalties, i, kind, bonus, first, row, entry_to, groups, taken,
                free, operations, n,
            )  # fmt: skip
            n, join = _through_junctions(
                sites.junctions, kept, through, join, i, entry_to + parts - 1, row, bonus,
                operations, n,
            )  # fmt: skip
            entry_to += parts
        if n > before:
            operations[n - 1, 0] |= LAST
            boundaries[i] |= SPECIAL
    return n, stored - fewest
