"""Scores depend on the sequence alone: neither on where a locus lies nor on its strand."""

import numpy as np
import pytest

from gpu_tools import (
    ProteinCase,
    ProteinScoring,
    ProteinSequence,
    Sequence,
    SiteCase,
    SplicedScoring,
    load_sites,
    protein_align,
    protein_sites,
    protein_tables_of,
    site_align,
    tables_of,
)
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.sequences import decode, encode, reverse_complement
from gpu_tools.sites.marks import marks_of
from tests import cases
from tests.oracles import sites as oracle


def found_marks(base: str, every: int) -> dict[int, int]:
    """Return the ranks of a base's marks by boundary."""
    marks = marks_of(encode(base), every, [(0, 50), (50, 51), (51, len(base) + 1)], map)
    return dict(zip(*(each.tolist() for each in marks), strict=True))


@pytest.mark.parametrize("every", [1, 7, 64])
def test_marks_are_those_of_the_definition(every):
    rng = np.random.default_rng(every)
    base = cases.random_text(rng, 700) + "ACGTT" * 9 + "N" + cases.random_text(rng, 700)
    assert found_marks(base, every) == oracle.marks(base, every)
    assert found_marks(base.lower(), every) == oracle.marks(base, every)


def test_marks_are_as_frequent_as_their_level_says():
    codes = np.random.default_rng(2).integers(0, 4, 1 << 19).astype(np.uint8)
    marks = marks_of(codes, 256, [(0, len(codes) + 1)], map)
    for every in (256, 2048, 16384):
        expected = len(codes) / every
        assert abs(len(marks.of_level(every)) - expected) < 4 * expected**0.5


@pytest.mark.parametrize("unit", ["A", "CA", "TTAGGG", "ACGTTGCAATGC"])
def test_microsatellites_have_no_marks(unit):
    """One of the words of a repeat would be a mark in every unit."""
    assert not found_marks(unit * 60, 1)
    assert found_marks(cases.random_text(np.random.default_rng(1), 13, 0) * 9, 1)


EXONS = (
    "ATGGCTCTGTGGATGCGCCTCCTGCCCCTGCTGGCGCTGCTGGCCCTCTGG",
    "GGACCTGACCCAGCCGCAGCCTTTGTGAACCAACACCTG",
    "TGCGGCTCACACCTGGTGGAAGCTCTCTACCTAGTGTGCGGGGAACGAGGCTAA",
)
PROTEIN = "MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERG"


def gene(rng) -> str:
    """Return a gene with two introns of 3,000 nucleotides, and some sequence around it."""
    introns = ["GTAAGT" + random_dna(rng, 3000) + "TTTTTTTTCAG" for _ in range(2)]
    exons = EXONS[0] + introns[0] + EXONS[1] + introns[1] + EXONS[2]
    return random_dna(rng, 100) + exons + random_dna(rng, 100)


def random_dna(rng, length: int) -> str:
    return cases.random_text(rng, length, 0).upper().replace("U", "T")


def aligned(kind: str, text: str):
    """Align the gene's product: as a cDNA, as one whose chain translates, or as a protein."""
    base, model = Sequence.from_text("b", text), load_sites("fly")
    if kind == "protein":
        scoring = ProteinScoring(load_matrix("BLOSUM62"), ends="free-target")
        tables = protein_tables_of(base, protein_sites(model), scoring)
        target = ProteinSequence.from_text("p", PROTEIN)
        return protein_align([ProteinCase(base, target, tables)], scoring, device="cpu")[0]
    if kind == "longest":
        model = model.with_longest_intron(5000)
    target = Sequence.from_text("t", "".join(EXONS))
    tables = tables_of(base, model, reading="complete" if kind == "coding" else "any")
    scoring = SplicedScoring(ends="free-target")
    return site_align([SiteCase(base, target, tables)], scoring, device="cpu")[0]


@pytest.mark.parametrize("kind", ["cdna", "longest", "coding", "protein"])
def test_scores_do_not_depend_on_place_or_strand(kind):
    """Moved, joined with another record, cut out, reverse complemented."""
    rng = np.random.default_rng(11)
    text, other = gene(rng), random_dna(rng, 1777)
    found = aligned(kind, text)
    assert found.strand == "+"
    assert found.n_chain == 3
    texts = {0: text + other, 1: "C" + text, 1777: other + text, 1790: other + "A" * 13 + text}
    for offset, moved in (texts | {-60: text[60:-60]}).items():
        again = aligned(kind, moved)
        assert (again.strand, again.score, again.cigar) == ("+", found.score, found.cigar)
        assert again.chain == tuple((s + offset, e + offset) for s, e in found.chain)
    for shift in (0, 5):
        turned = decode(reverse_complement(encode(text))) + other[:shift]
        again, length = aligned(kind, other[:shift] + turned), len(text) + shift
        assert (again.strand, again.score, again.cigar) == ("-", found.score, found.cigar)
        assert again.chain == tuple((length - e, length - s) for s, e in found.chain)
