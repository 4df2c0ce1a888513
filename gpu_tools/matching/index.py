"""Patterns of exact matching as tables of windows that a scan of the text looks up.

Of each pattern one window of q symbols goes into a hash table, packed into 32 bits; a pattern with
classes of symbols gives all words that its window stands for. A bit per hash value, small enough
for a fast memory, tells most text positions from those worth a look; what passes is verified
symbol by symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.matching.pattern import Probe

KEY_BITS = 32
FEW_CODES, FEW_CODE_BITS = 4, 2
MULTIPLIER = np.uint32(0x9E3779B1)
SECOND_BIT = np.uint32(8)
MAX_WORDS = 1024
"""Words that one window may stand for, if a shorter one stands for fewer."""
MAX_FILL = 1 / 64
"""Fraction of words at which a shorter window is too common."""
LEAST_FILTER_BITS, MOST_FILTER_BITS = 10, 18


class Index(NamedTuple):
    """Windows of one length, and where their patterns are.

    Attributes
    ----------
    window : int
        Symbols of a window, q.
    bits : int
        Bits of a symbol; the window's key holds its first symbol in the lowest bits.
    filter_shift : int
        The upper bits of key * MULTIPLIER that remain after this shift number a filter word; the
        lowest 5, and 5 from SECOND_BIT on, number two bits in it.
    filter : ndarray of uint32
        Filter words; both bits of each key are set.
    vacant : int
        A key that no window has.
    slots : ndarray of uint32, shape (2^s,)
        Keys by hash, with linear probing; `vacant` where there is none.
    ranges : ndarray of uint32, shape (2^s, 2)
        First and last entry of each slot.
    entries : ndarray of int32, shape (E, 2)
        Probe, and symbols from the start of the probe to the end of its window.
    """

    window: int
    bits: int
    filter_shift: int
    filter: NDArray[np.uint32]
    vacant: int
    slots: NDArray[np.uint32]
    ranges: NDArray[np.uint32]
    entries: NDArray[np.int32]


class Library(NamedTuple):
    """All probes of a search, their symbols one after the other.

    Attributes
    ----------
    symbols : ndarray of uint8
        Pattern symbols of all probes.
    bounds : ndarray of int64, shape (P + 1,)
        Where each probe's symbols begin.
    matches : ndarray of bool, shape (S, C)
        Which symbols match which codes, in the codes of `recode`.
    recode : ndarray of uint8, shape (C',)
        Code for each of the alphabet's: those that occur in patterns first, all others the last.
    """

    symbols: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    matches: NDArray[np.bool_]
    recode: NDArray[np.uint8]

    @property
    def n_codes(self) -> int:
        """Codes that occur in patterns."""
        return self.matches.shape[1] - 1


def library(probes: Sequence[Probe], matches: NDArray[np.bool_]) -> Library:
    """Return the probes' symbols and the smallest set of codes that tells them apart.

    Parameters
    ----------
    probes : sequence of Probe
    matches : ndarray of bool, shape (S, C)
        The alphabet's.
    """
    symbols = np.concatenate([probe.symbols for probe in probes])
    bounds = np.cumsum([0] + [len(probe.symbols) for probe in probes])
    few = matches.shape[1] <= FEW_CODES + 1
    used = np.arange(FEW_CODES) if few else np.flatnonzero(matches[np.unique(symbols)].any(axis=0))
    own = np.zeros((len(matches), len(used) + 1), dtype=bool)
    own[:, :-1] = matches[:, used]
    recode = np.full(matches.shape[1], min(len(used), 255), dtype=np.uint8)
    recode[used] = np.arange(len(used))
    return Library(symbols, bounds, own, recode)


def indexes(library: Library) -> list[Index]:
    """Return indexes that together hold each probe once.

    Probes share an index, with windows as long as its shortest probe allows, unless its words
    would then be too common; each index costs a scan of the text.
    """
    bits = max((library.n_codes - 1).bit_length(), FEW_CODE_BITS)
    n_probes = len(library.bounds) - 1
    sizes = library.matches.sum(axis=1)[library.symbols]
    windows = np.array([
        _window(sizes[a:b], KEY_BITS // bits)
        for a, b in zip(library.bounds[:-1], library.bounds[1:], strict=True)
    ])  # fmt: skip
    left, made = np.arange(n_probes), []
    while left.size:
        window = int(windows[left].min())
        chosen = left
        if len(left) > MAX_FILL * float(max(library.n_codes, 2)) ** window:
            chosen = left[windows[left] == window]
        made.append(_index(library, sizes, chosen, window, bits))
        left = np.setdiff1d(left, chosen)
    return made


def _window(sizes, longest: int) -> int:
    """Return the longest window that stands for few words; at least 1."""
    longest = min(longest, len(sizes))
    if sizes.max() == 1:
        return longest
    return next((q for q in range(longest, 1, -1) if _fewest(sizes, q)[1] <= MAX_WORDS), 1)


def _fewest(sizes, window: int) -> tuple[int, float]:
    """Return the place of the window that stands for the fewest words, and their number."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(sizes, 1)))))
    words = logs[window:] - logs[:-window]
    place = int(words.argmin())
    return place, float(np.exp(words[place]))


def _index(library: Library, sizes, chosen, window: int, bits: int) -> Index:
    plain = np.maximum.reduceat(sizes, library.bounds[:-1])[chosen] == 1
    keys, entries = _plain_windows(library, chosen[plain], window, bits)
    more = [_class_windows(library, sizes, int(k), window, bits) for k in chosen[~plain]]
    keys = np.concatenate([keys, *(words for words, _ in more)])
    entries = np.concatenate([entries, *(found for _, found in more)])
    order = np.argsort(keys, kind="stable")
    keys, entries = keys[order], entries[order]
    unique, firsts = np.unique(keys, return_index=True)
    lasts = np.append(firsts[1:], len(keys))
    filter_bits = int(np.clip(len(unique).bit_length() + 9, LEAST_FILTER_BITS, MOST_FILTER_BITS))
    shift = KEY_BITS - (filter_bits - 5)
    vacant = _vacant(unique)
    return Index(
        window, bits, shift, _filter(unique, shift), vacant,
        *_slots(unique, np.column_stack((firsts, lasts)), vacant), entries,
    )  # fmt: skip


def _plain_windows(library: Library, chosen, window: int, bits: int):
    """Return keys and entries of the first windows of probes without classes."""
    codes = library.matches.argmax(axis=1).astype(np.uint32)
    places = library.bounds[chosen][:, None] + np.arange(window)
    keys = np.zeros(len(chosen), dtype=np.uint32)
    for k, column in enumerate(codes[library.symbols[places]].T):
        keys |= column << np.uint32(bits * k)
    return keys, np.column_stack((chosen, np.full(len(chosen), window))).astype(np.int32)


def _class_windows(library: Library, sizes, probe: int, window: int, bits: int):
    """Return keys and entries of all words of a probe's most specific window."""
    begin, end = library.bounds[probe], library.bounds[probe + 1]
    place, _ = _fewest(sizes[begin:end], window)
    symbols = library.symbols[begin + place : begin + place + window]
    members = [np.flatnonzero(library.matches[symbol]).tolist() for symbol in symbols]
    keys = [sum(code << bits * k for k, code in enumerate(word)) for word in product(*members)]
    entry = np.array([[probe, place + window]], dtype=np.int32)
    return np.array(keys, dtype=np.uint32), np.repeat(entry, len(keys), axis=0)


def _filter(keys, shift: int) -> NDArray[np.uint32]:
    hashed = keys * MULTIPLIER
    filled = np.zeros((1 << (KEY_BITS - shift), 32), dtype=bool)
    for bits in (hashed, hashed >> SECOND_BIT):
        filled[hashed >> np.uint32(shift), bits & np.uint32(31)] = True
    return np.packbits(filled, bitorder="little").view("<u4").astype(np.uint32)


def _vacant(keys) -> int:
    """Return the least number that is not among sorted keys."""
    differ = np.flatnonzero(keys != np.arange(len(keys)))
    return int(differ[0]) if differ.size else len(keys)


def _slots(keys, bounds, vacant: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    size_bits = max((2 * len(keys)).bit_length(), 1)
    slots = np.full(1 << size_bits, vacant, dtype=np.uint32)
    ranges = np.zeros((1 << size_bits, 2), dtype=np.uint32)
    taken = np.zeros(1 << size_bits, dtype=bool)
    for k, place in enumerate(((keys * MULTIPLIER) >> np.uint32(KEY_BITS - size_bits)).tolist()):
        while taken[place]:
            place = (place + 1) % len(slots)
        taken[place], slots[place], ranges[place] = True, keys[k], bounds[k]
    return slots, ranges
