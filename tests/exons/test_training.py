"""Training of exon models, and how well models do on records they have not seen."""

import json
import re
import runpy
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy.cases import annotated_records, genes, mutated
from benchmarks.exons import evaluation
from benchmarks.exons.evaluation import folds, segment_types, trained_on
from gpu_tools.errors import InputError
from gpu_tools.exons import predict_exons
from gpu_tools.exons.accuracy import compare_exons
from gpu_tools.exons.model import model_from_dict
from gpu_tools.exons.training import (
    Design,
    annotated_sequences,
    estimate_composition,
    reads_through,
    train,
)
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.scales import read_codon_usage
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence, CodingSegment, CodingSequence, strands_of
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import Sequence, encode, reverse_complement
from gpu_tools.spliced.api import spliced_align
from gpu_tools.spliced.case import Case
from gpu_tools.splicing.site_matrix import Window, dependent_matrix, site_matrix

TRAINING, DEMO = resource_path("training"), resource_path("demo")


@pytest.fixture(scope="module")
def records():
    return annotated_records()


@pytest.fixture(scope="module")
def aligned():
    coding = read_coding(TRAINING / "aligned.gff3")
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(DEMO / "loci.fa.gz")]


@pytest.fixture(scope="module")
def usage():
    return read_codon_usage(TRAINING / "codon_usage.tsv")


@pytest.fixture(scope="module")
def held_out(records, aligned, usage):
    """Each annotated record with a model that has not seen it."""
    return [(r, trained_on([*others, *aligned], usage=usage)) for r, others in folds(records)]


def test_shipped_coding_sequences_read_through(records, aligned):
    for record in [*records, *aligned]:
        for coding in record.coding:
            assert reads_through(coding, record.sequence.codes), coding.name
    assert sum(len(r.coding) for r in records) == 45
    assert sum(len(segment_types(r)) for r in records) == 281
    assert [len(r.coding) for r in aligned] == [1] * 10
    assert sum(len(segment_types(r)) for r in aligned) == 89


@pytest.fixture(scope="module")
def candidates(held_out):
    """Genes of annotated records, each with candidates of a model that has not seen it."""
    found = genes([record for record, _ in held_out])
    return [
        (gene, predict_exons(gene.codes, held_out[gene.record][1]).unique())
        for gene in found
        if len(gene.exons) >= 3 and len(gene.codes) < 45_000
    ]


def accuracy(candidates, fraction, scoring):
    rng = np.random.default_rng(1)
    cases = [
        Case(Sequence(gene.name, gene.codes), Sequence("t", target), exons)
        for gene, exons in candidates
        for target in [mutated(rng, gene.coding, fraction, False)]
    ]
    results = spliced_align(cases, scoring, device="cpu")
    chains = {r.base: ExonSet.from_intervals(r.chain, r.strand) for r in results}
    return compare_exons(chains, {g.name: ExonSet.from_intervals(g.exons) for g, _ in candidates})


def test_candidates_are_few(candidates):
    assert len(candidates) == len({gene.name for gene, _ in candidates}) > 20
    count, bases = (
        sum(map(len, column)) for column in zip(*((e, g.codes) for g, e in candidates), strict=True)
    )
    assert count / bases * 500 < 40


@pytest.mark.parametrize("fraction", [0.15, 0.35])
def test_candidate_scores_make_the_exons_right(candidates, fraction):
    pure = accuracy(candidates, fraction, SplicedScoring())
    scored = accuracy(candidates, fraction, SplicedScoring(exon_weight=1, intron_penalty=15))
    assert scored["exon"].f1 >= 0.96
    assert scored["nucleotide"].f1 >= 0.99
    assert pure["exon"].f1 < scored["exon"].f1 - 0.05


FIGURES = re.compile(r"of (\d+) segments \((\S+)\), internal (\S+), (\S+) candidates")


def test_shipped_model_is_what_training_gives(held_out, tmp_path, monkeypatch, capsys):
    """And models of the other records find almost all segments of each record."""
    script, output = resource_path("models", "train.py"), tmp_path / "model.json"
    models = (model for _, model in held_out)
    monkeypatch.setattr(evaluation, "trained_on", lambda records, usage: next(models))
    monkeypatch.setattr(sys, "argv", ["train.py", "--output", str(output)])
    runpy.run_path(str(script), run_name="__main__")
    trained = json.loads(output.read_text())
    shipped = json.loads(resource_path("models", "vertebrate.json").read_text())
    assert trained.keys() == shipped.keys()
    for key in trained:
        assert near(trained[key], shipped[key]), key
    printed = [[float(x) for x in row] for row in FIGURES.findall(capsys.readouterr().err)]
    *each, (segments, share, internal, density) = printed
    assert (len(each), segments) == (3, 281)
    assert share >= 0.97
    assert internal >= 0.98
    assert density <= 35
    assert min(row[1] for row in each) >= 0.93


