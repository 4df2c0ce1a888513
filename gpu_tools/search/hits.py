"""Hits: words that targets share with a genome, extended without gaps.

The genome passes by: the word that begins at each of its positions is looked up among those of the
targets, in tables that the caches of a processor hold. Where a word and its neighbours score enough
is a *seed*. Seeds are extended diagonal by diagonal, so that the hits of a target depend neither on
threads nor on other targets.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.search.genome import Genome
from gpu_tools.search.words import BROKEN, WordScheme, fixed, plain_symbols, words_of

STRAND, FIRST, LAST, PLACE, SCORE = range(5)
"""Columns of a hit: strand (0 for ``+``), first symbol of the target, the one behind the last,
least nucleotide of the first symbol, score."""
GROUP, START = STRAND, PLACE
"""Columns of a hit to be chained: record and strand in one number, first nucleotide."""
LEAST_MEAN = 10.0
"""Least mean number of occurrences of a word that counts for repeats."""
SHORT = 150
"""Residues up to which a target has more words looked up, also those of plain stretches."""
MOST_PLAIN = 0.5
"""A target with a larger fraction of plain stretches is searched as a whole."""
PLAIN = {"protein": (12, 2.2), "cdna": (24, 1.2)}
"""Length and least entropy of windows that are not plain, by kind; those of proteins are Wootton
and Federhen's (1993, Computers & Chemistry 17, 149)."""
_NEARBY = 4
"""Symbols on each side of a word whose scores are tested before it is extended."""
_AT_A_TIME = 2048
"""Positions whose words are made at a time."""
_AHEAD = 8
"""Words, and seeds, whose memory is brought to the cache beforehand."""
_ROW = 128
"""Scores of a symbol of a target, by symbol of the genome."""
_HALF = 32
"""Symbols of plain stretches are those of others and so many more."""
_NO_SYMBOL = _HALF - 1
"""Symbol between two targets, which ends every hit."""
_IMPOSSIBLE = -100
_PLACES = 31
"""Bits of the place in a seed, below those of its diagonal."""


class HitLimits(NamedTuple):
    """Limits of the extension of words."""

    drop: int  # an extension ends where it is more points below its best
    near: int  # least score of a word and its neighbours
    least: int  # least score of a hit
    # a word that a strand has more than so many times as often as words on average is no seed
    repeats: float


