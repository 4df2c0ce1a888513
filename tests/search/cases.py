"""Genes, genomes and settings that the tests of the search share."""

from __future__ import annotations

from itertools import product

import numpy as np

from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.sequences import ProteinSequence, Sequence, decode_protein
from gpu_tools.model.translation import amino_acids
from tests.oracles.search import COMPLEMENT

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
MATRIX = load_matrix("BLOSUM62")
NUCLEOTIDES = [*"ACGT"]


def code_of(number: int = 1) -> dict[str, str]:
    """Return the amino acid of each codon of a genetic code."""
    table = amino_acids(number)
    codons = map("".join, product("ACGT", repeat=3))
    return dict(zip(codons, decode_protein(table[:4, :4, :4].ravel()), strict=True))


def dna(rng, length: int) -> str:
    """Return random nucleotides."""
    return "".join(rng.choice(NUCLEOTIDES, length))


def protein(rng, length: int) -> str:
    """Return random residues, the first one M."""
    return "M" + "".join(rng.choice([*RESIDUES], length - 1))


def coding(rng, residues: str, code: int = 1) -> str:
    """Return codons for residues."""
    codons = {}
    for codon, residue in code_of(code).items():
        codons.setdefault(residue, []).append(codon)
    return "".join(rng.choice(codons[residue]) for residue in residues)


def gene(rng, residues: str, intron: int = 300, code: int = 1) -> str:
    """Return a gene of two exons for a protein."""
    exons = coding(rng, residues, code)
    middle = len(exons) // 6 * 3
    return exons[:middle] + "GT" + dna(rng, intron) + "AG" + exons[middle:]


def turned(text: str) -> str:
    """Return the reverse complement."""
    return text.translate(COMPLEMENT)[::-1]


def pair(a: str, b: str) -> int:
    """Return the score of two residues by BLOSUM62."""
    return int(MATRIX.scores[MATRIX.letters.index(a), MATRIX.letters.index(b)])


def record(text: str, name: str = "chr") -> Sequence:
    """Return a record of a genome."""
    return Sequence.from_text(name, text)


def target(residues: str, name: str = "target") -> ProteinSequence:
    """Return a protein."""
    return ProteinSequence.from_text(name, residues)


def planted(seed: int, size: int = 6_000, length: int = 120, strand: str = "+"):
    """Return a record with a gene in the middle, the gene's protein and where it lies."""
    rng = np.random.default_rng(seed)
    residues = protein(rng, length)
    inside = gene(rng, residues)
    left = dna(rng, size)
    text = left + (inside if strand == "+" else turned(inside)) + dna(rng, size)
    return text, residues, (len(left), len(left) + len(inside))
