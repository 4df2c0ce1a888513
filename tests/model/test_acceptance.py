"""Which chains are accepted, and which symbols of their targets lie beyond the sequence."""

import pytest

from gpu_tools.model.acceptance import Acceptance, with_cut_ends
from gpu_tools.model.results import ProteinAlignment, SplicedAlignment
from gpu_tools.model.sequences import Sequence


def cdna(chain, ends, strand="+", pairs=30, evalue=1e-9):
    """An alignment of `pairs` nucleotides; `ends` further ones of the target are not aligned."""
    before, behind = ends
    return SplicedAlignment(
        "b", "t", 200, before + pairs + behind, strand, chain=chain, target_start=before,
        target_end=before + pairs, cigar=(("=", pairs),), evalue=evalue,
    )  # fmt: skip


def base(text, name="b", description=""):
    return Sequence.from_text(name, text, description)


ONE, TWO = ((40, 70),), ((40, 50), (60, 80))
PLAIN = "A" * 100


@pytest.mark.parametrize(
    ("chain", "ends", "expected"),
    [
        (ONE, (40, 30), (0, 0)),
        (ONE, (60, 100), (20, 70)),
        # behind an intron as long as the chain's
        (TWO, (40, 30), (10, 20)),
        (TWO, (30, 10), (0, 0)),
        (((0, 30),), (9, 9), (9, 0)),
    ],
)
def test_what_does_not_fit_beside_a_chain_lies_beyond(chain, ends, expected):
    assert with_cut_ends(cdna(chain, ends), base(PLAIN)).beyond == expected
    turned = cdna(chain[::-1], ends[::-1], "-")
    assert with_cut_ends(turned, base(PLAIN)).beyond == expected[::-1]


@pytest.mark.parametrize(
    ("name", "description", "expected"),
    [
        ("b", "", (60, 70)),
        ("b:1-100", "record_length=500", (60, 0)),
        ("b:1-100", "", (60, 0)),
        ("b:401-500", "record_length=500", (0, 70)),
        ("x", "locus=b:101-200 record_length=500", (0, 0)),
    ],
)
def test_only_the_ends_of_records_cut_off(name, description, expected):
    one = with_cut_ends(cdna(ONE, (100, 100)), base(PLAIN, name, description))
    assert one.beyond == expected


@pytest.mark.parametrize(("length", "expected"), [(9, (0, 0)), (10, (15, 0)), (20, (15, 0))])
def test_a_run_of_n_cuts_off_from_ten_on(length, expected):
    text = "A" * 65 + "N" * length + "A" * 5 + "A" * 200
    first = 70 + length
    one = with_cut_ends(cdna(((first, first + 30),), (20, 20)), base(text))
    assert one.beyond == expected


def test_residues_lie_beyond_as_a_whole_where_their_codons_do_not_fit():
    """Residues that are left out at an end count as those outside of the alignment."""
    own = ProteinAlignment(
        "b", "p", 100, 20, "-", chain=((40, 70),), target_start=4, target_end=18,
        cigar=(("I", 4), ("M", 10)), translation="----MKVMKVMKVM", residues="MKVKMKVMKVMKVM",
    )  # fmt: skip
    assert own.unaligned_ends == (8, 2)
    assert with_cut_ends(own, base("A" * 90)).beyond == (2, 0)
    assert with_cut_ends(own, base("A" * 1090), first=-1000).beyond == (2, 0)


def test_a_verdict_counts_what_could_lie_in_the_base():
    wanted = Acceptance()
    part = cdna(ONE, (0, 100))
    assert part.coverage < wanted.min_coverage
    assert wanted.verdict(part) == "part"
    assert wanted.verdict(with_cut_ends(part, base("A" * 400))) == "part"
    assert wanted.verdict(with_cut_ends(part, base("A" * 90))) == "yes"
    assert wanted.verdict(cdna(ONE, (0, 100), evalue=0.1)) == "no"
    assert wanted.verdict(cdna(ONE, (0, 30))) == "yes"
    assert wanted.verdict(SplicedAlignment("b", "t", 100, 60)) == "no"
    assert Acceptance(min_identity=1, min_coverage=0.2).verdict(part) == "yes"
