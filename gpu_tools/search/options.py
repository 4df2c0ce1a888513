"""Options of a search: words of the index, and what a window must reach."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tools.errors import ScoringError
from gpu_tools.model.genetic_codes import STANDARD, amino_acids

KINDS = ("protein", "cdna")
"""What is searched for: proteins in translated frames, or cDNAs in nucleotides."""


@dataclass(frozen=True)
class SearchOptions:
    """How an index is made and how windows are found.

    `genetic_code`, `shapes` and `sample` belong to the index: an index that was made with others is
    refused. The rest can change from search to search.

    Parameters
    ----------
    max_intron : int
        Nucleotides of the longest intron inside a window, and of the longest one that is allowed
        for residues that no hit covers.
    max_windows : int
        Windows of a target at most, the best by score.
    min_score : int, optional
        Least score of a window: points of BLOSUM62 for proteins, for cDNAs 2 for a match and -3 for
        a mismatch, less the costs of introns and gaps between hits. By default what `by_chance`
        says.
    by_chance : float
        Windows that chance may make of a protein of up to 500 residues in a genome of this size,
        about; it gives the least score. For short ones that have no other window it is ten at
        least.
    genetic_code : int
        Number of a genetic code of `gpu_tools.model.genetic_codes`; cDNAs do not use it.
    shapes : str, optional
        Shapes of words, separated by commas: ``1`` for a symbol that counts and ``0`` for one that
        does not, such as ``1101011``. All have as many ``1``, and begin and end with it. More
        shapes find more and need more memory. By default those for the kind and size of genome.
    sample : int, optional
        One of so many different words is looked up, chosen by a hash; more need less memory and
        find less. By default 1 up to genomes of 1 Gb, and more for larger ones.
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
    repeats: float = 30.0

    def __post_init__(self):
        amino_acids(self.genetic_code)
        for name in ("max_intron", "max_windows", "min_score"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ScoringError(f"{name} {value}; expected at least 1")
        for shape in () if self.shapes is None else self.shapes.split(","):
            if not _is_shape(shape):
                raise ScoringError(
                    f"shape {shape!r} of a word; expected 1 and 0, beginning and ending with 1"
                )
        if self.sample is not None and self.sample < 1:
            raise ScoringError(f"sample {self.sample}; expected at least 1")
        for name in ("by_chance", "repeats"):
            if not getattr(self, name) > 0:
                raise ScoringError(f"{name} {getattr(self, name)}; expected a number above 0")


def _is_shape(shape: str) -> bool:
    return set(shape) <= {"0", "1"} and shape.startswith("1") and shape.endswith("1")