def near(one, other):
    """Compare nested values; a number may be rounded the other way on another machine."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(near(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(near, one, other))
    if isinstance(one, float):
        return one == pytest.approx(other, abs=0.0101)
    return one == other


@pytest.fixture(scope="module")
def small(records):
    return records[2]


def test_training_prefers_no_strand(small, usage):
    # mirror a record, and nothing changes
    one, other = (trained_on([r], usage=usage) for r in (small, mirror(small)))
    assert np.array_equal(one.coding.scores, other.coding.scores)
    assert np.array_equal(one.donor.scores, other.donor.scores)
    assert np.array_equal(one.lengths, other.lengths)
    assert one.gene == other.gene


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


def record_of(text, *segments, strand="+"):
    coding = CodingSequence("c", strand, tuple(segments))
    return AnnotatedSequence(Sequence.from_text("x", text), (coding,))


def test_composition_is_the_frequency_of_counts():
    # order 0, hardly smoothed, without G+C: the first position of a codon is always A
    record = record_of("ACC" * 100 + "GT" * 600, CodingSegment(0, 300, 0, partial=True))
    design = Design(order=0, context_weight=1e-9, gc_shifts=(0.0,) * 4)
    coding, other = estimate_composition(strands_of(record), design)
    assert coding[0] == pytest.approx([1, 0, 0, 0], abs=1e-6)
    assert coding[1] == pytest.approx([0, 1, 0, 0], abs=1e-6)
    # outside lie (GT)600 forward, and reversed (AC)600 and GGT a hundred times
    assert other[0] == pytest.approx(np.array([600, 600, 800, 700]) / 2700)
    # order 1: C follows A everywhere; A follows C always in the codons
    coding, other = estimate_composition(strands_of(record), replace(design, order=1))
    assert coding[1, 0 * 4 + 1] == pytest.approx(1)
    assert other[0, 1 * 4 + 0] == pytest.approx(599 / 601)


def test_codon_usage_fills_what_the_records_do_not_show(usage):
    record = record_of("A" * 40, CodingSegment(0, 1, 0, partial=True))
    design = Design(order=2, usage_weight=1e6, context_weight=1.0)
    coding, _ = estimate_composition(strands_of(record), design, usage)
    codons = usage.copy()
    codons[[encode(stop) @ (16, 4, 1) for stop in ("TAA", "TAG", "TGA")]] = 0
    codons = codons.reshape(16, 4)
    assert coding[2].reshape(16, 4) == pytest.approx(
        codons / codons.sum(axis=1, keepdims=True), abs=1e-3
    )
    first = codons.reshape(4, -1).sum(axis=1) / codons.sum()
    assert coding[0].reshape(16, 4) == pytest.approx(np.tile(first, (16, 1)), abs=1e-3)


def test_dependent_sites_learn_pairs():
    # at donors A comes only behind G, and G only behind A; before other GT it is the other way
    kinds = ["GAGTCC", "AGGTCC"], ["AAGTCC", "GGGTCC"]
    text = "".join(kinds[0][k % 2] + "NNN" + kinds[1][k % 2] + "NNN" for k in range(400))
    segments = [CodingSegment(k - 1, k, 0) for k in range(2, len(text), 18)]
    strands = strands_of(record_of(text, *segments))
    window, weight, cutoff = Window(2, 2, ("GT",), 0), 4.0, -6.0
    paired = dependent_matrix(strands, "donors", window, weight, 1e-6, cutoff)["scores"]
    alone = site_matrix(strands, "donors", window, weight, cutoff)["scores"]
    a, _, g, _ = range(4)
    assert alone[1][a] == pytest.approx(0, abs=0.05)
    assert paired[1][g][a] == paired[1][a][g] == pytest.approx(1, abs=0.05)
    assert paired[1][a][a] < -5
    assert np.shape(alone) == (4, 4)
    assert np.shape(paired) == (4, 4, 4)
    assert [row[a] for row in paired[2]] == [None] * 4


def test_too_little_to_train_on(records):
    with pytest.raises(InputError, match="no records to train on"):
        train([], "x", "y")
    bare = AnnotatedSequence(records[0].sequence, ())
    with pytest.raises(InputError, match="record ENm008: no coding sequence"):
        train([bare, records[1]], "x", "y")
    one = record_of("ATGAAATAA", CodingSegment(0, 9, 0))
    with pytest.raises(InputError, match="no introns to train on; expected coding sequences of"):
        train([one], "x", "y")
    two = record_of("CCCGTAAGTAGCCC", CodingSegment(0, 3, 0), CodingSegment(11, 14, 0))
    with pytest.raises(InputError, match="no starts to train on; expected a coding sequence"):
        train([two], "x", "y")


def test_a_tiny_annotation_gives_a_whole_model():
    text = "CATGAAAGTAAGTCCCCCCCCCCCCCCCCCCCCCAGAAATAACC" * 2
    record = record_of(text, CodingSegment(1, 7, 0), CodingSegment(36, 42, 0))
    model = model_from_dict(train([record], "tiny", "a test"))
    assert (model.name, model.source) == ("tiny", "a test")
    assert model.gene.shortest_intron == 29


SOUND = CodingSequence("c", "+", (CodingSegment(1, 5, 0), CodingSegment(7, 12, 2)))
READS = "CATGACCAATAAC"


@pytest.mark.parametrize(
    ("coding", "text", "sound"),
    [
        (SOUND, READS, True),
        (SOUND, READS.replace("ATGA", "TTGA"), False),
        (SOUND, READS.replace("TAA", "TAC"), False),
        (replace(SOUND, segments=SOUND.segments[::-1]), READS, False),
        (replace(SOUND, segments=(SOUND.segments[0], CodingSegment(7, 12, 0))), READS, False),
        (CodingSequence("c", "+", (CodingSegment(0, 9, 0),)), "ATGTAATAA", False),
        (CodingSequence("c", "+", (CodingSegment(0, 9, 0, True),)), "CTGAAATAC", True),
        (CodingSequence("c", "+", (CodingSegment(0, 10, 1, True),)), "CTCAAATACG", True),
        (CodingSequence("c", "+", (CodingSegment(0, 1, 1, True),)), "C", False),
    ],
)
def test_what_reads_through(coding, text, sound):
    codes = encode(text)
    assert reads_through(coding, codes) == sound
    n = len(codes)
    segments = tuple(replace(s, start=n - s.end, end=n - s.start) for s in coding.segments)
    mirrored = CodingSequence("c", "-", segments)
    assert reads_through(mirrored, reverse_complement(codes)) == sound


def test_what_cannot_be_learned_from_is_left_out(caplog):
    wrong = replace(SOUND, segments=SOUND.segments[::-1])
    sequences = [Sequence.from_text("a", READS), Sequence.from_text("b", READS)]
    (kept,) = annotated_sequences(sequences, {"a": (SOUND, wrong)})
    assert kept == AnnotatedSequence(sequences[0], (SOUND,))
    assert "1 sequences have no coding sequence that reads through; left out" in caplog.text
    assert "1 coding sequences do not read from ATG to a stop codon; left out" in caplog.text


@pytest.mark.parametrize(
    ("coding", "message"),
    [
        ({"b": (SOUND,)}, "record b: annotated, but not among the sequences"),
        (
            {"a": (replace(SOUND, segments=(CodingSegment(9, 99, 0),)),)},
            "record a: coding segment 10-99 of c does not lie within the sequence; expected",
        ),
        (
            {"a": (replace(SOUND, segments=SOUND.segments[::-1]),)},
            "none of 1 coding sequences reads from ATG to a stop codon; expected features CDS",
        ),
    ],
)
def test_annotation_that_does_not_fit_is_named(coding, message):
    with pytest.raises(InputError) as caught:
        annotated_sequences([Sequence.from_text("a", READS)], coding)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("codon\nAAA", "column 'frequency' is missing"),
        ("codon\tfrequency\nAAN\t1", "line 2: 'AAN' is no codon; expected three of the letters"),
        ("codon\tfrequency\nAA\t1", "line 2: 'AA' is no codon"),
        ("codon\tfrequency\nAA!\t1", "line 2: 'AA!' is no codon"),
        ("codon\tfrequency\nAAA\t-1", "line 2: frequency '-1' is negative; expected 0 or more"),
        ("codon\tfrequency\nAAA\tmuch", "line 2: frequency 'much'"),
        ("codon\tfrequency\nAAA\tinf", "line 2: frequency 'inf'"),
        ("codon\tfrequency\nUUU\t1\nttt\t2", "line 3: codon 'ttt' occurs twice"),
        ("codon\tfrequency\nAAA\t0", "no codon of a frequency above 0"),
    ],
)
def test_wrong_codon_usage_is_named(tmp_path, lines, message):
    path = tmp_path / "usage.tsv"
    path.write_text(lines + "\n")
    with pytest.raises(InputError) as caught:
        read_codon_usage(path)
    assert message in str(caught.value)


GOOD = "chr\t.\tCDS\t11\t20\t.\t-\t0\tID=c1"


def test_a_coding_sequence_on_both_strands_is_named(tmp_path):
    (tmp_path / "x.gff3").write_text(f"##gff-version 3\n{GOOD}\n{GOOD.replace('-', '+')}\n")
    with pytest.raises(InputError, match="x.gff3, line 3: coding sequence 'c1' is on both strands"):
        read_coding(tmp_path / "x.gff3")


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
