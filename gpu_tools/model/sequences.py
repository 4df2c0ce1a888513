"""Sequences as arrays of codes.

Nucleotides: A, C, G and T (or U, in either case) are 0 to 3. N and every other IUPAC code
are `OTHER`, which matches nothing, itself included. Proteins: A to Z are 0 to 25, ``*`` is 26. Any
other symbol is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError

OTHER = 4
_LETTERS = np.frombuffer(b"ACGTN", dtype=np.uint8)
_IUPAC = b"NRYSWKMBDHV"
AMINO_ACIDS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
"""Letters of proteins in the order of their codes."""
_ILLEGAL = 255


def _encoding_table() -> NDArray[np.uint8]:
    table = np.full(256, _ILLEGAL, dtype=np.uint8)
    for symbols, code in ((b"A", 0), (b"C", 1), (b"G", 2), (b"TU", 3), (_IUPAC, OTHER)):
        for symbol in symbols + symbols.lower():
            table[symbol] = code
    return table


def _protein_table() -> NDArray[np.uint8]:
    table = np.full(256, _ILLEGAL, dtype=np.uint8)
    for code, letter in enumerate(AMINO_ACIDS):
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table


_ENCODING = _encoding_table()
_PROTEIN_ENCODING = _protein_table()
_PROTEIN_LETTERS = np.frombuffer(AMINO_ACIDS.encode("ascii"), dtype=np.uint8)
COMPLEMENT = np.array([3, 2, 1, 0, OTHER], dtype=np.uint8)
"""Code of the complementary nucleotide of each code."""


def encode(symbols: str | bytes) -> NDArray[np.uint8]:
    """Encode nucleotide symbols.

    Parameters
    ----------
    symbols : str or bytes
        IUPAC nucleotide letters in either case; U counts as T.

    Returns
    -------
    ndarray of uint8, shape (n,)
        0 to 3 for A, C, G, T; `OTHER` for every ambiguity code.

    Raises
    ------
    InputError
        For any other symbol; its ``position`` is 1-based.
    """
    return _encode(symbols, _ENCODING, "IUPAC nucleotide letters")


def encode_protein(symbols: str | bytes) -> NDArray[np.uint8]:
    """Encode amino acid letters, ``*`` among them, in either case; see `AMINO_ACIDS`.

    Raises
    ------
    InputError
        For any other symbol; its ``position`` is 1-based.
    """
    return _encode(symbols, _PROTEIN_ENCODING, "letters of amino acids")


def _encode(symbols: str | bytes, table: NDArray[np.uint8], expected: str) -> NDArray[np.uint8]:
    raw = symbols if isinstance(symbols, bytes) else symbols.encode("utf-8")
    codes = table[np.frombuffer(raw, dtype=np.uint8)]
    illegal = np.flatnonzero(codes == _ILLEGAL)
    if illegal.size:
        first = int(illegal[0])
        raise InputError(
            f"illegal symbol {_shown(raw[first])}",
            position=first + 1,
            expected=expected,
        )
    return codes


def _shown(byte: int) -> str:
    return repr(chr(byte)) if 32 <= byte < 127 else f"0x{byte:02x}"


def decode(codes: NDArray[np.uint8]) -> str:
    """Return the upper-case letters of `codes`; every ambiguity code becomes N."""
    return _LETTERS[codes].tobytes().decode("ascii")


def decode_protein(codes: NDArray[np.uint8]) -> str:
    """Return the upper-case letters of encoded amino acids."""
    return _PROTEIN_LETTERS[codes].tobytes().decode("ascii")


def reverse_complement(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the reverse complement of encoded nucleotides as a new array."""
    return COMPLEMENT[codes[::-1]]


@dataclass(frozen=True)
class Sequence:
    """A named nucleotide sequence.

    Parameters
    ----------
    name : str
        Identifier, the first word of a FASTA header.
    codes : ndarray of uint8, shape (n,)
        Encoded symbols, see `encode`.
    description : str, optional
        The rest of the header.
    """

    name: str
    codes: NDArray[np.uint8] = field(repr=False)
    description: str = ""

    @classmethod
    def from_text(cls, name: str, symbols: str | bytes, description: str = "") -> Sequence:
        """Encode the symbols of a record.

        Parameters
        ----------
        name : str
            Identifier of the record.
        symbols : str or bytes
            IUPAC nucleotide letters, see `encode`.
        description : str
            The rest of its header.

        Returns
        -------
        Sequence
            The encoded record.

        Raises
        ------
        InputError
            For an illegal symbol; it names the record and the 1-based position.
        """
        try:
            return cls(name, encode(symbols), description)
        except InputError as error:
            raise error.located(record=name) from None

    def __len__(self) -> int:
        return len(self.codes)

    def letters(self) -> str:
        """Return the upper-case symbols; every ambiguity code is N."""
        return decode(self.codes)


@dataclass(frozen=True)
class ProteinSequence(Sequence):
    """A named protein.

    Parameters
    ----------
    name : str
        Identifier, the first word of a FASTA header.
    codes : ndarray of uint8, shape (n,)
        Encoded symbols, see `encode_protein`.
    description : str, optional
        The rest of the header.
    """

    @classmethod
    def from_text(cls, name: str, symbols: str | bytes, description: str = "") -> ProteinSequence:
        """Encode the symbols of a record.

        Parameters
        ----------
        name : str
            Identifier of the record.
        symbols : str or bytes
            Letters of amino acids, see `encode_protein`.
        description : str
            The rest of its header.

        Returns
        -------
        ProteinSequence
            The encoded record.

        Raises
        ------
        InputError
            For an illegal symbol; it names the record and the 1-based position.
        """
        try:
            return cls(name, encode_protein(symbols), description)
        except InputError as error:
            raise error.located(record=name) from None

    def letters(self) -> str:
        """Return the upper-case symbols."""
        return decode_protein(self.codes)


@dataclass(frozen=True)
class SequenceChunk:
    """The next part of a sequence that comes piece by piece.

    Parameters
    ----------
    name : str
        Name of the sequence.
    codes : ndarray of uint8, shape (n,)
        Encoded symbols that follow those of the chunk before.
    last : bool
        Whether the sequence ends with this chunk.
    """

    name: str
    codes: NDArray[np.uint8] = field(repr=False)
    last: bool
