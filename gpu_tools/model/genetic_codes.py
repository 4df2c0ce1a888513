"""Genetic codes by their numbers at NCBI: the amino acid of each codon."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.sequences import OTHER, encode, encode_protein
from gpu_tools.model.translation import STANDARD_CODE

STANDARD = 1
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
_X = encode_protein(b"X")[0]


@cache
def amino_acids(code: int = STANDARD) -> NDArray[np.uint8]:
    """Return the amino acid of each word of three nucleotide codes.

    Parameters
    ----------
    code : int
        Number of a genetic code, one of `GENETIC_CODES`.

    Returns
    -------
    ndarray of uint8, shape (5, 5, 5)
        Encoded amino acids, ``*`` for a stop. All ambiguity codes are N. A codon with N has the
        amino acid that all codons it may be have, X if these differ; in no code is it a stop.

    Raises
    ------
    ScoringError
        If there is no such code.
    """
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
    table, stop = amino_acids(code), encode_protein(b"*")[0]
    words = product("ACGT", repeat=3)
    return tuple("".join(word) for word in words if table[tuple(encode("".join(word)))] == stop)
