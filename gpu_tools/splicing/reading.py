"""Reading frames of cDNAs: their start and stop codons, and what a chain translates to."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.sequences import OTHER, encode
from gpu_tools.model.translation import STOP_CODONS

FRAMES = 3
READINGS = ("any", "complete", "incomplete")
"""Whether chains must translate: no; from start to stop codon; as part of a reading frame."""


@cache
def stop_words(stops: tuple[str, ...] = STOP_CODONS) -> NDArray[np.bool_]:
    """Return which words of three codes are stop codons, shape (5, 5, 5)."""
    words = np.zeros((OTHER + 1,) * FRAMES, dtype=bool)
    for stop in stops:
        words[tuple(encode(stop))] = True
    return words


def begins_with_start(codes) -> bool:
    """Return whether a sequence begins with ATG."""
    return len(codes) >= FRAMES and bool(np.array_equal(codes[:FRAMES], encode("ATG")))


def ends_with_stop(codes) -> bool:
    """Return whether the last whole codon of a sequence is a stop codon, and not its first."""
    whole = len(codes) // FRAMES * FRAMES
    return whole > FRAMES and bool(stop_words()[tuple(codes[whole - FRAMES : whole])])


def is_reading_frame(codes, stops: tuple[str, ...] = STOP_CODONS) -> bool:
    """Return whether a sequence is whole codons from ATG to a stop codon, its only one."""
    if not begins_with_start(codes) or len(codes) % FRAMES:
        return False
    is_stop = stop_words(stops)[tuple(codes.reshape(-1, FRAMES).T)]
    return bool(is_stop[-1]) and not is_stop[:-1].any()


def translation_of(codes: NDArray[np.uint8], chain: list[tuple[int, int]]) -> dict:
    """Return phases and outer codons of a chain that translates, as `SplicedAlignment` has them."""
    before = np.cumsum([0] + [end - start for start, end in chain[:-1]])
    start, end = chain[0][0], chain[-1][1]
    return {
        "phases": tuple(int(phase) for phase in -before % FRAMES),
        "start_codon": begins_with_start(codes[start:]),
        "stop_codon": bool(stop_words()[tuple(codes[end - FRAMES : end])]),
    }
