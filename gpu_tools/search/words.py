"""Words of a search: symbols of a genome, their classes, and which words are looked up.

The symbol at a position of a genome is for proteins the codon that begins there, on the forward
strand, for cDNAs the nucleotide. A word is read on a strand from a position on, `step` nucleotides
from symbol to symbol, backwards on the strand ``-``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.formats.scales import load_matrix
from gpu_tools.hardware.compiled import njit
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import AMINO_ACIDS, COMPLEMENT, OTHER, encode_protein
from gpu_tools.model.translation import STANDARD, amino_acids

KINDS = ("protein", "cdna")
"""Kinds of targets: proteins in translated frames, or cDNAs in nucleotides."""
AMINO_ACID_CLASSES = "A C DE FY G H IV K LM N P Q R S T W".split()  # noqa: SIM905
"""Amino acids that count as equal in a word.

Classes are joined pair by pair, the one of least cost first, with the frequencies of pairs in
BLOSUM62 at 40 % identity. Of all stages this one finds nearly the most for as many chance hits, and
its number of classes is a power of two.
"""
MOST_WORDS = 1 << 26
LARGE = 200_000_000
"""Nucleotides of a large genome."""
SHAPES = {
    "protein": ("1101011,110010011,101000111", "1101011"),
    "cdna": ("11011011011011", "11011011011011011"),
}
"""Usual shapes for each kind: of small genomes and of large ones."""
INTRON_COSTS = (0, 256), (8, 2048), (16, 16384)
"""Usual costs of introns longer than a short one, see `SearchOptions`: half of what those of a
vertebrate's site model cost a protein."""
PER_SAMPLE = 1_000_000_000
"""Nucleotides of a genome per step of `WordScheme.sample`."""
N_CODONS_OF_NUCLEOTIDES = 64
BROKEN = 255
"""Class of symbols that are part of no word."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SearchOptions:
    """How windows are found.

    Parameters
    ----------
    max_intron : int
        Nucleotides of the longest intron inside a window, and of the longest one that is allowed
        for residues that no hit covers.
    max_windows : int
        Windows of a target at most, the best by score.
    min_score : int, optional
        Least score of a window: points of BLOSUM62 for proteins, for cDNAs 2 for a match and -3 for
        a mismatch, less the costs of introns and gaps between hits. The default follows from
        `by_chance`.
    by_chance : float
        Expected number of chance windows of a protein of up to 500 residues in the genome, which
        sets the default of `min_score`. At least 10 for short proteins without another window.
    genetic_code : int
        Number of a genetic code of `gpu_tools.model.translation`; cDNAs do not use it.
    shapes : str, optional
        Shapes of words, separated by commas: ``1`` for a symbol that counts and ``0`` for one that
        does not, such as ``1101011``. All have as many ``1``, and begin and end with it. More
        shapes find more and take more time. By default those for the kind and size of genome.
    sample : int, optional
        One of so many different words is looked up, chosen by a hash; more take less time and
        find less. By default 1 up to genomes of 1 Gb, and more for larger ones.
    intron_costs : tuple of (int, int)
        Lines of the cost of an intron longer than a short one: points, and nucleotides per further
        point; the least counts. Beside a chain a window has space for an intron that its residues
        may pay.
    repeats : float
        A word that the genome has more than so many times as often as it has words on average is
        a repeat, and is not looked up.
    """

    max_intron: int = 100_000
    max_windows: int = 10
    min_score: int | None = None
    by_chance: float = 1.0
    genetic_code: int = STANDARD
    shapes: str | None = None
    sample: int | None = None
    intron_costs: tuple[tuple[int, int], ...] = INTRON_COSTS
    repeats: float = 30.0

    def __post_init__(self):
        amino_acids(self.genetic_code)
        for name in ("max_intron", "max_windows", "min_score"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ScoringError(f"{name} {value}; expected at least 1")
        for shape in () if self.shapes is None else self.shapes.split(","):
            if not _is_shape(shape):
                text = f"shape {shape!r} of a word; expected 1 and 0, beginning and ending with 1"
                raise ScoringError(text)
        if self.sample is not None and self.sample < 1:
            raise ScoringError(f"sample {self.sample}; expected at least 1")
        for name in ("by_chance", "repeats"):
            if not getattr(self, name) > 0:
                raise ScoringError(f"{name} {getattr(self, name)}; expected a number above 0")


def _is_shape(shape: str) -> bool:
    return set(shape) <= {"0", "1"} and shape.startswith("1") and shape.endswith("1")


@dataclass(frozen=True)
class WordScheme:
    """The words of a search; see `SearchOptions`."""

    kind: str
    shapes: tuple[str, ...]  # see `SearchOptions.shapes`
    sample: int
    genetic_code: int

    def __post_init__(self):
        if self.kind not in KINDS:
            text = f"kind {self.kind!r} of targets; expected one of {', '.join(KINDS)}"
            raise ScoringError(text)
        if len({shape.count("1") for shape in self.shapes}) > 1:
            raise ScoringError(f"shapes {','.join(self.shapes)}; expected as many 1 in each")
        if self.number > MOST_WORDS:
            raise ScoringError(f"{self.number} words of shape {self.shapes[0]}; expected fewer 1")

    @classmethod
    def chosen(cls, kind: str, size: int, options: SearchOptions) -> WordScheme:
        """Return the words of options, by default those for a genome of a size."""
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
        """Number of different words of a shape."""
        return self.n_classes**self.weight

    def is_sampled(self, words: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which words are looked up: one of `sample`, chosen by a hash."""
        return (words.astype(np.uint64) * _MIXER >> np.uint64(33)) % np.uint64(self.sample) == 0

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Offsets of a word's symbols that count, a row per shape."""
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
        """Code of a target of each symbol of the genome on each strand, shape (2, symbols).

        The last symbol is that of an ambiguity code.
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
        """Scores by code of the target and of the genome, without the ambiguous one."""
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


def fixed(array: NDArray) -> NDArray:
    """Return a read-only view: functions are compiled for one type."""
    view = array.view()
    view.flags.writeable = False
    return view


def _amino_acid_classes() -> NDArray[np.uint8]:
    classes = np.full(len(AMINO_ACIDS), BROKEN, np.uint8)
    for k, letters in enumerate(AMINO_ACID_CLASSES):
        classes[encode_protein(letters)] = k
    return classes


@njit(cache=True, nogil=True)
def codons(codes):
    """Return the number of the codon that begins at each nucleotide, 64 where it is ambiguous."""
    found = np.full(len(codes), N_CODONS_OF_NUCLEOTIDES, np.uint8)
    for p in range(len(codes) - 2):
        if codes[p] < 4 and codes[p + 1] < 4 and codes[p + 2] < 4:
            found[p] = codes[p] << 4 | codes[p + 1] << 2 | codes[p + 2]
    return found


@njit(cache=True, nogil=True)
def words_of(symbols, plain, offsets, classes, n_classes):
    """Return the word that begins at each position of a target, -1 where there is none."""
    # plain: see `plain_symbols`; words neither begin nor end with such a symbol
    found, reach = np.full(len(symbols), -1, np.int64), offsets[-1]
    for position in range(len(symbols) - reach):
        if plain[position] or plain[position + reach]:
            continue
        word = np.int64(0)
        for offset in offsets:
            member = classes[symbols[position + offset]]
            if member == BROKEN:
                word = np.int64(-1)
                break
            word = word * n_classes + member
        found[position] = word
    return found


@njit(cache=True, nogil=True)
def plain_symbols(symbols, window, least):
    """Return which symbols, below 32, lie in a window whose entropy is below `least` bits."""
    plain, counts = np.zeros(len(symbols), np.bool_), np.zeros(32, np.int64)
    bits = np.zeros(window + 1)
    for n in range(1, window + 1):
        bits[n] = n / window * np.log2(window / n)
    for end in range(len(symbols)):
        counts[symbols[end]] += 1
        if end >= window:
            counts[symbols[end - window]] -= 1
        if end >= window - 1:
            entropy = 0.0
            for n in counts:
                entropy += bits[n]
            if entropy < least:
                plain[end - window + 1 : end + 1] = True
    return plain
