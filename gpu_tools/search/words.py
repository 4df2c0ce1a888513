"""Words of an index: symbols of a genome, their classes, and which words are looked up.

A symbol of a genome is what stands at one of its positions: for proteins the codon that begins
there, on the forward strand, for cDNAs the nucleotide. A word is read on a strand from a position
on, `step` nucleotides from symbol to symbol, backwards on the strand ``-``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.formats.values.matrices import load_matrix
from gpu_tools.model.genetic_codes import amino_acids
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import AMINO_ACIDS, COMPLEMENT, OTHER, encode_protein
from gpu_tools.search.cpu.words import BROKEN, N_CODONS_OF_NUCLEOTIDES, codons
from gpu_tools.search.options import KINDS, SearchOptions

AMINO_ACID_CLASSES = "A C DE FY G H IV K LM N P Q R S T W".split()  # noqa: SIM905
"""Amino acids that count as equal in a word.

Joining the pair that costs the least, over and over, among pairs as frequent as BLOSUM62 has them
at 40 % identity: of all stages this one finds nearly the most for as many chance hits, and its
number of classes is a power of two.
"""
MOST_WORDS = 1 << 26
LARGE = 200_000_000
"""Nucleotides of a large genome."""
SHAPES = {
    "protein": ("1101011,110010011,101000111", "1101011"),
    "cdna": ("11011011011011", "11011011011011011"),
}
"""Usual shapes for each kind: of small genomes and of large ones."""
PER_SAMPLE = 1_000_000_000
"""Nucleotides for each word of which one is looked up."""
_IMPOSSIBLE = -100


@dataclass(frozen=True)
class WordScheme:
    """What an index holds.

    Parameters
    ----------
    kind : {"protein", "cdna"}
    shapes : tuple of str
        See `SearchOptions.shapes`.
    sample : int
    genetic_code : int
    """

    kind: str
    shapes: tuple[str, ...]
    sample: int
    genetic_code: int

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ScoringError(
                f"kind {self.kind!r} of an index; expected one of {', '.join(KINDS)}"
            )
        if len({shape.count("1") for shape in self.shapes}) > 1:
            raise ScoringError(f"shapes {','.join(self.shapes)}; expected as many 1 in each")
        if self.number > MOST_WORDS:
            raise ScoringError(f"{self.number} words of shape {self.shapes[0]}; expected fewer 1")

    @classmethod
    def chosen(cls, kind: str, size: int, options: SearchOptions) -> WordScheme:
        """Return the words of options, or the usual ones for a genome of a size."""
        usual = SHAPES.get(kind, SHAPES["protein"])[size >= LARGE]
        sample = options.sample or max(-(-size // PER_SAMPLE), 1)
        code = options.genetic_code if kind == "protein" else 1
        return cls(kind, tuple((options.shapes or usual).split(",")), sample, code)

    @property
    def step(self) -> int:
        """Nucleotides from one symbol of a word to the next."""
        return 3 if self.kind == "protein" else 1

    @property
    def reach(self) -> int:
        """Nucleotides of the longest word."""
        return self.step * max(map(len, self.shapes))

    @property
    def n_classes(self) -> int:
        """Classes of symbols."""
        return len(AMINO_ACID_CLASSES) if self.kind == "protein" else OTHER

    @property
    def ambiguous(self) -> int:
        """The symbol of an ambiguity code, the last one."""
        return N_CODONS_OF_NUCLEOTIDES if self.kind == "protein" else OTHER

    @property
    def weight(self) -> int:
        """Symbols of a word that count."""
        return self.shapes[0].count("1")

    @property
    def number(self) -> int:
        """How many different words of a shape there are."""
        return self.n_classes**self.weight

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Places of a word that count, a row a shape."""
        shapes = [np.frombuffer(shape.encode(), np.uint8) for shape in self.shapes]
        return np.stack([np.flatnonzero(shape == ord("1")) for shape in shapes])

    @cached_property
    def target_classes(self) -> NDArray[np.uint8]:
        """Class of each code of a target."""
        if self.kind == "cdna":
            return np.array([0, 1, 2, 3, BROKEN], np.uint8)
        return _amino_acid_classes()

    @cached_property
    def strand_codes(self) -> NDArray[np.uint8]:
        """Code of a target that each symbol of the genome stands for, shape (2, symbols).

        The strand ``+`` is first. The last symbol is that of an ambiguity code.
        """
        if self.kind == "cdna":
            return np.stack((np.arange(N_SYMBOLS, dtype=np.uint8), COMPLEMENT))
        forward = amino_acids(self.genetic_code)[:OTHER, :OTHER, :OTHER]
        turned = forward[::-1, ::-1, ::-1].transpose(2, 1, 0)
        ambiguous = encode_protein(b"X")
        return np.stack([np.append(acids.ravel(), ambiguous) for acids in (forward, turned)])

    @cached_property
    def classes(self) -> NDArray[np.uint8]:
        """Class of each symbol of the genome on each strand, shape (2, symbols)."""
        return self.target_classes[self.strand_codes]

    @cached_property
    def substitution(self) -> NDArray[np.int8]:
        """Scores of a target's codes, first, and of the genome's, without the ambiguous one."""
        if self.kind == "protein":
            return load_matrix("BLOSUM62").table().astype(np.int8)
        scores = np.full((N_SYMBOLS, N_SYMBOLS), -3, np.int8)
        np.fill_diagonal(scores[:OTHER, :OTHER], 2)
        return scores

    def symbols(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the symbols of encoded nucleotides, as many as there are nucleotides."""
        if self.kind == "cdna":
            return codes
        return codons(codes)

    def profiles(self, target: NDArray[np.uint8]) -> NDArray[np.int8]:
        """Return the score of each symbol of each strand against a target, (2, m, symbols).

        A symbol with an ambiguity code ends every hit.
        """
        scores = self.substitution[target][:, self.strand_codes].transpose(1, 0, 2).copy()
        scores[:, :, -1] = _IMPOSSIBLE
        return scores


def _amino_acid_classes() -> NDArray[np.uint8]:
    classes = np.full(len(AMINO_ACIDS), BROKEN, np.uint8)
    for k, letters in enumerate(AMINO_ACID_CLASSES):
        classes[encode_protein(letters)] = k
    return classes
