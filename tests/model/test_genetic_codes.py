"""Genetic codes by number."""

from itertools import product

import pytest

from gpu_tools import ScoringError
from gpu_tools.model.sequences import decode_protein, encode
from gpu_tools.model.translation import GENETIC_CODES, amino_acids, stop_codons
from tests.oracles.proteins import amino_acid


def acid(codon, code=1):
    return decode_protein(amino_acids(code)[tuple(encode(codon))][None])


def test_standard_code():
    assert [acid(c) for c in ("ATG", "TGG", "GCA", "TTT", "AGA")] == list("MWAFR")
    assert stop_codons() == ("TAA", "TAG", "TGA")


@pytest.mark.parametrize(
    ("code", "codon", "expected"),
    [(2, "AGA", "*"), (2, "TGA", "W"), (3, "CTG", "T"), (6, "TAA", "Q"), (10, "TGA", "C"),
     (12, "CTG", "S"), (26, "CTG", "A"), (33, "TAA", "Y"), (11, "TGA", "*")],
)  # fmt: skip
def test_differences(code, codon, expected):
    assert acid(codon, code) == expected


def test_ambiguous_codons():
    assert acid("GCN") == "A"
    assert acid("NNN") == acid("ATN") == "X"
    assert acid("TAN") == "X"


@pytest.mark.parametrize("code", GENETIC_CODES)
def test_codons_with_n_have_what_all_of_theirs_have(code):
    plain = {"".join(word): acid("".join(word), code) for word in product("ACGT", repeat=3)}
    for word in map("".join, product("ACGTN", repeat=3)):
        assert acid(word, code) == amino_acid(word, plain), word
        assert "N" not in word or acid(word, code) != "*"


def test_each_code_has_a_stop():
    assert all(stop_codons(code) for code in GENETIC_CODES)
    assert stop_codons(22) == ("TAA", "TCA", "TGA")


def test_unknown_code():
    with pytest.raises(ScoringError, match="genetic code 99; expected one of"):
        amino_acids(99)
