import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import odd_items
from gpu_tools.formats.sequences.fasta import read_fasta, stream_bytes, stream_fasta, write_fasta
from gpu_tools.matching import ALPHABETS
from gpu_tools.model.sequences import Sequence, decode
from tests.formats.common import error_of, saved


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
        (b">a\nA\n>b\nA\n>a x\nC\n", ", line 5, record a: duplicate name, with another sequence"),
        (b">a\n>b\n\n", ", line 1, record a: no symbols"),
        (b">a\nA1 C\n", ", line 2, record a, position 2: illegal symbol '1'; expected IUPAC "
                        "nucleotide letters"),
        (b">a\nAC\n>b\nACGT\r\n\nAC-T\n", ", line 6, record b, position 7: illegal symbol '-'; "
                                          "expected IUPAC nucleotide letters"),
        (b">a\n\x00A\n", ", line 2, record a, position 1: illegal symbol 0x00; "
                         "expected IUPAC nucleotide letters"),
        (b">\xff\xfe\nA\n", ", line 1: the record's name is not UTF-8 text"),
    ],
)  # fmt: skip
def test_errors_name_line_record_and_position(tmp_path, data, message):
    path = saved(tmp_path, data)
    assert error_of(read_fasta, path) == f"{path}{message}"


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
        (b"@a\nA\n+\nI\n@a\nC\n+\nI\n", ", record a: duplicate name, with another sequence"),
        (b"@a\n\n+\n\n", ", record a: no symbols"),
        (b"@\nA\n+\nI\n", ": record without a name"),
        (b"@", ": no record; expected FASTQ with at least one record"),
    ],
)
def test_errors_of_fastq(tmp_path, data, message):
    path = saved(tmp_path, data)
    assert error_of(read_fasta, path).startswith(f"{path}{message}")


LONG = gzip.compress(b">a\n" + decode(random_sequence().codes).encode())
READS = gzip.compress(b"".join(b"@r%d\nACGTACGT\n+\nIIIIIIII\n" % k for k in range(5000)))
MIDDLE = len(LONG) // 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        *((LONG[:keep], "x.fa: broken compression .*complete compressed file")
          for keep in (5, 30, -4)),
        (LONG[:MIDDLE] + bytes([LONG[MIDDLE] ^ 255]) + LONG[MIDDLE + 1 :], "broken compression"),
        (READS[: len(READS) // 2], "broken"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "it is compressed by zstd; expected plain, gz"),
    ],
    ids=["cut", "cut later", "without end", "changed", "reads", "zstd"],
)  # fmt: skip
def test_broken_and_unknown_compression(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        read_fasta(saved(tmp_path, data))


LOSSLESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("pack", LOSSLESS)
@pytest.mark.parametrize("data", [b">a\nACGT\n", b"@a\nACGT\n+\nIIII\n"])
def test_compressed_files_are_known_by_their_first_bytes(tmp_path, pack, data):
    path = saved(tmp_path, LOSSLESS[pack](data[:5]) + LOSSLESS[pack](data[5:]))
    assert [decode(record.codes) for record in read_fasta(path)] == ["ACGT"]
    with pytest.raises(InputError, match=r"x.fa: broken compression"):
        read_fasta(saved(tmp_path, LOSSLESS[pack](data)[:-5]))


@pytest.mark.parametrize("data", [b">a b\nAC\nGT\n>b\nA\n", b"@a b\nACGT\n+\nIIII\n@b\nA\n+\nI\n"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_and_line_ends(tmp_path, data, end, mark):
    if data.startswith(b"@") and end == b"\r":
        return  # nothing writes FASTQ so
    records = read_fasta(saved(tmp_path, mark + data.replace(b"\n", end)))
    assert [(r.name, r.description, decode(r.codes)) for r in records] == [
        ("a", "b", "ACGT"), ("b", "", "A"),
    ]  # fmt: skip


ODD = b">a M\xfcller\nAC\n>e\n\n>a\nacgt\n>f\n>b\nA\n>a\nA\nC\n>b\nA\n"


def test_odd_records_are_left_out_with_one_warning_each(tmp_path, caplog):
    path = saved(tmp_path, ODD.replace(b"acgt", b"ac"))
    with odd_items(strict=False):
        for _ in range(2):
            a, b = read_fasta(path)
    assert (a.description, decode(a.codes), decode(b.codes)) == ("M\xfcller", "AC", "A")
    assert [record.message for record in caplog.records] == [
        f"headers that are not UTF-8, read as Latin-1: 1; the first: {path}, line 1, record a: "
        "header is not UTF-8 text",
        f"records without symbols, left out: 2; the first: {path}, line 3, record e: no symbols",
        f"repeated records, left out: 3; the first: {path}, line 5, record a: repeated record",
    ]
    with odd_items(strict=True), pytest.raises(InputError, match="line 1, record a: header is not"):
        read_fasta(path)
    with pytest.raises(InputError, match="line 5, record a: duplicate name, with another sequence"):
        read_fasta(saved(tmp_path, ODD))


def test_a_repeated_record_of_a_stream_cannot_be_compared(monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(ODD[ODD.index(b">f") :])))
    )
    with pytest.raises(InputError, match="standard input, line 7, record b: duplicate name"):
        read_fasta("-")


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"none.fa: cannot be read .No such file"):
        read_fasta(tmp_path / "none.fa")


