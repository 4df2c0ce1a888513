"""``gpu-tools spliced-estimate``, run in process."""

import csv

import pytest

from gpu_tools.cli import spliced_align
from gpu_tools.cli.main import main
from gpu_tools.cli.spliced_estimate import COLUMNS, FIGURES, MEASURED
from gpu_tools.estimate import api, figures
from gpu_tools.estimate.figures import Sample

BED = "".join(f"s\t{a}\t{b}\n" for a, b in [(0, 2), (2, 4), (3, 5), (5, 8), (7, 9)])
INPUTS = ("--base", "s.fa", "--exons", "e.bed", "--targets", "t.fa", "--device", "cpu")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The source's worked example in the working folder, and a cache of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts = {"s.fa": ">s\nACCGTATGT\n", "t.fa": ">t\nccggu\n", "e.bed": BED}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def timed(monkeypatch):
    """Calls that are not made, but take a second each; the devices that they are timed on."""
    devices = []

    def least_seconds(calls, device, tell=None, weights=None):
        devices.append(device)
        return [1.0] * len(calls)

    tiny = {key: (Sample(300, 2, 20, 20),) for key in figures.SAMPLES}
    monkeypatch.setattr(figures, "SAMPLES", tiny)
    monkeypatch.setattr(figures, "least_seconds", least_seconds)
    return devices


def run(*arguments):
    return main(["spliced-estimate", *arguments, "--output", "out.tsv"])


def table():
    with open("out.tsv", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_worked_example_of_the_source(capsys):
    assert run(*INPUTS, "--histograms", "h.tsv", "--threads", "1") == 0
    (row,) = table()
    assert tuple(row) == COLUMNS
    expected = {
        "base": "s", "target": "t", "cells": "55", "groups": "3", "longest_chain": "3",
        "sequential": "55", "intra_exon": "31", "inter_exon": "19", "site_cells": "90",
    }  # fmt: skip
    assert expected.items() <= row.items()
    text = "histogram\tfrom\tto\tcount\nexon_length\t1\t32\t5\ngroup_size\t1\t1\t1\n"
    with open("h.tsv", encoding="utf-8") as stream:
        assert stream.read().startswith(text)
    said = capsys.readouterr().err
    assert "done: 1 case, about" in said
    assert " in list mode on NVIDIA H200; device cpu" in said
    assert "h.tsv" in said.partition("written to")[2]


def test_calls_have_the_time_of_all_cases_by_mode_and_device(folder):
    (folder / "t.fa").write_text(">t\nccggu\n>u\nccggu\n")
    assert run(*INPUTS, "--calls", "c.tsv") == 0
    with open("c.tsv", encoding="utf-8") as stream:
        rows = {(row["mode"], row["kind"]): row for row in csv.DictReader(stream, delimiter="\t")}
    assert list(rows) == [(mode, kind) for mode in ("list", "site") for kind in ("cpu", "gpu")]
    alone = float(table()[0]["list_cpu_seconds"])
    assert alone < float(rows["list", "cpu"]["seconds"]) < 2 * alone


def test_site_mode_needs_no_candidates(folder):
    arguments = (*INPUTS[:2], *INPUTS[4:], "--mode", "site", "--calls", "c.tsv")
    assert run(*arguments) == 0
    (row,) = table()
    assert (row["n_exons"], row["site_cells"]) == ("0", "90")
    assert "list" not in (folder / "c.tsv").read_text()


def test_measured_times_have_a_relative_error(timed, capsys):
    assert run(*INPUTS, "--measure", "--mode", "site") == 0
    (row,) = table()
    assert tuple(row) == COLUMNS + MEASURED
    error = float(row["site_cpu_seconds"]) - 1
    assert float(row["relative_error"]) == pytest.approx(error, abs=1e-4)
    assert f"relative error median {-error:.1%}, 95th percentile" in capsys.readouterr().err
    assert timed == ["cpu"]


def test_a_calibration_is_stored_and_renewed_for_another_version(timed, monkeypatch, capsys):
    assert run("--calibrate", "--device", "cpu") == 0
    rows = table()
    assert tuple(rows[0]) == FIGURES
    assert {row["device"] for row in rows} == {figures.device_name("cpu")}
    assert len(timed) == 2  # list mode and site mode
    assert run(*INPUTS) == 0
    assert len(timed) == 2
    monkeypatch.setattr(figures, "installed_version", lambda: "later")
    monkeypatch.setattr(figures, "installed_version", lambda: "later")
    assert run(*INPUTS, "--no-calibrate") == 0
    assert len(timed) == 2
    assert run(*INPUTS) == 0
    assert len(timed) == 4
    assert run(*INPUTS) == 0
    assert len(timed) == 4
    assert capsys.readouterr().err.count("error") == 0


def test_long_alignments_tell_before_how_long_they_take(monkeypatch, capsys):
    monkeypatch.setattr(spliced_align, "_CELLS_TOLD", 0)
    monkeypatch.setattr(spliced_align, "_aligned", lambda *given: ([], []))
    monkeypatch.setattr(api, "expected_seconds", lambda cases, kind, threads: 125.0)
    told = "aligning: 0 %, about 2 min left by the time model\n"
    for options, expected in (((), True), (("--quiet",), False), (("--coding",), False)):
        assert main(["spliced-align", *INPUTS, *options, "--output", "out.tsv"]) == 0
        assert (told in capsys.readouterr().err) == expected
