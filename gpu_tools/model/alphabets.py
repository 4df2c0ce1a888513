"""What symbols a text and a pattern may hold, and which of them match.

Symbols of texts become codes, those of patterns become numbers of their own: a pattern may hold
classes, say R for A or G, while an ambiguity code in the text matches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.sequences import OTHER, encode, encode_symbols, encoding_table

_IUPAC = "-ACMGRSVTWYHKDBN"
"""Letters by the set of nucleotides that they stand for, A 1, C 2, G 4, T 8."""
_SINGLE_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWYUO"
_AMINO_CLASSES = {"B": "DN", "J": "IL", "Z": "EQ", "X": _SINGLE_AMINO_ACIDS}


@dataclass(frozen=True)
class Alphabet:
    """Symbols of texts and patterns."""

    name: str  # {"dna", "protein", "bytes"}: as on the command line
    # shape (S, C): whether pattern symbol s matches text code c. dna: s is a set of
    # nucleotides, A 1, C 2, G 4, T 8, and c is 0 to 3 for A, C, G, T and 4 for every other
    # letter.
    matches: NDArray[np.bool_] = field(repr=False)
    # shape (256,): code and pattern symbol of each byte; 255 for an illegal one, except in
    # ``bytes``
    text_table: NDArray[np.uint8] = field(repr=False)
    pattern_table: NDArray[np.uint8] = field(repr=False)
    # shape (S,): complement of each pattern symbol, where there is a reverse strand
    complement: NDArray[np.uint8] | None = field(repr=False, default=None)
    expected: str = "any bytes"  # the symbols in words

    @property
    def n_codes(self) -> int:
        """Number of text codes."""
        return self.matches.shape[1]

    def encode_text(self, symbols: str | bytes) -> NDArray[np.uint8]:
        """Return the codes of text symbols; an illegal one raises `InputError`."""
        return self._encode(symbols, self.text_table)

    def encode_pattern(self, symbols: str | bytes) -> NDArray[np.uint8]:
        """Return the pattern symbols of letters; an illegal one raises `InputError`."""
        return self._encode(symbols, self.pattern_table)

    def _encode(self, symbols: str | bytes, table) -> NDArray[np.uint8]:
        if self.name == "bytes":  # any byte is legal, 255 too
            raw = symbols if isinstance(symbols, bytes) else symbols.encode("utf-8")
            return np.frombuffer(bytearray(raw), dtype=np.uint8)
        return encode_symbols(symbols, table, self.expected)

    def pair_costs(self, letters: str, costs: NDArray[np.int64], other: int) -> NDArray[np.int64]:
        """Return the costs of all pairs, for `EditCosts`, from those of letters."""
        symbols = self.pattern_table[np.frombuffer(letters.encode(), dtype=np.uint8)]
        known = symbols < len(self.matches)
        known[known] = self.matches[symbols[known]].sum(axis=1) == 1
        if not known.all():
            letter = letters[int(np.argmin(known))]
            raise InputError(f"letter {letter} stands for no single symbol of {self.name}")
        if np.min(costs) < 0:
            raise InputError(f"cost {np.min(costs)} is negative", expected="0 or more")
        codes = self.matches[symbols].argmax(axis=1)
        return self._over_classes(codes, costs, other)

    def _over_classes(self, codes, costs, other: int) -> NDArray[np.int64]:
        of_code = np.where(np.eye(self.n_codes, dtype=bool), 0, other)
        of_code[np.ix_(codes, codes)] = costs
        table = np.where(self.matches, 0, other).astype(np.int64)
        for symbol in range(len(self.matches)):
            members = np.flatnonzero(self.matches[symbol])
            if len(members):
                table[symbol] = of_code[members].min(axis=0)
        return table


def _dna() -> Alphabet:
    sets = {letter: mask for mask, letter in enumerate(_IUPAC) if mask} | {"U": 8}
    codes = {letter: int(encode(letter)[0]) for letter in sets}
    masks = np.arange(16)
    matches = np.zeros((16, OTHER + 1), dtype=bool)
    matches[:, :4] = masks[:, None] >> np.arange(4) & 1
    complement = sum((masks >> code & 1) << (3 - code) for code in range(4)).astype(np.uint8)
    return Alphabet(
        "dna",
        matches,
        encoding_table(codes),
        encoding_table(sets),
        complement,
        "IUPAC nucleotide letters",
    )


def _protein() -> Alphabet:
    singles = {letter: code for code, letter in enumerate(_SINGLE_AMINO_ACIDS + "*")}
    other = len(singles)
    codes = singles | dict.fromkeys(_AMINO_CLASSES, other)
    symbols = singles | {letter: other + k for k, letter in enumerate(_AMINO_CLASSES)}
    matches = np.eye(len(symbols), other + 1, dtype=bool)
    for letter, members in _AMINO_CLASSES.items():
        matches[symbols[letter]] = False
        matches[symbols[letter], [singles[member] for member in members]] = True
    return Alphabet(
        "protein",
        matches,
        encoding_table(codes),
        encoding_table(symbols),
        expected="letters of amino acids",
    )


def _bytes() -> Alphabet:
    same = np.arange(256, dtype=np.uint8)
    return Alphabet("bytes", np.eye(256, dtype=bool), same, same)


ALPHABETS = {alphabet.name: alphabet for alphabet in (_dna(), _protein(), _bytes())}
"""The alphabets by name."""
