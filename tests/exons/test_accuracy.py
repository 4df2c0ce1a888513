"""Accuracy of exons, introns and chains on sets made by hand; overlaps by their definition."""

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.exons.accuracy import Accuracy, compare_exons, compare_transcripts, overlapping
from gpu_tools.formats.exons.annotation import TranscriptExons, read_transcripts
from gpu_tools.model.exon_set import ExonSet

HEADER = "level\tannotated\tpredicted\ttrue\tsensitivity\tprecision\tf1\n"


def exons(*intervals, strand="+"):
    return ExonSet.from_intervals(intervals, strand)


TWICE = ExonSet.concatenate([exons((5, 9)), exons((5, 9), strand="-")])
BY_HAND = {
    "moved and unannotated exons": (
        {"a": exons((0, 10), (22, 30), (60, 64), (60, 66))},
        {"a": exons((0, 10), (20, 30), (40, 50))}, (30, 24, 18), (3, 4, 1),
    ),
    "another strand": (
        {"a": exons((5, 9), strand="-")}, {"a": exons((5, 9))}, (4, 4, 0), (1, 1, 0),
    ),
    "both strands": ({"a": TWICE}, {"a": TWICE}, (8, 8, 8), (2, 2, 2)),
    "several transcripts": (
        {"a": exons((5, 9))}, {"a": exons((5, 9), (5, 9), (7, 12))}, (7, 4, 4), (2, 1, 1),
    ),
    "several sequences": (
        {"b": exons((5, 9)), "c": exons((1, 3))}, {"a": exons((5, 9)), "b": exons((5, 9))},
        (8, 6, 4), (2, 2, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_levels_by_hand(case):
    found, truth, nucleotides, whole = BY_HAND[case]
    levels = compare_exons(found, truth)
    assert levels == {"nucleotide": Accuracy(*nucleotides), "exon": Accuracy(*whole)}


def test_figures_by_hand():
    accuracy = Accuracy(annotated=3, predicted=4, true=1)
    found = accuracy.sensitivity, accuracy.precision, accuracy.f1
    assert found == pytest.approx((1 / 3, 1 / 4, 2 / 7))


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
    arguments = ["exons", "compare", "--candidates", str(candidates), "--truth", str(truth)]
    for rows, expected in (
        ("a\t1\t10\t-\na\t21\t28\t-\n", "20\t18\t18\t0.9000\t1.0000\t0.9474\n"
         "exon\t2\t2\t1\t0.5000\t0.5000\t0.5000\n"),
        ("", "20\t0\t0\t0.0000\t.\t0.0000\nexon\t2\t0\t0\t0.0000\t.\t0.0000\n"),
    ):  # fmt: skip
        candidates.write_text("base\tstart\tend\tstrand\n" + rows)
        assert main(arguments) == 0
        assert capsys.readouterr().out == HEADER + "nucleotide\t" + expected


def test_command_errors(tmp_path, capsys):
    truth = tmp_path / "truth.bed"
    truth.write_text("a\t0\t10\n")
    arguments = ["exons", "compare", "--truth", str(truth)]
    assert main([*arguments, "--candidates", str(tmp_path / "none.bed")]) == 1
    assert "none.bed: cannot be read" in capsys.readouterr().err
    assert main(arguments) == 2


A, B, C = ((0, 10), (20, 30), (40, 50)), ((0, 10), (20, 30)), ((60, 90),)


def transcript(exons, strand="+", record="a"):
    return TranscriptExons(record, strand, exons)


def test_introns_and_chains_by_hand():
    truth = [transcript(A), transcript(C), transcript(B, "-")]
    found = [transcript(((5, 10), (20, 30), (40, 70))), transcript(B), transcript(C)]
    levels = compare_transcripts(found, truth)
    assert levels["intron"] == Accuracy(annotated=3, predicted=2, true=2)
    assert levels["intron_chain"] == Accuracy(annotated=2, predicted=2, true=1)


def test_transcripts_that_overlap_are_those_that_share_a_position():
    rng = np.random.default_rng(51)
    for _ in range(60):
        sides = [
            [
                transcript(((start, start + length),), "+-"[strand])
                for start, length, strand in rng.integers((0, 1, 0), (40, 8, 2), (5, 3)).tolist()
            ]
            for _ in range(2)
        ]
        expected = [
            one for one in sides[0]
            if any(one.strand == other.strand and one.exons[0][0] < other.exons[0][1]
                   and other.exons[0][0] < one.exons[0][1] for other in sides[1])
        ]  # fmt: skip
        assert list(overlapping(*sides)) == expected, sides


def lines(name, exons, kind="exon"):
    return "".join(f"a\tx\t{kind}\t{s + 1}\t{e}\t.\t+\t.\tParent={name}\n" for s, e in exons)


def test_the_command(tmp_path, capsys):
    truth, found, none = (tmp_path / name for name in ("truth.gff3", "found.gff3", "none.gff3"))
    truth.write_text("##gff-version 3\n" + lines("m1", A) + lines("m2", ((200, 210), (300, 310))))
    found.write_text("##gff-version 3\n" + lines("m1", A) + lines("m2", B))
    none.write_text("##gff-version 3\n" + lines("m1", A, "gene"))
    words = ["exons", "compare", "--candidates", str(found), "--truth", str(truth)]
    assert main([*words, "--transcripts"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[1:] == ["intron\t3\t2\t2\t0.6667\t1.0000\t0.8000",
                        "intron_chain\t2\t2\t1\t0.5000\t0.5000\t0.5000"]  # fmt: skip
    assert main([*words, "--transcripts", "--overlapping"]) == 0
    assert "intron\t2\t2\t2\t" in capsys.readouterr().out
    assert main([*words, "--overlapping"]) == 2
    words[-1] = str(none)
    assert main([*words, "--transcripts"]) == 1
    assert "none.gff3: no exon of a transcript among the features gene;" in capsys.readouterr().err


def chains(tmp_path, text):
    path = tmp_path / "x.gff3"
    path.write_text(text)
    return [one.exons for one in read_transcripts(path)]


def test_exons_that_abut_or_repeat_are_one(tmp_path):
    assert chains(tmp_path, lines("m", ((0, 4), (4, 10), (20, 30), (20, 30), (40, 50)))) == [A]
    assert chains(tmp_path, lines("m", ((8, 10), (0, 9)))) == [((0, 10),)]


def test_transcripts_without_exons_have_those_of_their_cds(tmp_path):
    text = lines("m1", A, "cds") + lines("m2", B) + lines("m2", ((2, 10),), "CDS")
    assert chains(tmp_path, text) == [A, B]
    gtf = text.replace("Parent=m1", 'transcript_id "m1";').replace("cds", "CDS")
    stop = 'a\tx\tstop_codon\t51\t53\t.\t+\t.\ttranscript_id "m1";\n'
    assert chains(tmp_path, gtf + stop) == [(*A[:2], (40, 53)), B]


def test_transcripts_on_both_strands_are_left_out(tmp_path, caplog):
    other = lines("m", ((60, 70),)).replace("+", "-")
    assert chains(tmp_path, lines("m", A) + lines("n", B) + other) == [B]
    (warning,) = (record.message for record in caplog.records)
    assert warning.startswith("transcripts on both strands, left out: 1; the first: ")
    assert warning.endswith("x.gff3, line 6: 'm' is on both strands")
