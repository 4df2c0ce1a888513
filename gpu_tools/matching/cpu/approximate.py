"""Approximate matching on a CPU: the lanes of a vector work on different parts of the text.

Unit costs: bit vectors after Myers, blocks of 64 pattern rows, 8 text parts side by side.
Other costs: the plain recurrence, row by row, on 32 or 16 text parts side by side. Both omit the
rows in which every cell is above the limit (Ukkonen's cut-off).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching import text_blocks
from gpu_tools.matching.approximate import largest_value, longest_match
from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.text_blocks import DistanceLimits, TextBlock
from gpu_tools.model.scoring import EditCosts

PROBES_PER_TASK = 64
POSITIONS_PER_TASK = 1 << 22
POSITIONS_PER_THREAD = 1 << 14
_HITS = 1 << 12
WORD = 64
WORD_LANES = simd.VECTOR_BYTES // 8
STEPS_BETWEEN_CUTS = 8
NUCLEOTIDE_CODES = 5
_ONES = np.uint64(2**64 - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Span(NamedTuple):
    """The positions of the lanes: lane l reports ends from begin + l * length on."""

    warm: int  # steps before these positions
    length: int
    begin: int
    end: int  # bounds the last lane


def _looked_up(table, row, codes):
    raise NotImplementedError("only for jitted code")


@overload(_looked_up, inline="always")
def _overload_looked_up(table, row, codes):
    """Look up a code in each lane: five nucleotide codes by selection, more in memory."""

    def by_selection(table, row, codes):
        found = simd.splat(table[row, NUCLEOTIDE_CODES])
        for code in range(NUCLEOTIDE_CODES):
            of_code = simd.splat(table.dtype.type(code))
            found = simd.where_equal(codes, of_code, simd.splat(table[row, code]), found)
        return found

    def by_gathering(table, row, codes):
        return simd.gather(table, row * table.shape[1], codes)

    return by_selection if table.ndim == 2 else by_gathering


@njit(nogil=True)
def _fit(pv, mv, score, last, m, limit):
    """Return the last block that may soon hold a cell within `limit`, and its bottom row."""
    n_blocks = len(pv) // WORD_LANES
    near = simd.splat(np.uint64(limit + STEPS_BETWEEN_CUTS))
    while last + 1 < n_blocks and simd.any_at_most(score, near):
        last += 1
        simd.store(pv, last * WORD_LANES, simd.splat(_ONES))
        simd.store(mv, last * WORD_LANES, simd.splat(_ZERO))
        rows = min(m - last * WORD, WORD)
        score = simd.add(score, simd.splat(np.uint64(rows)))
    while last > 0:
        rows = min(m - last * WORD, WORD)
        top = simd.splat(np.uint64(limit + STEPS_BETWEEN_CUTS + rows - 1))
        if simd.any_at_most(score, top):
            break
        mask = simd.splat(_ONES >> np.uint64(WORD - rows))
        falls = simd.count_bits(simd.bit_and(simd.load(mv, last * WORD_LANES), mask))
        rises = simd.count_bits(simd.bit_and(simd.load(pv, last * WORD_LANES), mask))
        score = simd.subtract(simd.add(score, falls), rises)
        last -= 1
    return last, score


@njit(cache=True, nogil=True)
def _report(scores, step, span, limits, hits, count):
    """Record the lanes whose score is within the limit; return the number of hits so far."""
    begin, length, end = span[2], span[1], span[3]
    for lane in range(len(scores)):
        value = np.int64(scores[lane])
        position = begin + lane * length + step - span[0]
        if value > limits[0] or position >= end:
            continue
        if value < limits[0] and limits[0] > limits[1]:
            limits[0], count = max(value, limits[1]), 0
        if count < len(hits):
            hits[count, 0], hits[count, 1] = position + 1, value
        count += 1
    return count


@njit(cache=True, nogil=True)
def scan_words(text, peq, m, span, limits, hits):
    """Find the ends of matches by unit costs."""
    # text (steps * 8,): codes in the order of `lay_out`
    # peq (blocks, 6) or (blocks, codes + 1, 1): bit i of block b: does row 64 b + i match the code?
    # limits (2,): largest distance to report, which falls to the least one found, and the value
    #   below which it does not fall
    # hits (capacity, 2): end and distance, lanes mixed; the result counts those beyond it, too
    n_blocks = len(peq)
    pv, mv = np.empty(n_blocks * WORD_LANES, np.uint64), np.empty(n_blocks * WORD_LANES, np.uint64)
    simd.store(pv, 0, simd.splat(_ONES))
    simd.store(mv, 0, simd.splat(_ZERO))
    scores = np.empty(WORD_LANES, np.uint64)
    score = simd.splat(np.uint64(min(m, WORD)))
    ones, one = simd.splat(_ONES), simd.splat(_ONE)
    last, count, warm = 0, 0, span[0]
    limit = simd.splat(np.uint64(limits[0]))
    for step in range(warm + span[1]):
        if step % STEPS_BETWEEN_CUTS == 0:
            last, score = _fit(pv, mv, score, last, m, limits[0])
        codes = simd.load_widened(text, step * WORD_LANES, np.uint64(0))
        carry_up, carry_down = simd.splat(_ZERO), simd.splat(_ZERO)
        for block in range(last + 1):
            bottom = simd.splat(np.uint64(min(m - block * WORD, WORD) - 1))
            at = block * WORD_LANES
            up, down = simd.load(pv, at), simd.load(mv, at)
            equal = _looked_up(peq, block, codes)
            vertical = simd.bit_or(equal, down)
            equal = simd.bit_or(equal, carry_down)
            total = simd.add(simd.bit_and(equal, up), up)
            horizontal = simd.bit_or(simd.bit_xor(total, up), equal)
            rise = simd.bit_or(down, simd.bit_xor(simd.bit_or(horizontal, up), ones))
            fall = simd.bit_and(up, horizontal)
            next_up = simd.bit_and(simd.shift_right(rise, bottom), one)
            next_down = simd.bit_and(simd.shift_right(fall, bottom), one)
            rise = simd.bit_or(simd.shift_left(rise, one), carry_up)
            fall = simd.bit_or(simd.shift_left(fall, one), carry_down)
            none = simd.bit_xor(simd.bit_or(vertical, rise), ones)
            simd.store(pv, at, simd.bit_or(fall, none))
            simd.store(mv, at, simd.bit_and(rise, vertical))
            carry_up, carry_down = next_up, next_down
        score = simd.subtract(simd.add(score, carry_up), carry_down)
        if last == n_blocks - 1 and step >= warm and simd.any_at_most(score, limit):
            simd.store(scores, 0, score)
            count = _report(scores, step, span, limits, hits, count)
            limit = simd.splat(np.uint64(limits[0]))
    return count


@njit(cache=True, nogil=True)
def scan_costs(text, profile, weights, span, limits, hits):
    """Find the ends of matches by weighted costs."""
    # c(i, j) = min(c(i-1, j-1) + pair(i, j), c(i-1, j) + deletion, c(i, j-1) + insertion)
    # profile (m, 6) or (m, codes + 1, 1): pair(i, code); the last code pads, above any limit
    # weights: deletion and insertion; the others as in `scan_words`
    lanes = simd.VECTOR_BYTES // profile.itemsize
    m, warm = len(profile), span[0]
    column, scores = np.empty(m * lanes, profile.dtype), np.empty(lanes, profile.dtype)
    for row in range(m):
        column[row * lanes : (row + 1) * lanes] = (row + 1) * weights[0]
    zero = np.zeros(1, profile.dtype)[0]
    deletion, insertion = simd.splat(weights[0]), simd.splat(weights[1])
    limit = simd.splat(profile.dtype.type(limits[0]))
    active, count = min(m, limits[0] // weights[0]), 0
    for step in range(warm + span[1]):
        codes = simd.load_widened(text, step * lanes, zero)
        diagonal, up = simd.splat(zero), simd.splat(zero)
        row = 0
        # one row beyond the active ones, and further only down a run of deletions
        while row < m and (row <= active or simd.any_at_most(simd.add(up, deletion), limit)):
            left = simd.load(column, row * lanes)
            pair = simd.add(diagonal, _looked_up(profile, row, codes))
            up = simd.minimum(pair, simd.add(up, deletion))
            up = simd.minimum(up, simd.add(left, insertion))
            simd.store(column, row * lanes, up)
            diagonal = left
            row += 1
        if row == m and step >= warm and simd.any_at_most(up, limit):
            simd.store(scores, 0, up)
            count = _report(scores, step, span, limits, hits, count)
            limit = simd.splat(profile.dtype.type(limits[0]))
        active = row
        while active > 0 and not simd.any_at_most(simd.load(column, (active - 1) * lanes), limit):
            active -= 1
    return count


@njit(cache=True, nogil=True)
def lay_out(codes, first, span, lanes, pad, laid_out):
    """Write the lanes' codes side by side, step by step; `pad` outside of the text."""
    steps = span[0] + span[1]
    for lane in range(lanes):
        shift = span[2] + lane * span[1] - span[0]
        for step in range(steps):
            position = shift + step
            inside = first <= position < span[3]
            laid_out[step * lanes + lane] = codes[position] if inside else pad


