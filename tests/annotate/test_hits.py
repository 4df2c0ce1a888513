"""Hits in windows: near parts, and cores of weak chains."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gpu_tools.annotate.api import laws_of
from gpu_tools.annotate.ends import LooseEnd
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.hits import HitSearch
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import ProteinTargets
from gpu_tools.annotate.trials import WEAK, Trial, cores_of
from gpu_tools.model.locus import SearchWindow, SeedChain, SeedHit
from gpu_tools.search.api import SearchOptions, find_windows
from gpu_tools.search.windows import USUAL
from tests.annotate.genomes import (
    annotate,
    cdnas,
    gene,
    genome,
    mutated,
    proteins,
    random_protein,
    random_text,
    reversed_text,
)

RESIDUES = 300


@pytest.fixture
def search():
    """A gene at 60,000 of a genome of 100 kb."""
    rng = np.random.default_rng(72)
    protein = random_protein(rng, RESIDUES)
    record = genome(random_text(rng, 60_000), gene(rng, protein), random_text(rng, 39_000))
    records, targets = GenomeRecords([record]), proteins(a=protein)
    laws = laws_of(records.summary.composition, [targets])
    return HitSearch(records, targets, laws, AnnotationOptions(), "cpu", 1)


def chain(start, score):
    seed = SeedHit(start, start + 90, 100, 130)
    return SeedChain(start, start + 90, score, start - 3_000, start + 3_000, seed)


def window(*chains):
    return SearchWindow(0, 0, "+", 0, 90_000, chains[0].score, chains)


def found(search, *chains):
    return [one for _, one in search.alignments([window(*chains)]) if search.options.is_hit(one)]


def test_a_gene_beside_a_better_chain_of_chance_is_found(search, monkeypatch):
    chance, true = chain(20_000, 900), chain(60_400, 800)
    (hit,) = found(search, chance, true)
    assert hit.chain[0][0] == 60_000
    assert not found(search, chance)
    monkeypatch.setattr(Trial, "with_other_words", lambda *of: [])
    assert not found(search, chance, true)


def test_a_part_is_widened_from_half_of_a_hits_score_on(search):
    one = window(chain(60_400, 800))
    least = search._least_score(0)
    near, whole = Trial(one, one.near), Trial(one, one)
    assert (near.wanted(least), whole.wanted(least)) == (math.ceil(WEAK * least), least)
    for law_score, is_traced in ((800, True), (100_000, False)):
        search.laws[0] = SimpleNamespace(score_at=lambda evalue, s=law_score: s, evalue=lambda s: 1)
        (tried,) = search._tried([near], search._cases([near.part]))
        assert bool(tried.alignment.chain) == is_traced
        assert search._wider(tried) is None or is_traced


@pytest.mark.parametrize(("points", "is_wider"), [(46, True), (45, False)])
def test_a_part_whose_loose_ends_win_too_little_for_a_hit_is_not_widened(
    points, is_wider, search, monkeypatch
):
    one = window(chain(60_400, 800))
    (tried,) = search._tried([Trial(one, one.near)], search._cases([one.near]))
    least = tried.alignment.score + 100
    search.laws[0] = SimpleNamespace(score_at=lambda evalue: least + 1)
    ends = (LooseEnd(points, 30, 10),) * 2
    monkeypatch.setattr(ProteinTargets, "loose_ends", lambda *of: ends)
    assert 2 * (46 + USUAL) == 100
    assert (search._wider(tried) is not None) == is_wider


def test_an_end_that_no_similarity_supports_is_left_out_far_in_a_record():
    rng = np.random.default_rng(75)
    missing, there = random_protein(rng, 100), random_protein(rng, 200)[1:]
    text = reversed_text(gene(rng, there))
    record = genome(random_text(rng, 60_000), text, random_text(rng, 9_000))
    (own,) = annotate([record], proteins(a=missing + there), search="seeded").genes
    best = own.transcripts[0].alignment
    assert (best.strand, best.target_start, best.target_end) == ("-", 100, 299)
    assert (own.start, own.end) == (60_000, 60_000 + len(text))


def test_words_outside_of_a_refused_part_are_tried_again():
    best, inside, outside = chain(20_000, 900), chain(20_200, 40), chain(24_000, 50)
    one = window(best, inside, outside)
    (again,) = Trial(one, one.near).with_other_words()
    assert again.chains == (outside,)
    assert Trial(again, again.near).with_other_words() == []


def test_a_chain_that_begins_before_its_window_is_not_tried_twice():
    one = replace(window(chain(20_000, 900)), start=20_010)
    assert Trial(one, one.near).with_other_words() == []


def trial_of(*exons, chains=()):
    """A trial of a window from 0 to 90,000 whose sequence begins at 1,000 of its record."""
    found = SimpleNamespace(chain=exons)
    whole = SearchWindow(0, 0, "+", 0, 90_000, 0, chains)
    return Trial(whole, whole, 1_000, found)


def bounds(windows):
    return [(one.start, one.end, one.chains) for one in windows]


def test_beside_a_hit_the_parts_with_words_are_tried():
    """A chain may begin in the hit, if only it goes on beside it."""
    before, across, behind = chain(5_000, 60), chain(21_950, 60), chain(40_000, 60)
    exons = (21_000, 21_300), (22_700, 23_000)
    trial = trial_of(*exons, chains=(before, across, behind))
    left, right = bounds(trial.beside_hit())
    assert left == (0, 20_000, (before,))
    assert right == (22_000, 90_000, (across, behind))
    assert bounds(trial_of(*exons, chains=(before,)).beside_hit()) == [left]
    assert bounds(trial_of(*exons).beside_hit()) == [(0, 20_000, ()), (22_000, 90_000, ())]
    assert bounds(trial_of((1_000, 91_000)).beside_hit()) == []


def test_a_window_is_cut_in_an_intron_that_is_too_long():
    trial = trial_of((21_000, 21_300), (22_700, 23_000), (23_100, 23_200))
    assert trial.long_intron(1_400) is None
    assert trial.long_intron(1_399) == (21_300, 22_700)
    assert bounds(trial.cut((21_300, 22_700))) == [(0, 21_000, ()), (21_000, 90_000, ())]


@pytest.mark.parametrize(
    ("symbols", "low", "base", "kept"),
    [
        ((0, 40), 100, "A", True),
        ((0, 39), 100, "A", False),
        ((0, 39), 0, "A", True),  # at the record's end
        ((0, 39), 100, "N", True),  # beside a gap
    ],
)
def test_words_of_few_symbols_are_left_out_where_a_cdna_has_an_accepted_hit(
    symbols, low, base, kept
):
    records = GenomeRecords([genome("ACGT" * 100, base * 12, "ACGT" * 100)])
    targets = cdnas(a="ACGT" * 50)
    laws = laws_of(records.summary.composition, [targets])
    of = HitSearch(records, targets, laws, AnnotationOptions(min_coverage=0.5), "cpu", 1)
    one = SeedChain(300, 340, 80, low, 500, symbols=symbols)
    assert of._may_be_hit(SearchWindow(0, 0, "+", 0, 800, 80, (one,))) == kept


def test_the_best_window_of_each_cdna_is_first():
    windows = [
        SearchWindow(target, 0, "+", start, start + 9, score)
        for start, (target, score) in enumerate([(0, 5), (1, 7), (0, 8), (1, 7)])
    ]
    of = HitSearch(None, cdnas(a="ACGT", b="ACGT"), (), AnnotationOptions(), "cpu", 1)
    first, others = of._best_first(windows)
    assert [one.start for one in first] == [1, 2]
    assert [one.start for one in others] == [0, 3]


SEED = SeedHit(50_000, 50_090, 400, 430)
CHAIN = SeedChain(49_000, 52_000, 60, 40_000, 60_000, SEED)
STRONG, OTHER = CHAIN._replace(score=300), CHAIN._replace(score=50)
WINDOW = SearchWindow(0, 0, "+", 30_000, 70_000, 60, (CHAIN,))


def test_a_core_is_the_best_hit_with_what_lies_beside_it():
    (core,) = cores_of(WINDOW, 2000, 200).values()
    assert core.window == WINDOW.part(48_500, 51_590)
    assert (core.first, core.last) == (300, 530)


def test_a_core_ends_with_its_window_and_its_target():
    window = WINDOW.part(49_900, 200_000)
    (core,) = cores_of(window, 450, 200).values()
    assert (core.window.start, core.window.end) == (49_900, 51_590)
    assert (core.first, core.last) == (300, 450)


@pytest.mark.parametrize(
    ("window", "residues", "least"),
    [
        (WINDOW, 2000, 120),  # half of a hit's score
        (SearchWindow(0, 0, "+", 30_000, 70_000, 60, (CHAIN, STRONG)), 2000, 200),
        (WINDOW.part(50_010, 70_000), 2000, 200),  # not all of the seed
        (SearchWindow(0, 0, "+", 30_000, 70_000, 60), 2000, 200),
    ],
)
def test_other_windows_are_tried_as_a_whole(window, residues, least):
    assert not cores_of(window, residues, least)


def test_each_weak_chain_has_a_core():
    both = replace(WINDOW, chains=(CHAIN, OTHER))
    assert list(cores_of(both, 2000, 200)) == [CHAIN, OTHER]


def test_seeds_lie_where_the_residues_match():
    """On either strand the seed's codons are the target's residues."""
    rng = np.random.default_rng(70)
    protein = random_protein(rng, 60)
    text = genome(random_text(rng, 3000), gene(rng, protein, 0), random_text(rng, 3000)).letters()
    for record in (genome(text), genome(reversed_text(text))):
        targets = proteins(a=protein).sequences
        (window, *_) = find_windows([record], targets, SearchOptions(), 1)
        seed = window.chains[0].seed
        found = record.letters()[seed.start : seed.end]
        found = found if window.strand == "+" else reversed_text(found)
        assert found == gene(rng, protein[seed.first : seed.last], 0).removesuffix("TAA")


def test_windows_of_chance_are_left_out_and_genes_stay(monkeypatch):
    rng, cells, align = np.random.default_rng(71), [], ProteinTargets.align

    def measured(self, cases, *more):
        cells.append(sum(case.cells for case in cases))
        return align(self, cases, *more)

    monkeypatch.setattr(ProteinTargets, "align", measured)
    targets = proteins(**{f"p{k}": random_protein(rng, 1000) for k in range(3)})
    planted = gene(rng, mutated(rng, targets.sequences[0].letters(), 0.6), 3)
    record = genome(random_text(rng, 150_000), planted, random_text(rng, 150_000))
    (found,) = annotate([record], targets, search="seeded").genes
    spent = sum(cells)
    (expected,) = annotate([record], targets, search="exhaustive").genes
    assert [t.alignment.chain for t in found.transcripts] == [
        t.alignment.chain for t in expected.transcripts
    ]
    windows = find_windows([record], targets.sequences, SearchOptions(), 1)
    assert 1.5 * spent < sum(len(w) * 1000 for w in windows)


def test_introns_of_a_target_are_part_of_what_hits_depend_on():
    """And where there are none the setting is what it was."""
    plain = proteins(a="MAWK" * 9)
    placed = replace(plain, sequences=(replace(plain.sequences[0], introns=(10, 40)),))
    assert placed.setting() == plain.setting() | {"introns": placed.setting()["introns"]}
    other = replace(plain, sequences=(replace(plain.sequences[0], introns=(10, 43)),))
    assert other.setting() != placed.setting()
