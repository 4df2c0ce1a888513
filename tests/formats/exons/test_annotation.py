"""Coding segments of annotations: CDS only, the stop codon included in both formats."""

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import (
    read_annotated_exons,
    read_coding,
    read_coding_segments,
    read_transcripts,
)


def gff3(tmp_path, *features, version="##gff-version 3\n"):
    lines = [
        f"chr1\t.\t{feature}\t{start}\t{end}\t.\t{strand}\t.\t{attributes}\n"
        for feature, start, end, strand, attributes in features
    ]
    path = tmp_path / "annotation"
    path.write_text(version + "".join(lines))
    return path


def segments(path):
    exons = read_coding_segments(path)["chr1"]
    strands = ["-" if reverse else "+" for reverse in exons.reverse]
    return list(zip(exons.starts.tolist(), exons.ends.tolist(), strands, strict=True))


def test_gff3_keeps_cds_alone(tmp_path):
    path = gff3(
        tmp_path, ("gene", 1, 90, "+", "."), ("exon", 1, 20, "+", "."), ("CDS", 11, 20, "+", "."),
        ("exon", 31, 90, "+", "."), ("CDS", 31, 60, "+", "."),
    )  # fmt: skip
    assert segments(path) == [(10, 20, "+"), (30, 60, "+")]


ONE, TWO = 'gene_id "g"; transcript_id "one";', 'gene_id "g"; transcript_id "two";'


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (
            [
                ("CDS", 11, 20, "+", ONE), ("CDS", 31, 57, "+", ONE),
                ("stop_codon", 58, 60, "+", ONE),
            ],
            [(10, 20, "+"), (30, 60, "+")],
        ),
        (
            [("stop_codon", 8, 10, "-", ONE), ("CDS", 11, 20, "-", ONE), ("exon", 1, 20, "-", ONE)],
            [(7, 20, "-")],
        ),
        (  # a stop codon that an intron splits: one part touches, the other is a segment
            [
                ("CDS", 11, 20, "+", ONE), ("stop_codon", 21, 22, "+", ONE),
                ("stop_codon", 41, 41, "+", ONE),
            ],
            [(10, 22, "+"), (40, 41, "+")],
        ),
        (  # the stop codon of another transcript does not lengthen this one's segment
            [
                ("CDS", 11, 20, "+", ONE), ("CDS", 12, 20, "+", TWO),
                ("stop_codon", 21, 23, "+", TWO),
            ],
            [(10, 20, "+"), (11, 23, "+")],
        ),
    ],
)  # fmt: skip
def test_gtf_segments_include_the_stop_codon(tmp_path, features, expected):
    assert segments(gff3(tmp_path, *features, version="")) == expected


@pytest.mark.parametrize(
    ("features", "version", "message"),
    [
        (
            [("exon", 1, 5, "+", ".")],
            "##gff-version 3\n",
            "no CDS among the features exon; exp",
        ),
        (
            [("exon", 1, 5, "+", ONE)],
            "",
            "no CDS among the features exon; exp",
        ),
        ([("CDS", 1, 5, "+", ".")], "", "line 1: a CDS without transcript_id"),
        ([("CDS", 5, 1, "+", ".")], "##gff-version 3\n", "line 2"),
        ([], "text\n", "line 1: 1 columns; expected 9 tab-separated columns"),
        ([], "", "no CDS"),
    ],
)
def test_what_is_no_annotation_is_an_error(tmp_path, features, version, message):
    with pytest.raises(InputError, match=message):
        read_coding_segments(gff3(tmp_path, *features, version=version))


@pytest.mark.parametrize("kind", ["CDS", "cds", "Cds", "coding_exon", "SO:0000316", "exon", "EXON"])
def test_parts_of_an_exon_are_one_and_types_have_any_case(tmp_path, kind):
    """As gffcompare reads them: lines that abut are one exon, repeated ones count once."""
    parts = [(1, 20), (21, 30), (41, 60), (41, 60), (58, 70)]
    lines = [(kind, start, end, "+", "Parent=a") for start, end in parts]
    lines += [(kind, 31, 40, "+", "Parent=b"), (kind, 71, 80, "+", ".")]
    path = gff3(tmp_path, *lines)
    exons = read_annotated_exons(path)["chr1"]
    assert list(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True)) == [
        (0, 30), (40, 70), (30, 40), (70, 80),
    ]  # fmt: skip


def test_gff3_is_known_by_its_version_anywhere_above_by_its_name_or_by_its_attributes(tmp_path):
    line = "a%20b\t.\tCDS\t1\t9\t.\t+\t0\t{}\n"
    for name, text in (
        ("x", f"# made by hand\n\n##gff-version\t3.1\n{line.format('.')}"),
        ("x.gff3", line.format(".")), ("x.gff3.gz", line.format(".")), ("y", line.format("ID=c")),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        assert list(read_coding_segments(tmp_path / name)) == ["a b"], name


@pytest.mark.parametrize(
    ("attributes", "name"), [("ID=c;Parent=t", "a b"), ('transcript_id "t";', "a%20b")]
)
def test_gff3_alone_escapes_names(tmp_path, attributes, name):
    path = tmp_path / "x"
    path.write_text(f"a%20b\t.\tCDS\t1\t9\t.\t+\t0\t{attributes}\n")
    assert list(read_coding_segments(path)) == list(read_coding(path)) == [name]
    assert [transcript.record for transcript in read_transcripts(path)] == [name]
