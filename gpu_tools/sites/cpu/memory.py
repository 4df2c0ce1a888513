"""Memory of a sweep of site mode: all rows of cells in one array, all numbers in another one.

Compiled code takes its arrays as parts of these two, so that it has few arguments. Sweeps of cDNAs
and of proteins differ in how many rows there are of each part.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.sites.introns import Introns, Longest, Rising, class_arrays, longest_of
from gpu_tools.sites.table import JunctionArrays, SiteTable, once_a_table
from gpu_tools.splicing.best_chains import BannedPairs
from gpu_tools.splicing.codons import SPLITS
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.rows import aligned_empty, clear, fill_strip, kept_symbols
from gpu_tools.splicing.target_introns import cdna_intron_points, fill_points

# The sites of a strand in the form that the compiled loops of site mode read.


WAITING = 4
"""Rows that wait for the end of their first codon, by boundary modulo this."""


class SiteLists(NamedTuple):
    """The sites of a strand in the form that the loops read.

    `first` and `last` are the usual score of first entries and last exits, the boundaries that have
    another one, and their scores; `acceptors` and `donors` the boundaries of inner entries and
    exits, their scores and kinds. `kinds`, `lengths` and `penalties` are those of the intron
    classes, and `introns` say what else tracebacks need to know of them. `junctions` are introns
    that have a penalty of their own.
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
    introns: Introns
    longest: Longest
    junctions: JunctionArrays


