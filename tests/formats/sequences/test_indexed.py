"""Indexes beside FASTA files: when they are read and when they are made anew."""

import os

import pytest

from gpu_tools import Sequence
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.formats.sequences.locus import indexed_files

SECOND = 1_000_000_000


@pytest.mark.parametrize(("seconds", "kept"), [(0, True), (1, True), (3, False)])
def test_an_index_that_is_little_older_than_its_file_is_read(tmp_path, seconds, kept):
    path = tmp_path / "x.fa.gz"
    write_fasta(path, [Sequence.from_text("x", "ACGT" * 40)])
    time = path.stat().st_mtime_ns - seconds * SECOND
    indexes = [path.with_suffix(f".gz{suffix}") for suffix in (".fai", ".gzi")]
    for index in indexes:
        os.utime(index, ns=(time, time))
    file = next(indexed_files(path))
    assert file.lengths == {"x": 160}
    assert all((index.stat().st_mtime_ns == time) is kept for index in indexes)
