"""Sequences as arrays of codes.

Nucleotides: A, C, G and T (or U, in either case) are 0 to 3. N and every other IUPAC code
are `OTHER`, which matches nothing, itself included. Proteins: A to Z are 0 to 25, ``*`` is 26. Any
other symbol is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError

OTHER = 4
_LETTERS = np.frombuffer(b"ACGTN", dtype=np.uint8)
AMINO_ACIDS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
"""Letters of proteins in the order of their codes."""
ILLEGAL = 255
"""Code of a symbol that an alphabet lacks."""
_PART = 1 << 20


def encoding_table(codes: Mapping[str, int]) -> NDArray[np.uint8]:
    """Return the code of each byte, letters in either case; `ILLEGAL` where `codes` has none.

    The codes are by upper-case letter, the table is of uint8 and has shape (256,).
    """
    table = np.full(256, ILLEGAL, dtype=np.uint8)
    for letter, code in codes.items():
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table


_ENCODING = encoding_table(
    {"A": 0, "C": 1, "G": 2, "T": 3, "U": 3} | dict.fromkeys("NRYSWKMBDHV", OTHER)
)
_PROTEIN_ENCODING = encoding_table({letter: k for k, letter in enumerate(AMINO_ACIDS)})
_PROTEIN_LETTERS = np.frombuffer(AMINO_ACIDS.encode("ascii"), dtype=np.uint8)
COMPLEMENT = np.array([3, 2, 1, 0, OTHER], dtype=np.uint8)
"""Code of the complementary nucleotide of each code."""
_COMPLEMENTS = bytes(COMPLEMENT).ljust(256, bytes([OTHER]))


def encode(symbols: str | bytes) -> NDArray[np.uint8]:
    """Encode nucleotide symbols."""
    return encode_symbols(symbols, _ENCODING, "IUPAC nucleotide letters")


def encode_protein(symbols: str | bytes) -> NDArray[np.uint8]:
    """Encode amino acid letters, ``*`` among them, in either case; see `AMINO_ACIDS`."""
    return encode_symbols(symbols, _PROTEIN_ENCODING, "letters of amino acids")


def encode_symbols(
    symbols: str | bytes, table: NDArray[np.uint8], expected: str
) -> NDArray[np.uint8]:
    """Return the code of each symbol, uint8, by a table of 256; see `encoding_table`."""
    raw = symbols if isinstance(symbols, bytes) else symbols.encode("utf-8")
    codes, to_code = np.empty(len(raw), dtype=np.uint8), table.tobytes()
    for low in range(0, len(raw), _PART):
        part = raw[low : low + _PART].translate(to_code)
        first = part.find(ILLEGAL)
        if first >= 0:
            raise InputError(
                f"illegal symbol {shown_symbol(raw[low + first])}", position=low + first + 1,
                expected=expected,
            )  # fmt: skip
        codes[low : low + _PART] = np.frombuffer(part, dtype=np.uint8)
    return codes


def shown_symbol(byte: int) -> str:
    """Return a symbol as messages show it: in quotes, or in hexadecimal if it cannot be printed."""
    return repr(chr(byte)) if 32 <= byte < 127 else f"0x{byte:02x}"


def decode(codes: NDArray[np.uint8]) -> str:
    """Return the upper-case letters of `codes`; every ambiguity code becomes N."""
    return _LETTERS[codes].tobytes().decode("ascii")


def decode_protein(codes: NDArray[np.uint8]) -> str:
    """Return the upper-case letters of encoded amino acids."""
    return _PROTEIN_LETTERS[codes].tobytes().decode("ascii")


def reverse_complement(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the reverse complement of encoded nucleotides as a new array."""
    turned = np.empty(len(codes), dtype=np.uint8)
    for low in range(0, len(codes), _PART):  # numpy's take would make eight bytes of each code
        part = codes[::-1][low : low + _PART].tobytes().translate(_COMPLEMENTS)
        turned[low : low + _PART] = np.frombuffer(part, np.uint8)
    return turned


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
    introns : tuple of int, optional
        Of a transcript or protein whose gene is known: nucleotides before each of its introns,
        those of the codons of a protein. See `gpu_tools.formats.exons.annotation`.
    """

    name: str
    codes: NDArray[np.uint8] = field(repr=False)
    description: str = ""
    introns: tuple[int, ...] = ()
    _nucleotides: ClassVar[int] = 1
    _encode: ClassVar[Callable] = staticmethod(encode)
    _decode: ClassVar[Callable] = staticmethod(decode)

    def __post_init__(self):
        if isinstance(self.codes, str | bytes):
            kind = type(self).__name__
            raise TypeError(f"{kind} takes encoded symbols; {kind}.from_text takes text")

    @classmethod
    def from_text(cls, name: str, symbols: str | bytes, description: str = "") -> Self:
        """Encode the symbols of a record.

        Parameters
        ----------
        name : str
            Identifier of the record.
        symbols : str or bytes
            IUPAC nucleotide letters, see `encode`; of a protein `encode_protein`'s.
        description : str
            The rest of its header.

        Returns
        -------
        Sequence
            The encoded record; of `ProteinSequence` one of that class.

        Raises
        ------
        InputError
            For an illegal symbol; it names the record and the 1-based position.
        """
        try:
            return cls(name, cls._encode(symbols), description)
        except InputError as error:
            raise error.located(record=name) from None

    def __len__(self) -> int:
        return len(self.codes)

    def part(self, start: int, end: int) -> Self:
        """Return the symbols in [start, end), with the introns inside."""
        low, high = self._nucleotides * start, self._nucleotides * end
        introns = tuple(at - low for at in self.introns if low < at < high)
        return replace(self, codes=self.codes[start:end], introns=introns)

    def letters(self) -> str:
        """Return the upper-case symbols; every ambiguity code of a nucleotide is N."""
        return self._decode(self.codes)


def reversed_complement(sequence: Sequence) -> Sequence:
    """Return the reverse complement of a sequence, its introns where they are then."""
    introns = tuple(len(sequence) - at for at in reversed(sequence.introns))
    return replace(sequence, codes=reverse_complement(sequence.codes), introns=introns)


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
    introns : tuple of int, optional
        See `Sequence`.
    """

    _nucleotides: ClassVar[int] = 3
    _encode: ClassVar[Callable] = staticmethod(encode_protein)
    _decode: ClassVar[Callable] = staticmethod(decode_protein)


@dataclass(frozen=True)
class SequenceChunk:
    """A part of a long sequence that is read in parts.

    Parameters
    ----------
    name : str
        Name of the sequence.
    codes : ndarray of uint8, shape (n,)
        Encoded symbols that follow those of the chunk before.
    last : bool
        Whether the sequence ends with this chunk.
    description : str, optional
        The rest of its FASTA header.
    """

    name: str
    codes: NDArray[np.uint8] = field(repr=False)
    last: bool
    description: str = ""