class Query(NamedTuple):
    """A probe ready for the scan: `scan_words` or `scan_costs`, its tables, and its lanes."""

    function: Callable[..., int]
    tables: tuple
    lanes: int

    def scan(self, text, span: Span, limits, hits) -> int:
        """Run the scan."""
        return self.function(text, *self.tables, tuple(span), limits, hits)


def make_query(symbols: NDArray[np.uint8], matches: NDArray[np.bool_], costs: EditCosts) -> Query:
    """Return a probe ready for the scan; `ScoringError` if its costs could overflow."""
    return _unit_query(symbols, matches) if costs.unit else _cost_query(symbols, matches, costs)


def _unit_query(symbols, matches) -> Query:
    m, n_codes = len(symbols), matches.shape[1]
    n_blocks = -(-m // WORD)
    bits = np.zeros((n_blocks * WORD, n_codes + 1), dtype=bool)
    bits[:m, :n_codes] = matches[symbols]
    packed = np.packbits(bits.reshape(n_blocks, WORD, -1), axis=1, bitorder="little")
    words = np.ascontiguousarray(packed.transpose(0, 2, 1)).view("<u8")
    if n_codes == NUCLEOTIDE_CODES:
        words = words[:, :, 0]
    return Query(scan_words, (np.ascontiguousarray(words, dtype=np.uint64), m), WORD_LANES)


def _cost_query(symbols, matches, costs: EditCosts) -> Query:
    pairs = costs.pair_costs(matches)[symbols].astype(np.int64)
    unreachable = len(symbols) * costs.deletion + 1
    largest = largest_value(len(symbols), pairs, costs)
    dtype = np.int16 if largest < 2**15 else np.int32
    profile = np.column_stack((pairs, np.full(len(symbols), unreachable))).astype(dtype)
    if matches.shape[1] != NUCLEOTIDE_CODES:
        profile = profile[:, :, None]
    weights = np.array([costs.deletion, costs.insertion], dtype=dtype)
    lanes = simd.VECTOR_BYTES // profile.itemsize
    return Query(scan_costs, (np.ascontiguousarray(profile), weights), lanes)


class ScanTask(NamedTuple):
    """Positions of a range to scan for some probes; `start` is the first one of the range."""

    text_range: int
    start: int
    begin: int
    end: int
    probes: tuple[int, ...]


@dataclass
class Finder:
    """All probes of a search, ready to be scanned on the CPU."""

    probes: list[Probe]
    matches: NDArray[np.bool_]  # of the alphabet
    costs: EditCosts
    limits: DistanceLimits  # falls while a best distance is looked for
    threads: int
    numbers: Sequence[int] | None = None  # the probes to scan for, by number; all by default
    # called with the number of text positions that are done since its last call, by any thread
    done: Callable[[int], None] = field(default=lambda positions: None, repr=False)

    def __post_init__(self):
        self.patterns = np.array([probe.pattern for probe in self.probes])
        self.queries: dict[int, Query] = {}
        if self.numbers is None:
            self.numbers = range(len(self.probes))

    def warm(self, number: int) -> int:
        """Return the most symbols that a match can have before its last one."""
        probe = self.probes[number]
        limit = int(self.limits.current[probe.pattern])
        return longest_match(len(probe.symbols), limit, self.costs.insertion) - 1

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limits after it."""
        return self.scan(text_block.codes, self.tasks(text_block, self.numbers))

    def query(self, number: int) -> Query:
        """Return a probe ready for the scan, made at the first call."""
        if number not in self.queries:
            symbols = self.probes[number].symbols
            self.queries[number] = make_query(symbols, self.matches, self.costs)
        return self.queries[number]

    def tasks(self, text_block: TextBlock, numbers: Iterable[int]) -> list[ScanTask]:
        """Return tasks that together cover a text block."""
        groups = list(self._groups(numbers))
        return [
            ScanTask(number, text_range.start, begin, end, group)
            for number, text_range in enumerate(text_block.ranges)
            for begin, end in split(text_range.begin, text_range.end, self.threads)
            for group in groups
        ]

    def scan(self, codes, tasks: Iterable[ScanTask]) -> NDArray[np.int64]:
        """Return the hits of tasks that are within the limits after them."""
        found = map_on_threads(self.threads, lambda task: self._scan(codes, task), tasks)
        return self.within(np.concatenate([text_blocks.NO_HITS, *found]))

    def within(self, hits: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the hits that are within the current limits."""
        limits = self.limits.current[self.patterns[hits[:, text_blocks.PROBE]]]
        return hits[hits[:, text_blocks.DISTANCE] <= limits]

    def _groups(self, numbers: Iterable[int]) -> Iterator[tuple[int, ...]]:
        """Group probes that can share a layout of the text: as many lanes, about as long."""

        def key(number):
            return self.query(number).lanes, self.warm(number).bit_length()

        by_key: dict = {}
        for number in numbers:
            by_key.setdefault(key(number), []).append(number)
        for group in by_key.values():
            for first in range(0, len(group), PROBES_PER_TASK):
                yield tuple(group[first : first + PROBES_PER_TASK])

    def _scan(self, codes, task: ScanTask) -> NDArray[np.int64]:
        lanes = self.query(task.probes[0]).lanes
        # a text has no more before its last position, however long a match may become
        warm = min(max(map(self.warm, task.probes)), task.end - task.start)
        span = Span(warm, -(-(task.end - task.begin) // lanes), task.begin, task.end)
        pad = self.matches.shape[1]
        interleaved = np.empty((warm + span.length) * lanes, np.min_scalar_type(pad))
        lay_out(codes, task.start, tuple(span), lanes, pad, interleaved)
        found = [
            np.insert(self._rows(k, interleaved, span), [0, 0], (k, task.text_range), axis=1)
            for k in task.probes
        ]
        self.done((task.end - task.begin) * len(task.probes) // len(self.numbers))
        return np.concatenate(found)

    def _rows(self, number: int, interleaved, span) -> NDArray[np.int64]:
        query, pattern = self.query(number), self.probes[number].pattern
        limits = self.limits.of(pattern)
        scan = partial(query.scan, interleaved, span, limits)
        rows = text_blocks.collect_hits(scan, 2, _HITS)
        self.limits.lower(pattern, int(limits[0]))
        return rows


def split(begin: int, end: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut positions into ranges for threads, none of them very small or very large."""
    count = min(threads, max((end - begin) // POSITIONS_PER_THREAD, 1))
    count = max(count, -(-(end - begin) // POSITIONS_PER_TASK))
    bounds = [begin + (end - begin) * k // count for k in range(count + 1)]
    yield from pairwise(bounds)
