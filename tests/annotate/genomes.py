"""Small genomes with planted genes."""

from __future__ import annotations

import numpy as np

from gpu_tools import ProteinSequence, Sequence, load_sites
from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import cdna_targets, protein_targets
from gpu_tools.model.sequences import encode, reverse_complement

RESIDUES = "ARNDCQEGHILKMFPSTWYV"
_CODONS = "GCCCGCAACGACTGCCAGGAGGGCCACATCCTGAAGATGTTCCCCAGCACCTGGTACGTG"
CODONS = {letter: _CODONS[3 * k : 3 * k + 3] for k, letter in enumerate(RESIDUES)}
INTRON = "GTAAGT{}TACTAACTTTTTTTTTCTTTCCTTTTTTCAG"
SITES = load_sites("vertebrate")


def random_protein(rng, length: int = 120) -> str:
    return "M" + "".join(rng.choice([*RESIDUES], length - 1))


def random_text(rng, length: int) -> str:
    return "".join(rng.choice([*"ACGT"], length))


def gene(rng, protein: str, introns: int = 2) -> str:
    """Return a gene of a protein, in reading direction, with introns in frame."""
    parts = np.array_split(np.array([*protein]), introns + 1)
    exons = ["".join(CODONS[letter] for letter in part) for part in parts]
    return "".join(
        exon + INTRON.format(random_text(rng, 50)) for exon in exons[:-1]
    ) + exons[-1] + "TAA"  # fmt: skip


def reversed_text(text: str) -> str:
    return Sequence("", reverse_complement(encode(text))).letters()


def genome(*texts: str, name: str = "chr1") -> Sequence:
    return Sequence.from_text(name, "".join(texts))


def mutated(rng, protein: str, rate: float = 0.2) -> str:
    letters = [rng.choice([*RESIDUES]) if rng.random() < rate else letter for letter in protein[1:]]
    return protein[0] + "".join(letters)


def proteins(**texts: str):
    return protein_targets([ProteinSequence.from_text(n, t) for n, t in texts.items()], SITES)


def cdnas(**texts: str):
    return cdna_targets([Sequence.from_text(n, t) for n, t in texts.items()], SITES)


def annotate(records, *targets, work=None, threads=2, **options):
    """Annotate records on the CPU, by an exhaustive search if none is named."""
    wanted = AnnotationOptions(**({"search": "exhaustive", "longest_gene": 5000} | options))
    return annotate_genome(records, targets, wanted, work=work, device="cpu", threads=threads)


def places(annotation) -> list[tuple]:
    """Return record, strand and interval of each gene."""
    return [(g.record, g.strand, g.start, g.end) for g in annotation.genes]
