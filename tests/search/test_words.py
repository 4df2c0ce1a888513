"""Words of a search, hits and chains, beside plain definitions of them."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.search import hits
from gpu_tools.search import windows as chains
from gpu_tools.search.api import SearchOptions, find_windows
from gpu_tools.search.genome import Genome
from gpu_tools.search.words import AMINO_ACID_CLASSES, WordScheme
from tests.oracles import search as oracle
from tests.search.cases import code_of, dna, gene, pair, planted, protein, record, target, turned

SHAPE = "1011"


@pytest.mark.parametrize("code", [1, 6])
@pytest.mark.parametrize("kind", ["protein", "cdna"])
def test_seeds_are_the_words_that_targets_and_strands_share(kind, code, monkeypatch):
    monkeypatch.setattr(hits, "SHORT", 0)
    rng = np.random.default_rng(code)
    texts = [dna(rng, 2_500), dna(rng, 40) + "N" + dna(rng, 2_000), "ACGTA", "", dna(rng, 50)]
    own = [protein(rng, 90), protein(rng, 60)] if kind == "protein" else [dna(rng, 80), "ACGTT"]
    options = SearchOptions(shapes=f"{SHAPE},1101", genetic_code=code)
    records = [record(text, str(k)) for k, text in enumerate(texts)]
    words = WordScheme.chosen(kind, 1, options)
    genome = Genome.of(records, words)
    codes = [(target if kind == "protein" else record)(text).codes for text in own]
    joined = hits.JoinedTargets.of(codes, words)
    classes = AMINO_ACID_CLASSES if kind == "protein" else [*"ACGT"]
    table = code_of(code) if kind == "protein" else None
    for k, shape in enumerate((SHAPE, "1101")):
        of_targets = [
            (oracle.word_of(text[q : q + 4], shape, classes), start + q)
            for text, start in zip(own, joined.starts.tolist(), strict=True)
            for q in range(len(text) - 3)
        ]
        for strand, step in enumerate((words.step, -words.step)):
            expected = {
                (place + start, q)
                for text, start in zip(texts, genome.starts.tolist(), strict=True)
                for word, place in oracle.words(text, "+-"[strand], shape, classes, table)
                for other, q in of_targets
                if word == other
            }
            of_strand = step, words.classes[strand], hits.score_table(words, strand)
            several = [
                hits.seeds_in(
                    genome.symbols, span, of_strand, (words.offsets[k], words.n_classes),
                    joined.tables[k], joined.rows, (-10_000, 10_000),
                )
                for span in ((0, 2_100), (2_100, genome.size))
            ]  # fmt: skip
            found = [divmod(seed, 1 << 31) for own, *_ in several for seed in own.tolist()]
            shift = max(step, 0) * len(joined.rows)
            assert sorted((d - shift + step * q, q) for d, q in found) == sorted(expected)
            whole = sum(
                sum(1 for _ in oracle.words(text, "+-"[strand], shape, classes, table))
                for text in texts
            )
            assert sum(one[3] for one in several) == whole


def test_a_sample_is_of_some_words():
    chosen = WordScheme.chosen("protein", 1, SearchOptions(sample=3)).is_sampled(np.arange(5_000))
    assert 0.3 < chosen.mean() < 0.36
    assert WordScheme.chosen("protein", 1, SearchOptions()).is_sampled(np.arange(99)).all()


def hits_in(text, residues, options, **limits):
    """Return the hits of a protein in a record, with other limits."""
    words = WordScheme.chosen("protein", len(text), options)
    own = hits.HitLimits(12, 26, 30, options.repeats)._replace(**limits)
    (found,) = hits.hits_of(
        Genome.of([record(text)], words), [target(residues).codes], words, own, 2
    )
    return hits.to_be_chained(found)


def test_hits_are_extensions_of_shared_words(monkeypatch):
    monkeypatch.setattr(hits, "SHORT", 0)
    rng = np.random.default_rng(5)
    residues = protein(rng, 40)
    text = dna(rng, 90) + gene(rng, residues, 60) + turned(gene(rng, residues, 40)) + "N" * 4
    options = SearchOptions(shapes=SHAPE, repeats=1e6)
    every = oracle.hits(text, residues, SHAPE, AMINO_ACID_CLASSES, pair, 12, 18, code_of())
    rows = hits_in(text, residues, options, near=-1000, least=18)
    found = {tuple(row) for row in rows.tolist()}
    start = {0: lambda place: place, 1: lambda place: len(text) - place - 3}
    expected = {(s, first, last, start[s](place), score) for s, first, last, place, score in every}
    assert found <= expected
    assert len(found) == len(rows)
    assert max(score for *_, score in found) == max(score for *_, score in expected)
    # what is left out begins in a hit on the same diagonal
    diagonals = {(s, place - 3 * first): [] for s, first, _, place, _ in found}
    for s, first, last, place, _ in found:
        diagonals[s, place - 3 * first].append((first, last))
    for s, first, last, place, _ in expected - found:
        spans = diagonals[s, place - 3 * first]
        assert any(a < last and first < b for a, b in spans)


def test_hits_do_not_depend_on_other_targets():
    text, residues, _ = planted(30)
    others = [protein(np.random.default_rng(k), 20 + 90 * k) for k in range(3)]
    several = [*others, residues, residues[20:], "MK"]
    words = WordScheme.chosen("protein", len(text), SearchOptions())
    genome, limits = Genome.of([record(text)] * 2, words), hits.HitLimits(12, 26, 30, 30.0)
    codes = [target(one).codes for one in several]
    found = hits.hits_of(genome, codes, words, limits, 3)
    for own, rows in zip(codes, found, strict=True):
        (alone,) = hits.hits_of(genome, [own], words, limits, 1)
        assert hits.to_be_chained(rows).tolist() == hits.to_be_chained(alone).tolist()
    assert len(found[3]) > len(found[5]) == 0


def test_short_targets_have_words_with_a_free_symbol(monkeypatch):
    rng = np.random.default_rng(8)
    residues = protein(rng, 40)
    # no four neighbours are the same
    other = "".join(a if k % 4 else "CW"[a == "C"] for k, a in enumerate(residues))
    text, options = gene(rng, other, 30), SearchOptions(shapes="1111")
    with_free = hits_in(text, residues, options, near=-1000)
    monkeypatch.setattr(hits, "SHORT", 0)
    without = hits_in(text, residues, options, near=-1000)
    assert not (without[:, hits.SCORE] > 30).any()
    assert (with_free[:, hits.LAST] - with_free[:, hits.FIRST]).max() > 10
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
        assert scores[k] == found[k, hits.SCORE] + rest


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
        assert sum(row[hits.SCORE] for row in own) - sum(costs) == total >= 60
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
def test_words_that_cannot_be_looked_up_are_errors(options, kind):
    with pytest.raises(ScoringError, match="expected"):
        WordScheme.chosen(kind, 1, SearchOptions(**options))


def test_a_genome_without_nucleotides_is_an_error():
    with pytest.raises(InputError, match="expected one at least"):
        find_windows([record("")], [target("MK")])
