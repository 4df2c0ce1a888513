"""The last line of commands."""

import logging
import re

import pytest

from gpu_tools.cli.common.options import _files
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


def test_the_log_says_what_was_chosen_and_why(pair, capsys):
    try:
        assert main([*pair, "--log-level", "debug"]) == 0
        said = capsys.readouterr().err
    finally:
        assert main([*pair, "--quiet"]) == 0  # sets the level back
    assert "gpu-tools: info: device cpu: alignments of whole sequences always run there\n" in said
    assert "functions were compiled, all others were in the cache\n" in said
    assert main([*pair]) == 0
    assert "info" not in capsys.readouterr().err


def test_what_libraries_log_is_not_shown(pair, capsys):
    main([*pair, "--quiet", "--device", "cuda:0"])  # looks for a GPU
    capsys.readouterr()
    library = logging.getLogger("numba.cuda.cudadrv.driver")
    library.setLevel(logging.CRITICAL)
    library.critical("pid 2 forked from pid 1")
    logging.getLogger("gpu_tools.somewhere").warning("seen")
    assert capsys.readouterr().err == "gpu-tools: warning: seen\n"


def test_the_log_says_why_it_is_this_device(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.txt").write_text("1\n-2\n3\n")
    words = ["max-segments", "--values", "v.txt", "--threads", "1", "--log-level", "info"]
    try:
        assert main([*words, "--device", "cpu"]) == 0
    finally:
        logging.getLogger("gpu_tools").setLevel("WARNING")
    assert "info: device cpu (as asked for), 1 threads of the CPU\n" in capsys.readouterr().err


def test_files_that_are_read_are_not_written():
    options = {"output": "o", "alignments": ("a",), "table": "t"}
    assert _files("annotate", options) == ["written to o, a, t"]
    assert _files("report", options) == ["written to o, t"]
