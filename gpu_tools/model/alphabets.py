"""What symbols a text and a pattern may hold, and which of them match.

Text symbols become codes, pattern symbols become symbols of their own: a pattern may hold classes,
say R for A or G, while an ambiguity code in the text matches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model import sequences

_ILLEGAL = 255
_IUPAC = "-ACMGRSVTWYHKDBN"
"""Nucleotide letters by the set of bases, A 1, C 2, G 4, T 8."""
_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWYUO"
_AMINO_CLASSES = {"B": "DN", "J": "IL", "Z": "EQ", "X": _AMINO_ACIDS}


@dataclass(frozen=True)
class Alphabet:
    """Symbols of texts and patterns.

    Attributes
    ----------
    name : {"dna", "protein", "bytes"}
        As on the command line.
    matches : ndarray of bool, shape (S, C)
        Whether pattern symbol s matches text code c. dna: s is a set of bases, A 1, C 2, G 4,
        T 8, and c is 0 to 3 for A, C, G, T and 4 for every other letter.
    text_table, pattern_table : ndarray of uint8, shape (256,)
        Code and pattern symbol of each byte; 255 for an illegal one, except in ``bytes``.
    complement : ndarray of uint8, shape (S,), or None
        Complement of each pattern symbol, where there is a reverse strand.
    expected : str
        The symbols in words.
    """

    name: str
    matches: NDArray[np.bool_] = field(repr=False)
    text_table: NDArray[np.uint8] = field(repr=False)
    pattern_table: NDArray[np.uint8] = field(repr=False)
    complement: NDArray[np.uint8] | None = field(repr=False, default=None)
    expected: str = "any bytes"

    @property
    def n_codes(self) -> int:
        """Number of text codes."""
        return self.matches.shape[1]

    def encode_text(self, symbols: str | bytes) -> NDArray[np.uint8]:
        """Return the codes of text symbols; an illegal one raises `InputError`."""
        return self._encode(self.text_table, symbols)

    def encode_pattern(self, symbols: str | bytes) -> NDArray[np.uint8]:
        """Return the pattern symbols of letters; an illegal one raises `InputError`."""
        return self._encode(self.pattern_table, symbols)

    def pair_costs(self, letters: str, costs: NDArray[np.int64], other: int) -> NDArray[np.int64]:
        """Return the costs of all pairs, for `EditCosts`, from those of letters.

        Parameters
        ----------
        letters : str
            Letters that stand for one code each, such as A, C, G and T, but not N.
        costs : ndarray of int, shape (len(letters), len(letters))
            Of aligning a pattern's letter, the row, to a text's, the column.
        other : int
            Cost of a pair that is not given and does not match.

        Returns
        -------
        ndarray of int64, shape (S, C)
            A class of letters costs what the cheapest of its members does.

        Raises
        ------
        InputError
            For a letter that stands for several codes or for none, and for a negative cost.
        """
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

    def _encode(self, table, symbols: str | bytes) -> NDArray[np.uint8]:
        raw = symbols if isinstance(symbols, bytes) else symbols.encode("utf-8")
        codes = table[np.frombuffer(raw, dtype=np.uint8)]
        illegal = np.flatnonzero(codes == _ILLEGAL) if self.name != "bytes" else codes[:0]
        if illegal.size:
            first = int(illegal[0])
            raise InputError(
                f"illegal symbol {_shown(raw[first])}", position=first + 1, expected=self.expected
            )
        return codes


def _shown(byte: int) -> str:
    return repr(chr(byte)) if 32 <= byte < 127 else f"0x{byte:02x}"


def _table(letters: dict[str, int]) -> NDArray[np.uint8]:
    table = np.full(256, _ILLEGAL, dtype=np.uint8)
    for letter, code in letters.items():
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table


def _dna() -> Alphabet:
    sets = {letter: mask for mask, letter in enumerate(_IUPAC) if mask} | {"U": 8}
    codes = {letter: int(sequences.encode(letter)[0]) for letter in sets}
    masks = np.arange(16)
    matches = np.zeros((16, sequences.OTHER + 1), dtype=bool)
    matches[:, :4] = masks[:, None] >> np.arange(4) & 1
    complement = sum((masks >> base & 1) << (3 - base) for base in range(4)).astype(np.uint8)
    return Alphabet(
        "dna", matches, _table(codes), _table(sets), complement, "IUPAC nucleotide letters"
    )


def _protein() -> Alphabet:
    singles = {letter: code for code, letter in enumerate(_AMINO_ACIDS + "*")}
    other = len(singles)
    codes = singles | dict.fromkeys(_AMINO_CLASSES, other)
    symbols = singles | {letter: other + k for k, letter in enumerate(_AMINO_CLASSES)}
    matches = np.eye(len(symbols), other + 1, dtype=bool)
    for letter, members in _AMINO_CLASSES.items():
        matches[symbols[letter]] = False
        matches[symbols[letter], [singles[member] for member in members]] = True
    return Alphabet(
        "protein", matches, _table(codes), _table(symbols), expected="letters of amino acids"
    )


def _bytes() -> Alphabet:
    same = np.arange(256, dtype=np.uint8)
    return Alphabet("bytes", np.eye(256, dtype=bool), same, same)


ALPHABETS = {alphabet.name: alphabet for alphabet in (_dna(), _protein(), _bytes())}
"""The alphabets by name."""
