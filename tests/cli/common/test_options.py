"""The last line of commands, their log, and how long the rest takes."""

import logging
import re

import click
import pytest

from gpu_tools.cli.common.options import lines, outputs_of, time_left
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


@pytest.mark.parametrize(("command", "written"), [("annotate", "oat"), ("report", "ot")])
def test_files_that_are_read_are_not_written(command, written):
    options = {"output": "o", "alignments": ("a",), "table": "t"}
    with click.Context(click.Command(command), info_name=command):
        assert outputs_of(options) == list(written)


@pytest.mark.parametrize(
    ("seconds", "done", "total", "text"),
    [
        (10, 0, 100, ""),
        (10, 100, 100, ""),
        (10, 50, 100, ", about 10 s left"),
        (1, 99, 100, ", about 1 s left"),
        (60, 25, 100, ", about 3 min left"),
        (3600, 40, 100, ", about 1 h 30 min left"),
    ],
)
def test_the_rest_takes_as_long_as_what_is_done(seconds, done, total, text):
    assert time_left(seconds, done, total) == text


def test_compilation_does_not_count_for_what_is_left(capsys):
    times = iter((0, 30, 40, 50, 60))
    update = lines("aligning", 100, lambda: next(times))
    for done in (0, 20, 20, 60):
        update(done)
    assert capsys.readouterr().err.splitlines() == [
        "aligning: 0 %", "aligning: 20 %", "aligning: 40 %, about 30 s left", "aligning: 100 %",
    ]  # fmt: skip
