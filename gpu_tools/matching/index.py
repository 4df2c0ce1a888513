"""Patterns of exact matching as tables of windows that a scan of the text looks up.

Of each pattern one window of q symbols goes into a hash table, packed into 32 bits; a pattern with
classes of symbols gives all words that its window stands for. A bit per hash value, small enough
for a fast memory, excludes most text positions. The others are verified symbol by symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.alphabets import ALPHABETS


@dataclass(frozen=True)
class Pattern:
    """A named pattern.

    Parameters
    ----------
    name : str
        Identifier.
    symbols : ndarray of uint8, shape (m,)
        Pattern symbols of an alphabet.
    """

    name: str
    symbols: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def from_text(cls, name: str, letters: str | bytes, alphabet: str = "dna") -> Pattern:
        """Encode `letters`; an illegal one raises `InputError` with this pattern's name.

        Parameters
        ----------
        name : str
            Identifier.
        letters : str or bytes
            Letters, or any bytes.
        alphabet : {"dna", "protein", "bytes", "text"}
            What they are written in.

        Returns
        -------
        Pattern
        """
        try:
            return cls(name, ALPHABETS[alphabet].encode_pattern(letters))
        except InputError as error:
            raise error.located(record=name) from None

    def __len__(self) -> int:
        return len(self.symbols)


@dataclass(frozen=True)
class PatternSet:
    """Patterns that are searched together.

    Parameters
    ----------
    patterns : sequence of Pattern
        At least one, none of them empty.
    alphabet : {"dna", "protein", "bytes", "text"}
        What patterns and texts are written in. A pattern may hold classes (IUPAC codes; B, J, X
        and Z in proteins); the same letters in a text match nothing. ``text`` is bytes of which
        the letters A to Z match in either case.
    both_strands : bool
        Also search the reverse complements; only for ``dna``.
    """

    patterns: Sequence[Pattern]
    alphabet: str = "dna"
    both_strands: bool = False

    @classmethod
    def from_texts(
        cls, texts: Mapping[str, str | bytes], alphabet: str = "dna", both_strands: bool = False
    ) -> PatternSet:
        """Return a set of patterns from their letters by name.

        Parameters
        ----------
        texts : mapping of str to str or bytes
            Letters by the pattern's name.
        alphabet : {"dna", "protein", "bytes", "text"}
            As in the class.
        both_strands : bool
            As in the class.

        Returns
        -------
        PatternSet
        """
        patterns = [Pattern.from_text(name, text, alphabet) for name, text in texts.items()]
        return cls(patterns, alphabet, both_strands)

    @property
    def names(self) -> list[str]:
        """Names of the patterns."""
        return [pattern.name for pattern in self.patterns]

    @property
    def matches(self) -> NDArray[np.bool_]:
        """The alphabet's table of matches."""
        return ALPHABETS[self.alphabet].matches

    def probes(self) -> list[Probe]:
        """Return what to search for, pattern by pattern, ``+`` before ``-``.

        Raises
        ------
        InputError
            If there is no pattern, for an empty one, or for both strands of something that has
            only one.
        """
        complement = ALPHABETS[self.alphabet].complement
        if self.both_strands and complement is None:
            raise InputError(f"the alphabet {self.alphabet} has no reverse strand", expected="dna")
        if not self.patterns:
            raise InputError("no pattern", expected="at least one")
        found = []
        for number, pattern in enumerate(self.patterns):
            if not len(pattern):
                raise InputError("empty pattern", record=pattern.name)
            found.append(Probe(number, False, pattern.symbols))
            if self.both_strands:
                found.append(Probe(number, True, complement[pattern.symbols[::-1]]))
        return found


class Probe(NamedTuple):
    """A pattern as it is searched on the forward text: number, strand, symbols."""

    pattern: int
    reverse: bool
    symbols: NDArray[np.uint8]


KEY_BITS = 32
FEW_CODES, FEW_CODE_BITS = 4, 2
BYTE_BITS = 8
MULTIPLIER = np.uint32(0x9E3779B1)
SECOND_BIT = np.uint32(8)
MAX_WORDS = 1024
"""Limit of the words that one window may stand for, if a shorter one stands for fewer."""
MAX_FILL = 1 / 64
"""Fraction of all words above which an index's windows are too common to share it."""
LEAST_FILTER_BITS, MOST_FILTER_BITS = 10, 18
STEPS = (4, 2)
MOST_KNOWN = 1 / 256
"""Limit of the fraction of a random text's windows that are in the index, for steps above 1."""
_KEY, _CARE, _PROBE, _OFFSET = range(4)


