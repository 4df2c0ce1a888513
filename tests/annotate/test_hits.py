"""Hits in windows: which parts of a window are tried after its near part."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpu_tools.annotate.api import laws_of
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.hits import LEAST_NEAR, HitSearch
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.model.locus import SearchWindow, SeedChain, SeedHit
from tests.annotate.genomes import gene, genome, proteins, random_protein, random_text

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
    return [one for _, one in search.alignments([window(*chains)]) if search.options.accepts(one)]


def test_a_gene_beside_a_better_chain_of_chance_is_found(search, monkeypatch):
    chance, true = chain(20_000, 900), chain(60_400, 800)
    (hit,) = found(search, chance, true)
    assert hit.chain[0][0] == 60_000
    assert not found(search, chance)
    monkeypatch.setattr(HitSearch, "_beside", lambda *of: [])
    assert not found(search, chance, true)


def test_all_of_a_window_is_tried_if_its_near_part_is_nearly_a_hit(search):
    one = window(chain(20_000, 900))
    for score, wider in ((LEAST_NEAR * RESIDUES, one), (LEAST_NEAR * RESIDUES - 1, None)):
        alignment = SimpleNamespace(chain=(), score=score)
        assert search._wider(one, one.near, alignment) is wider


def test_a_window_loses_the_chains_that_chance_made(search):
    least = search._least_score(0)
    weak, true = chain(20_000, least // 3), chain(60_400, least // 3)
    (left,) = search._promising([window(weak, true)])
    assert left.chains == (true,)
    assert search._promising([window(weak)]) == []
