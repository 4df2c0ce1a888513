"""Texts in chunks of any size are those read whole."""

import gzip

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import read_fasta, stream_bytes, stream_fasta
from gpu_tools.matching import ALPHABETS
from gpu_tools.model.sequences import decode

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