class Index(NamedTuple):
    """Windows of one length, and where their patterns are."""

    window: int  # symbols of a window, q
    # number of neighbouring windows of each pattern; only the text's windows at multiples of it are
    # looked up
    step: int
    bits: int  # bits of a symbol; the window's key holds its first symbol in the lowest bits
    # key * MULTIPLIER >> filter_shift is the index of a filter word; the lowest 5 bits of the
    # product, and 5 from SECOND_BIT on, are the indices of two bits in it
    filter_shift: int
    filter: NDArray[np.uint32]  # filter words; both bits of each key are set
    slot_shift: int  # key * MULTIPLIER >> slot_shift is the index of a slot
    # (S, 4): a window in each slot, by hash, with linear probing: what the pattern holds from the
    # window's start on, as far as 32 bits go, with 1 in all bits that count; probe, and symbols
    # from its start to the window's. Bits that count are 0 where there is no window, also in the
    # last slot
    slots: NDArray[np.uint32]


class Library(NamedTuple):
    """All probes of a search, their symbols one after the other."""

    symbols: NDArray[np.uint8]  # pattern symbols of all probes
    bounds: NDArray[np.int64]  # (P + 1,): where each probe's symbols begin
    matches: NDArray[np.bool_]  # (S, C): by symbol and code of `recode`
    # (C',): new code of each of the alphabet's: those in patterns first, all others the last
    recode: NDArray[np.uint8]
    n_codes: int  # codes that occur in patterns


def library(probes: Sequence[Probe], matches: NDArray[np.bool_]) -> Library:
    """Return the probes' symbols and the smallest set of codes that distinguishes them."""
    symbols = np.concatenate([probe.symbols for probe in probes])
    bounds = np.cumsum([0] + [len(probe.symbols) for probe in probes])
    few = matches.shape[1] <= FEW_CODES + 1
    used = np.arange(FEW_CODES) if few else np.flatnonzero(matches[np.unique(symbols)].any(axis=0))
    reduced = np.zeros((len(matches), len(used) + 1), dtype=bool)
    reduced[:, :-1] = matches[:, used]
    recode = np.full(matches.shape[1], min(len(used), 255), dtype=np.uint8)
    recode[used] = np.arange(len(used))
    return Library(symbols, bounds, reduced, recode, len(used))


def in_bytes(library: Library) -> Library:
    """Return a library in the alphabet's codes, for texts that are not recoded."""
    matches = np.zeros((len(library.matches), len(library.recode) + 1), dtype=bool)
    matches[:, :-1] = library.matches[:, library.recode]
    return library._replace(matches=matches, recode=np.arange(len(library.recode)))


