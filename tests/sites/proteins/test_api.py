"""Proteins in site mode: equal to the definition, and alignments that re-score."""

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.formats.values.matrices import load_matrix
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.scoring import SubstitutionMatrix
from gpu_tools.model.sequences import ProteinSequence, decode_protein
from gpu_tools.sites.proteins.api import ProteinCase, protein_align
from gpu_tools.sites.proteins.cpu import strand as cpu
from gpu_tools.sites.scores import BoundaryScores
from gpu_tools.sites.table import SiteTable
from gpu_tools.model.genetic_codes import amino_acids
from tests import cases
from tests.oracles import proteins as oracle
from tests.sites.test_api import oracle_table, random_intron

BLOSUM62 = load_matrix("BLOSUM62")


def random_sites(rng, length, share, usual):
    scores = np.where(rng.random(length + 1) < share, rng.integers(-3, 8, length + 1), usual)
    return BoundaryScores.from_lists(
        length + 1, usual, np.flatnonzero(scores != usual), scores[scores != usual],
        np.zeros((scores != usual).sum(), np.uint8),
    )  # fmt: skip


def random_inner(rng, length, share):
    listed = np.flatnonzero(rng.random(length + 1) < share)
    kinds = rng.integers(0, 2, len(listed)).astype(np.uint8)
    return BoundaryScores.from_lists(
        length + 1, -(2**62), listed, rng.integers(-3, 9, len(listed)), kinds
    )


def random_protein_table(rng, length, share=0.3):
    introns = tuple(random_intron(rng, -2, 5, 12) for _ in range(rng.integers(1, 4)))
    origin = int(rng.integers(-99, 100))
    introns = tuple(intron._replace(origin=origin) for intron in introns)
    first, last = (random_sites(rng, length, 0.1, int(rng.integers(-5, 2))) for _ in range(2))
    return SiteTable(
        first, random_inner(rng, length, share), random_inner(rng, length, share), last, introns
    )


def random_scoring(rng) -> ProteinScoring:
    ends = str(rng.choice(["global", "free-target"]))
    open_, extend, shift, stop = (int(n) for n in rng.integers(0, 8, 4))
    return ProteinScoring(BLOSUM62, open_, extend, 4 + shift, 4 + stop, ends)


def random_protein(rng, base, length):
    """Return a mutated translation of parts of the base."""
    acids = amino_acids()
    codes = Sequence.from_text("b", base).codes
    at = int(rng.integers(0, 3))
    letters = []
    while at + 3 <= len(codes) and len(letters) < length:
        letters.append(decode_protein(acids[tuple(codes[at : at + 3])][None]))
        at += int(rng.choice([3, 3, 3, 3, 4, 5, 6, 9, 10]))
    mutated = [c if rng.random() > 0.2 and c != "*" else str(rng.choice(list("ARNDCQEGHILKMFPSTWYVX"))) for c in letters]
    return "".join(mutated) or "M"


def oracle_terms(scoring: ProteinScoring) -> dict:
    table, words = scoring.substitution, scoring.codons

    def word(codon):
        return words[tuple(Sequence.from_text("c", codon).codes)]

    return {
        "open": scoring.gap_open, "extend": scoring.gap_extend, "shift": scoring.frameshift,
        "stop": scoring.stop, "free": scoring.free,
        "pair": lambda codon, residue: int(table[word(codon), ord(residue) - ord("A")]),
        "is_stop": lambda codon: amino_acids()[tuple(Sequence.from_text("c", codon).codes)] == 26,
    }  # fmt: skip


def align(base, target, tables, scoring, threads=1):
    case = ProteinCase(
        Sequence.from_text("b", base), ProteinSequence.from_text("t", target), tables
    )
    (result,) = protein_align([case], scoring, threads=threads, device="cpu")
    return result


@pytest.mark.parametrize("seed", range(60))
def test_score_is_that_of_the_definition(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", int(rng.choice([3, 7, 1000])))
    monkeypatch.setattr(cpu, "_STATE_TO_BLOCK", 1)
    base = cases.random_text(rng, int(rng.integers(3, 34)))
    if seed % 5 == 0:
        base = base.replace("T", "N", 1)
    target = random_protein(rng, base, int(rng.integers(1, 8)))
    table, scoring = random_protein_table(rng, len(base)), random_scoring(rng)
    usual = {"usual": (table.first.usual, table.last.usual)}
    expected = oracle.best_score(base, target, oracle_table(table) | usual, oracle_terms(scoring))
    result = align(base, target, {"+": table}, scoring)
    assert result.score == expected, (seed, base, target)
