import io
import sys

import pytest

from gpu_tools.cli.main import main

BED = "c\t10\t20\tInit\t1.5\t-\n"
TSV = "base\tstart\tend\tstrand\tscore\texon_type\tprobability\nc\t11\t20\t-\t1.5\tInit\t.\n"
GFF3 = "##gff-version 3\nc\tgpu-tools\texon\t11\t20\t1.5\t-\t.\texon_type=Init\n"


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "x.bed"
    path.write_text(BED)
    return path


@pytest.mark.parametrize(("form", "text"), [("tsv", TSV), ("gff3", GFF3), ("bed", BED)])
def test_convert(tmp_path, bed, form, text):
    output = tmp_path / "out"
    assert main(["exons", "convert", str(bed), "--to", form, "--output", str(output)]) == 0
    assert output.read_text() == text


def test_there_and_back_through_genscan(tmp_path, bed, capsys):
    output = tmp_path / "out"
    assert main(["exons", "convert", str(bed), "--to", "genscan", "--output", str(output)]) == 0
    assert main(["exons", "convert", str(output), "--to", "bed"]) == 0
    assert capsys.readouterr().out == BED


def test_standard_input_and_output(monkeypatch, capsys):
    stream = io.BufferedReader(io.BytesIO(BED.encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert main(["exons", "convert", "-", "--from", "bed", "--to", "tsv"]) == 0
    assert capsys.readouterr().out == TSV


def test_no_exon_is_a_warning(tmp_path, capsys):
    path = tmp_path / "x.bed"
    path.write_text("")
    assert main(["exons", "convert", str(path), "--to", "gff3"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "##gff-version 3\n"
    assert captured.err.splitlines()[0] == f"gpu-tools: warning: {path} holds no exon"
