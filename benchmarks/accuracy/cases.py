"""Genes, mutated targets and the accuracy of gene structures, for bench_accuracy.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence, CodingSequence
from gpu_tools.model.sequences import decode_protein, reverse_complement
from gpu_tools.model.translation import translate

FLANK = 3000
INDELS = 0.005
CODON_POSITIONS = (0.6, 0.4, 2.0)
"""Relative rates of substitution at the three positions of a codon, of the biased mutations."""
TRANSITIONS = 2 / 3
"""Share of transitions among the biased substitutions."""
_TRAINING = Path(__file__).parents[2] / "resources" / "training"


@dataclass(frozen=True)
class Gene:
    """A gene in reading direction: its locus with flanks, and its coding exons.

    `record` is the number of the record that it comes from.
    """

    record: int
    name: str
    codes: NDArray[np.uint8]
    exons: tuple[tuple[int, int], ...]

    @property
    def coding(self) -> NDArray[np.uint8]:
        """The coding sequence."""
        return np.concatenate([self.codes[start:end] for start, end in self.exons])


@dataclass
class Counts:
    """True, predicted and annotated exons and nucleotides."""

    exons: NDArray[np.int64]
    nucleotides: NDArray[np.int64]

    @classmethod
    def zero(cls) -> Counts:
        """Return counts of nothing."""
        return cls(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))

    def add(self, gene: Gene, chain: list[tuple[int, int]]) -> None:
        """Count a predicted chain of a gene."""
        truth, found = np.zeros((2, len(gene.codes)), dtype=bool)
        for mask, exons in ((truth, gene.exons), (found, chain)):
            for start, end in exons:
                mask[start:end] = True
        true = len(set(chain) & set(gene.exons))
        self.exons += (true, len(set(chain)), len(gene.exons))
        self.nucleotides += ((truth & found).sum(), found.sum(), truth.sum())

    @staticmethod
    def f1(counts: NDArray[np.int64]) -> float:
        """Return 2 * true / (predicted + annotated)."""
        return float(2 * counts[0] / max(counts[1] + counts[2], 1))


def annotated_records() -> list[AnnotatedSequence]:
    """Read the annotated records of resources/training."""
    coding = read_coding(_TRAINING / "annotation.gff3")
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(_TRAINING / "records.fa.gz")]


def genes(records: list[AnnotatedSequence], flank: int = FLANK) -> list[Gene]:
    """Return the complete genes with flanks; of overlapping transcripts of a strand the longest."""
    found = []
    for number, record in enumerate(records):
        taken: list[tuple[int, int, str]] = []
        for coding in sorted(
            record.coding, key=lambda c: -sum(s.end - s.start for s in c.segments)
        ):
            low, high = (f(edge) for f, edge in ((min, _starts(coding)), (max, _ends(coding))))
            overlaps = any(low < b and a < high and coding.strand == s for a, b, s in taken)
            if not overlaps and not any(segment.partial for segment in coding.segments):
                taken.append((low, high, coding.strand))
                found.append(_gene(number, record, coding, (low - flank, high + flank)))
    return found


def _starts(coding: CodingSequence) -> list[int]:
    return [segment.start for segment in coding.segments]


def _ends(coding: CodingSequence) -> list[int]:
    return [segment.end for segment in coding.segments]


def _gene(number: int, record: AnnotatedSequence, coding: CodingSequence, span) -> Gene:
    codes = record.sequence.codes
    low, high = max(span[0], 0), min(span[1], len(codes))
    exons = [(s.start - low, s.end - low) for s in coding.segments]
    locus = codes[low:high]
    if coding.strand == "-":
        locus, exons = (
            reverse_complement(locus),
            [(high - low - e, high - low - s) for s, e in exons],
        )
    return Gene(number, coding.name, locus, tuple(sorted(exons)))


def mutated(rng, coding: NDArray[np.uint8], rate: float, biased: bool) -> NDArray[np.uint8]:
    """Return a coding sequence with random substitutions, and with `INDELS` indels a base.

    `rate` is the mean share of substituted bases; biased substitutions prefer third codon positions
    and transitions.
    """
    return with_indels(rng, substituted(rng, coding, rate, biased))


def substituted(rng, coding: NDArray[np.uint8], rate: float, biased: bool) -> NDArray[np.uint8]:
    """Return a coding sequence with random substitutions, see `mutated`."""
    position = np.array(CODON_POSITIONS)[np.arange(len(coding)) % 3] if biased else 1.0
    changed = rng.random(len(coding)) < np.minimum(rate * position, 0.9)
    other = rng.integers(1, 4, len(coding))
    if biased:  # codes 0 to 3 are A, C, G, T: a transition is a step of two
        other = np.where(rng.random(len(coding)) < TRANSITIONS, 2, rng.choice([1, 3], len(coding)))
    return np.where(changed, (coding + other) % 4, coding).astype(np.uint8)


def with_indels(rng, letters: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a sequence with `INDELS` insertions and deletions of one base."""
    retained = rng.random(len(letters)) >= INDELS / 2
    inserted = np.flatnonzero(rng.random(retained.sum()) < INDELS / 2)
    return np.insert(
        letters[retained], inserted, rng.integers(0, 4, len(inserted)).astype(np.uint8)
    )


def translated(codes: NDArray[np.uint8]) -> str:
    """Return the protein of whole codons: X for a stop codon, but none for the last one."""
    return decode_protein(translate(codes)).removesuffix("*").replace("*", "X")