def lists_of(codes, table: SiteTable) -> SiteLists:
    """Return the sites of a strand."""
    inner = ((s.boundaries, s.scores, s.kinds) for s in (table.acceptors, table.donors))
    return SiteLists(
        np.ascontiguousarray(codes), table.first.arrays, *inner, table.last.arrays,
        *class_arrays(table), longest_of(table), table.junction_arrays,
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


N_CODONS = N_SYMBOLS**3
_NO_SCORE, _ANY_GAIN = -(2**62), 2**40
_MOST_REUSED = 1 << 27
"""Bytes of memory, at most, that a sweep leaves for the next one."""


class ChainRows(NamedTuple):
    """How many rows chains of a kind have, see `RowStarts`.

    `tracks` are those of an exit, `splits` those before entries of an intron class, `entry` those
    of an entry that a traceback reads, `ends` those of a block's best ends, and `again` those that
    a traceback has besides: given the boundaries of a block and the rows of a state.
    """

    tracks: int
    rows: int
    splits: int
    codons: int = 0
    waiting: int = 0
    gaps: int = 0
    entry: int = 0
    ends: int = 0
    again: Callable[[int, int], int] = lambda block, state: 0


PLAIN_ROWS = ChainRows(1, rows=1, splits=1, entry=1)
CODING_ROWS = ChainRows(
    FRAMES, rows=FRAMES + 1, splits=SPLITS, codons=N_CODONS + 1, waiting=WAITING, entry=FRAMES
)


class RowStarts(NamedTuple):
    """Where each part of a strip's rows begins; a part ends where the next one begins."""

    # the strip's columns, see `gpu_tools.splicing.rows.Strip`; not those of proteins
    profile: int
    start: int
    drop: int
    final: int
    points: int  # those of introns by target column, see `gpu_tools.splicing.target_introns`
    # only if chains translate, see `gpu_tools.sites.cpu.coding.fill_codons`
    codons: int
    # a state begins here
    rows: int  # the tracks' current rows; if chains translate, another one follows them
    waiting: int  # rows that join their track behind a codon, only if chains translate
    gaps: int  # rows of chains that leave a codon out, only of proteins
    # maxima over the exits that may precede an entry, a row an intron class and kind of split
    # codon, then the far rows of `gpu_tools.sites.introns`
    before: int
    # see `gpu_tools.sites.cpu.block.WindowRows`, as for `stored`
    step: int
    steps: int
    group: int
    ends: int
    # those of `best_ends` and `best_exits` of a block that is computed again
    block_ends: int
    block_exits: int
    entries: int  # the block's latest inner entries, one a number of nucleotides of a split codon
    exits: int  # the latest exits, one a track, exit e at place e modulo the places, a power of two
    kept: int  # the rows at all donors of junctions, one a track
    # a state ends here
    stored: int  # what entries read behind each border of a longest intron
    best_ends: int  # the maximum over the ends of each block, only of proteins
    best_exits: int  # the maximum over the exits of each block
    # before each block: the rows from `rows` to `step`, and exits that some class has not taken
    saved: int
    saved_exits: int
    again: int  # what else a traceback has, only of proteins
    end: int


class NumberStarts(NamedTuple):
    """Where each part of a strip's numbers begins, as in `RowStarts`."""

    best: int  # score, boundary and column of the best end so far
    counts: int  # how many exits there were, then how many of them each intron class has taken
    waits: int  # whether there are rows that wait
    # boundaries and kinds of the latest exits
    exit_rows: int
    exit_kinds: int
    saved_waits: int  # `waits` before each block
    end: int


class StripSizes(NamedTuple):
    """What a strip of a strand needs, whatever its target.

    `places` are those of exits, `places_again` and `entries_again` those of exits and entries where
    a block is computed again; a block has `block` boundaries, and there are `blocks`. The exits
    that some intron class has not taken before block k are saved from number ``pending[k]`` on.
    """

    tracks: int
    places: int
    places_again: int
    entries_again: int
    block: int
    blocks: int
    rows: RowStarts
    numbers: NumberStarts
    pending: NDArray[np.int64]


class SiteTarget(NamedTuple):
    """A target, the lifted scores of all pairs of symbols, the gap score, and if ends are free.

    `clip` is what leaving out an end costs, and the column from which on that costs nothing.
    `gain` is by how much a nucleotide raises the largest S at which a chain may end, at most. Where
    ends are free, `Strip.drop` falls by the gap score from column to column, and no S is more than
    a pair above those of the row before. Else S' never falls from left to right: the value in the
    last of the target's columns is the largest, and rises by a lifted score. `banned` are pairs
    that no chain aligns.
    """

    symbols: NDArray[np.uint8]
    lifted: NDArray[np.int64]
    gap: int
    free: bool
    clip: tuple[int, int]
    gain: int
    banned: BannedPairs
    points: NDArray[np.int64]  # of introns by column, empty if the target's gene is not known


class SweepMemory(NamedTuple):
    """Memory of a sweep, for each strip: its rows, its numbers, the column before it, its progress.

    A border has S' of the column at the latest boundaries, before and after exons may be entered
    there, boundary i at place i modulo the number of places; one more is behind the last strip.
    `done` counts the blocks of each strip, with one strip more on both sides.
    """

    cells: NDArray
    numbers: NDArray[np.int64]
    borders: NDArray
    done: NDArray[np.int64]


class SweepBuffers:
    """Memory that sweeps have left; threads may share it.

    malloc returns what a thread frees to the system, which gives memory to one thread at a time.
    """

    def __init__(self):
        self.free = []

    def take(self, count: int) -> NDArray[np.uint8]:
        """Return at least so many bytes that begin at a cache line."""
        try:
            buffer = self.free.pop()
        except IndexError:
            buffer = np.empty(0, np.uint8)
        if len(buffer) >= count:
            return buffer
        # one that is a bit too small is of no use to the next sweep
        return aligned_empty((1, count + count // 4), np.dtype(np.uint8))[0]

    def give(self, buffer: NDArray[np.uint8]) -> None:
        """Leave the memory of a finished sweep."""
        if len(buffer) <= _MOST_REUSED:
            self.free.append(buffer)


def strip_sizes(table: SiteTable, block: int, chain: ChainRows) -> StripSizes:
    """Return what a strip needs for chains of a kind, and blocks of so many boundaries."""
    donors, acceptors = table.donors.boundaries, table.acceptors.boundaries
    *most, pending, saved = _most_of_blocks(
        donors, acceptors, table.length, longest_wait(table), block
    )
    # without rows of entries nothing reads those of a block's exits either
    places, again = (power_of_two(n) for n in (most[0], most[1] if chain.entry else 1))
    blocks, most_places = table.length // block + 1, max(places, again)
    counts = blocks, most_places, most[2], saved
    return StripSizes(
        chain.tracks, places, again, most[2], block, blocks,
        _row_starts(table, chain, block, counts), _number_starts(table, chain, counts), pending,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def _most_of_blocks(donors, acceptors, length, wait, block):
    """Count exits and entries of blocks.

    Return how many exits are pending at a time, at most, with one that has just come; how many
    exits a block has and finds pending, and how many entries it has, at most, of exits at least
    one; the number of the first pending exit of each block, and how many of these there are.
    """
    blocks, most, entries = length // block + 1, 1, 0
    pending = np.zeros(blocks + 1, np.int64)
    for k in range(blocks):
        low, past = k * block, (k + 1) * block
        oldest = first_from(donors, low - wait)
        pending[k + 1] = pending[k] + first_from(donors, low) - oldest
        most = max(most, first_from(donors, past) - oldest)
        entries = max(entries, first_from(acceptors, past) - first_from(acceptors, low))
    return 1 + most_waiting(donors, wait), most, entries, pending, pending[blocks]


def _row_starts(table: SiteTable, chain: ChainRows, block: int, counts) -> RowStarts:
    (blocks, places, entries, pending), longest = counts, longest_of(table)
    lines = sum(max(len(intron.rising), 1) for intron in table.introns)
    before, kept = chain.splits * lines, chain.tracks * len(table.junction_arrays.donors)
    window = before if longest.step else 0
    rows = RowStarts(
        profile=N_SYMBOLS, start=1, drop=1, final=1, points=1, codons=chain.codons,
        rows=chain.rows, waiting=chain.waiting, gaps=chain.gaps, before=before, step=window,
        steps=window * longest.most, group=window, ends=window * longest.most, block_ends=1,
        block_exits=1, entries=chain.entry * max(entries, 1), exits=chain.tracks * places,
        kept=kept, stored=window * longest.ends, best_ends=blocks * chain.ends, best_exits=blocks,
        saved=blocks * (chain.rows + chain.waiting + chain.gaps + before),
        saved_exits=chain.tracks * pending, again=0, end=0,
    )  # fmt: skip
    starts = RowStarts(*_starts(rows))
    again = chain.again(block, starts.stored)
    return starts._replace(end=starts.end + again)


def _number_starts(table: SiteTable, chain: ChainRows, counts) -> NumberStarts:
    blocks, places, *_ = counts
    numbers = NumberStarts(
        best=3, counts=1 + len(table.introns), waits=chain.waiting, exit_rows=places,
        exit_kinds=places, saved_waits=blocks * chain.waiting, end=0,
    )  # fmt: skip
    return NumberStarts(*_starts(numbers))


def _starts(counts) -> list[int]:
    """Return where parts of some sizes begin."""
    return list(accumulate(counts[:-1], initial=0))


def target_of(
    symbols: NDArray[np.uint8], scoring: SplicedScoring, banned: BannedPairs,
    introns: tuple[int, ...] = (),
) -> SiteTarget:  # fmt: skip
    """Return what a sweep reads of a target."""
    gap, free, lifted = scoring.gap, scoring.ends != "global", scoring.lifted_range[1]
    gain = (max(lifted + gap, 0) if gap <= 0 else _ANY_GAIN) if free else max(lifted, gap, 0)
    symbols, clip = np.ascontiguousarray(symbols), (scoring.clip_cost, kept_symbols(symbols))
    points = cdna_intron_points(introns, len(symbols))
    return SiteTarget(symbols, scoring.lifted, gap, free, clip, gain, banned, points)


def memory_of(
    sizes: StripSizes, shape: tuple[int, int], floor: np.integer, places: int, buffers: SweepBuffers
) -> tuple[SweepMemory, NDArray[np.uint8]]:  # fmt: skip
    """Return memory for as many strips and of the width in `shape`, and the buffer taken.

    Each border has so many `places`.
    """
    strips, width = shape
    count = strips * sizes.rows.end * width * floor.itemsize
    buffer = buffers.take(count)
    cells = buffer[:count].view(floor.dtype).reshape(strips, sizes.rows.end, width)
    # what lies beyond the first and the last strip counts as done
    done = np.array([sizes.blocks, *[0] * strips, sizes.blocks], dtype=np.int64)
    numbers = np.empty((strips, sizes.numbers.end), np.int64)
    return SweepMemory(cells, numbers, np.full((strips + 1, 2, places), floor), done), buffer


@njit(nogil=True, error_model="numpy")
def part(rows, first, past):
    """Return some rows; numba compiles a slice for each time that one is written."""
    return rows[first:past]


@njit(nogil=True, error_model="numpy")
def exits_row(sizes, boundary, again):
    """Return the row that takes the maximum over the exits of a block that begins there."""
    return sizes.rows.block_exits if again else sizes.rows.best_exits + boundary // sizes.block


@njit(nogil=True, error_model="numpy")
def clear_rows(rows, first, past, floor):
    """Set all cells of some rows to the floor."""
    for row in range(first, past):
        clear(rows, row, floor, simd.lanes_of(rows))


@njit(nogil=True, error_model="numpy")
def copy_rows(to, to_row, source, source_row, count):
    """Set rows to other ones of the same width."""
    width, lanes = to.shape[1], simd.lanes_of(to)
    for k in range(0, count * width, lanes):
        simd.store(to, to_row * width + k, simd.load(source, source_row * width + k))


@njit(nogil=True, error_model="numpy")
def gather_rows(to, to_row, source, source_row, count, elements):
    """Set rows to those elements of other ones; without elements, to rows of the same width."""
    if len(elements) == 0:
        copy_rows(to, to_row, source, source_row, count)
        return
    for row in range(count):
        for k in range(to.shape[1]):
            to[to_row + row, k] = source[source_row + row, elements[k]]


@njit(nogil=True, error_model="numpy")
def fill_columns(cells, rows, target, first):
    """Fill in a strip's columns, from column `first` of the target on."""
    fill_strip(
        part(cells, rows.profile, rows.start), cells[rows.start], cells[rows.drop],
        cells[rows.final], target.symbols, first, target.lifted, target.gap, target.free,
        target.clip,
    )  # fmt: skip
    fill_points(cells[rows.points], target.points, first)


@njit(nogil=True, error_model="numpy")
def save(cells, numbers, sizes, block, floor):
    """Store the state of a strip before a block; before the first one it begins."""
    rows, at, tracks = sizes.rows, sizes.numbers, sizes.tracks
    if block == 0:
        clear_rows(cells, rows.rows, rows.entries, floor)
        for k in range(at.exit_rows):
            numbers[k] = 0
        numbers[at.best] = _NO_SCORE
    count = rows.step - rows.rows
    copy_rows(cells, rows.saved + block * count, cells, rows.rows, count)
    waits = at.exit_rows - at.waits
    for k in range(waits):
        numbers[at.saved_waits + block * waits + k] = numbers[at.waits + k]
    first, past = sizes.pending[block], sizes.pending[block + 1]
    for k in range(past - first):
        slot = (numbers[at.counts] - (past - first) + k) & (sizes.places - 1)
        to = rows.saved_exits + (first + k) * tracks
        copy_rows(cells, to, cells, rows.exits + slot * tracks, tracks)


@njit(nogil=True, error_model="numpy")
def restore(to, cells, numbers, sizes, donors, lengths, block, elements):
    """Fill in the state before a block; no end of a chain is better than its best one.

    Its rows are those of `cells`, or those elements of them.
    """
    (boundaries, _, kinds), rows, at = donors, sizes.rows, sizes.numbers
    count = rows.step - rows.rows
    gather_rows(to, rows.rows, cells, rows.saved + block * count, count, elements)
    waits = at.exit_rows - at.waits
    for k in range(waits):
        numbers[at.waits + k] = numbers[at.saved_waits + block * waits + k]
    first, low = sizes.pending[block], block * sizes.block
    count = sizes.pending[block + 1] - first
    saved = rows.saved_exits + first * sizes.tracks
    gather_rows(to, rows.exits, cells, saved, count * sizes.tracks, elements)
    oldest = first_from(boundaries, low) - count
    numbers[at.counts], numbers[at.best] = count, -_NO_SCORE
    for k in range(len(lengths)):
        taken = first_from(boundaries, low - lengths[k]) - oldest
        numbers[at.counts + 1 + k] = max(taken, 0)
    for k in range(count):
        numbers[at.exit_rows + k] = boundaries[oldest + k]
        numbers[at.exit_kinds + k] = kinds[oldest + k]
