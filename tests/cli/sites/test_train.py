"""``gpu-tools sites train``, and the warnings of models that do not suit."""

import gzip
import io
import sys

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.model.sequences import decode
from gpu_tools.sites.model import load_sites
from tests.sites.cases import annotated, fields_of, intron


def write(folder, record):
    text = f">{record.sequence.name}\n{decode(record.sequence.codes)}\n"
    (folder / "genome.fa").write_text(text)
    (folder / "genes.gtf.gz").write_bytes(gzip.compress("".join(fields_of(record)).encode()))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, annotated([intron(length) for length in range(30, 50)], "-"))
    return tmp_path


def train(*arguments):
    inputs = "--genome", "genome.fa", "--annotation", "genes.gtf.gz", "--quiet"
    return main(["sites", "train", *inputs, *arguments])


def table(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert rows[0] == ["quantity", "value", "share"]
    return {row[0]: row[1:] for row in rows[1:]}


def test_model_and_report(files, capsys):
    assert train("--name", "mine", "--report", "seen.tsv", "--output", "mine.json") == 0
    assert "only 20 distinct introns" in capsys.readouterr().err
    model = load_sites("mine.json")
    assert (model.name, model.shortest_intron) == ("mine", 27)
    assert model.source == "20 introns of 20 coding sequences: genome.fa, genes.gtf.gz"
    seen = table(files / "seen.tsv")
    assert seen["distinct introns GT-AG"] == ["20", "1.0000"]
    assert seen["donors per kb"] == [str(model.sites_per_kb.donors), "."]
    assert train("--source", "the moon", "--output", "other.json") == 0
    assert load_sites("other.json").source == "the moon"


def test_gff3_with_phases_gives_the_same_model(files):
    assert train("--source", "x", "--output", "gtf.json") == 0
    record = annotated([intron(length) for length in range(30, 50)], "-")
    lines = "".join(fields_of(record, phase="0")).replace("transcript_id ", "ID=").replace('"', "")
    (files / "genes.gtf.gz").write_text("##gff-version 3\n" + lines)
    assert train("--source", "x", "--output", "gff3.json") == 0
    assert (files / "gff3.json").read_text() == (files / "gtf.json").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("chr\t", "chr2\t", "genes.gtf.gz, line 1, record chr2: annotated, but not among the seq"),
        ("\t4", "\t9999", "lies after end"),
        ("\tCDS\t", "\texon\t", "genes.gtf.gz: no CDS among the features exon"),
        ("transcript_id", "name", "genes.gtf.gz, line 1: a coding segment without transcript"),
        ("\t-\t", "\t+\t", "genes.gtf.gz: none of 20 coding sequences reads from ATG"),
    ],
)
def test_wrong_annotation(files, capsys, old, new, message):
    lines = gzip.decompress((files / "genes.gtf.gz").read_bytes()).decode()
    (files / "genes.gtf.gz").write_text(lines.replace(old, new))
    assert train("--report", "seen.tsv", "--output", "mine.json") == 1
    assert message in capsys.readouterr().err
    assert {path.name for path in files.iterdir()} <= {"genome.fa", "genome.fa.fai", "genes.gtf.gz"}


def test_a_segment_outside_names_its_line(files, capsys):
    (files / "genome.fa").write_text(">chr\nACGT\n")
    assert train("--output", "mine.json") == 1
    assert "genes.gtf.gz, line 1, record chr: coding segment" in capsys.readouterr().err


def test_genes_without_introns(files, capsys):
    record = annotated([""])  # two segments that touch
    write(files, record)
    assert train("--output", "mine.json") == 1
    assert "no intron from GT to AG to train on; expected coding seq" in capsys.readouterr().err


def test_standard_input_is_one_file(files, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["sites", "train", "--genome", "-", "--annotation", "-"]) == 1
    assert "more than one input is standard input" in capsys.readouterr().err


def align(*arguments):
    inputs = "--base", "genome.fa", "--targets", "t.fa", "--strand", "+", "--device", "cpu"
    return main(["spliced-align", *inputs, "--quiet", *arguments])


def test_site_counts_that_a_model_does_not_expect(files, capsys):
    (files / "t.fa").write_text(">t\nACGT\n")
    rng = np.random.default_rng(4)
    for letters, told in (("ACGT", False), ("AC", True)):
        text = "".join(rng.choice(list(letters), 6000))
        (files / "genome.fa").write_text(f">one\n{text}\n>two\n{text}\n")
        assert align("--site-model", "fly", "--output", "o.tsv") == 0
        shown = capsys.readouterr().err
        assert shown.count("where the site model fly expects 78 and 74") == told, shown


def test_introns_as_short_as_the_model_admits(files, capsys):
    rng = np.random.default_rng(9)
    exons = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(7)]
    (files / "t.fa").write_text(f">t\n{''.join(exons)}\n")
    for length, told in ((44, True), (60, False)):
        between = "GTAAGT" + "A" * (length - 26) + "TTTTTTTTTTTTTTTTTCAG"
        (files / "genome.fa").write_text(f">g\n{between.join(exons)}\n")
        assert align("--site-model", "fly", "--output", "o.tsv") == 0
        shown = capsys.readouterr().err
        assert ("6 of 6 introns have at most 3 nucleotides more" in shown) == told, shown
