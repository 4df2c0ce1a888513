"""What cannot be done is told before anything is read."""

import gzip
import io
import os
import sys
from types import SimpleNamespace

import pytest

from gpu_tools.cli.main import main
from gpu_tools.formats import files
from gpu_tools.hardware import own_files
from tests.cli.damage import COMMANDS, FILES
from tests.fuzz.targets import MORE_COMMANDS

LINES = {
    " ".join(line): line
    for line in (*COMMANDS, *MORE_COMMANDS)
    if not {"devices", "--region"} & {*line}
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", LINES)
def test_an_output_that_cannot_be_written_is_told_first(folder, capsys, line):
    """None of the inputs exists, so the first error tells what is looked at first."""
    assert main([*LINES[line], "--output", "none/out", "--quiet"]) == 1
    expected = "gpu-tools: error: none/out: cannot be written (there is no folder none)\n"
    assert capsys.readouterr().err == expected


def test_a_full_disk_is_told_first(folder, capsys, monkeypatch):
    monkeypatch.setattr(files, "free_disk", lambda path: 0)
    assert main(["max-segments", "--values", "none.txt", "--output", "out"]) == 1
    assert (
        "out: cannot be written (it takes 1 bytes; the disk has 0 left)" in capsys.readouterr().err
    )


MEMORY = {
    "spliced-align --base base.fa --exons exons.tsv --targets base.fa": (
        2000, "record chr1 with chr1: 3 ends of candidates times 1,500 symbols take 0.0 GiB of"
    ),
    "max-submatrix --dot-plot base.fa base.fa": (2000, "1,500 times 1,500 cells take 0.0 GiB"),
    "spliced-align --base base.fa --exons exons.tsv --targets target.fa": (
        1000, "base.fa: its records take 0.0 GiB of memory; expected at most the 0.0 GiB"
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", MEMORY)
def test_memory_that_is_not_there(folder, capsys, monkeypatch, command):
    for name in ("base.fa", "exons.tsv", "target.fa"):
        (folder / name).write_bytes(FILES[name])
    available, expected = MEMORY[command]
    monkeypatch.setattr(own_files, "available_memory", lambda: available)
    assert main([*command.split(), "--device", "cpu", "--output", "out", "--quiet"]) == 1
    assert expected in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_a_stream_that_explodes(folder, capsys, monkeypatch):
    """Of a pipe nobody knows how long it is: what is read of it is counted."""
    monkeypatch.setattr(files, "_HARMLESS", 1_000_000)
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(b">a\n" + b"A" * 8_000_000)[:60_000])
    os.close(writing)
    with open(reading, "rb") as stream:
        monkeypatch.setattr(
            sys,
            "stdin",
            SimpleNamespace(buffer=io.BufferedReader(stream.raw), fileno=stream.fileno),
        )
        assert main(["sequences", "translate", "--fasta", "-", "--output", "out"]) == 1
    assert "it becomes more than 200 times as large" in capsys.readouterr().err
