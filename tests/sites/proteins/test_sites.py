"""The sites of a strand for proteins."""

from gpu_tools.formats.values.matrices import load_matrix
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.sequences import encode
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.sites import BEGIN, END, START, STOP, protein_sites, protein_table

BLOSUM62 = load_matrix("BLOSUM62")
CODES = encode("CCATGGCTTGACCTAACC")


def table(ends="global", code=1):
    scoring = ProteinScoring(BLOSUM62, ends=ends, genetic_code=code)
    return protein_table(protein_sites(load_sites("vertebrate")), CODES, 0, scoring)


def listed(scores):
    return dict(zip(scores.boundaries.tolist(), scores.scores.tolist(), strict=True))


def test_chains_begin_at_start_codons_and_end_before_stop_codons():
    made = table()
    assert (made.first.usual, listed(made.first)) == (BEGIN, {2: START})
    assert (made.last.usual, listed(made.last)) == (END, {8: STOP, 13: STOP})


def test_stop_codons_are_those_of_the_genetic_code():
    assert listed(table(code=2).last) == {13: STOP}, "TGA is W in code 2"


def test_free_ends_cost_nothing():
    made = table("free")
    assert (made.first.usual, made.last.usual) == (0, 0)
