"""The sites that sweeps of site mode read, and the state of a strip of target columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.longest import WindowRows, window_rows
from gpu_tools.sites.longest import Longest, longest_of
from gpu_tools.sites.rising import Rising, rising_of
from gpu_tools.sites.table import SiteTable, once_a_table
from gpu_tools.splicing.codons import SPLITS
from gpu_tools.splicing.rows import put
from gpu_tools.splicing.strip import aligned, aligned_zeros, lanes_of

WAITING = 4
"""Rows that wait for the end of their first codon, by boundary modulo this."""
_NO_SCORE = -(2**62)


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


class SiteStrip(NamedTuple):
    """A strip's columns, see `gpu_tools.splicing.strip.Strip`.

    It has an even number of vectors. `free` tells whether a chain may end in any column. `limits`
    serve to bound S where a chain may end: by how much a nucleotide raises the largest S at most,
    what turns S' before the strip into an S to compare with, and the same for chains that begin.
    `codons` are `gpu_tools.sites.cpu.coding.codon_rows`, none if chains need not translate.
    """

    profile: NDArray
    start: NDArray
    drop: NDArray
    final: NDArray
    final_span: tuple[int, int]
    free: bool
    limits: tuple[int, int, int]
    codons: NDArray


class State(NamedTuple):
    """A strip's state between two blocks.

    `rows` and `carries` together are the tracks' current rows; if chains translate, another one
    follows them, see `gpu_tools.sites.cpu.coding`, and `waiting` are rows that join their track
    behind a codon, `waits` whether there are any. `before` are the maxima over the exits that may
    precede an entry, a row an intron class and kind of split codon, then the far rows of
    `gpu_tools.sites.rising`; `exits` the rows of the latest exits, one a track, exit e at place e
    modulo the number of places, a power of two; `exit_rows` their boundaries, `exit_kinds` their
    kinds, `counts` how many exits there were, then how many of them each intron class has taken;
    `block_exits` the maximum over the block's exits; `entries` the rows of the block's latest inner
    entries, one a number of nucleotides of the split codon before it; `best` score, boundary and
    column of the best end so far; `window` the rows of a longest intron, if there is one.
    """

    rows: NDArray
    carries: NDArray
    waiting: NDArray
    waits: NDArray[np.bool_]
    before: NDArray
    exits: NDArray
    exit_rows: NDArray[np.int64]
    exit_kinds: NDArray[np.uint8]
    counts: NDArray[np.int64]
    block_exits: NDArray
    entries: NDArray
    best: NDArray[np.int64]
    window: WindowRows


class SiteBorder(NamedTuple):
    """S' of one column at the latest boundaries, before and after exons may be entered there.

    Boundary i is at place i modulo the number of places.
    """

    arriving: NDArray
    leaving: NDArray


class Snapshots(NamedTuple):
    """A strip's state before each block.

    `exits` are the rows of the exits that some intron class has not taken, those before block k
    from number `pending[k]` on. `window` holds what all blocks need of a longest intron.
    """

    rows: NDArray
    waiting: NDArray
    waits: NDArray[np.bool_]
    before: NDArray
    exits: NDArray
    pending: NDArray[np.int64]
    window: WindowRows


def fresh_border(places: int, floor) -> SiteBorder:
    """Return the border of a strip that nothing comes over."""
    return SiteBorder(*np.full((2, places), floor))


def lists_of(codes, table: SiteTable) -> SiteLists:
    """Return the sites of a strand."""
    introns = np.array([i[:3] for i in table.introns], dtype=np.int64).reshape(-1, 3)
    inner = ((s.boundaries, s.scores, s.kinds) for s in (table.acceptors, table.donors))
    return SiteLists(
        np.ascontiguousarray(codes), table.first.arrays, *inner, table.last.arrays,
        *(column.copy() for column in introns.T), rising_of(table.introns),
        longest_of(table.introns, table.length),
        np.empty((0, 0, 0), dtype=bool) if table.stops is None else table.stops,
    )  # fmt: skip


def end_limits(scoring: SplicedScoring, first: int, columns: int) -> tuple[int, int, int]:
    """Return the limits of a strip that begins with column `first`, see `SiteStrip`.

    Where ends are free, `Strip.drop` falls by the gap score from column to column, and no S is
    more than a pair above those of the row before. Else S' never falls from left to right: the
    value in the last of the target's `columns` is the largest, and rises by a lifted score.
    """
    pairs, gap = scoring.substitution(), scoring.gap
    if scoring.ends == "global":
        return max(int(pairs.max()) - gap, gap, 0), gap * columns, gap * columns
    return (2**40, 0, 0) if gap > 0 else (max(int(pairs.max()), 0), gap * (first - 1), 0)


@njit(nogil=True)
def first_from(boundaries, boundary):
    """Return the number of the first listed boundary that is not before a boundary."""
    low, high = 0, len(boundaries)
    while low < high:
        middle = (low + high) // 2
        if boundaries[middle] < boundary:
            low = middle + 1
        else:
            high = middle
    return low


def longest_wait(table: SiteTable) -> int:
    """Return for how many boundaries an exit is pending, at most."""
    return max([0, *(intron.min_length for intron in table.introns)])


def pending_before(table: SiteTable, first: int) -> slice:
    """Return which donors are pending at a boundary: some intron class has not taken them."""
    return table.donors.listed(max(first - longest_wait(table), 0), first)


@once_a_table
def most_pending(table: SiteTable) -> int:
    """Return how many exits are pending at a time, at most, with one that has just come."""
    return 1 + int(_most_pending(table.donors.boundaries, longest_wait(table)))


@njit(cache=True, nogil=True)
def _most_pending(boundaries, longest):
    most, first = 1, 0
    for last in range(len(boundaries)):
        while boundaries[first] + longest <= boundaries[last] and first < last:
            first += 1
        most = max(most, last - first + 1)
    return most


def power_of_two(count: int) -> int:
    """Return the least power of two that is not less than a count, 0 for 0."""
    return 1 << (count - 1).bit_length() if count else 0


def fresh_state(table: SiteTable, width: int, capacity: tuple[int, int], floor) -> State:
    """Return the state before the first block, all cells at the floor.

    `capacity` is how many exits and entries it has rows for.
    """
    dtype, tracks, classes = floor.dtype, table.tracks, len(table.introns)
    maxima = classes + len(rising_of(table.introns).far_class)
    current, waiting, splits = (tracks + 1, WAITING, SPLITS) if tracks > 1 else (1, 0, 1)
    places = power_of_two(capacity[0])
    counts = (current, waiting, splits * maxima, tracks * places, 1, tracks * capacity[1])
    rows, waits, before, exits, block_exits, entries = (
        aligned(np.full((count, width), floor, dtype)) for count in counts
    )
    carries = aligned(np.full((current, lanes_of(dtype)), floor, dtype))
    return State(
        rows, carries, waits, np.zeros(waiting, bool), before, exits,
        np.empty(places, np.int64), np.empty(places, np.uint8),
        np.zeros(1 + classes, np.int64), block_exits[0], entries,
        np.array([_NO_SCORE, 0, 0], np.int64),
        window_rows(longest_of(table.introns, table.length), splits, width, floor),
    )  # fmt: skip


def fresh_snapshots(state: State, table: SiteTable, blocks) -> Snapshots:
    """Return snapshots of a strip's state before all blocks, not filled in."""
    boundaries = table.donors.boundaries
    # keys of another type would have the whole array converted
    lows = np.array([low for low, _ in blocks], dtype=boundaries.dtype)
    oldest = np.maximum(lows - min(longest_wait(table), table.length + 1), 0)
    pending = np.searchsorted(boundaries, lows) - np.searchsorted(boundaries, oldest)
    counts = np.array([0, *pending], dtype=np.int64)
    starts, width = np.cumsum(counts), state.rows.shape[1]

    def of_blocks(rows: NDArray) -> NDArray:
        return np.empty((len(blocks), *rows.shape), rows.dtype)

    return Snapshots(
        of_blocks(state.rows), of_blocks(state.waiting), of_blocks(state.waits),
        of_blocks(state.before), np.empty((table.tracks * starts[-1], width), state.rows.dtype),
        starts, state.window._replace(again=True),
    )  # fmt: skip


