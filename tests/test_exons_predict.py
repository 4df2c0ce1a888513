"""Prediction of candidate exons against its definition, and its properties."""

from pathlib import Path

import numpy as np
import pytest

from gpu_tools.errors import ScoringError
from gpu_tools.exons import ExonSet, load_model, predict_exons
from gpu_tools.exons.candidates import EXON_TYPES
from gpu_tools.exons.model import model_from_dict
from gpu_tools.formats.fasta import read_fasta
from gpu_tools.sequences import encode, reverse_complement
from tests import oracle_exons

RESOURCES = Path(__file__).parent.parent / "resources"
STOPS = ["TAA", "TAG", "TGA"]


def small_model(rng, **changes):
    """Return a model of short sites and random scores, so that short sequences have exons."""

    def matrix(before, *columns):
        scores = [[None if x == "-" else bits() for x in column] for column in columns]
        return {"before": before, "scores": scores, "cutoff": -4.0}

    def bits():
        return round(float(rng.normal(0, 1.5)), 2)

    order = 2
    content = {
        "format": "gpu-tools exon model", "version": 1, "name": "small", "source": "random",
        "units": "bits",
        "acceptor": matrix(3, "xxxx", "x---", "--x-", "xxxx"),
        "donor": matrix(1, "xxxx", "--x-", "-x-x", "xxxx"),
        "start": matrix(2, "xxxx", "xxxx", "x---", "---x", "--x-"),
        "stops": STOPS, "coding_order": order,
        "coding": [[bits() for _ in range(4 ** (order + 1))] for _ in range(3)],
        "length": {"from": [1, 5, 20], "scores": [bits(), bits(), bits()]},
        "min_length": 1, "max_length": 60, "min_score": -1e6,
    }  # fmt: skip
    return content | changes


def random_sequence(rng, n, unknown=0.03):
    weights = [(1 - unknown) / 4] * 4 + [unknown]
    return "".join(rng.choice(list("ACGTN"), size=n, p=weights))


def as_set(exons: ExonSet):
    strands = np.where(exons.reverse, "-", "+").tolist()
    types = [EXON_TYPES[code] for code in exons.types]
    scores = [round(100 * score) for score in exons.scores]
    return set(zip(strands, exons.starts.tolist(), exons.ends.tolist(), types, scores, strict=True))


@pytest.mark.parametrize("seed", range(30))
def test_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    content = small_model(rng, max_length=int(rng.integers(10, 90)), min_length=seed % 5 + 1)
    sequence = random_sequence(rng, int(rng.integers(1, 90)))
    expected = oracle_exons.candidates(sequence, content)
    exons = predict_exons(encode(sequence), model_from_dict(content))
    assert as_set(exons) == expected
    assert len(exons) == len(expected)


def test_the_oracle_sees_every_type():
    types = set()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        text = random_sequence(rng, 150, unknown=0)
        types |= {candidate[3] for candidate in oracle_exons.candidates(text, small_model(rng))}
    assert types == {"Init", "Intr", "Term", "Sngl"}


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition_under_a_cutoff(seed):
    rng = np.random.default_rng(100 + seed)
    content = small_model(rng, min_score=2.35)
    sequence = random_sequence(rng, 90)
    exons = predict_exons(encode(sequence), model_from_dict(content))
    assert as_set(exons) == oracle_exons.candidates(sequence, content)
    everything = model_from_dict(content | {"min_score": -1e6})
    assert as_set(predict_exons(encode(sequence), everything, 2.35)) == as_set(exons)


def test_more_candidates_than_first_room():
    # every position is a site and nothing stops: far more candidates than bases
    free = [0.0] * 4
    site = {"before": 2, "scores": [free, free, free, free, free], "cutoff": 0}
    content = small_model(np.random.default_rng(0), acceptor=site, donor=site, start=site)
    exons = predict_exons(encode("C" * 60), model_from_dict(content))
    assert as_set(exons) == oracle_exons.candidates("C" * 60, content)
    assert len(exons) > 60 * 60


@pytest.fixture(scope="module")
def locus():
    return read_fasta(RESOURCES / "demo" / "loci.fa.gz")[3].codes


def test_reverse_complement_mirrors_the_set(locus):
    model, n = load_model("vertebrate"), len(locus)
    exons = predict_exons(locus, model)
    mirrored = predict_exons(reverse_complement(locus), model)
    swapped = {
        ("-" if strand == "+" else "+", n - end, n - start, *rest)
        for strand, start, end, *rest in as_set(mirrored)
    }
    assert len(exons) > 100
    assert as_set(exons) == swapped


def test_a_piece_has_the_candidates_of_the_whole(locus):
    # the scores of an inner exon do not depend on where its sequence begins
    model = load_model("vertebrate")
    whole, piece = predict_exons(locus, model), predict_exons(locus[1000:4001], model)
    inner = {
        (strand, start - 1000, end - 1000, *rest)
        for strand, start, end, *rest in as_set(whole)
        if start >= 1100 and end <= 3900
    }
    assert len(inner) > 50
    assert inner == {c for c in as_set(piece) if c[1] >= 100 and c[2] <= 2900}


def test_sites_and_types_of_a_real_locus(locus):
    exons = predict_exons(locus, load_model("vertebrate")).on_strand("+")
    text = "".join("ACGTN"[code] for code in locus)
    for start, end, code in zip(exons.starts, exons.ends, exons.types, strict=True):
        exon_type = EXON_TYPES[code]
        if exon_type in ("Intr", "Term"):
            assert text[start - 2 : start] == "AG"
        else:
            assert text[start : start + 3] == "ATG"
        if exon_type in ("Intr", "Init"):
            assert text[end : end + 2] in ("GT", "GC")
        else:
            assert text[end - 3 : end] in STOPS


def test_order_is_strand_start_end_type(locus):
    exons = predict_exons(locus, load_model("vertebrate"))
    keys = list(zip(exons.reverse, exons.starts, exons.ends, exons.types, strict=True))
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_case_does_not_matter():
    rng = np.random.default_rng(3)
    model, text = model_from_dict(small_model(rng)), random_sequence(rng, 80)
    assert as_set(predict_exons(encode(text.lower()), model)) == as_set(
        predict_exons(encode(text), model)
    )


@pytest.mark.parametrize("text", ["", "A", "AT", "ATG", "N" * 50, "AG", "GT"])
def test_nothing_in_short_or_unknown_sequences(text):
    assert len(predict_exons(encode(text), load_model("vertebrate"))) == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_smallest_score_must_be_finite(value):
    with pytest.raises(ScoringError, match="not a finite number"):
        predict_exons(encode("ACGT"), load_model("vertebrate"), value)


def test_a_lower_cutoff_only_adds(locus):
    model = load_model("vertebrate")
    default, few = as_set(predict_exons(locus, model)), as_set(predict_exons(locus, model, 10))
    assert few < default
    assert min(score for *_, score in few) >= 1000
