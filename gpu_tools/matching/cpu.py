"""Exact and approximate matching on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.matching import index as windows
from gpu_tools.matching import text_blocks
from gpu_tools.matching.approximate import Tables, cell
from gpu_tools.matching.index import MULTIPLIER, SECOND_BIT, Index, Library, Probe
from gpu_tools.matching.text_blocks import DistanceLimits, Find, TextBlock, collect_hits

# Approximate matching on a CPU: the lanes of a vector work on different parts of the text.
#
# Unit costs: bit vectors after Myers, blocks of 64 pattern rows, 8 text parts side by side.
# Other costs: the plain recurrence, row by row, on 32 or 16 text parts side by side. Both omit the
# rows in which every cell is above the limit (Ukkonen's cut-off).


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
def _insertion(table, codes):
    """Look up the costs of insertions; numba warns of a lookup inlined twice in a function."""
    return _looked_up(table, 0, codes)


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
def scan_costs(text, profile, deletions, insertions, span, limits, hits):
    """Find the ends of matches by weighted costs."""
    # c(i, j) = min(c(i-1, j-1) + pair(i, j), c(i-1, j) + deletion(i), c(i, j-1) + insertion(j))
    # profile (m, 6) or (m, codes + 1, 1): pair(i, code); the last code pads, above any limit
    # deletions (m,); insertions (1, 6) or (1, codes + 1, 1), by code; the others as in `scan_words`
    lanes = simd.lanes_of(profile)
    m, warm = len(profile), span[0]
    column, scores = np.empty(m * lanes, profile.dtype), np.empty(lanes, profile.dtype)
    total, active, count = np.int64(0), 0, 0
    for row in range(m):
        total += deletions[row]
        column[row * lanes : (row + 1) * lanes] = total
        active += total <= limits[0]
    zero = np.zeros(1, profile.dtype)[0]
    limit = simd.splat(profile.dtype.type(limits[0]))
    for step in range(warm + span[1]):
        codes = simd.load_widened(text, step * lanes, zero)
        insertion = _insertion(insertions, codes)
        diagonal, up = simd.splat(zero), simd.splat(zero)
        row = 0
        # one row beyond the active ones, and further only down a run of deletions
        while row < m:
            deleted = simd.add(up, simd.splat(deletions[row]))
            if row > active and not simd.any_at_most(deleted, limit):
                break
            left = simd.load(column, row * lanes)
            pair = simd.add(diagonal, _looked_up(profile, row, codes))
            up = simd.minimum(pair, deleted)
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


def _unit_query(symbols, tables: Tables) -> Query:
    m, n_codes = len(symbols), tables.matches.shape[1]
    n_blocks = -(-m // WORD)
    bits = np.zeros((n_blocks * WORD, n_codes + 1), dtype=bool)
    bits[:m, :n_codes] = tables.matches[symbols]
    packed = np.packbits(bits.reshape(n_blocks, WORD, -1), axis=1, bitorder="little")
    words = np.ascontiguousarray(packed.transpose(0, 2, 1)).view("<u8")
    if n_codes == NUCLEOTIDE_CODES:
        words = words[:, :, 0]
    return Query(scan_words, (np.ascontiguousarray(words, dtype=np.uint64), m), WORD_LANES)


def _cost_query(symbols, tables: Tables) -> Query:
    dtype = np.int16 if tables.largest_value(symbols) < 2**15 else np.int32
    padding, lanes = tables.whole(symbols) + 1, simd.VECTOR_BYTES // np.dtype(dtype).itemsize

    def by_code(costs):
        padded = np.pad(costs, ((0, 0), (0, 1)), constant_values=padding).astype(dtype)
        return padded if costs.shape[1] == NUCLEOTIDE_CODES else padded[:, :, None]

    profile, insertions = by_code(tables.pairs[symbols]), by_code(tables.insertions[None])
    deletions = tables.deletions[symbols].astype(dtype)
    return Query(scan_costs, (profile, deletions, insertions), lanes)


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
    tables: Tables
    unit: bool  # whether every edit costs 1
    limits: DistanceLimits  # falls while a best distance is looked for
    threads: int
    numbers: Sequence[int] | None = None  # the probes to scan for, by number; all by default
    # called with the number of text positions that are done since its last call, by any thread
    done: Callable[[int], None] = field(default=lambda positions: None, repr=False)

    def __post_init__(self):
        self.queries: dict[int, Query] = {}
        if self.numbers is None:
            self.numbers = range(len(self.probes))

    def warm(self, number: int) -> int:
        """Return the most symbols that a match can have before its last one."""
        limit = int(self.limits.of(number)[0])
        return self.tables.longest_match(len(self.probes[number].symbols), limit) - 1

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limits after it."""
        return self.scan(text_block.codes, self.tasks(text_block, self.numbers))

    def query(self, number: int) -> Query:
        """Return a probe ready for the scan, made at the first call."""
        if number not in self.queries:
            make = _unit_query if self.unit else _cost_query
            self.queries[number] = make(self.probes[number].symbols, self.tables)
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
        limits = self.limits.current[self.limits.patterns[hits[:, text_blocks.PROBE]]]
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
        pad = self.tables.matches.shape[1]
        interleaved = np.empty((warm + span.length) * lanes, np.min_scalar_type(pad))
        lay_out(codes, task.start, tuple(span), lanes, pad, interleaved)
        found = [
            np.insert(self._rows(k, interleaved, span), [0, 0], (k, task.text_range), axis=1)
            for k in task.probes
        ]
        self.done((task.end - task.begin) * len(task.probes) // len(self.numbers))
        return np.concatenate(found)

    def _rows(self, number: int, interleaved, span) -> NDArray[np.int64]:
        limits = self.limits.of(number)
        scan = partial(self.query(number).scan, interleaved, span, limits)
        rows = text_blocks.collect_hits(scan, 2, _HITS)
        self.limits.lower(number, int(limits[0]))
        return rows


def split(begin: int, end: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut positions into ranges for threads, none of them very small or very large."""
    count = min(threads, max((end - begin) // POSITIONS_PER_THREAD, 1))
    count = max(count, -(-(end - begin) // POSITIONS_PER_TASK))
    bounds = [begin + (end - begin) * k // count for k in range(count + 1)]
    yield from pairwise(bounds)


# Exact matching on a CPU: one pass over the text for each index, or for each of few probes.


FEW_PROBES = 8
"""Probes up to which it is faster to compare the text with each one."""
COMPARED = 8
"""Symbols of a probe that are compared in vectors before single symbols are."""
_EXACT_HITS = 1 << 16


@njit(nogil=True)
def _occurs(codes, start, probe, library):
    """Tell whether a probe occurs at `start`."""
    symbols, bounds, matches, recode, _ = library
    first = bounds[probe]
    for k in range(bounds[probe + 1] - first):
        if not matches[symbols[first + k], recode[codes[start + k]]]:
            return False
    return True


@njit(nogil=True)
def _verify(codes, at, key, index, library, span, hits, count):
    """Record the probes with the window at `at` that occur; return the number of hits so far."""
    slots, bounds = index[6], library[1]
    window_bits = np.uint32(index[0] * index[2])
    whole = np.uint32(np.uint64(2**32 - 1) >> np.uint64(32 - window_bits))
    slot = np.int64(np.uint32(key * MULTIPLIER) >> np.uint32(index[5]))
    while slots[slot, 1] != 0:
        if (key ^ slots[slot, 0]) & slots[slot, 1] & whole == 0:
            probe = np.int64(slots[slot, 2])
            start = at - np.int64(slots[slot, 3])
            length = bounds[probe + 1] - bounds[probe]
            inside = span[0] <= start < span[1] and start + length <= span[2]
            if inside and _occurs(codes, start, probe, library):
                if count < len(hits):
                    hits[count, 0], hits[count, 1] = start, probe
                count += 1
        slot += 1
    return count


@njit(cache=True, nogil=True)
def scan(codes, index, library, span, hits):
    """Find the occurrences of an index's probes."""
    # span: first start, the start after the last one, and the end of the text
    # hits (capacity, 2): start and probe; the result counts those beyond it, too
    window, off_step, bits = index[0], index[1] - 1, np.uint32(index[2])
    shift, filter_bits, recode = np.uint32(index[3]), index[4], library[3]
    other = library[2].shape[1] - 1
    top = np.uint32((window - 1) * index[2])
    key, run, count = np.uint32(0), 0, 0
    for position in range(span[0], span[2]):
        code = recode[codes[position]]
        if code >= other:
            run = 0
            continue
        key = np.uint32(np.uint32(key >> bits) | np.uint32(np.uint32(code) << top))
        run += 1
        at = position + 1 - window
        if at & off_step:
            continue
        hashed = np.uint32(key * MULTIPLIER)
        word = filter_bits[hashed >> shift]
        both = (word >> (hashed & np.uint32(31))) & (
            word >> ((hashed >> SECOND_BIT) & np.uint32(31))
        )
        if both & np.uint32(1) and run >= window:
            count = _verify(codes, at, key, index, library, span, hits, count)
    return count


@njit(cache=True, nogil=True)
def scan_one(codes, symbols, span, hits):
    """Find the occurrences of one pattern without classes, 64 starts at a time."""
    # symbols: the codes that the pattern matches
    # hits (capacity, 1): starts
    m, stop = len(symbols), min(span[1], span[2] - len(symbols) + 1)
    head, zero = min(m, COMPARED), simd.splat(np.uint8(0))
    start, count = span[0], 0
    while start < stop:
        following = min(start + simd.VECTOR_BYTES, stop)
        if start + simd.VECTOR_BYTES + head <= len(codes):
            differ = simd.bit_xor(simd.load(codes, start), simd.splat(symbols[0]))
            for k in range(1, head):
                other = simd.bit_xor(simd.load(codes, start + k), simd.splat(symbols[k]))
                differ = simd.bit_or(differ, other)
            # lanes of 0 are equal; lanes that look negative cost a comparison in vain
            if not simd.any_at_most(differ, zero):
                start = following
                continue
        for position in range(start, following):
            k = 0
            while k < m and codes[position + k] == symbols[k]:
                k += 1
            if k == m:
                if count < len(hits):
                    hits[count, 0] = position
                count += 1
        start = following
    return count


class Searcher:
    """All probes of a search, ready for the CPU."""

    def __init__(self, library: Library, threads: int):
        self.library, self.threads = library, threads
        self.single = _singles(library)
        self.reach = int(np.diff(library.bounds).max()) - 1

    @cached_property
    def indexes(self) -> list[Index]:
        """Indexes that together hold all probes."""
        return windows.indexes(self.library)

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return rows of start (in the text block) and probe, in any order."""
        spans = [
            (begin, end, min(end + self.reach, text_range.stop))
            for text_range in text_block.ranges
            for begin, end in split(text_range.begin, text_range.end, self.threads)
        ]
        found = map_on_threads(self.threads, lambda span: self._scan(text_block.codes, span), spans)
        return np.concatenate([np.empty((0, 2), np.int64), *found])

    def _scan(self, codes, span) -> NDArray[np.int64]:
        if self.single:
            parts = []
            for number, symbols in enumerate(self.single):
                starts = collect_hits(partial(scan_one, codes, symbols, span), 1, _EXACT_HITS)
                parts.append(np.column_stack((starts, np.full(len(starts), number))))
        else:
            arrays = [(tuple(index), tuple(self.library)) for index in self.indexes]
            parts = [
                collect_hits(partial(scan, codes, *own, span), 2, _EXACT_HITS) for own in arrays
            ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _singles(library: Library) -> list[NDArray[np.uint8]]:
    """Return the text codes of each probe, or nothing if probes are many or have classes."""
    few = len(library.bounds) - 1 <= FEW_PROBES
    if not few or library.matches.sum(axis=1)[library.symbols].max() > 1:
        return []
    # the first of the alphabet's codes that becomes each of the library's
    known = np.array([np.argmax(library.recode == code) for code in range(library.n_codes + 1)])
    codes = known[library.matches.argmax(axis=1)[library.symbols]].astype(np.uint8)
    return np.split(codes, library.bounds[1:-1])


# Approximate matching by seeds, where few errors are allowed: pigeonhole filtering.
#
# A match of at most e errors leaves one of e + 1 parts of its pattern intact. Exact matching finds
# these *seeds* of all patterns in one scan of the text. The recurrence is computed only in windows
# around them. Nothing is missed, and the time hardly grows with the number of patterns.


WINDOWS_PER_TASK = 1024
SECONDS_PER_CELL = 2e-9
"""Time of the recurrence on one core."""


class ScanTimes(NamedTuple):
    """Approximate seconds that a device needs to scan a text symbol."""

    seeds: float  # for all seeds together
    probe: float  # for one probe by the recurrence


SCAN_TIMES = {"cpu": ScanTimes(2.5e-9, 2e-9), "cuda": ScanTimes(1e-12, 4e-12)}
"""By kind of device; those of a CPU are of one core."""


class Seeds(NamedTuple):
    """The seeds of the probes that are searched by them."""

    others: list[int]  # the probes that have none, by number
    # (S,): the probe of each seed, and the seed's position in it
    owners: NDArray[np.int64]
    offsets: NDArray[np.int64]
    probes: list[Probe]  # the seeds as what exact matching searches for


def choose(
    probes: list[Probe], matches: NDArray[np.bool_], errors: int | None, times: ScanTimes
) -> Seeds:
    """Return the seeds of the probes that are found faster by them, perhaps of none."""
    fractions = np.log(np.maximum(matches[:, :-1].mean(axis=1), 1e-9))
    cuts = {}
    for number, probe in enumerate(probes):
        m = len(probe.symbols)
        if errors is None or errors >= m:
            continue
        bounds = [m * k // (errors + 1) for k in range(errors + 2)]
        occurring = np.exp(np.add.reduceat(fractions[probe.symbols], bounds[:-1])).sum()
        cells = (m + 4 * errors) * (errors + 2)
        if 2 * occurring * cells * SECONDS_PER_CELL < times.probe:
            cuts[number] = bounds
    faster = len(cuts) * times.probe > 2 * times.seeds
    return _seeds(probes, cuts if faster else {})


def most_errors(tables: Tables, max_distance: int | None) -> int | None:
    """Return the largest number of errors within a distance, None if it is unlimited."""
    if max_distance is None:
        return None
    cheapest = min(*tables.cheapest, int(tables.pairs[~tables.matches].min()))
    return max_distance // cheapest if cheapest else None


def _seeds(probes: list[Probe], cuts: dict[int, list[int]]) -> Seeds:
    """Return the parts of probes between `cuts`, which are by number of the probe."""
    parts = [
        (number, first, probes[number].symbols[first:stop])
        for number, bounds in cuts.items()
        for first, stop in pairwise(bounds)
    ]
    return Seeds(
        [number for number in range(len(probes)) if number not in cuts],
        np.array([number for number, _, _ in parts], dtype=np.int64),
        np.array([first for _, first, _ in parts], dtype=np.int64),
        [Probe(k, False, symbols) for k, (_, _, symbols) in enumerate(parts)],
    )


@njit(cache=True, nogil=True)
def scan_windows(codes, windows, probes, tables, limit, hits):
    """Find the ends of matches within windows."""
    # windows (W, 4): probe, start of the text of its longest match, begin and end of the positions
    # probes: symbols of all probes, and where each one's begin
    # hits (capacity, 3): window, end, distance
    symbols, bounds = probes
    _, pairs, deletions, insertions = tables
    column = np.empty(np.max(np.diff(bounds)) + 1, np.int64)
    count = 0
    for w in range(len(windows)):
        probe, first, begin, end = windows[w]
        base = bounds[probe]
        m = bounds[probe + 1] - base
        column[0], active = 0, 0
        for i in range(m):
            column[i + 1] = column[i] + deletions[symbols[base + i]]
            active += column[i + 1] <= limit
        for position in range(first, end):
            code = codes[position]
            insertion = np.int64(insertions[code])
            diagonal, up, i = np.int64(0), np.int64(0), 0
            # one row beyond the active ones, and further only down a run of deletions
            while i < m and (i <= active or up + deletions[symbols[base + i]] <= limit):
                left, symbol = column[i + 1], symbols[base + i]
                pair, deletion = np.int64(pairs[symbol, code]), np.int64(deletions[symbol])
                up = cell(diagonal, up, left, pair, deletion, insertion)
                column[i + 1] = up
                diagonal = left
                i += 1
            if i == m and position >= begin and up <= limit:
                if count < len(hits):
                    hits[count, 0], hits[count, 1], hits[count, 2] = w, position + 1, up
                count += 1
            active = i
            while active > 0 and column[active] > limit:
                active -= 1
    return count


@dataclass
class SeedFinder:
    """Finds some probes by seeds, the others by the recurrence alone."""

    finder: Finder  # of all probes
    seeds: Seeds
    # returns rows of start and seed for a text block
    find_seeds: Callable[[TextBlock], NDArray[np.int64]]
    find_others: Find  # finds the probes that have no seeds

    def __post_init__(self):
        probes = self.finder.probes
        lengths = [len(probe.symbols) for probe in probes]
        self.lengths = np.array(lengths)
        self.symbols = np.concatenate([probe.symbols for probe in probes])
        self.bounds = np.cumsum([0, *lengths])
        self.limit = int(self.finder.limits.current[0])

    def find(self, text_block: TextBlock) -> NDArray[np.int64]:
        """Return the hits of a text block that are within the limit."""
        windows, ranges = self._windows(text_block)
        tasks = range(0, len(windows), WINDOWS_PER_TASK)
        parts = map_on_threads(
            self.finder.threads, lambda k: self._scan(text_block.codes, windows, k), tasks
        )
        rows = np.concatenate([np.empty((0, 3), np.int64), *parts])
        of_window = np.column_stack((windows[:, 0], ranges))[rows[:, 0]]
        found = np.column_stack((of_window, rows[:, 1:]))
        return np.concatenate([found, self.find_others(text_block)])

    def _scan(self, codes, windows, first: int) -> NDArray[np.int64]:
        batch = windows[first : first + WINDOWS_PER_TASK]
        inputs = codes, batch, (self.symbols, self.bounds), tuple(self.finder.tables), self.limit
        rows = collect_hits(lambda hits: scan_windows(*inputs, hits), 3, WINDOWS_PER_TASK)
        rows[:, 0] += first
        return rows

    def _windows(self, text_block: TextBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the windows for `scan_windows`, and the number of each one's range."""
        whole = [s._replace(begin=s.start, end=s.stop) for s in text_block.ranges]
        starts, numbers = self.find_seeds(TextBlock(text_block.codes, whole)).T
        owners = self.seeds.owners[numbers]
        ranges, within = text_block.numbers_of(starts), text_block.ranges_of(starts)
        # where the match would end without a gap, and how far gaps can move that
        ends = starts - self.seeds.offsets[numbers] + self.lengths[owners]
        deletion, insertion = self.finder.tables.cheapest
        begins = ends - 1 - self.limit // deletion
        ends = ends + self.limit // insertion
        begins = np.maximum(begins, within.begin)
        ends = np.minimum(ends, within.end)
        inside = begins < ends
        rows = np.column_stack((owners, begins, ends, ranges))[inside]
        owners, begins, ends, ranges = _merged(rows[np.lexsort((rows[:, 1], rows[:, 0]))]).T
        longest = self.lengths[owners] + self.limit // insertion
        firsts = np.maximum(begins + 1 - longest, text_block.ranges_of(begins).start)
        return np.column_stack((owners, firsts, begins, ends)), ranges


def _merged(rows) -> NDArray[np.int64]:
    """Join sorted rows of owner, begin, end and range where those of an owner overlap."""
    if not len(rows):
        return rows
    shift = rows[:, 0] * (rows[:, 2].max() + 1)
    reach = np.maximum.accumulate(rows[:, 2] + shift)
    new = np.append(True, rows[1:, 1] + shift[1:] >= reach[:-1])
    first = np.flatnonzero(new)
    joined = rows[first].copy()
    joined[:, 2] = np.maximum.reduceat(rows[:, 2], first)
    return joined
