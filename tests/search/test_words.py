"""Words of an index, hits and chains, beside plain definitions of them."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.search import windows as chains
from gpu_tools.search import windows as targets
from gpu_tools.search.api import SearchOptions, build_index
from gpu_tools.search.windows import TargetSearch
from gpu_tools.search.words import AMINO_ACID_CLASSES
from tests.oracles import search as oracle
from tests.search.cases import code_of, dna, gene, pair, protein, record, target, turned

SHAPE = "1011"
OPTIONS = SearchOptions(shapes=f"{SHAPE},1101")


def positions_of(index, shape: int, strand: int) -> set:
    """Return (word, position) of all words of an index, a word as its classes."""
    bounds, words = index.bounds[shape, strand], index.words
    found = set()
    for word in np.flatnonzero(np.diff(bounds)):
        classes, rest = [], int(word)
        for _ in range(3):
            rest, member = divmod(rest, words.n_classes)
            classes.insert(0, member)
        places = index.positions[bounds[word] : bounds[word + 1]].tolist()
        assert places == sorted(places)
        found |= {(tuple(classes), place) for place in places}
    return found


@pytest.mark.parametrize("code", [1, 6])
@pytest.mark.parametrize("kind", ["protein", "cdna"])
def test_an_index_has_the_words_of_both_strands(kind, code):
    rng = np.random.default_rng(code)
    texts = [
        dna(rng, 61),
        dna(rng, 40) + "N" + dna(rng, 45),
        "ACGTA",
        "",
        dna(rng, 50),
    ]
    options = SearchOptions(shapes=f"{SHAPE},1101", genetic_code=code)
    index = build_index(
        [record(t, str(k)) for k, t in enumerate(texts)], kind=kind, options=options
    )
    classes = AMINO_ACID_CLASSES if kind == "protein" else [*"ACGT"]
    table = code_of(code) if kind == "protein" else None
    for k, shape in enumerate((SHAPE, "1101")):
        for strand in "+-":
            expected = {
                (word, place + start)
                for text, start in zip(texts, index.genome.starts.tolist(), strict=True)
                for word, place in oracle.words(text, strand, shape, classes, table)
            }
            assert positions_of(index, k, "+-".index(strand)) == expected


def test_a_sample_has_some_words_with_all_their_positions():
    text = dna(np.random.default_rng(3), 2_000)
    every = build_index([record(text)], options=OPTIONS)
    some = build_index([record(text)], options=SearchOptions(shapes=OPTIONS.shapes, sample=3))
    for strand in (0, 1):
        left, everything = positions_of(some, 0, strand), positions_of(every, 0, strand)
        looked_up = {word for word, _ in left}
        assert left == {(word, place) for word, place in everything if word in looked_up}
        assert 0.2 < len(left) / len(everything) < 0.5


def test_any_number_of_threads_makes_the_same_index():
    records = [record(dna(np.random.default_rng(4), 3_000))]
    one, four = (build_index(records, options=OPTIONS, threads=n) for n in (1, 4))
    assert (one.bounds == four.bounds).all()
    assert (one.positions == four.positions).all()


def test_hits_are_extensions_of_shared_words(monkeypatch):
    monkeypatch.setattr(targets, "SHORT", 0)
    rng = np.random.default_rng(5)
    residues = protein(rng, 40)
    text = dna(rng, 90) + gene(rng, residues, 60) + turned(gene(rng, residues, 40)) + "N" * 4
    index = build_index([record(text)], options=SearchOptions(shapes=SHAPE))
    search = TargetSearch(index, SearchOptions(repeats=1e6))
    search.limits = search.limits._replace(near=-1000, least=18)
    drop = search.limits.drop
    classes, code = AMINO_ACID_CLASSES, code_of()
    every = oracle.hits(text, residues, SHAPE, classes, pair, drop, 18, code)
    found = {tuple(row) for row in search.hits_of(target(residues).codes).tolist()}
    start = {0: lambda place: place, 1: lambda place: len(text) - place - 3}
    expected = {(s, first, last, start[s](place), score) for s, first, last, place, score in every}
    assert found <= expected
    assert max(score for *_, score in found) == max(score for *_, score in expected)
    # what is left out begins in a hit on the same diagonal
    diagonals = {(s, place - 3 * first): [] for s, first, _, place, _ in found}
    for s, first, last, place, _ in found:
        diagonals[s, place - 3 * first].append((first, last))
    for s, first, last, place, _ in expected - found:
        spans = diagonals[s, place - 3 * first]
        assert any(a < last and first < b for a, b in spans)


def test_short_targets_have_words_with_a_free_symbol(monkeypatch):
    rng = np.random.default_rng(8)
    residues = protein(rng, 40)
    # no four neighbours are the same
    other = "".join(a if k % 4 else "CW"[a == "C"] for k, a in enumerate(residues))
    index = build_index([record(gene(rng, other, 30))], options=SearchOptions(shapes="1111"))
    search = TargetSearch(index, SearchOptions())
    search.limits = search.limits._replace(near=-1000)
    with_free = search.hits_of(target(residues).codes)
    monkeypatch.setattr(targets, "SHORT", 0)
    without = search.hits_of(target(residues).codes)
    assert not (without[:, chains.SCORE] > 30).any()
    assert (with_free[:, chains.LAST] - with_free[:, chains.FIRST]).max() > 10
    assert {tuple(row) for row in without.tolist()} <= {tuple(row) for row in with_free.tolist()}


LINKS = chains.Links(3, 3_000, 5, 10, 4, 1_000)


def random_hits(seed, count=70):
    """Return sorted hits of two strands, many of which can follow each other."""
    rng = np.random.default_rng(seed)
    first, length = rng.integers(0, 80, count), rng.integers(4, 25, count)
    start = 3 * first + rng.integers(0, 3, count) + rng.choice([0, 3, 200, 900, 5_000], count)
    strand, score = rng.integers(0, 2, count), rng.integers(20, 90, count)
    found = np.column_stack((strand, first, first + length, start, score)).astype(np.int64)
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 3], found[:, 0]))]


@pytest.mark.parametrize("seed", range(4))
def test_chains_are_those_of_all_pairs_of_hits(seed):
    found = random_hits([7, seed])
    scores, before = chains.best_chains(found, LINKS)
    rows = found.tolist()
    assert scores.tolist() == oracle.chain_scores(rows, 3, 3_000, 5, 10, 4)
    for k, previous in enumerate(before.tolist()):
        rest = 0
        if previous >= 0:
            rest = scores[previous] - oracle.link_cost(rows[previous], rows[k], 3, 3_000, 5, 10, 4)
        assert scores[k] == found[k, chains.SCORE] + rest


def test_hits_beside_a_chain_that_is_taken_are_chained_anew():
    """Hits of a copy follow better ones of the other copy, and then each other."""
    copies = [(0, 0, 40, 1_000, 200), (0, 40, 80, 1_120, 200)]
    copies += [(0, 20, 45, 1_400, 50), (0, 50, 70, 1_490, 40)]
    owner, totals = chains.chains_apart(np.array(copies), LINKS, 85, 9)
    assert owner.tolist() == [0, 0, 1, 1]
    assert totals.tolist() == [400, 90]
    assert chains.chains_apart(np.array(copies), LINKS, 85, 1)[1].tolist() == [400]


@pytest.mark.parametrize("seed", range(4))
def test_chains_share_no_hit_and_have_the_scores_of_their_hits(seed):
    rows = random_hits([8, seed])
    owner, totals = chains.chains_apart(rows, LINKS, 60, 99)
    for number, total in enumerate(totals.tolist()):
        own = rows[owner == number].tolist()
        costs = [oracle.link_cost(a, b, 3, 3_000, 5, 10, 4) for a, b in pairwise(own)]
        assert sum(row[chains.SCORE] for row in own) - sum(costs) == total >= 60
    left = rows[owner < 0]
    assert not len(left) or chains.best_chains(left, LINKS)[0].max() < 60


@pytest.mark.parametrize("options", [
    {"shapes": "0101"}, {"shapes": "1x1"}, {"shapes": ""}, {"sample": 0}, {"max_intron": 0},
    {"max_windows": 0}, {"min_score": 0}, {"repeats": 0.0}, {"by_chance": 0.0}, {"genetic_code": 7},
])  # fmt: skip
def test_options_without_a_meaning_are_errors(options):
    with pytest.raises(ScoringError, match="expected"):
        SearchOptions(**options)


@pytest.mark.parametrize(("options", "kind"), [
    ({"shapes": "111,1111"}, "protein"), ({"shapes": "1" * 9}, "protein"), ({}, "rna"),
])  # fmt: skip
def test_words_that_cannot_be_indexed_are_errors(options, kind):
    with pytest.raises(ScoringError, match="expected"):
        build_index([record("ACGT")], kind=kind, options=SearchOptions(**options))


def test_a_genome_without_nucleotides_is_an_error():
    with pytest.raises(InputError, match="expected one at least"):
        build_index([record("")])