def indexes(library: Library, bits: int | None = None) -> list[Index]:
    """Return indexes that together hold each probe once.

    Probes share an index, with as long windows as its shortest probe allows, unless its words
    would then be too common; each index costs a scan of the text. Symbols take as few bits as
    they can, or `bits`.
    """
    bits = bits or max((library.n_codes - 1).bit_length(), FEW_CODE_BITS)
    n_probes = len(library.bounds) - 1
    sizes = library.matches.sum(axis=1)[library.symbols]
    bounds = pairwise(library.bounds)
    windows = np.array([_window(sizes[a:b], KEY_BITS // bits) for a, b in bounds])
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
    """Return the length of the longest window that stands for few words; at least 1."""
    longest = min(longest, len(sizes))
    if sizes.max() == 1:
        return longest
    return next((q for q in range(longest, 1, -1) if _fewest(sizes, q)[1] <= MAX_WORDS), 1)


def _fewest(sizes, window: int) -> tuple[int, float]:
    """Return the position of the window that stands for the fewest words, and their number."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(sizes, 1)))))
    words = logs[window:] - logs[:-window]
    position = int(words.argmin())
    return position, float(np.exp(words[position]))


def _index(library: Library, sizes, chosen, span: int, bits: int) -> Index:
    """Return the index of probes; `span` symbols hold all neighbouring windows of a probe."""
    plain = np.maximum.reduceat(sizes, library.bounds[:-1])[chosen] == 1
    positions, words = _most_specific(library, sizes, chosen[~plain], span)
    step = _step(int(plain.sum()) + words, span, library.n_codes)
    window = span - step + 1
    rows = [_plain_windows(library, chosen[plain], offset, bits) for offset in range(step)]
    rows += [
        _class_windows(library, probe, position + offset, window, bits)
        for probe, position in zip(chosen[~plain].tolist(), positions, strict=True)
        for offset in range(step)
    ]
    joined = np.concatenate(rows)
    keys = joined[:, _KEY] & np.uint32((1 << bits * window) - 1)
    unique = np.unique(keys)
    filter_bits = int(np.clip(len(unique).bit_length() + 9, LEAST_FILTER_BITS, MOST_FILTER_BITS))
    shift = KEY_BITS - (filter_bits - 5)
    return Index(window, step, bits, shift, _filter(unique, shift), *_slots(joined, keys))


def _most_specific(library: Library, sizes, probes, span: int) -> tuple[list[int], float]:
    """Return the position in each probe that stands for the fewest words, and the sum of these."""
    bounds = library.bounds
    found = [_fewest(sizes[bounds[probe] : bounds[probe + 1]], span) for probe in probes.tolist()]
    return [position for position, _ in found], sum(words for _, words in found)


def _step(words: float, span: int, n_codes: int) -> int:
    """Return the largest step at which windows in a random text are nearly all unknown."""
    codes = float(max(n_codes, 2))
    for step in STEPS:
        if step < span and words * step <= MOST_KNOWN * codes ** (span - step + 1):
            return step
    return 1


def _plain_windows(library: Library, probes, offset: int, bits: int):
    """Return the slots of the windows at an offset of probes without classes."""
    codes = library.matches.argmax(axis=1).astype(np.uint32)
    starts, stops = library.bounds[probes] + offset, library.bounds[probes + 1]
    rows = np.zeros((len(probes), 4), dtype=np.uint32)
    for k in range(KEY_BITS // bits):
        inside = starts + k < stops
        of_symbol = codes[library.symbols[np.minimum(starts + k, stops - 1)]]
        rows[:, _KEY] |= np.where(inside, of_symbol, 0).astype(np.uint32) << np.uint32(bits * k)
        rows[:, _CARE] |= inside.astype(np.uint32) * np.uint32((1 << bits) - 1 << bits * k)
    rows[:, _PROBE], rows[:, _OFFSET] = probes, offset
    return rows


def _class_windows(library: Library, probe: int, position: int, window: int, bits: int):
    """Return the slots of all words of a probe's window."""
    first = library.bounds[probe] + position
    symbols = library.symbols[first : first + window]
    members = [np.flatnonzero(library.matches[symbol]).tolist() for symbol in symbols]
    keys = [sum(code << bits * k for k, code in enumerate(word)) for word in product(*members)]
    rows = np.empty((len(keys), 4), dtype=np.uint32)
    rows[:, _KEY], rows[:, _CARE] = keys, (1 << bits * window) - 1
    rows[:, _PROBE], rows[:, _OFFSET] = probe, position
    return rows


def _filter(keys, shift: int) -> NDArray[np.uint32]:
    hashed = keys * MULTIPLIER
    filled = np.zeros((1 << (KEY_BITS - shift), 32), dtype=bool)
    for bits in (hashed, hashed >> SECOND_BIT):
        filled[hashed >> np.uint32(shift), bits & np.uint32(31)] = True
    return np.packbits(filled, bitorder="little").view("<u4").astype(np.uint32)


def _slots(rows, keys) -> tuple[int, NDArray[np.uint32]]:
    """Return the shift that gives a key's first slot, and the slots."""
    size_bits = (2 * len(rows)).bit_length()
    homes = ((keys * MULTIPLIER) >> np.uint32(KEY_BITS - size_bits)).astype(np.int64)
    order, count = np.argsort(homes, kind="stable"), np.arange(len(rows))
    # each stands in the slot of its hash value, or right behind the one before
    positions = count + np.maximum.accumulate(homes[order] - count)
    slots = np.zeros(((1 << size_bits) + len(rows), 4), dtype=np.uint32)
    slots[positions] = rows[order]
    return KEY_BITS - size_bits, slots
