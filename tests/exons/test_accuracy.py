"""Accuracy of exons on sets made by hand, through the library and the command line."""

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.exons.accuracy import Accuracy, compare_exons
from gpu_tools.model.exon_set import ExonSet

HEADER = "level\tannotated\tpredicted\ttrue\tsensitivity\tprecision\tf1\n"


def exons(*intervals, strand="+"):
    return ExonSet.from_intervals(intervals, strand)


def test_figures_by_hand():
    truth = {"a": exons((0, 10), (20, 30), (40, 50))}
    candidates = {"a": exons((0, 10), (22, 30), (60, 64), (60, 66))}
    levels = compare_exons(candidates, truth)
    assert levels["nucleotide"] == Accuracy(annotated=30, predicted=10 + 8 + 6, true=18)
    assert levels["exon"] == Accuracy(annotated=3, predicted=4, true=1)
    assert levels["exon"].sensitivity == pytest.approx(1 / 3)
    assert levels["exon"].precision == pytest.approx(1 / 4)
    assert levels["exon"].f1 == pytest.approx(2 / 7)


def test_strands_are_told_apart():
    levels = compare_exons({"a": exons((5, 9), strand="-")}, {"a": exons((5, 9))})
    assert levels["nucleotide"] == Accuracy(4, 4, 0)
    assert levels["exon"] == Accuracy(1, 1, 0)


def test_both_strands_of_one_place_count_twice():
    both = ExonSet.concatenate([exons((5, 9)), exons((5, 9), strand="-")])
    assert compare_exons({"a": both}, {"a": both})["nucleotide"] == Accuracy(8, 8, 8)


def test_exons_of_several_transcripts_count_once():
    truth = {"a": exons((5, 9), (5, 9), (7, 12))}
    levels = compare_exons({"a": exons((5, 9))}, truth)
    assert levels["nucleotide"] == Accuracy(7, 4, 4)
    assert levels["exon"] == Accuracy(2, 1, 1)


def test_sequences_are_told_apart_and_may_be_missing():
    truth = {"a": exons((5, 9)), "b": exons((5, 9))}
    levels = compare_exons({"b": exons((5, 9)), "c": exons((1, 3))}, truth)
    assert levels["nucleotide"] == Accuracy(8, 6, 4)
    assert levels["exon"] == Accuracy(2, 2, 1)


def test_nothing_predicted_nothing_annotated():
    nothing = compare_exons({}, {})["exon"]
    assert (nothing.sensitivity, nothing.precision, nothing.f1) == (None, None, None)
    missed = compare_exons({}, {"a": exons((5, 9))})["exon"]
    assert (missed.sensitivity, missed.precision, missed.f1) == (0, None, 0)


def test_no_sequence_in_common():
    with pytest.raises(InputError, match="no sequence in common, 'x' and 'a' being the first"):
        compare_exons({"x": exons((1, 2))}, {"a": exons((1, 2))})


def test_command(tmp_path, capsys):
    truth, candidates = tmp_path / "truth.gff3", tmp_path / "candidates.tsv"
    truth.write_text(
        "##gff-version 3\na\t.\tCDS\t1\t10\t.\t-\t0\tID=1\na\t.\tCDS\t21\t30\t.\t-\t0\tID=1\n"
    )
    candidates.write_text("base\tstart\tend\tstrand\na\t1\t10\t-\na\t21\t28\t-\n")
    assert main(["exons", "compare", "--candidates", str(candidates), "--truth", str(truth)]) == 0
    assert capsys.readouterr().out == (
        HEADER
        + "nucleotide\t20\t18\t18\t0.9000\t1.0000\t0.9474\n"
        + "exon\t2\t2\t1\t0.5000\t0.5000\t0.5000\n"
    )


def test_command_without_candidates(tmp_path, capsys):
    truth, candidates = tmp_path / "truth.bed", tmp_path / "candidates.gff3"
    truth.write_text("a\t0\t10\n")
    candidates.write_text("##gff-version 3\n")
    assert main(["exons", "compare", "--candidates", str(candidates), "--truth", str(truth)]) == 0
    assert capsys.readouterr().out == (
        HEADER + "nucleotide\t10\t0\t0\t0.0000\t.\t0.0000\nexon\t1\t0\t0\t0.0000\t.\t0.0000\n"
    )


def test_command_errors(tmp_path, capsys):
    truth = tmp_path / "truth.bed"
    truth.write_text("a\t0\t10\n")
    arguments = ["exons", "compare", "--truth", str(truth)]
    assert main([*arguments, "--candidates", str(tmp_path / "none.bed")]) == 1
    assert "none.bed: cannot be read" in capsys.readouterr().err
    assert main(arguments) == 2
