"""Candidate exons, their probabilities and the best parse against their definitions."""

from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from gpu_tools.errors import ScoringError
from gpu_tools.exons import load_model, predict_exons
from gpu_tools.exons.lattice import BETWEEN, N_STATES, Lattice, States, best_path, posteriors
from gpu_tools.exons.model import model_from_dict
from gpu_tools.exons.predict import WindowSizes, best_parse, parse, parsed_windows
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.exon_set import EXON_TYPES
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import encode, reverse_complement
from tests.exons.cases import random_sequence, small_model
from tests.oracles import exons as oracle_exons

MOST_PARSES = 20_000


def keys(exons):
    strands = np.where(exons.reverse, "-", "+").tolist()
    types = [EXON_TYPES[code] for code in exons.types]
    return list(zip(strands, exons.starts.tolist(), exons.ends.tolist(), types, strict=True))


def scored(exons):
    scores = [round(100 * score) for score in exons.scores]
    return dict(zip(keys(exons), scores, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_exons_and_scores_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    content = small_model(
        rng, order=seed % 3, pairs=seed % 2 == 0, max_length=int(rng.integers(10, 90)),
        min_length=seed % 4 + 3,
    )  # fmt: skip
    sequence = random_sequence(rng, int(rng.integers(1, 90)))
    expected = {}
    for strand, start, end, exon_type, _, score in oracle_exons.exons(sequence, content):
        key = (strand, start, end, exon_type)
        expected[key] = max(score, expected.get(key, score))
    exons = predict_exons(encode(sequence), model_from_dict(content), min_probability=0)
    assert scored(exons) == expected
    assert len(exons) == len(expected)


@cache
def all_parses(seed):
    """Return a sequence with many parses, but not too many, its model and the parses."""
    rng = np.random.default_rng(seed)
    while True:
        content, sequence = small_model(rng), random_sequence(rng, int(rng.integers(15, 40)))
        found = list(islice(oracle_exons.parses(sequence, content), MOST_PARSES))
        if 100 < len(found) < MOST_PARSES:
            return sequence, content, found


@pytest.mark.parametrize("seed", range(10))
def test_probabilities_and_best_parse_equal_those_of_all_parses(seed):
    sequence, content, parses = all_parses(seed)
    total = sum(weight for _, weight in parses)
    shares = defaultdict(float)
    for exons, weight in parses:
        for key in {exon[:4] for exon in exons}:
            shares[key] += weight / total
    parsed = parse(encode(sequence), model_from_dict(content))
    got = dict(zip(keys(parsed.exons), parsed.exons.probabilities.tolist(), strict=True))
    assert {key for key, share in got.items() if share > 0} == set(shares)
    assert {key: got[key] for key in shares} == pytest.approx(dict(shares), rel=1e-9)
    assert parsed.total == pytest.approx(np.log2(total), abs=1e-9)
    best, weight = max(parses, key=lambda parse: parse[1])
    assert parsed.best == pytest.approx(np.log2(weight), abs=1e-9)
    assert sorted(keys(best_parse(encode(sequence), model_from_dict(content)))) == sorted(
        exon[:4] for exon in best
    )


@pytest.fixture(scope="module")
def locus():
    return read_fasta(resource_path("demo", "loci.fa.gz"))[3].codes


@pytest.fixture(scope="module")
def shipped():
    return load_model("vertebrate")


def test_reverse_complement_mirrors_everything(locus, shipped):
    n = len(locus)
    one, other = parse(locus, shipped), parse(reverse_complement(locus), shipped)
    mirrored = {
        ("-" if strand == "+" else "+", n - end, n - start, exon_type): values
        for (strand, start, end, exon_type), *values in rows(other)
    }
    assert len(one.exons) > 1000
    assert one.total == pytest.approx(other.total, abs=1e-9)
    assert {key for key, *_ in rows(one)} == mirrored.keys()
    for key, score, logarithm, chosen in rows(one):
        assert mirrored[key] == [score, pytest.approx(logarithm, abs=1e-6), chosen]


def rows(parsed):
    return zip(
        keys(parsed.exons), parsed.exons.scores.tolist(), parsed.logarithms.tolist(),
        parsed.chosen.tolist(), strict=True,
    )  # fmt: skip


def test_candidates_are_those_over_the_cutoff_and_the_best_parse(locus, shipped):
    parsed = parse(locus, shipped)
    cutoff = shipped.min_probability
    expected = parsed.exons.take(parsed.chosen | (parsed.exons.probabilities >= cutoff))
    exons = predict_exons(locus, shipped)
    assert scored(exons) == scored(expected)
    assert (exons.probabilities >= cutoff).mean() > 0.95
    few = predict_exons(locus, shipped, min_probability=1.0)
    assert keys(few) == keys(best_parse(locus, shipped))
    assert len(few) < len(exons) / 10


def test_windows_of_a_long_sequence_agree_with_the_whole(shipped):
    codes = np.concatenate([r.codes for r in read_fasta(resource_path("demo", "loci.fa.gz"))[2:8]])
    whole = predict_exons(codes, shipped)
    sizes = WindowSizes(window=len(codes) // 4, margin=15_000)
    split = predict_exons(codes, shipped, sizes=sizes)
    one, other = (dict(zip(keys(s), s.probabilities, strict=True)) for s in (whole, split))
    assert len(one.keys() ^ other.keys()) < 0.02 * len(one)
    for key in one.keys() & other.keys():
        assert abs(np.log2(one[key] / other[key])) < 2


def test_a_sequence_of_too_many_exons_is_halved(locus, shipped):
    likely = keys(predict_exons(locus, shipped, min_probability=0.01))
    sizes = WindowSizes(most_exons=1500, smallest=1000)
    windows = [window for window, _ in parsed_windows(locus, shipped, sizes)]
    assert [window.low for window in windows] == [0, *(window.high for window in windows[:-1])]
    assert len(windows) > 3
    assert max(len(window.cut(locus)) for window in windows[-4:]) <= 3 * -(-len(locus) // 4)
    halved = keys(predict_exons(locus, shipped, sizes=sizes))
    assert len(set(likely) - set(halved)) < 0.1 * len(likely)
    assert len(set(halved)) == len(halved)


def test_order_is_strand_start_end_type(locus, shipped):
    exons = predict_exons(locus, shipped)
    order = list(zip(exons.reverse, exons.starts, exons.ends, exons.types, strict=True))
    assert order == sorted(order)
    assert len(set(order)) == len(order)


def test_case_does_not_matter():
    rng = np.random.default_rng(3)
    model, text = model_from_dict(small_model(rng)), random_sequence(rng, 80)
    lower, upper = (predict_exons(encode(t), model) for t in (text.lower(), text))
    assert len(upper) > 10
    assert scored(lower) == scored(upper)


@pytest.mark.parametrize("text", ["", "A", "AT", "ATG", "N" * 50, "AG", "GT"])
def test_nothing_in_short_or_unknown_sequences(text, shipped):
    assert len(predict_exons(encode(text), shipped)) == 0
    assert len(best_parse(encode(text), shipped)) == 0


@pytest.mark.parametrize(
    ("score", "probability", "message"),
    [(float(score), None, "not a finite number") for score in ("nan", "inf", "-inf")]
    + [(None, share, "not between 0 and 1") for share in (float("nan"), -0.1, 1.1)],
)
def test_thresholds_without_a_meaning(score, probability, message, shipped):
    with pytest.raises(ScoringError, match=message):
        predict_exons(encode("ACGT"), shipped, score, probability)


def test_lower_cutoffs_only_add(locus, shipped):
    default = scored(predict_exons(locus, shipped))
    few = scored(predict_exons(locus, shipped, 10))
    many = scored(predict_exons(locus, replace(shipped, min_probability=1e-7)))
    assert few.items() < default.items() < many.items()
    assert min(few.values()) >= 1000


GENES = 1 << BETWEEN
FREE = States(
    np.zeros(N_STATES), np.ones(N_STATES, dtype=np.int64), np.zeros(N_STATES), np.zeros(N_STATES)
)


def only_between(**changes):
    """Return states of which only the one between genes begins or ends a parse."""
    closed = np.full(N_STATES, -np.inf)
    closed[BETWEEN] = 0.0
    return FREE._replace(begin=closed, end=closed, **changes)


def lattice(*exons):
    """Build a lattice of (start, end, before, after, score)."""
    columns = [np.array(column, dtype=np.int64) for column in zip(*exons, strict=True)]
    return Lattice(*columns[:4], columns[4].astype(np.float64))


def genes(*exons):
    return lattice(*((start, end, GENES, GENES, score) for start, end, score in exons))


@pytest.mark.parametrize(
    ("exons", "best"),
    [
        (genes((2, 5, 0), (8, 11, 0)), []),
        (genes((2, 5, 0), (8, 11, 1)), [1]),
        (genes((2, 5, 1), (8, 11, 1)), [0, 1]),
        (genes((5, 11, 1), (2, 8, 1)), [1]),
        (genes((2, 8, 1), (4, 8, 1)), [0]),
        (genes((4, 8, 1), (2, 8, 1)), [0]),
        (genes((2, 8, 1), (8, 11, 1)), [0]),
        (genes((2, 7, 1), (8, 11, 1)), [0, 1]),
    ],
)
def test_ties_of_the_best_path(exons, best):
    path, weight = best_path(exons, only_between(), 20)
    assert path.tolist() == best
    assert weight == sum(exons.scores[best])


def test_of_equal_states_the_first_wins():
    first, second = 1 << 1, 1 << 2
    exons = lattice(
        (1, 3, GENES, second, 1), (2, 4, GENES, first, 1), (8, 9, first | second, GENES, 1)
    )
    assert best_path(exons, only_between(), 10)[0].tolist() == [1, 2]


def test_an_exon_that_nothing_reaches():
    exons = lattice((2, 5, 1 << 3, GENES, 9), (6, 8, GENES, GENES, 0))
    logarithms, total = posteriors(exons, only_between(), 10)
    assert logarithms.tolist() == [-np.inf, -1.0]
    assert total == 1.0
    assert best_path(exons, only_between(), 10)[0].tolist() == []
