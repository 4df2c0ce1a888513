"""``gpu-tools local-align`` and ``global-align``, run in process."""

import sys

import pysam
import pytest

from gpu_tools.cli.common.pairwise import COLUMNS
from gpu_tools.cli.main import main
from gpu_tools.formats.alignments import dot_plot
from gpu_tools.formats.alignments.dot_plot import path_of
from gpu_tools.model.results import PairwiseAlignment

HEADER = "\t".join(COLUMNS) + "\n"
ROW = "q\ts\t1\t30\t3\t8\t1\t6\t1.0000\t6\t0\t6=\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "q.fa": ">q\nTTacguac\n", "s.fa": ">s\nACGTACGG\n",
        "p.fa": ">p\nMKVLAWCDEU\n", "t.fa": ">t\nMKVLGWCDEC\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(command, *arguments, query="q.fa", subject="s.fa"):
    inputs = ["--query", query, "--subject", subject, "--device", "cpu", "--quiet"]
    return main([command, *inputs, *arguments])


def test_local_table(files, capsys):
    assert run("local-align", "--k", "1") == 0
    assert capsys.readouterr().out == HEADER + ROW


def test_global_table(files, capsys):
    assert run("global-align", "--gap-open", "5", "--gap-extend", "1") == 0
    row = "q\ts\t1\t18\t1\t8\t1\t8\t0.6000\t10\t4\t2I6=2D\n"
    assert capsys.readouterr().out == HEADER + row


def test_nothing_to_find_is_an_empty_table(files, capsys):
    assert run("local-align", "--min-score", "31") == 0
    assert capsys.readouterr().out == HEADER


def test_k_is_ten_unless_told(files, capsys):
    (files / "q.fa").write_text(">q\nAAAAAAAAAAAAA\n")
    (files / "s.fa").write_text(">s\nCACACACACACACACACACACACACA\n")
    assert run("local-align", "--gap-open", "99", "--gap-extend", "99") == 0
    assert len(capsys.readouterr().out.splitlines()) == 11


def test_proteins_by_a_shipped_matrix_and_by_a_file(files, capsys):
    options = ["--gap-open", "11", "--gap-extend", "1", "--k", "1"]
    proteins = {"query": "p.fa", "subject": "t.fa"}
    assert run("local-align", "--matrix", "blosum62", *options, **proteins) == 0
    shipped = capsys.readouterr().out
    # U scores as C, but is another letter
    assert shipped.endswith("\t58\t1\t10\t1\t10\t0.8000\t10\t0\t4=1X4=1X\n")
    (files / "m.txt").write_text("# mine\n  A C\nA 3 -1\nC -1 2\n")
    (files / "p.fa").write_text(">p\nACCA\n")
    assert run("local-align", "--matrix", "m.txt", *options, query="p.fa", subject="p.fa") == 0
    assert "\t10\t1\t4\t1\t4\t" in capsys.readouterr().out


def test_both_strands_adds_a_column(files, capsys):
    (files / "s.fa").write_text(">s\nGTACGTTT\n")  # the query's reverse complement is GTACGTAA
    assert run("local-align", "--k", "1", "--both-strands") == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split("\t")[-1] == "strand"
    assert row == "q\ts\t1\t30\t3\t8\t1\t6\t1.0000\t6\t0\t6=\t-"


def test_alignments_in_every_format(files):
    names = [word for suffix in ("paf", "sam", "txt") for word in ("--alignments", f"a.{suffix}")]
    assert run("local-align", "--k", "2", "--output", "out.tsv", *names) == 0
    (first, *_) = (files / "a.paf").read_text().splitlines()
    assert first.startswith("q\t8\t2\t8\t+\ts\t8\t0\t6\t6\t6\t255\t")
    assert first.endswith("cg:Z:6=")
    with pysam.AlignmentFile("a.sam") as stream:
        records = list(stream)
    assert sum(not r.is_secondary for r in records) == 1
    best = next(r for r in records if not r.is_secondary)
    assert (best.cigarstring, best.reference_start, best.query_sequence) == ("2S6=", 0, "TTACGTAC")
    text = (files / "a.txt").read_text()
    assert "q         3 ACGTAC 8\n            ||||||\ns         1 ACGTAC 6\n" in text


