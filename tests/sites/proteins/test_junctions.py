"""Introns of splice evidence between the codons of proteins: as their definition has them."""

import numpy as np
import pytest

from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.proteins.cpu import sweep as cpu
from gpu_tools.sites.table import CLOSED, NO_KIND, BoundaryScores, SiteTable, TableJunctions
from tests import cases
from tests.oracles import proteins as oracle
from tests.sites.proteins.test_api import (
    BLOSUM62,
    align,
    edge_scoring,
    random_introns,
    random_protein,
    random_question,
    random_scoring,
    random_table,
    rescored,
    sites_of,
    terms,
)
from tests.sites.test_junctions import with_junctions


@pytest.mark.parametrize("edge", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_score_is_that_of_the_definition(seed, edge, monkeypatch):
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 3)
    monkeypatch.setattr(cpu, "_STATE_TO_BLOCK", 0)
    base, target, table, scoring = random_question(seed)
    rng = np.random.default_rng([seed, 5])
    table, scoring = with_junctions(rng, table, 8), edge_scoring(rng) if edge else scoring
    introns = random_introns(rng, len(target)) if seed % 2 else ()
    own = sites_of(table), terms(scoring), introns
    expected = oracle.best_score(base, target, *own)
    result = align(base, target, {"+": table}, scoring, introns=introns)
    assert result.score == expected, (seed, base, target)
    if expected is not None:
        assert rescored(base, target, result, table, scoring, introns) == expected


@pytest.mark.parametrize("seed", range(15))
def test_larger_cases_rescore_and_do_not_depend_on_blocks(seed, monkeypatch):
    rng = np.random.default_rng([seed, 9])
    base = cases.random_text(rng, int(rng.integers(100, 900)))
    target = random_protein(rng, base, int(rng.integers(1, 150)))
    tables = {strand: with_junctions(rng, random_table(rng, len(base)), 20) for strand in "+-"}
    scoring, introns = random_scoring(rng), random_introns(rng, len(target))
    result = align(base, target, tables, scoring, threads=2, introns=introns)
    if result.score is not None:
        own = tables[result.strand], scoring, introns
        assert rescored(base, target, result, *own) == result.score
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", int(rng.integers(1, 60)))
    monkeypatch.setattr(cpu, "_STATE_TO_BLOCK", 0)
    assert align(base, target, tables, scoring, introns=introns) == result


def test_an_intron_that_was_seen_is_followed_though_its_sites_are_none():
    """Each phase of a listed intron between codons, of which no site is one of the model."""
    first, second, protein = "ATGGCTCTGTGGATGCGC", "CTCCTGCCCCTGCTGGCG", "MALWMRLLPLLA"
    rng = np.random.default_rng(3)
    scoring = ProteinScoring(BLOSUM62, gap_open=20, frameshift=30)
    for phase in range(3):
        coding = first + second
        cut = len(first) + phase
        base = coding[:cut] + cases.random_text(rng, 40).replace("N", "A") + coding[cut:]
        found = align(base, protein, {"+": only_intron(len(base), cut, cut + 40)}, scoring)
        assert found.chain == ((0, cut), (cut + 40, len(base)))
        assert found.translation == found.residues == protein
        assert found.cigar[1] == ("NUV"[phase], 40)


def only_intron(length, donor, acceptor) -> SiteTable:
    """Return a table with one intron, which was seen."""
    acceptors, donors = (
        BoundaryScores.from_lists(length + 1, CLOSED, *np.array([[place], [0], [NO_KIND]]))
        for place in (acceptor, donor)
    )
    anywhere = BoundaryScores.everywhere(length + 1)
    junctions = TableJunctions.of(*np.array([[donor], [acceptor], [3]]))
    return SiteTable(anywhere, acceptors, donors, anywhere, (), junctions=junctions)