@njit(nogil=True, error_model="numpy")
def save(snapshots, state, block, tracks):
    """Store the state before a block."""
    copy_rows(snapshots.rows, block, state.rows, state.carries.shape[1])
    copy_rows(snapshots.before, block, state.before, state.carries.shape[1])
    copy_rows(snapshots.waiting, block, state.waiting, state.carries.shape[1])
    for k in range(len(state.waits)):
        snapshots.waits[block, k] = state.waits[k]
    first, past = snapshots.pending[block], snapshots.pending[block + 1]
    exits, width, lanes = snapshots.exits, state.rows.shape[1], state.carries.shape[1]
    for k in range(past - first):
        slot = (state.counts[0] - (past - first) + k) & (len(state.exit_rows) - 1)
        for track in range(tracks):
            to = (first + k) * tracks + track
            put(exits, to, state.exits, slot * tracks + track, width, lanes, 0)


@njit(nogil=True)
def copy_rows(snapshots, block, rows, lanes):
    """Copy rows of whole vectors to those of a block."""
    count, width = rows.shape
    for k in range(0, count * width, lanes):
        simd.store(snapshots, block * count * width + k, simd.load(rows, k))


def snapshot_of(snapshots: Snapshots, table: SiteTable, block: int, first: int, carries) -> State:
    """Return the state before a block, whose first boundary is `first`.

    `carries` are those of a state all of whose carries have joined the rows.
    """
    pending, tracks = pending_before(table, first), table.tracks
    rows = table.donors.boundaries[pending].astype(np.int64)
    taken = (int((rows + intron.min_length < first).sum()) for intron in table.introns)
    stored = slice(*(tracks * snapshots.pending[block : block + 2]))
    return State(
        snapshots.rows[block], carries, snapshots.waiting[block], snapshots.waits[block],
        snapshots.before[block], snapshots.exits[stored], rows, table.donors.kinds[pending],
        np.array([len(rows), *taken]), snapshots.exits[:0, 0], snapshots.exits[:0],
        np.array([_NO_SCORE, 0, 0], np.int64), snapshots.window,
    )  # fmt: skip


