"""Translation against Biopython's, longest open reading frames, and the genetic codes."""

from itertools import product

import numpy as np
import pytest
from Bio.Seq import Seq

from gpu_tools import ScoringError
from gpu_tools.cli.main import main
from gpu_tools.model.sequences import decode_protein, encode
from gpu_tools.model.translation import (
    GENETIC_CODES,
    amino_acids,
    longest_frame,
    longest_protein,
    stop_codons,
    translate,
)
from tests.oracles.proteins import amino_acid


def protein_from(text):
    """Codon by codon to a stop or the end; Biopython would see through some ambiguous codons."""
    codons = [text[k : k + 3] for k in range(0, len(text) - 2, 3)]
    acids = ["X" if "N" in codon else str(Seq(codon).translate()) for codon in codons]
    return "".join(acids).split("*")[0]


def longest_by_search(text):
    """The longest from any ATG, then the first."""
    starts = (start for start in range(len(text)) if text[start : start + 3] == "ATG")
    return max((protein_from(text[start:]) for start in starts), key=len, default="")


@pytest.mark.parametrize("letters", ["ACGT", "ACGTN", "ATG"])
@pytest.mark.parametrize("seed", range(20))
def test_random_sequences(seed, letters):
    rng = np.random.default_rng(seed)
    text = "".join(rng.choice(list(letters), int(rng.integers(0, 300))))
    codes = encode(text)
    protein = longest_by_search(text)
    assert decode_protein(longest_protein(codes)) == protein
    start, end = longest_frame(codes)
    frame = text[start:end]
    assert frame[:3] == ("ATG" if protein else "")
    assert protein_from(frame) == protein
    # its stop codon belongs to it, and nothing behind
    following = text[start + 3 * len(protein) : start + 3 * len(protein) + 3]
    has_stop = bool(protein) and len(following) == 3
    assert end - start == 3 * (len(protein) + has_stop)


def test_every_codon():
    text = "".join(a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT") + "ACNAC"
    expected = str(Seq(text[:192]).translate()) + "X"
    assert decode_protein(translate(encode(text))) == expected


def test_ties_and_open_ends():
    assert decode_protein(longest_protein(encode("ATGAAATAAATGCCCTAA"))) == "MK"
    assert decode_protein(longest_protein(encode("ATGTAACATGCCCC"))) == "MP"
    assert len(longest_protein(encode("ACG"))) == 0
    assert longest_frame(encode("ATGTAACATGCCCC")) == (7, 13)
    assert longest_frame(encode("CATGTAAC")) == (1, 7)


def test_command(tmp_path, capsys):
    source, result = tmp_path / "c.fa", tmp_path / "p.fa"
    source.write_text(">a some cDNA\nccATGAAAGGATAAcc\n>none\nACGT\n")
    assert main(["sequences", "translate", "--fasta", str(source), "--output", str(result)]) == 0
    assert result.read_text() == ">a some cDNA\nMKG\n"
    assert "record none has no ATG" in capsys.readouterr().err
    command = ["sequences", "translate", "--nucleotides", "--fasta", str(source)]
    assert main([*command, "--output", str(result)]) == 0
    assert result.read_text() == ">a some cDNA\nATGAAAGGATAA\n"


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