def score_table(words: WordScheme, strand: int) -> NDArray[np.int8]:
    """Return the scores of symbols of targets, each of `_ROW` symbols of a strand, 0 or 1.

    A symbol with an ambiguity code ends every hit; in plain stretches scores are half as high.
    """
    own = words.substitution[:, words.strand_codes[strand]][:, :-1]
    table = np.full((2, _HALF, _ROW), _IMPOSSIBLE, np.int8)
    for half, scores in zip(table, (own, np.where(own > 0, (own + 1) // 2, own)), strict=True):
        half[: own.shape[0], : own.shape[1]] = scores
    return table.ravel()


class WordTable(NamedTuple):
    """Where the words of one shape begin in joined targets."""

    known: NDArray[np.uint32]  # a bit for each word, set if a target has it
    begins: NDArray[np.uint32]  # of each word's places, and of the end of the last one's
    places: NDArray[np.int32]  # -1 less the place of a word that has no neighbours on a side

    @classmethod
    def of(cls, words: NDArray[np.int64], places: NDArray[np.int64], number: int) -> WordTable:
        """Sort the places of words, of which there are `number`."""
        counts = np.bincount(words, minlength=number + 1)  # a broken word has no place
        bits = np.packbits(counts > 0, bitorder="little")
        known = np.pad(bits, (0, -len(bits) % 4)).view(np.uint32)
        begins = np.append(0, np.cumsum(counts)).astype(np.uint32)
        order = np.argsort(words, kind="stable")
        return cls(known, begins, places[order].astype(np.int32))


class JoinedTargets(NamedTuple):
    """Targets one after the other, each behind a symbol that ends hits, and their words."""

    starts: NDArray[np.int64]
    rows: NDArray[np.uint16]  # of the score table, by place
    tables: list[WordTable]  # by shape

    @classmethod
    def of(cls, targets: List[NDArray[np.uint8]], words: WordScheme) -> JoinedTargets:
        """Join targets and look for their words."""
        starts = 1 + np.cumsum([0] + [len(target) + 1 for target in targets])
        rows = np.full(int(starts[-1]), _NO_SYMBOL * _ROW, np.uint16)
        found: list[list] = [[(np.empty(0, np.int64),) * 2] for _ in words.shapes]
        for target, start in zip(targets, starts.tolist(), strict=False):
            target = fixed(target)
            plain = plain_symbols(target, *PLAIN[words.kind])
            if is_short(words.kind, len(target)) or plain.sum() >= MOST_PLAIN * len(target):
                plain[:] = False
            rows[start : start + len(target)] = _ROW * (target + _HALF * plain.astype(np.uint16))
            for shape, own in _words(target, plain, words):
                at = np.flatnonzero((own >= 0) & words.is_sampled(own))
                last = len(target) - len(words.shapes[shape])
                inside = (at >= _NEARBY) & (at <= last - _NEARBY)
                places = np.where(inside, start + at, -1 - start - at)
                found[shape].append((own[at], places))
        joined = (map(np.concatenate, zip(*several, strict=True)) for several in found)
        return cls(starts[:-1], rows, [WordTable.of(*each, words.number) for each in joined])


def is_short(kind: str, length: int) -> bool:
    """Return whether a target is a short protein, whose gene may share few words with it."""
    return kind == "protein" and length <= SHORT


def _words(target, plain, words: WordScheme) -> list[tuple[int, NDArray[np.int64]]]:
    """Return numbers of shapes, and words at each position, -1 where there is none.

    For a short protein these include words of the first shape that differ in one symbol.
    """
    classes = words.target_classes, words.n_classes
    found = [(k, words_of(target, plain, own, *classes)) for k, own in enumerate(words.offsets)]
    if is_short(words.kind, len(target)):
        first = found[0][1]
        for unit in (words.n_classes**place for place in range(words.weight)):
            least = first - first // unit % words.n_classes * unit
            members = range(0, words.n_classes * unit, unit)
            found += [(0, np.where(first >= 0, least + member, -1)) for member in members]
    return found


# Seeds: the genome's words pass by.


@njit(nogil=True, makes_arrays=False)
def _read_words(members, first, step, offsets, n_classes, words, broken):
    """Write the words that begin from a member on; return how many are not broken.

    Broken ones are behind the last word.
    """
    behind = np.uint32(n_classes ** len(offsets))
    words[:] = np.uint32(0)
    broken[:] = np.uint8(0)
    for offset in offsets:
        at = first + step * offset
        for k in range(len(words)):
            words[k] = words[k] * np.uint32(n_classes) + np.uint32(members[at + k])
            broken[k] |= members[at + k]
    whole = 0
    for k in range(len(words)):
        whole += broken[k] != BROKEN
        words[k] = behind if broken[k] == BROKEN else words[k]
    return whole


@njit(nogil=True, makes_arrays=False)
def _choose(words, known, chosen):
    """Write the indices of words that targets have; return their number."""
    count = 0
    for k in range(len(words)):
        chosen[count] = k
        count += np.int64(known[words[k] >> np.uint32(5)] >> (words[k] & np.uint32(31)) & 1)
    return count


@njit(nogil=True, makes_arrays=False)
def _score_nearby(symbols, rows, scores, place, position, step, length):
    """Return the score of a word, with its neighbours on the sides where these increase it."""
    word = left = right = np.int32(0)
    move, q, p = np.uint64(step), np.uint64(place), np.uint64(position)  # wrapping, no branch
    for _ in range(length):
        word += scores[np.uint64(rows[q]) + np.uint64(symbols[p])]
        q += np.uint64(1)
        p += move
    for _ in range(_NEARBY):
        right += scores[np.uint64(rows[q]) + np.uint64(symbols[p])]
        q += np.uint64(1)
        p += move
    q, p = np.uint64(place), np.uint64(position)
    for _ in range(_NEARBY):
        q -= np.uint64(1)
        p -= move
        left += scores[np.uint64(rows[q]) + np.uint64(symbols[p])]
    return word + max(left, np.int32(0)) + max(right, np.int32(0))


@njit(cache=True, nogil=True)
def seeds_in(symbols, span, strand, shape, table, rows, limits):
    """Return the seeds of a shape in a span of positions, and the word of each.

    A seed is diagonal << `_PLACES` | place. Behind these: how often the span has each word of a
    target, and how many words it has.
    """
    # strand: step, classes of symbols, and their scores; shape: offsets, and number of classes
    # table: see `WordTable`; limits: least score of a word and its neighbours, and times a span
    # has a word, at most
    step, classes, scores = strand
    offsets, n_classes = shape
    known, begins, places = table
    near, most = limits
    length, whole, count = offsets[-1] + 1, 0, 0
    seeds, of_seeds = np.empty(1024, np.uint64), np.empty(1024, np.uint32)
    counts = np.zeros(len(begins), np.uint32)
    words, broken = np.empty(_AT_A_TIME, np.uint32), np.empty(_AT_A_TIME, np.uint8)
    chosen, shift = np.empty(_AT_A_TIME + 1, np.int64), max(step, 0) * len(rows)
    reach = step * offsets[-1]
    left, right = -min(reach, 0), max(reach, 0)
    members = np.empty(_AT_A_TIME + left + right, np.uint8)
    low, high = max(span[0], left), min(span[1], len(symbols) - right)
    ends = -_NEARBY * step, step * (length + _NEARBY - 1)
    for first in range(low, high, _AT_A_TIME):
        n = min(_AT_A_TIME, high - first)
        for k in range(n + left + right):
            members[k] = classes[symbols[first - left + k]]
        whole += _read_words(members, left, step, offsets, n_classes, words[:n], broken[:n])
        n = _choose(words[:n], known, chosen)
        for i in range(n):
            if i + 2 * _AHEAD < n:
                simd.prefetch(begins, np.int64(words[chosen[i + 2 * _AHEAD]]))
                simd.prefetch(counts, np.int64(words[chosen[i + 2 * _AHEAD]]))
            if i + _AHEAD < n:
                simd.prefetch(places, np.int64(begins[words[chosen[i + _AHEAD]]]))
            word, position = np.int64(words[chosen[i]]), first + chosen[i]
            counts[word] += np.uint32(1)
            if counts[word] > most:
                continue
            inside = min(ends) + position >= 0 and max(ends) + position < len(symbols)
            for k in range(begins[word], begins[word + 1]):
                place = np.int64(places[k])
                if place < 0:
                    place = -1 - place
                elif inside and near > _score_nearby(
                    symbols, rows, scores, place, position, step, length
                ):
                    continue
                if count == len(seeds):
                    seeds = np.concatenate((seeds, np.empty_like(seeds)))
                    of_seeds = np.concatenate((of_seeds, np.empty_like(of_seeds)))
                diagonal = np.uint64(position - step * place + shift)
                seeds[count] = diagonal << np.uint64(_PLACES) | np.uint64(place)
                of_seeds[count] = word
                count += 1
    return seeds[:count].copy(), of_seeds[:count].copy(), counts, whole


# Extension of seeds.


@njit(nogil=True, makes_arrays=False)
def _extended(symbols, rows, scores, place, position, step, direction, drop):
    """Return the number of symbols of the best extension from a pair on, and its score."""
    score, best, length, k, move = 0, 0, 0, 0, step * direction
    while 0 <= position < len(symbols):
        score += scores[rows[place] + symbols[position]]
        k += 1
        if score > best:
            best, length = score, k
        elif best - score > drop:
            break
        place += direction
        position += move
    return length, best


@njit(cache=True, nogil=True)
def hits_of_seeds(seeds, symbols, step, scores, rows, drop, least):
    """Return the hits of sorted seeds, shape (h, 5), extended both ways as far as scores rise.

    A seed within the last hit on its diagonal is not extended again.
    """
    found, count = np.empty((1024, 5), np.int64), 0
    shift, last, end = max(step, 0) * len(rows), np.int64(-1), np.int64(0)
    mask = np.uint64((1 << _PLACES) - 1)
    for i in range(len(seeds)):
        diagonal, place = np.int64(seeds[i] >> np.uint64(_PLACES)), np.int64(seeds[i] & mask)
        if diagonal == last and place < end:
            continue
        position = diagonal - shift + step * place
        right, score = _extended(symbols, rows, scores, place, position, step, 1, drop)
        left, more = _extended(symbols, rows, scores, place - 1, position - step, step, -1, drop)
        score += more
        if score < least:
            continue
        last, end = diagonal, place + right
        if count == len(found):
            found = np.concatenate((found, np.empty_like(found)))
        found[count, FIRST], found[count, LAST] = place - left, place + right
        found[count, STRAND], found[count, PLACE] = step < 0, position - step * left
        found[count, SCORE] = score
        count += 1
    return found[:count].copy()


def hits_of(
    genome: Genome, targets: List[NDArray[np.uint8]], words: WordScheme, limits: HitLimits,
    threads: int,
) -> list[NDArray[np.int64]]:  # fmt: skip
    """Return the hits of each target; see `to_be_chained`."""
    joined, symbols = JoinedTargets.of(targets, words), genome.symbols
    strands = [
        (step, words.classes[k], score_table(words, k))
        for k, step in enumerate((words.step, -words.step))
    ]
    spans = [*pairwise(len(symbols) * k // threads for k in range(threads + 1))]
    tasks = [(s, k, span) for s in (0, 1) for k in range(len(words.shapes)) for span in spans]
    most = int(limits.repeats * max(len(symbols) / words.number, LEAST_MEAN))

    def seeds(task: tuple) -> tuple:
        strand, k, span = task
        shape, of_targets = (words.offsets[k], words.n_classes), (joined.tables[k], joined.rows)
        return seeds_in(symbols, span, strands[strand], shape, *of_targets, (limits.near, most))

    found = map_on_threads(threads, seeds, tasks)
    mean = sum(whole for *_, whole in found) / (2 * len(words.shapes) * words.number)
    most = int(limits.repeats * max(mean, LEAST_MEAN))
    kept: tuple[list, list] = [], []
    for strand, _, _ in tasks[:: len(spans)]:
        several, found = found[: len(spans)], found[len(spans) :]  # memory is free for hits
        is_repeat = sum(counts for _, _, counts, _ in several) > most
        kept[strand].extend(own[~is_repeat[of]] for own, of, _, _ in several)

    def extended(own: NDArray[np.uint64], strand: tuple) -> NDArray[np.int64]:
        step, _, scores = strand
        of_strand = symbols, step, scores, joined.rows
        return hits_of_seeds(own, *of_strand, limits.drop, limits.least)

    cut = map_on_threads(threads, lambda own: sorted_parts(np.concatenate(own), threads), kept)
    parts = [(part, strand) for several, strand in zip(cut, strands, strict=True)
             for part in several]  # fmt: skip
    rows = np.concatenate(map_on_threads(threads, extended, *zip(*parts, strict=True)))
    places = genome.starts, genome.lengths, words.step
    rows, bounds = by_target(rows, joined.starts, *places)
    return [rows[first:last] for first, last in pairwise(bounds.tolist())]


def sorted_parts(seeds: NDArray[np.uint64], parts: int) -> list[NDArray[np.uint64]]:
    """Sort seeds and cut them into parts; a diagonal is in one."""
    seeds.sort()
    firsts = seeds[[len(seeds) * k // parts for k in range(1, parts)] if len(seeds) else []]
    return np.split(
        seeds, np.searchsorted(seeds, firsts >> np.uint64(_PLACES) << np.uint64(_PLACES))
    )


@njit(cache=True, nogil=True)
def by_target(found, starts, records, lengths, step):
    """Return hits target by target, in its own places and in reading direction of records.

    Behind them: where those of each target begin, and where the last one's end.
    """
    target = np.searchsorted(starts, found[:, FIRST], side="right") - 1
    bounds, rows = np.zeros(len(starts) + 1, np.int64), np.empty_like(found)
    for k in target:
        bounds[k + 1] += 1
    bounds = np.cumsum(bounds)
    cursors = bounds.copy()
    for k in range(len(found)):
        own, strand, place = target[k], found[k, STRAND], found[k, PLACE]
        row = rows[cursors[own]]
        cursors[own] += 1
        record = np.searchsorted(records, place, side="right") - 1
        start = place - records[record]
        row[GROUP] = 2 * record + strand
        row[START] = lengths[record] - start - step if strand else start
        row[FIRST], row[LAST] = found[k, FIRST] - starts[own], found[k, LAST] - starts[own]
        row[SCORE] = found[k, SCORE]
    return rows, bounds


def to_be_chained(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return hits of a target, each once, by group, start, first and last symbol."""
    rows = rows[np.lexsort((rows[:, LAST], rows[:, FIRST], rows[:, START], rows[:, GROUP]))]
    return rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]
