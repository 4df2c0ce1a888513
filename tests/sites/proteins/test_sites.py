"""The sites of a strand for proteins."""

import numpy as np
import pytest

from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import encode
from gpu_tools.model.translation import stop_codons
from gpu_tools.sites.model import load_sites, shipped_sites
from gpu_tools.sites.proteins.api import BEGIN, END, START, STOP, protein_sites, protein_table
from tests import cases
from tests.oracles import proteins as oracle

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


@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
@pytest.mark.parametrize("code", [1, 2, 22, 23])
def test_ends_have_the_points_of_the_page(ends, code):
    base = cases.random_text(np.random.default_rng(code), 900)
    scoring = ProteinScoring(BLOSUM62, ends=ends, genetic_code=code)
    made = protein_table(protein_sites(load_sites("fly")), encode(base), 0, scoring)
    first, last = oracle.end_points(base.replace("U", "T"), ends, stop_codons(code))
    assert made.first_entry.tolist() == first
    assert made.last_exit.tolist() == last


@pytest.mark.parametrize("name", shipped_sites())
def test_penalties_rise_as_the_page_says(name):
    model = load_sites(name)
    made = protein_table(protein_sites(model), CODES, 5, ProteinScoring(BLOSUM62))
    for kind, (own, intron) in enumerate(zip(made.introns, model.introns, strict=True)):
        lines = oracle.rising_lines(intron.rising)
        expected = kind, intron.penalties[0][0], oracle.SHORT_INTRON, lines, 5
        assert own[:5] == expected