def test_dot_plots_of_two_queries(files, capsys):
    (files / "r.fa").write_text(">r\nCCGTACGT\n")
    wanted = ["--query", "r.fa", "--both-strands", "--dot-plot"]
    for name in ("a.svg", "b.svg", "a.png"):
        assert run("local-align", *wanted, name, "--output", "out.tsv") == 0
    drawn = (files / "a.svg").read_text()
    assert drawn == (files / "b.svg").read_text()
    labels = [line.strip() for line in drawn.splitlines() if "<text" in line]
    assert sum(label.endswith((">q</text>", ">r</text>")) for label in labels) == 2
    assert (files / "a.png").read_bytes().startswith(b"\x89PNG")
    rows = [line.split("\t") for line in (files / "out.tsv").read_text().splitlines()[1:]]
    assert {row[0] for row in rows} == {"q", "r"}


def test_of_many_alignments_the_best_are_drawn(files, capsys, monkeypatch):
    monkeypatch.setattr(dot_plot, "MOST_LINES", 2)
    assert run("local-align", "--k", "9", "--dot-plot", "x.svg", "--output", "out.tsv") == 0
    found = (files / "out.tsv").read_text().count("\n") - 1
    assert f"q with s: the 2 best of {found} alignments are drawn" in capsys.readouterr().err
    assert (files / "x.svg").read_text().count("stroke-linecap: round") == 2


def test_statistics_add_columns(files, capsys):
    options = ["--k", "1", "--both-strands", "--statistics"]
    assert run("local-align", *options) == 0
    printed = capsys.readouterr().out
    assert run("local-align", *options, "--gap-open", "16", "--gap-extend", "6") == 0
    assert capsys.readouterr().out == printed, "penalties that are known are the default"
    header, row = printed.splitlines()
    assert header.split("\t")[-3:] == ["strand", "bits", "evalue"]
    # 0.163 * 30 - ln 0.068 over ln 2; 0.068 * 8 * 8 * 2 strands * e^-4.89
    assert row.split("\t")[-3:] == ["+", "10.9", "0.0655"]


def test_best_subjects_of_each_query(files, capsys):
    """Of equal scores the first subject; E-values count all symbols of the file."""
    (files / "q.fa").write_text(">q\nTTACGTAC\n>none\nNNNN\n>r\nGGGGCC\n")
    (files / "s.fa").write_text(">a\nACGTGG\n>b\nACGTACGG\n>c\nTTTT\n>d\nACGTAC\n>e\nGGGGCC\n")
    assert run("local-align", "--k", "1", "--top", "2", "--statistics", "--min-score", "6") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:4] for row in rows] == [
        ["q", "b", "1", "30"], ["q", "d", "1", "30"], ["r", "e", "1", "30"], ["r", "a", "1", "11"],
    ]  # fmt: skip
    # 0.068 * 8 * 30 symbols of all five subjects * e^-(0.163 * 30)
    assert rows[0][-1] == "0.123"
    assert run("local-align", "--k", "1", "--top", "1", "--dot-plot", "x.svg") == 0
    assert (files / "x.svg").read_text().count(">b</text>") == 1


def test_line_of_an_alignment():
    places = {
        "query": "q", "subject": "s", "query_length": 9, "subject_length": 9, "rank": 1, "score": 1,
        "query_start": 2, "query_end": 7, "subject_start": 1, "subject_end": 6,
    }  # fmt: skip
    cigar = (("=", 2), ("I", 2), ("D", 2), ("X", 1))
    forward = [(1, 2), (3, 4), (3, 6), (5, 6), (6, 7)]
    assert path_of(PairwiseAlignment(**places, cigar=cigar)) == forward
    reverse = [(1, 7), (3, 5), (3, 3), (5, 3), (6, 2)]
    assert path_of(PairwiseAlignment(**places, cigar=cigar, strand="-")) == reverse


def test_dot_plot_without_matplotlib(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("local-align", "--dot-plot", "a.svg", "--output", "out.tsv") == 1
    said = capsys.readouterr().err
    assert "a dot plot needs the package matplotlib; expected an installation of gpu-tools" in said
    assert not (files / "out.tsv").exists()
