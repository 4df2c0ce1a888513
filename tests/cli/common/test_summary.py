"""The last line of commands."""

import re

import pytest

from gpu_tools.cli.main import main


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.fa").write_text(">a\nACGTACGTTT\n")
    (tmp_path / "b.fa").write_text(">b\nACGTACGTAA\n>c\nACGT\n")
    return ["global-align", "--query", "a.fa", "--subject", "b.fa", "--device", "cpu"]


def test_it_says_what_was_done_where_and_to_which_files(pair, capsys):
    assert main([*pair, "--alignments", "x.paf", "--output", "o.tsv"]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    cost = r"\d+\.\d s, [\d.]+ GB of memory"
    assert re.fullmatch(rf"done: 2 pairs; device cpu; {cost}; written to o\.tsv, x\.paf", last)


def test_quiet_commands_and_failed_ones_say_nothing(pair, capsys):
    assert main([*pair, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*pair, "--subject", "none.fa"]) == 1
    assert "done" not in capsys.readouterr().err
