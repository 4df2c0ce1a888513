"""Proteins of cDNAs: the longest open reading frame, translated by the standard code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.sequences import OTHER, encode_protein

_GENETIC_CODE = b"KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLFX"
"""The standard code in the order AAA, AAC, AAG, AAT, ACA ...; X for an ambiguous codon."""
_CODE = encode_protein(_GENETIC_CODE)
STANDARD_CODE = _CODE[:64]
"""Amino acids of the codons AAA, AAC, AAG, AAT, ACA ... in the standard code, encoded."""
_UNKNOWN_CODON = 64
_STOP, _START = encode_protein(b"*M")


def translate(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Translate a sequence from its first nucleotide on.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded nucleotides; those behind the last whole codon are left out.

    Returns
    -------
    ndarray of uint8, shape (n // 3,)
        Encoded amino acids, ``*`` for a stop, X for a codon with an ambiguity code.
    """
    codons = codes[: len(codes) // 3 * 3].reshape(-1, 3).astype(np.int64)
    numbers = codons @ np.array([16, 4, 1])
    numbers[(codons == OTHER).any(axis=1)] = _UNKNOWN_CODON
    return _CODE[numbers]


def longest_protein(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the protein of the longest open reading frame of the forward strand.

    A frame runs from an ATG to the next stop, or to the last whole codon if there is none.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded nucleotides.

    Returns
    -------
    ndarray of uint8, shape (k,)
        Encoded amino acids without the stop, empty if there is no ATG. Ties: the frame that
        begins first.
    """
    best, best_start = np.empty(0, np.uint8), 0
    for frame in range(3):
        acids = translate(codes[frame:])
        for start, end in _open_frames(acids):
            first = 3 * start + frame
            if (end - start, -first) > (len(best), -best_start):
                best, best_start = acids[start:end], first
    return best


def _open_frames(acids: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return from each first M behind a stop to the next stop."""
    stops = np.append(np.flatnonzero(acids == _STOP), len(acids))
    starts = np.flatnonzero(acids == _START)
    ends = stops[np.searchsorted(stops, starts)]
    _, first = np.unique(ends, return_index=True)
    return list(zip(starts[first].tolist(), ends[first].tolist(), strict=True))


STOP_CODONS = ("TAA", "TAG", "TGA")