def restored(snapshot: State, capacity: tuple[int, int], tracks: int) -> State:
    """Return a state to continue from, with rows for `capacity` more exits and entries."""
    places = power_of_two(max(len(snapshot.exit_rows) + capacity[0], 1))
    count, width = tracks * capacity[1], snapshot.rows.shape[1]
    return State(
        aligned(snapshot.rows), aligned(snapshot.carries), aligned(snapshot.waiting),
        snapshot.waits.copy(), aligned(snapshot.before), _extended(snapshot.exits, tracks * places),
        _extended(snapshot.exit_rows, places), _extended(snapshot.exit_kinds, places),
        snapshot.counts.copy(), aligned_zeros((1, width), snapshot.rows.dtype)[0],
        aligned_zeros((count, width), snapshot.rows.dtype), snapshot.best.copy(), snapshot.window,
    )  # fmt: skip


def _extended(part: NDArray, count: int) -> NDArray:
    """Return an array of `count` numbers, or rows of whole vectors, the first as given."""
    made = np.zeros(count, part.dtype) if part.ndim == 1 else aligned_zeros(
        (count, part.shape[1]), part.dtype
    )  # fmt: skip
    made[: len(part)] = part
    return made


@njit(cache=True, nogil=True)
def by_target_column(rows, lanes, columns):
    """Return rows in the order of target columns, those up to `columns` filled in."""
    count, width = rows.shape
    each, made = width // lanes, np.empty((count, width), rows.dtype)
    for k in range(count):
        for lane in range(min(lanes, -(-columns // each))):
            for column in range(each):
                made[k, lane * each + column] = rows[k, column * lanes + lane]
    return made


def place_of(column: int, width: int, lanes: int) -> tuple[int, int]:
    """Return the strip of a target column and its place in the strip's rows."""
    strip, place = divmod(column, width)
    return strip, place % (width // lanes) * lanes + place // (width // lanes)
