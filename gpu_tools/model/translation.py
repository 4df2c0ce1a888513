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


def longest_frame(codes: NDArray[np.uint8]) -> tuple[int, int]:
    """Return where the longest open reading frame of the forward strand lies.

    A frame runs from an ATG to the next stop, or to the last whole codon if there is none.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded nucleotides.

    Returns
    -------
    start, end : int
        The frame is ``codes[start:end]``, its stop codon included; equal if there is no ATG.
        Ties: of the most amino acids, the frame that begins first.
    """
    frames = (
        (end - start, -(3 * start + frame))
        for frame in range(3)
        for start, end in _open_frames(translate(codes[frame:]))
    )
    n_acids, first = max(frames, default=(0, 0))
    if not n_acids:
        return 0, 0
    stop = -first + 3 * n_acids + 3
    return -first, stop if stop <= len(codes) else stop - 3


def longest_protein(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the protein of the longest open reading frame, see `longest_frame`.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded nucleotides.

    Returns
    -------
    ndarray of uint8, shape (k,)
        Encoded amino acids without the stop, empty if there is no ATG.
    """
    start, end = longest_frame(codes)
    acids = translate(codes[start:end])
    return acids[:-1] if acids.size and acids[-1] == _STOP else acids


def _open_frames(acids: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return from each first M behind a stop to the next stop."""
    stops = np.append(np.flatnonzero(acids == _STOP), len(acids))
    starts = np.flatnonzero(acids == _START)
    ends = stops[np.searchsorted(stops, starts)]
    _, first = np.unique(ends, return_index=True)
    return list(zip(starts[first].tolist(), ends[first].tolist(), strict=True))


STOP_CODONS = ("TAA", "TAG", "TGA")
