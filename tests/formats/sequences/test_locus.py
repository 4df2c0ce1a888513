import gzip
import os

import numpy as np
import pysam
import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.formats.sequences.locus import cut_loci, cut_locus, names_by_index, record_lengths
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import decode
from tests.formats.sequences.test_fasta import random_sequence, saved

LAYOUTS = ["plain", "plain with index", "bgzip", "gzip", "CR LF with index", "stale index"]


def laid_out(tmp_path, layout, sequences):
    path = tmp_path / ("x.fa.gz" if layout == "bgzip" else "x.fa")
    write_fasta(path, sequences)
    if layout == "gzip":
        path.write_bytes(gzip.compress(path.read_bytes()))
    if layout == "CR LF with index":
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    if "index" in layout:
        pysam.faidx(str(path))
    if layout == "stale index":
        write_fasta(path, sequences[::-1])
        os.utime(f"{path}.fai", (0, 0))
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_locus_is_cut_with_flanks_that_end_with_the_record(tmp_path, layout):
    sequence = random_sequence(length=1000)
    path = laid_out(tmp_path, layout, [random_sequence("other", 77, 1), sequence])
    for start, end, flank in [(100, 200, 0), (100, 200, 50), (20, 21, 30), (0, 1000, 5),
                              (999, 1000, 1), (0, 1, 10_000)]:  # fmt: skip
        cut = cut_locus(path, "chr", start, end, flank)
        low, high = max(0, start - flank), min(1000, end + flank)
        assert cut.name == f"chr:{low + 1}-{high}"
        assert cut.description == "record_length=1000"
        assert np.array_equal(cut.codes, sequence.codes[low:high])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_several_loci_come_in_their_order(tmp_path, layout):
    records = [random_sequence("other", 77, 1), random_sequence(length=1000)]
    path = laid_out(tmp_path, layout, records)
    loci = [Locus("chr", 900, 1000), Locus("other", 0, 7), Locus("chr", 5, 905)]
    cut = cut_loci(path, loci)
    assert [(c.name, c.description) for c in cut] == [
        ("chr:901-1000", "record_length=1000"), ("other:1-7", "record_length=77"),
        ("chr:6-905", "record_length=1000"),
    ]  # fmt: skip
    symbols = {record.name: record.codes for record in records}
    for sequence, locus in zip(cut, loci, strict=True):
        assert np.array_equal(sequence.codes, symbols[locus.record][locus.start : locus.end])
    with pytest.raises(InputError, match="no record named 'third'"):
        cut_loci(path, [loci[0], Locus("third", 0, 1)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("record", "start", "end", "message"),
    [
        ("other", 0, 1, ": no record named 'other'"),
        ("chr", 900, 1001, ", record chr: locus 901-1001 does not lie within the sequence; "
                           "expected positions 1 to 1000, start not after end"),
        ("chr", -1, 5, ", record chr: locus 0-5 does not lie within the sequence; "
                       "expected positions 1 to 1000, start not after end"),
        ("chr", 5, 5, ", record chr: locus 6-5 does not lie within the sequence; "
                      "expected positions 1 to 1000, start not after end"),
    ],
)  # fmt: skip
def test_a_locus_that_is_not_there(tmp_path, layout, record, start, end, message):
    path = laid_out(tmp_path, layout, [random_sequence()])
    with pytest.raises(InputError) as caught:
        cut_locus(path, record, start, end, 10)
    assert str(caught.value) == f"{path}{message}"


def test_the_index_is_used(tmp_path):
    # only a reader that goes by the index can overlook an illegal symbol elsewhere
    path = saved(tmp_path, b">a\n!CGT\nACGT\n>b\nA\n")
    pysam.faidx(str(path))
    assert decode(cut_locus(path, "a", 4, 8).codes) == "ACGT"
    with pytest.raises(InputError, match="record a, position 1: illegal symbol '!'"):
        cut_locus(path, "a", 0, 2)


def test_blanks_in_indexed_lines_do_not_shift_the_locus(tmp_path):
    path = saved(tmp_path, b">a\nAC GT\nAC GT\n")
    pysam.faidx(str(path))
    for start in range(8):
        assert decode(cut_locus(path, "a", start, 8).codes) == "ACGTACGT"[start:]


@pytest.mark.parametrize("line", [b"AC GTAC\n", b"ACGTAC \n", b" 1 ACGTAC\n"])
@pytest.mark.parametrize("index", [None, pysam.faidx])
def test_blanks_are_no_symbols_of_indexed_files(tmp_path, line, index):
    path = saved(tmp_path, b">a\n" + line * 3)
    if index:
        index(str(path))
    symbols = "ACGTAC" * 3
    for start in range(18):
        for end in (start + 1, start + 3, 18):
            assert decode(cut_locus(path, "a", start, min(end, 18)).codes) == symbols[start:end]


OTHER_FILES = {
    "longer lines": b">a\n" + b"ACGTACGTAA\n" * 20,
    "a longer header": b">a of b\n" + b"ACGTA\n" * 40,
    "another length": b">a\n" + b"ACGTA\n" * 300,
    "another record before": b">b\nACG\n>a\n" + b"ACGTA\n" * 40,
    "one line": b">a\n" + b"ACGTA" * 40,
}


@pytest.mark.parametrize("other", OTHER_FILES)
def test_an_index_that_does_not_fit_is_made_anew(tmp_path, other):
    path = saved(tmp_path, b">a\n" + b"CATGA\n" * 40)
    pysam.faidx(saved(tmp_path, OTHER_FILES[other], "other").as_posix())
    (tmp_path / "x.fa.fai").write_bytes((tmp_path / "other.fai").read_bytes())
    stale = (tmp_path / "x.fa.fai").read_bytes()
    assert record_lengths(path) == {"a": 200}
    (tmp_path / "x.fa.fai").write_bytes(stale)
    symbols = "CATGA" * 40
    for start, end in [(0, 3), (101, 108), (190, 200)]:
        assert decode(cut_locus(path, "a", start, end).codes) == symbols[start:end]


@pytest.mark.parametrize("other", [*OTHER_FILES, "the same with other blocks"])
def test_an_index_of_another_bgzip_file_is_made_anew(tmp_path, other):
    """A copy of a folder can make an index newer than a file that has changed since."""
    path, text = tmp_path / "x.fa.gz", b">z\n" + b"CCATG\n" * 30000 + b">a\n" + b"CATGA\n" * 40
    bgzip(path, OTHER_FILES.get(other) or text, 9)
    pysam.faidx(str(path))
    stale = {p: p.read_bytes() for p in tmp_path.glob("x.fa.gz.*i")}
    bgzip(path, text, 1)
    symbols = "CATGA" * 40
    for start, end in [(0, 3), (101, 108), (190, 200)]:
        for index, content in stale.items():
            index.write_bytes(content)
        assert decode(cut_locus(path, "a", start, end).codes) == symbols[start:end]
    for index, content in stale.items():
        index.write_bytes(content)
    assert record_lengths(path) == {"z": 150000, "a": 200}


def bgzip(path, content, level):
    with pysam.BGZFile(str(path), f"wb{level}") as stream:
        stream.write(content)


@pytest.mark.parametrize("kind", ["plain", "bgzip"])
def test_a_missing_index_is_made_and_kept(tmp_path, kind):
    sequence = random_sequence(length=500)
    path = tmp_path / ("x.fa.gz" if kind == "bgzip" else "x.fa")
    write_fasta(path, [sequence])
    indexes = [tmp_path / f"{path.name}{suffix}" for suffix in (".fai", ".gzi")]
    indexes = indexes if kind == "bgzip" else indexes[:1]
    for index in indexes:
        index.unlink(missing_ok=True)
    assert np.array_equal(cut_locus(path, "chr", 50, 130).codes, sequence.codes[50:130])
    assert {p.name for p in tmp_path.iterdir()} == {path.name, *(p.name for p in indexes)}
    with pysam.FastaFile(str(path)) as fasta:
        assert fasta.fetch("chr", 50, 130) == decode(sequence.codes[50:130])


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_stays_without_an_index(tmp_path):
    path = saved(tmp_path, b">a\nACGT\nAC\n")
    tmp_path.chmod(0o500)
    try:
        assert decode(cut_locus(path, "a", 2, 6).codes) == "GTAC"
    finally:
        tmp_path.chmod(0o700)
    assert [p.name for p in tmp_path.iterdir()] == ["x.fa"]


def test_an_index_that_cannot_be_kept(tmp_path):
    """A folder of the index's name stands for a place that cannot be written."""
    path = saved(tmp_path, b">a\nACGT\nAC\n")
    (tmp_path / "x.fa.fai").mkdir()
    assert decode(cut_locus(path, "a", 2, 6).codes) == "GTAC"


@pytest.mark.parametrize(
    "data",
    [
        b">a\nacgu\nACGTACGT\nAC\n",
        b">a\r\nACGT\r\nACGT\r\nACGTAC",
        b">a\nACGT\r\nACGTA\nCGT\r\nAC\n",
        b">a\nACGT\n\nACGTACGT\nAC\n",
        b">a b c\n" + b"ACGT" * 3 + b"AC",
        b">a\nACGTACGTACGTAC\n\n\n",
        b"@a\nACGTACGTACGTAC\n+\nIIIIIIIIIIIIII\n",
    ],
)
@pytest.mark.parametrize("name", ["x.fa", "x.fa.gz"])
def test_lines_of_every_kind(tmp_path, data, name):
    path = saved(tmp_path, data, name)
    for start in range(14):
        assert decode(cut_locus(path, "a", start, 14).codes) == ("ACGT" * 4)[start:14]
    assert record_lengths(path) == {"a": 14}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b">a\nACGT\n>b\nA\n>a\nTTTT\n", ", line 5, record a: duplicate name, with another "
                                         "sequence"),
        (b">b\nA\n>a\n", ": no record named 'a'"),
        (b">b\n>a\n", ", line 1, record b: no symbols"),
        (b"", ": no record; expected FASTA with at least one record"),
        (b"ACGT\n", ", line 1: text before the first record; expected FASTA, a header line "
                    "that begins with >"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["plain", "bgzip"])
