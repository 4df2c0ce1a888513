"""Training of exon models, and how the shipped one does on the shipped records."""

import json
import re
import runpy
import sys
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.exons import load_model
from gpu_tools.exons.annotation import AnnotatedSequence, CodingSegment, CodingSequence
from gpu_tools.exons.estimation import Design, coding_log_odds, strands_of
from gpu_tools.exons.training import (
    Evaluation,
    cross_validate,
    distinct_segments,
    evaluate,
    segment_scores,
    train,
)
from gpu_tools.formats.coding import read_coding
from gpu_tools.formats.fasta import read_fasta
from gpu_tools.resources import resource_path
from gpu_tools.sequences import Sequence, decode, reverse_complement

TRAINING = resource_path("training")
NOTHING = Evaluation(0, 0, 0, 0)


@pytest.fixture(scope="module")
def records():
    coding = read_coding(TRAINING / "annotation.gff3")
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(TRAINING / "records.fa.gz")]


@pytest.fixture(scope="module")
def shipped():
    return load_model("vertebrate")


def test_shipped_coding_sequences_read_through(records):
    stops, n_coding = {"TAA", "TAG", "TGA"}, 0
    for record in records:
        for coding in record.coding:
            n_coding += 1
            codons = codons_of(record.sequence.codes, coding)
            partial = [segment.partial for segment in coding.segments]
            assert not stops & set(codons[:-1]), coding.name
            assert codons[0] == "ATG" or partial[0], coding.name
            assert codons[-1] in stops or partial[-1], coding.name
    assert n_coding == 45
    assert sum(len(distinct_segments(record)) for record in records) == 281


def codons_of(codes, coding):
    segments = [codes[s.start : s.end] for s in coding.segments]
    if coding.strand == "-":
        segments = [reverse_complement(s) for s in segments]
    for segment, codes_before in zip(
        coding.segments, np.cumsum([0, *map(len, segments)]), strict=False
    ):
        assert (codes_before - coding.segments[0].phase + segment.phase) % 3 == 0, coding.name
    text = decode(np.concatenate(segments))[coding.segments[0].phase :]
    return [text[i : i + 3] for i in range(0, len(text), 3)]


def test_shipped_model_finds_the_annotated_segments(records, shipped):
    result = evaluate(records, shipped)
    assert result.annotated == 281
    assert result.sensitivity >= 0.97
    assert result.density <= 50


def test_held_out_records(records, shipped):
    results = cross_validate(records, shipped)
    assert sum(results, NOTHING).sensitivity >= 0.94
    assert sum(results, NOTHING).density <= 50
    assert min(result.sensitivity for result in results) >= 0.90


def test_true_segments_score_above_the_others(records, shipped):

    scores = np.concatenate([segment_scores(record, shipped) for record in records])
    assert (scores > 0).mean() >= 0.97
    assert np.median(scores) > 8


def test_shipped_model_is_what_training_gives(tmp_path, monkeypatch, capsys):
    script, output = resource_path("models", "train.py"), tmp_path / "model.json"
    monkeypatch.setattr(sys, "argv", ["train.py", "--output", str(output)])
    runpy.run_path(str(script), run_name="__main__")
    trained = json.loads(output.read_text())
    shipped = json.loads(resource_path("models", "vertebrate.json").read_text())
    assert trained.keys() == shipped.keys()
    for key in trained:
        assert near(trained[key], shipped[key]), key
    assert re.search(r"held out, together: 26\d of 281 segments", capsys.readouterr().err)


