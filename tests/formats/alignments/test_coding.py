"""Chains that translate, in the formats that say so."""

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments import write_alignments
from gpu_tools.formats.exons.annotation import read_annotated_exons
from tests.formats.alignments.cases import BASE_LENGTH, HAND_MADE, alignment, sequences, write_one

CODING = {
    "+": alignment(
        "+", [(10, 18), (40, 45), (50, 58)], "8=22N5=5N8=", phases=(0, 1, 2), start_codon=True,
        stop_codon=True,
    ),
    "-": alignment(
        "-", [(50, 58), (40, 45), (10, 18)], "8=5N5=22N8=", phases=(0, 1, 2), start_codon=True,
        stop_codon=True,
    ),
    "incomplete": alignment("+", [(10, 18), (40, 44)], "8=22N4=", phases=(0, 1)),
    "stop codon alone": alignment(
        "-", [(50, 59), (10, 13)], "9=37N3=", phases=(0, 0), stop_codon=True
    ),
}  # fmt: skip
GTF_PARTS = {
    "+": [
        ("start_codon", 11, 13, 0), ("CDS", 11, 18, 0), ("CDS", 41, 45, 1), ("CDS", 51, 55, 2),
        ("stop_codon", 56, 58, 0),
    ],
    "-": [
        ("start_codon", 56, 58, 0), ("CDS", 51, 58, 0), ("CDS", 41, 45, 1), ("CDS", 14, 18, 2),
        ("stop_codon", 11, 13, 0),
    ],
    "incomplete": [("CDS", 11, 18, 0), ("CDS", 41, 44, 1)],
    "stop codon alone": [("CDS", 51, 59, 0), ("stop_codon", 11, 13, 0)],
}  # fmt: skip


def features(path, kept):
    lines = [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]
    return [(f[2], int(f[3]), int(f[4]), int(f[7])) for f in lines if f[2] in kept]


@pytest.mark.parametrize("name", CODING)
def test_coding_parts_in_gtf(tmp_path, name):
    a = CODING[name]
    write_one(tmp_path / "x.gtf", a, sequences(a)[1])
    assert features(tmp_path / "x.gtf", ("CDS", "start_codon", "stop_codon")) == GTF_PARTS[name]


@pytest.mark.parametrize("name", CODING)
def test_phases_of_gtf_are_those_of_gff3_and_both_read_back_the_same(tmp_path, name):
    """GTF's CDS leaves out the stop codon, GFF3's does not; a reader joins it again."""
    a = CODING[name]
    for suffix in (".gtf", ".gff3"):
        write_one(tmp_path / f"x{suffix}", a, sequences(a)[1])
    phases = [
        sorted(phase for *_, phase in features(tmp_path / f"x{suffix}", ("CDS",)))
        for suffix in (".gtf", ".gff3")
    ]
    if name != "stop codon alone":
        assert phases[0] == phases[1] == sorted(a.phases)
    read = [read_annotated_exons(tmp_path / f"x{suffix}")["b"] for suffix in (".gtf", ".gff3")]
    for exons in read:
        found = sorted(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True))
        assert found == sorted(a.chain)


def test_quotation_marks_cannot_stand_in_gtf(tmp_path):
    a = alignment("+", [(10, 20)], "10=", target='t"x')
    with pytest.raises(InputError, match="cannot stand in GTF; expected a name without a quot"):
        write_alignments(tmp_path / "x.gtf", [a], {"b": BASE_LENGTH}, {})
    assert not (tmp_path / "x.gtf").exists()


def test_bed_is_thick_where_a_chain_translates(tmp_path):
    for a, thick in ((CODING["+"], ("10", "58")), (HAND_MADE["two exons"], ("10", "10"))):
        write_one(tmp_path / "x.bed", a, sequences(a)[1])
        assert tuple((tmp_path / "x.bed").read_text().split("\t")[6:8]) == thick
