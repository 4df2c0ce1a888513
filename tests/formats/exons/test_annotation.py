"""Coding segments of annotations: CDS only, the stop codon included in both formats."""

import gzip

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import (
    read_annotated_exons,
    read_coding,
    read_coding_segments,
    read_transcripts,
)
from gpu_tools.formats.files import odd_items
from gpu_tools.model.annotation import CodingSegment, CodingSequence


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
        ([], "text\n", "line 1: 1 column; expected 9 tab-separated columns"),
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


GTF = 'transcript_id "t 1"; gene_id "g";'


def written_lines(tmp_path, *lines, name="x.gtf"):
    """Write lines of type, start, end, strand, phase and attributes; return the path."""
    path = tmp_path / name
    rows = ("chr\t.\t{}\t{}\t{}\t.\t{}\t{}\t{}\n".format(*line) for line in lines)
    path.write_text("".join(rows))
    return path


def coding(strand, *segments):
    return {"chr": (CodingSequence("t 1", strand, tuple(CodingSegment(*s) for s in segments)),)}


def test_gtf_without_phases(tmp_path):
    lines = [("CDS", 1, 4, "+", ".", GTF), ("CDS", 11, 12, "+", ".", GTF)]
    lines += [("exon", 1, 40, "+", ".", GTF), ("CDS", 21, 26, "+", ".", GTF)]
    expected = coding("+", (0, 4, 0), (10, 12, 2), (20, 26, 0))
    path = written_lines(tmp_path, *lines)
    assert read_coding(path) == expected
    assert read_coding(path)["chr"][0].line == 1
    packed = tmp_path / "x.gtf.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_coding(packed) == expected


def test_phases_follow_the_reading_direction(tmp_path):
    lines = [("CDS", 1, 5, "-", ".", "ID=t 1"), ("CDS", 11, 14, "-", ".", "ID=t 1")]
    assert read_coding(written_lines(tmp_path, *lines)) == coding("-", (10, 14, 0), (0, 5, 2))
    lines[1] = ("CDS", 11, 14, "-", "2", "ID=t 1")
    assert read_coding(written_lines(tmp_path, *lines)) == coding("-", (10, 14, 2), (0, 5, 1))


@pytest.mark.parametrize(
    ("strand", "stops", "segments"),
    [
        ("+", [(15, 17)], [(0, 4, 0), (10, 17, 2)]),
        ("-", [(7, 9), (7, 9)], [(10, 14, 0), (6, 9, 2), (0, 4, 2)]),
        ("+", [(15, 15), (21, 22)], [(0, 4, 0), (10, 15, 2), (20, 22, 0)]),
        ("+", [(12, 14)], [(0, 4, 0), (10, 14, 2)]),
    ],
)
def test_stop_codons_of_gtf_are_joined(tmp_path, strand, stops, segments):
    lines = [("CDS", 1, 4, strand, ".", GTF), ("CDS", 11, 14, strand, ".", GTF)]
    lines += [("stop_codon", *stop, strand, ".", GTF) for stop in stops]
    assert read_coding(written_lines(tmp_path, *lines)) == coding(strand, *segments)


def test_stop_codons_of_gff3_are_in_the_cds(tmp_path):
    lines = [("CDS", 1, 6, "+", "0", "ID=t 1"), ("stop_codon", 7, 9, "+", "0", "Parent=t 1")]
    assert read_coding(written_lines(tmp_path, *lines)) == coding("+", (0, 6, 0))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("CDS", 1, 4, "+", "x", GTF), "phase 'x' of a coding segment; expected 0, 1 or 2, or ."),
        (("CDS", 1, 4, ".", "0", GTF), "strand '.' of a coding segment; expected + or -"),
        (("CDS", 1, 4, "+", "0", 'gene_id "g";'), "expected the attribute Parent, ID or transcr"),
        (("CDS", 1, 4, "+", ".", "ID=a;partial=true"), "no phase where the annotation cuts short"),
    ],
)
def test_wrong_lines_are_named(tmp_path, line, message):
    with pytest.raises(InputError) as caught:
        read_coding(written_lines(tmp_path, ("exon", 1, 4, "+", ".", GTF), line))
    assert "x.gtf, line 2: " in str(caught.value)
    assert message in str(caught.value)


def test_segments_that_abut_in_one_frame_are_one_and_repeated_lines_count_once(tmp_path):
    lines = [("cds", 1, 4, "+", "0", GTF), ("CDS", 5, 6, "+", "2", GTF)]
    lines += [("coding_exon", 11, 16, "+", "0", GTF)] * 2
    assert read_coding(written_lines(tmp_path, *lines)) == coding("+", (0, 6, 0), (10, 16, 0))
    lines = [("CDS", 11, 14, "-", ".", GTF), ("CDS", 5, 10, "-", ".", GTF)]
    assert read_coding(written_lines(tmp_path, *lines)) == coding("-", (4, 14, 0))
    # a frame that does not go on is a frameshift, which training leaves out
    lines = [("CDS", 1, 4, "+", "0", GTF), ("CDS", 5, 6, "+", "0", GTF)]
    assert read_coding(written_lines(tmp_path, *lines)) == coding("+", (0, 4, 0), (4, 6, 0))


def test_a_file_without_coding_segments_names_its_features(tmp_path):
    lines = [("exon", 1, 4, "+", ".", GTF), ("gene", 1, 4, "+", ".", GTF)]
    with pytest.raises(InputError, match="x.gtf: no CDS among the features exon, gene; expected"):
        read_coding(written_lines(tmp_path, *lines))


def test_coding_sequences_without_a_strand_are_left_out(tmp_path, caplog):
    """As those of trans-spliced genes, which lie on both."""
    lines = [("CDS", 1, 4, "+", "0", "ID=rps12"), ("CDS", 11, 14, "-", ".", "ID=rps12")]
    lines += [("CDS", 1, 4, "?", "0", "ID=x"), ("CDS", 1, 6, "+", "0", "ID=t 1")]
    lines += [("CDS", 1, 4, "+", ".", "ID=y;partial=true")]
    path = written_lines(tmp_path, *lines)
    assert read_coding(path) == coding("+", (0, 6, 0))
    (warning,) = (record.message for record in caplog.records)
    assert warning == (
        "coding sequences without one strand or a first phase, left out: 3; the first: "
        f"{path}, line 2: coding sequence 'rps12' is on both strands; expected one strand"
    )
    with odd_items(strict=True), pytest.raises(InputError, match="line 2: coding sequence 'rps12'"):
        read_coding(path)
    with pytest.raises(InputError, match="line 2: coding sequence 'rps12' is on both strands"):
        read_coding(written_lines(tmp_path, *lines[:3]))