def test_files_that_cannot_be_indexed_are_bad_as_when_read(tmp_path, data, message, kind):
    path = saved(tmp_path, data)
    if kind == "bgzip":
        bgzip(path, data, 6)
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            cut_locus(path, "a", 1, 3)
        assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_and_lengths(tmp_path, layout):
    path = laid_out(tmp_path, layout, [random_sequence("other", 77, 1), random_sequence()])
    assert record_lengths(path) == {"other": 77, "chr": 1000}


@pytest.mark.parametrize("junk", [b"\xff\n", b"a\tx\ty\tz\t1\n", b"a\n", b""])
def test_an_index_that_is_none_is_not_used(tmp_path, junk):
    path = saved(tmp_path, b">a\nACGT\n")
    saved(tmp_path, junk, "x.fa.fai")
    assert decode(cut_locus(path, "a", 1, 3).codes) == "CG"


def test_names_come_from_an_index_only_if_it_fits(tmp_path):
    """One that a copy made newer than its file, and of other records, does not."""
    path, index = tmp_path / "x.fa", tmp_path / "x.fa.fai"
    path.write_text(">a\nACGT\n>b\nACG\n")
    assert names_by_index(path) is None
    assert not index.exists()
    record_lengths(path)
    assert names_by_index(path) == ["a", "b"]
    index.write_text(index.read_text().replace("b", "c"))
    assert names_by_index(path) is None
