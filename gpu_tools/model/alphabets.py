"""What symbols a text and a pattern may hold, and which of them match.

Symbols of texts become codes, those of patterns become numbers of their own: a pattern may hold
classes, say R for A or G, while an ambiguity code in the text matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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

    name: str  # {"dna", "protein", "bytes", "text"}; text is bytes, letters in either case
    # shape (S, C): whether pattern symbol s matches text code c. dna: s is a set of
    # nucleotides, A 1, C 2, G 4, T 8, and c is 0 to 3 for A, C, G, T and 4 for every other
    # letter.
    matches: NDArray[np.bool_] = field(repr=False)
    # shape (256,): code and pattern symbol of each byte; 255 for an illegal one, if there are any
    text_table: NDArray[np.uint8] = field(repr=False)
    pattern_table: NDArray[np.uint8] = field(repr=False)
    # shape (S,): complement of each pattern symbol, where there is a reverse strand
    complement: NDArray[np.uint8] | None = field(repr=False, default=None)
    expected: str = "any bytes"  # the symbols in words

    @property
    def is_bytes(self) -> bool:
        """Whether every byte is a symbol."""
        return self.n_codes == 256

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
        if self.is_bytes:  # any byte is legal, 255 too
            raw = symbols if isinstance(symbols, bytes) else symbols.encode("utf-8")
            return table[np.frombuffer(raw, dtype=np.uint8)]
        return encode_symbols(symbols, table, self.expected)

    def pair_costs(
        self, letters: Iterable[str], costs: NDArray[np.int64], other: int
    ) -> NDArray[np.int64]:
        """Return the costs of all pairs, for `EditCosts`, from those of letters.

        Pairs with other letters cost `other`, or nothing if they match.
        """
        if np.min(costs) < 0:
            raise InputError(f"cost {np.min(costs)} is negative", expected="0 or more")
        codes = self._codes_of(letters)
        of_code = np.where(np.eye(self.n_codes, dtype=bool), 0, other)
        of_code[np.ix_(codes, codes)] = costs
        return self._over_classes(of_code, np.where(self.matches, 0, other).astype(np.int64))

    def insertion_costs(self, costs: Mapping[str, int], other: int) -> NDArray[np.int64]:
        """Return the costs of inserting, for `EditCosts`, from those of letters and of others."""
        of_code = np.full(self.n_codes, other, dtype=np.int64)
        of_code[self._codes_of(costs)] = list(costs.values())
        return of_code

    def deletion_costs(self, costs: Mapping[str, int], other: int) -> NDArray[np.int64]:
        """Return the costs of deleting, for `EditCosts`, from those of letters and of others."""
        others = np.full(len(self.matches), other, dtype=np.int64)
        return self._over_classes(self.insertion_costs(costs, other), others)

    def _codes_of(self, letters: Iterable[str]) -> list[int]:
        """Return the code for which alone each letter stands."""
        codes: dict[int, str] = {}
        for letter in letters:
            code = self._code_of(letter)
            if code in codes:
                raise InputError(f"{codes[code]} and {letter} are the same symbol of {self.name}")
            codes[code] = letter
        return list(codes)

    def _code_of(self, letter: str) -> int:
        raw = letter.encode("utf-8")
        if self.is_bytes and re.fullmatch("0x[0-9a-fA-F]{2}", letter):
            raw = bytes.fromhex(letter[2:])
        symbol = int(self.pattern_table[raw[0]]) if len(raw) == 1 else len(self.matches)
        if symbol >= len(self.matches) or self.matches[symbol].sum() != 1:
            raise InputError(f"letter {letter} stands for no single symbol of {self.name}")
        return int(self.matches[symbol].argmax())

    def _over_classes(self, of_code, of_symbol) -> NDArray[np.int64]:
        """Give each pattern symbol the cost of its cheapest member, if it has one."""
        for symbol, members in enumerate(self.matches):
            if members.any():
                of_symbol[symbol] = of_code[members].min(axis=0)
        return of_symbol


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


def _bytes(name: str, codes: bytes) -> Alphabet:
    table = np.frombuffer(codes, dtype=np.uint8)
    return Alphabet(name, np.eye(256, dtype=bool), table, table)


_ANY = bytes(range(256))
ALPHABETS = {
    alphabet.name: alphabet
    for alphabet in (_dna(), _protein(), _bytes("bytes", _ANY), _bytes("text", _ANY.lower()))
}
"""The alphabets by name."""
