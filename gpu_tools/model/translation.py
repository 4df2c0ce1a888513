"""Translation: the genetic codes, and the longest open reading frame of a cDNA."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.sequences import OTHER, encode, encode_protein

_GENETIC_CODE = b"KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLFX"
"""The standard code in the order AAA, AAC, AAG, AAT, ACA ...; X for an ambiguous codon."""
_CODE = encode_protein(_GENETIC_CODE)
STANDARD_CODE = _CODE[:64]
"""Amino acids of the codons AAA, AAC, AAG, AAT, ACA ... in the standard code, encoded."""
_UNKNOWN_CODON = 64
_STOP, _START, _X = encode_protein(b"*MX")
STOP_CODONS = ("TAA", "TAG", "TGA")
"""Of the standard code."""
STANDARD = 1
"""NCBI's number of the standard code."""
_DIFFERENCES = {
    1: "",
    2: "AGA* AGG* ATAM TGAW",
    3: "ATAM CTAT CTCT CTGT CTTT TGAW",
    4: "TGAW",
    5: "AGAS AGGS ATAM TGAW",
    6: "TAAQ TAGQ",
    9: "AAAN AGAS AGGS TGAW",
    10: "TGAC",
    11: "",
    12: "CTGS",
    13: "AGAG AGGG ATAM TGAW",
    14: "AAAN AGAS AGGS TAAY TGAW",
    15: "TAGQ",
    16: "TAGL",
    21: "AAAN AGAS AGGS ATAM TGAW",
    22: "TCA* TAGL",
    23: "TTA*",
    24: "AGAS AGGK TGAW",
    25: "TGAG",
    26: "CTGA",
    29: "TAAY TAGY",
    30: "TAAE TAGE",
    33: "AGAS AGGK TAAY TGAW",
}
"""What differs from the standard code: codon and amino acid, ``*`` for a stop.

Codes 27, 28 and 31, in which a codon is both a stop and an amino acid, are left out. Source:
A. Elzanowski, J. Ostell, "The genetic codes", NCBI.
"""
GENETIC_CODES = tuple(_DIFFERENCES)


@cache
def amino_acids(code: int = STANDARD) -> NDArray[np.uint8]:
    """Return the amino acid of each word of three nucleotide codes."""
    if code not in _DIFFERENCES:
        raise ScoringError(f"genetic code {code}; expected one of {GENETIC_CODES}")
    table = np.full((OTHER + 1,) * 3, _X, dtype=np.uint8)
    table[:OTHER, :OTHER, :OTHER] = STANDARD_CODE.reshape(OTHER, OTHER, OTHER)
    for difference in _DIFFERENCES[code].split():
        table[tuple(encode(difference[:3]))] = encode_protein(difference[3])[0]
    for word in product(range(OTHER + 1), repeat=3):
        if OTHER in word:
            table[word] = _common(table, word)
    table.flags.writeable = False
    return table


def _common(table: NDArray[np.uint8], word: tuple[int, ...]) -> int:
    """Return the amino acid of all codons that a word with ambiguity codes may be."""
    choices = [range(OTHER) if symbol == OTHER else (symbol,) for symbol in word]
    found = {int(table[codon]) for codon in product(*choices)}
    return found.pop() if len(found) == 1 else int(_X)


@cache
def stop_codons(code: int = STANDARD) -> tuple[str, ...]:
    """Return the stop codons of a genetic code."""
    table, words = amino_acids(code), map("".join, product("ACGT", repeat=3))
    return tuple(word for word in words if table[tuple(encode(word))] == _STOP)


def translate(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Translate a sequence from its first nucleotide on."""
    codons = codes[: len(codes) // 3 * 3].reshape(-1, 3).astype(np.int64)
    numbers = codons @ np.array([16, 4, 1])
    numbers[(codons == OTHER).any(axis=1)] = _UNKNOWN_CODON
    return _CODE[numbers]


def longest_frame(codes: NDArray[np.uint8]) -> tuple[int, int]:
    """Return where the longest open reading frame of the forward strand lies.

    A frame runs from an ATG to the next stop, or to the last whole codon if there is none.
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
    """Return the protein of the longest open reading frame, see `longest_frame`."""
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
