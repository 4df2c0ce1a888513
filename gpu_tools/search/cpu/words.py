"""Reading the words of a genome and of targets, and sorting a genome's by word."""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit

N_CODONS_OF_NUCLEOTIDES = 64
BROKEN = 255
"""Class of a symbol that no word holds."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def codons(codes):
    """Return the number of the codon that begins at each nucleotide, 64 where it is ambiguous.

    Parameters
    ----------
    codes : ndarray of uint8

    Returns
    -------
    ndarray of uint8
        Of the same length; the last two are 64.
    """
    found = np.full(len(codes), N_CODONS_OF_NUCLEOTIDES, np.uint8)
    for p in range(len(codes) - 2):
        if codes[p] < 4 and codes[p + 1] < 4 and codes[p + 2] < 4:
            found[p] = codes[p] << 4 | codes[p + 1] << 2 | codes[p + 2]
    return found


@njit(nogil=True)
def word_at(symbols, position, step, offsets, classes, n_classes, sample):
    """Return the word that begins at a position, -1 if it is broken or not looked up.

    `step` is negative on the strand ``-``.
    """
    last = position + step * offsets[-1]
    if last < 0 or last >= len(symbols):
        return np.int64(-1)
    word = np.int64(0)
    for offset in offsets:
        member = classes[symbols[position + step * offset]]
        if member == BROKEN:
            return np.int64(-1)
        word = word * n_classes + member
    if sample > 1 and (np.uint64(word) * _MIXER >> np.uint64(33)) % np.uint64(sample) != 0:
        return np.int64(-1)
    return word


@njit(cache=True, nogil=True)
def count_words(symbols, span, step, reading, counts):
    """Count the words that begin in a span of positions.

    Parameters
    ----------
    symbols : ndarray of uint8
    span : (int, int)
    step : int
    reading : tuple
        Offsets, classes, their number, and sample; see `word_at`.
    counts : ndarray of int64
        Raised by one for each word.
    """
    for position in range(span[0], span[1]):
        word = word_at(symbols, position, step, *reading)
        if word >= 0:
            counts[word] += 1


@njit(cache=True, nogil=True)
def place_words(symbols, span, step, reading, cursors, positions):
    """Write the positions of the words that begin in a span where cursors say; move these on.

    Parameters
    ----------
    symbols, span, step, reading
        As in `count_words`.
    cursors : ndarray of int64
    positions : ndarray of uint32
        Written.
    """
    for position in range(span[0], span[1]):
        word = word_at(symbols, position, step, *reading)
        if word >= 0:
            positions[cursors[word]] = position
            cursors[word] += 1


@njit(cache=True, nogil=True)
def words_of(symbols, plain, reading):
    """Return the word at each position of a target, -1 where there is none.

    Parameters
    ----------
    symbols : ndarray of uint8
    plain : ndarray of bool
        Symbols of a stretch with few different ones, see `plain_symbols`; words begin and end with
        none of them.
    reading : tuple
        See `count_words`.
    """
    found, reach = np.full(len(symbols), -1, np.int64), reading[0][-1]
    for position in range(len(symbols) - reach):
        if not plain[position] and not plain[position + reach]:
            found[position] = word_at(symbols, position, 1, *reading)
    return found


@njit(cache=True, nogil=True)
def plain_symbols(symbols, window, least):
    """Return which symbols lie in a window whose entropy is below `least` bits.

    Parameters
    ----------
    symbols : ndarray of uint8
        Below 32.
    window : int
        Symbols of a window.
    least : float
    """
    plain, counts = np.zeros(len(symbols), np.bool_), np.zeros(32, np.int64)
    bits = np.zeros(window + 1)
    for n in range(1, window + 1):
        bits[n] = n / window * np.log2(window / n)
    for end in range(len(symbols)):
        counts[symbols[end]] += 1
        if end >= window:
            counts[symbols[end - window]] -= 1
        if end >= window - 1:
            entropy = 0.0
            for n in counts:
                entropy += bits[n]
            if entropy < least:
                plain[end - window + 1 : end + 1] = True
    return plain