def test_a_bgzip_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OutputError, match=r"x\.fa\.gz: cannot be indexed"):
        write_fasta(tmp_path / "x.fa.gz", [])
    assert not list(tmp_path.iterdir())


TABLE = ALPHABETS["dna"].text_table
TEXT = """\ufeff>t one
ACGTAC
GT RN\t

>none

>u\r\nttacgaa\r
>numbers
  1 acgtacgtac gtacgtacgt
 21 acg
>u
TTAC

GAA
>v
ACG"""
SYMBOLS = {"t": "ACGTACGTNN", "u": "TTACGAA", "numbers": "ACGT" * 5 + "ACG", "v": "ACG"}
BAD = [
    ("ACG\n>x\nA\n", "line 1: text before the first record"),
    (">x\nAC\nA!T\n", "line 3, record x, position 4: illegal symbol '!'"),
    (">x\n \n>y\n", "line 1, record x: no symbols"),
    (">x\nA\n>x\nC\n", "line 3, record x: duplicate name, with another sequence"),
    ("> x\nA\n", "line 1: record without a name"),
    ("\n\n", "no record"),
    ("", "no record"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_chunks_join_to_the_records(size, tmp_path):
    path = tmp_path / "text.fa.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    joined, ended = {}, []
    for chunk in stream_fasta(path, TABLE, "letters", size):
        joined.setdefault(chunk.name, []).append(chunk.codes)
        ended += [chunk.name] if chunk.last else []
    records = read_fasta(path)
    assert {record.name: decode(record.codes) for record in records} == SYMBOLS
    assert list(joined) == ended == [record.name for record in records]
    for record in records:
        assert (np.concatenate(joined[record.name]) == record.codes).all()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_fasta_is_refused_as_when_read_whole(text, message, size, tmp_path):
    path = tmp_path / "bad.fa"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as streamed:
        list(stream_fasta(path, TABLE, "IUPAC nucleotide letters", size))
    with pytest.raises(InputError) as whole:
        read_fasta(path)
    assert str(streamed.value) == str(whole.value)


def test_bytes_are_one_text(tmp_path):
    path = tmp_path / "any.bin"
    path.write_bytes(bytes(range(8)))
    found = list(stream_bytes(path, size=3))
    assert {chunk.name for chunk in found} == {"any.bin"}
    assert np.concatenate([chunk.codes for chunk in found]).tolist() == list(range(8))


def test_chunks_of_fastq_are_its_records(tmp_path):
    path = tmp_path / "reads.fastq"
    path.write_text("@r\nACGN\n+\nIIII\n@s\nTT\n+\nII\n")
    found = [(c.name, c.codes.tolist(), c.last) for c in stream_fasta(path, TABLE, "letters")]
    assert found == [("r", [0, 1, 2, 4], True), ("s", [3, 3], True)]


def test_parts_are_of_the_size_that_is_asked_for(tmp_path):
    """A part ends behind symbols, so that no position of a numbered line is cut; not much later."""
    path = tmp_path / "x.fa"
    path.write_text(">a\n" + "ACGTACGTA\n" * 400 + f">{'b' * 300}\n" + "ACGTACGTA\n" * 400)
    chunks = list(stream_fasta(path, TABLE, "letters", 200))
    assert {chunk.name for chunk in chunks} == {"a", "b" * 300}
    assert len(chunks) >= 36
    assert max(len(chunk.codes) for chunk in chunks) <= 290