def near(one, other):
    """Compare nested values; a number may be rounded the other way on another machine."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(near(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(near, one, other))
    if isinstance(one, float):
        return one == pytest.approx(other, abs=0.0101)
    return one == other


def test_coding_scores_of_a_strand_equal_those_of_its_mirror(records):
    # training must not prefer a strand: mirror every record, and nothing changes
    few = records[2:]
    design = Design(coding_order=2)
    mirrored = [mirror(record) for record in few]

    one, other = ([s for r in rs for s in strands_of(r)] for rs in (few, mirrored))
    assert np.allclose(coding_log_odds(one, design), coding_log_odds(other, design))


def mirror(record):
    n = len(record.sequence)
    coding = tuple(
        CodingSequence(
            c.name,
            "-" if c.strand == "+" else "+",
            tuple(replace(s, start=n - s.end, end=n - s.start) for s in c.segments),
        )
        for c in record.coding
    )
    sequence = Sequence(record.sequence.name, reverse_complement(record.sequence.codes))
    return AnnotatedSequence(sequence, coding)


def test_coding_scores_are_log_odds_of_counts():
    # order 0, hardly smoothed: the first codon position is always A here, the others never
    codes = Sequence.from_text("x", "ACC" * 100 + "GT" * 600)
    segment = CodingSegment(0, 300, 0, partial=True)
    record = AnnotatedSequence(codes, (CodingSequence("c", "+", (segment,)),))

    design = Design(coding_order=0, coding_weight=1e-9)
    scores = coding_log_odds(strands_of(record), design)
    # outside lie (GT)600 forward, and reversed (AC)600 and GGT a hundred times
    chance = np.array([600, 600, 600 + 200, 600 + 100]) / 2700
    assert scores[0, 0] == pytest.approx(np.log2(1 / chance[0]))
    assert scores[1, 1] == scores[2, 1] == pytest.approx(np.log2(1 / chance[1]))
    assert scores[0, 1] < -20
    # order 1: C follows A everywhere; A follows C always in the codons, and outside 599 times of
    # 601, where G follows at both ends of the coding part
    scores = coding_log_odds(strands_of(record), replace(design, coding_order=1))
    assert scores[1, 0 * 4 + 1] == pytest.approx(0, abs=1e-9)
    assert scores[0, 1 * 4 + 0] == pytest.approx(np.log2(601 / 599))


def test_too_few_records(records):
    with pytest.raises(InputError, match="too few records to train on; expected at least 2"):
        train(records[:1], "x", "y")


def test_record_without_coding_sequence(records):
    bare = AnnotatedSequence(records[0].sequence, ())
    with pytest.raises(InputError, match="record ENm008: no coding sequence"):
        train([bare, records[1]], "x", "y")


def test_segments_that_are_no_candidates(records):
    wrong = tuple(
        replace(c, segments=tuple(replace(s, end=s.end - 1) for s in c.segments))
        for c in records[2].coding
    )
    shifted = AnnotatedSequence(records[2].sequence, wrong)
    with pytest.raises(InputError, match="annotated segments are no candidates; expected at most"):
        train([records[0], shifted], "x", "y")


GOOD = "chr\t.\tCDS\t11\t20\t.\t-\t0\tID=c1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chr\t.\tCDS\t1\t2", "line 2: 5 columns; expected 9 tab-separated columns"),
        (GOOD.replace("\t-\t", "\t.\t"), "line 2: strand '.' of a coding segment; expected + or -"),
        (GOOD.replace("\t0\t", "\t.\t"), "line 2: phase '.' of a coding segment; expected 0, 1"),
        (GOOD.replace("ID", "Name"), "line 2: a coding segment without transcript; expected the"),
        (GOOD.replace("11", "21"), "line 2: start 21 lies after end 20"),
        (GOOD + "\n" + GOOD.replace("-", "+"), "line 3: coding sequence 'c1' is on both strands"),
    ],
)
def test_wrong_annotation_is_named(tmp_path, line, message):
    path = tmp_path / "x.gff3"
    path.write_text(f"##gff-version 3\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_coding(path)
    assert f"x.gff3, {message}" in str(caught.value)


def test_coding_sequences_of_gff3(tmp_path):
    path = tmp_path / "x.gff3"
    path.write_text(
        "##gff-version 3\n"
        "chr%201\t.\tgene\t1\t99\t.\t-\t.\tID=g\n"
        "chr%201\t.\tCDS\t11\t20\t.\t-\t1\tID=c;Parent=t1,t2;partial=true\n"
        "chr%201\t.\tCDS\t31\t40\t.\t-\t0\tID=c;Parent=t1\n"
        "##FASTA\n>x\nACGT\n"
    )
    last = CodingSegment(10, 20, 1, True)
    assert read_coding(path) == {
        "chr 1": (
            CodingSequence("t1", "-", (CodingSegment(30, 40, 0), last)),
            CodingSequence("t2", "-", (last,)),
        )
    }
