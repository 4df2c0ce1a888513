"""Coding sequences of GTF, and of files without phases."""

import gzip

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.odd import odd_items
from gpu_tools.model.annotation import CodingSegment, CodingSequence

GTF = 'transcript_id "t 1"; gene_id "g";'


def written(tmp_path, *lines, name="x.gtf"):
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
    path = written(tmp_path, *lines)
    assert read_coding(path) == expected
    assert read_coding(path)["chr"][0].line == 1
    packed = tmp_path / "x.gtf.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_coding(packed) == expected


def test_phases_follow_the_reading_direction(tmp_path):
    lines = [("CDS", 1, 5, "-", ".", "ID=t 1"), ("CDS", 11, 14, "-", ".", "ID=t 1")]
    assert read_coding(written(tmp_path, *lines)) == coding("-", (10, 14, 0), (0, 5, 2))
    lines[1] = ("CDS", 11, 14, "-", "2", "ID=t 1")
    assert read_coding(written(tmp_path, *lines)) == coding("-", (10, 14, 2), (0, 5, 1))


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
    assert read_coding(written(tmp_path, *lines)) == coding(strand, *segments)


def test_stop_codons_of_gff3_are_in_the_cds(tmp_path):
    lines = [("CDS", 1, 6, "+", "0", "ID=t 1"), ("stop_codon", 7, 9, "+", "0", "Parent=t 1")]
    assert read_coding(written(tmp_path, *lines)) == coding("+", (0, 6, 0))


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
        read_coding(written(tmp_path, ("exon", 1, 4, "+", ".", GTF), line))
    assert "x.gtf, line 2: " in str(caught.value)
    assert message in str(caught.value)


def test_segments_that_abut_in_one_frame_are_one_and_repeated_lines_count_once(tmp_path):
    lines = [("cds", 1, 4, "+", "0", GTF), ("CDS", 5, 6, "+", "2", GTF)]
    lines += [("coding_exon", 11, 16, "+", "0", GTF)] * 2
    assert read_coding(written(tmp_path, *lines)) == coding("+", (0, 6, 0), (10, 16, 0))
    lines = [("CDS", 11, 14, "-", ".", GTF), ("CDS", 5, 10, "-", ".", GTF)]
    assert read_coding(written(tmp_path, *lines)) == coding("-", (4, 14, 0))
    # a frame that does not go on is a frameshift, which training leaves out
    lines = [("CDS", 1, 4, "+", "0", GTF), ("CDS", 5, 6, "+", "0", GTF)]
    assert read_coding(written(tmp_path, *lines)) == coding("+", (0, 4, 0), (4, 6, 0))


def test_a_file_without_coding_segments_names_its_features(tmp_path):
    lines = [("exon", 1, 4, "+", ".", GTF), ("gene", 1, 4, "+", ".", GTF)]
    with pytest.raises(InputError, match="x.gtf: no CDS among the features exon, gene; expected"):
        read_coding(written(tmp_path, *lines))


def test_coding_sequences_without_a_strand_are_left_out(tmp_path, caplog):
    """As those of trans-spliced genes, which lie on both."""
    lines = [("CDS", 1, 4, "+", "0", "ID=rps12"), ("CDS", 11, 14, "-", ".", "ID=rps12")]
    lines += [("CDS", 1, 4, "?", "0", "ID=x"), ("CDS", 1, 6, "+", "0", "ID=t 1")]
    lines += [("CDS", 1, 4, "+", ".", "ID=y;partial=true")]
    path = written(tmp_path, *lines)
    assert read_coding(path) == coding("+", (0, 6, 0))
    (warning,) = (record.message for record in caplog.records)
    assert warning == (
        "coding sequences without one strand or a first phase, left out: 3; the first: "
        f"{path}, line 2: coding sequence 'rps12' is on both strands; expected one strand"
    )
    with odd_items(strict=True), pytest.raises(InputError, match="line 2: coding sequence 'rps12'"):
        read_coding(path)
    with pytest.raises(InputError, match="line 2: coding sequence 'rps12' is on both strands"):
        read_coding(written(tmp_path, *lines[:3]))
