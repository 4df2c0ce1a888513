import gzip
import io
import sys

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.sequences import Sequence, decode


def saved(tmp_path, data, name="x.fa"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def random_sequence(name="chr", length=1000, seed=0):
    codes = np.random.default_rng(seed).integers(0, 5, length).astype(np.uint8)
    return Sequence(name, codes)


def same(first, second):
    return [(s.name, s.description, decode(s.codes)) for s in first] == [
        (s.name, s.description, decode(s.codes)) for s in second
    ]


def test_names_descriptions_case_u_blank_lines_and_line_ends(tmp_path):
    path = saved(tmp_path, b"\n>a  one two \r\nACgu\r\n\r\nnR\n>b\nT")
    first, second = read_fasta(path)
    assert (first.name, first.description, decode(first.codes)) == ("a", "one two", "ACGTNN")
    assert (second.name, second.description, decode(second.codes)) == ("b", "", "T")


@pytest.mark.parametrize("name", ["x.fa", "x.fa.gz"])
@given(
    lengths=st.lists(st.sampled_from([1, 59, 60, 61, 120, 333]), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
@settings(max_examples=15, deadline=None)
def test_what_is_written_is_read(tmp_path_factory, name, lengths, seed):
    path = tmp_path_factory.mktemp("fasta") / name
    sequences = [random_sequence(f"s{k}", n, seed + k) for k, n in enumerate(lengths)]
    write_fasta(path, sequences)
    assert same(read_fasta(path), sequences)
    with pysam.FastxFile(str(path)) as lines:
        assert [(r.name, r.sequence) for r in lines] == [
            (s.name, decode(s.codes)) for s in sequences
        ]


def test_lines_of_sixty_symbols(tmp_path):
    write_fasta(tmp_path / "x.fa", [Sequence.from_text("a", "A" * 121, "of one")])
    assert (tmp_path / "x.fa").read_text() == f">a of one\n{'A' * 60}\n{'A' * 60}\nA\n"


def test_bgzip_is_written_with_indexes_that_work(tmp_path):
    path, sequence = tmp_path / "x.fa.gz", random_sequence(length=200_000)
    write_fasta(path, [random_sequence("other"), sequence])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.fa.gz", "x.fa.gz.fai", "x.fa.gz.gzi"]
    with pysam.FastaFile(str(path)) as fasta:
        assert fasta.fetch("chr", 150_000, 150_100) == decode(sequence.codes[150_000:150_100])
    with gzip.open(path) as stream:
        assert stream.read(7) == b">other\n"


def test_plain_gzip_and_standard_input(tmp_path, monkeypatch):
    data = gzip.compress(b">a\nACGT\n")
    assert decode(read_fasta(saved(tmp_path, data))[0].codes) == "ACGT"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    assert decode(read_fasta("-")[0].codes) == "ACGT"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": no record; expected FASTA with at least one record"),
        (b"\n \n", ": no record; expected FASTA with at least one record"),
        (b"\nACGT\n>a\nA\n", ", line 2: text before the first record; expected FASTA, "
                             "a header line that begins with >"),
        (bytes(range(256)), ", line 1: text before the first record; expected FASTA, "
                            "a header line that begins with >"),
        (b">a\nA\n>\nA\n", ", line 3: record without a name; expected >NAME"),
        (b">a\nA\n> b\nA\n", ", line 3: record without a name; expected >NAME"),
        (b">a\nA\n>b\nA\n>a x\nA\n", ", line 5, record a: duplicate name"),
        (b">a\n>b\nA\n", ", line 1, record a: no symbols"),
        (b">b\nA\n>a\n\n", ", line 3, record a: no symbols"),
        (b">a\nAC\n>b\nACGT\r\n\nAC-T\n", ", line 6, record b, position 7: illegal symbol '-'; "
                                          "expected IUPAC nucleotide letters"),
        (b">a\nAC GT\n", ", line 2, record a, position 3: illegal symbol ' '; "
                         "expected IUPAC nucleotide letters"),
        (b">a\n\x00A\n", ", line 2, record a, position 1: illegal symbol 0x00; "
                         "expected IUPAC nucleotide letters"),
        (b">\xff\xfe\nA\n", ", line 1: header is not UTF-8 text"),
    ],
)  # fmt: skip
def test_errors_name_line_record_and_position(tmp_path, data, message):
    path = saved(tmp_path, data)
    with pytest.raises(InputError) as caught:
        read_fasta(path)
    assert str(caught.value) == f"{path}{message}"


FASTQ = b"@a first read\nACgu\n+\nIIII\n@b\nTN\n+b\n@>\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_fastq_is_read_without_its_qualities(tmp_path, monkeypatch, pack):
    first, second = read_fasta(saved(tmp_path, pack(FASTQ), "x.fastq"))
    assert (first.name, first.description, decode(first.codes)) == ("a", "first read", "ACGT")
    assert (second.name, second.description, decode(second.codes)) == ("b", "", "TN")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(FASTQ)))))
    assert same(read_fasta("-"), [first, second])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"@a\nACGT\n+\nII\n", ": broken FASTQ in the first record; expected a quality"),
        (b"@a\nACGT\n", ": broken FASTQ in or behind record a; expected a quality"),
        (b"@a\nAC!T\n+\nIIII\n", ", record a, position 3: illegal symbol '!'"),
        (b"@a\nA\n+\nI\n@a\nA\n+\nI\n", ", record a: duplicate name"),
        (b"@a\n\n+\n\n", ", record a: no symbols"),
        (b"@\nA\n+\nI\n", ": record without a name"),
    ],
)
def test_errors_of_fastq(tmp_path, data, message):
    path = saved(tmp_path, data)
    with pytest.raises(InputError) as caught:
        read_fasta(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_cut_off_fastq(tmp_path):
    data = gzip.compress(b"".join(b"@r%d\nACGTACGT\n+\nIIIIIIII\n" % k for k in range(5000)))
    with pytest.raises(InputError, match="broken"):
        read_fasta(saved(tmp_path, data[: len(data) // 2]))


@pytest.mark.parametrize("keep", [5, 30, -4])
def test_truncated_compression(tmp_path, keep):
    data = gzip.compress(b">a\n" + decode(random_sequence().codes).encode())
    with pytest.raises(InputError, match=r"x.fa: broken compression .*complete gzip or bgzip"):
        read_fasta(saved(tmp_path, data[:keep]))


def test_corrupt_compression(tmp_path):
    data = bytearray(gzip.compress(b">a\n" + decode(random_sequence().codes).encode()))
    data[len(data) // 2] ^= 255
    with pytest.raises(InputError, match=r"x.fa: broken compression"):
        read_fasta(saved(tmp_path, bytes(data)))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"none.fa: cannot be read .No such file"):
        read_fasta(tmp_path / "none.fa")


def test_a_bgzip_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OutputError, match=r"x\.fa\.gz: cannot be indexed"):
        write_fasta(tmp_path / "x.fa.gz", [])
    assert not list(tmp_path.iterdir())
