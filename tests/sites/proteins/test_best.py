"""Several chains of a base and a protein in site mode: each the best without earlier pairs."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence, decode, reverse_complement
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins import api
from gpu_tools.sites.proteins.cpu import sweep as cpu
from tests import cases
from tests.oracles import proteins as oracle
from tests.sites.proteins.test_api import (
    BLOSUM62,
    EXONS,
    PROTEIN,
    edge_scoring,
    gene,
    random_introns,
    random_protein,
    random_question,
    random_scoring,
    random_table,
    rescored,
    short_blocks,  # noqa: F401
    sites_of,
    terms,
)
from tests.sites.test_junctions import with_junctions


def ranked(case, scoring, most=5, align=api.protein_align, **options):
    """Return the best chains of a case."""
    options = {"device": "cpu", "threads": 1} | options
    found = align([case], scoring, best=most, **options)
    assert [one.rank for one in found] == [*range(1, len(found) + 1)]
    (first,) = align([case], scoring, best=1, **options)
    assert found[0].changed(rank=None) == first
    return found


def of_strand(base, strand):
    return (
        decode(reverse_complement(Sequence.from_text("b", base).codes)) if strand == "-" else base
    )


def pairs_of(result):
    """Return the pairs of a result on its strand, by the oracle."""
    size, reverse = result.base_length, result.strand == "-"
    chain = [(size - e, size - s) if reverse else (s, e) for s, e in result.chain]
    return set(oracle.pairs_of(chain, result.cigar, result.target_start))


def check_ranks(found, most, best_score, nothing):
    """Check chains against `best_score` of a strand without pairs, None if there is no chain.

    Fewer than `most` end where the best one left aligns no pair, or scores no more than `nothing`.
    """
    one, banned = found[0], {"+": set(), "-": set()}
    for rank in range(min(len(found) + 1, most)):
        scores = [(best_score(strand, banned[strand]), strand == "+") for strand in "+-"]
        best, forward = max(own for own in [*scores, (oracle.NONE, False)] if own[0] is not None)
        if rank == len(found):
            every = {(i, j) for i in range(one.base_length) for j in range(one.target_length)}
            without = [best_score(strand, every) for strand in "+-"]
            assert best <= nothing or best in without, rank
            return
        one = found[rank]
        assert (one.score is None and best == oracle.NONE) or one.score == best, rank
        if one.score is not None:
            assert one.strand == ("+" if forward else "-")
            assert pairs_of(one) or rank == 0
            assert not banned[one.strand] & pairs_of(one)
            banned[one.strand] |= pairs_of(one)


def tabled_case(seed, evidence):
    base, target, table, scoring = random_question(seed)
    rng = np.random.default_rng([seed, 13])
    tables = {"+": table, "-": random_table(rng, len(base))}
    if evidence:
        tables = {strand: with_junctions(rng, own, 6) for strand, own in tables.items()}
    introns = random_introns(rng, len(target)) if seed % 2 else ()
    protein = replace(ProteinSequence.from_text("t", target), introns=introns)
    case = api.ProteinCase(Sequence.from_text("b", base), protein, tables)
    return case, base, target, scoring, rng


@pytest.mark.parametrize("edge", [False, True])
# of the last two a split codon is equal to a banned one beside it
@pytest.mark.parametrize("seed", [*range(24), 500107, 500125])
def test_each_chain_is_the_best_without_pairs_of_better_ones(seed, edge, short_blocks):  # noqa: F811
    case, base, target, scoring, rng = tabled_case(seed, seed % 3 == 0)
    scoring, introns = edge_scoring(rng) if edge else scoring, case.target.introns
    found = ranked(case, scoring)

    def best_score(strand, banned):
        own = sites_of(case.tables[strand]), terms(scoring), introns, banned
        return oracle.best_score(of_strand(base, strand), target, *own)

    check_ranks(found, 5, best_score, case.empty_score(scoring))
    for one in found:
        if one.score is not None:
            own = case.tables[one.strand], scoring, introns
            assert rescored(base, target, one, *own) == one.score, (seed, one.rank)


@pytest.mark.parametrize("seed", range(6))
def test_larger_cases_rescore_share_no_pair_and_do_not_depend_on_blocks(seed, monkeypatch):
    rng = np.random.default_rng([seed, 17])
    base = cases.random_text(rng, int(rng.integers(100, 700)))
    target = random_protein(rng, base, int(rng.integers(1, 120)))
    tables = {strand: random_table(rng, len(base)) for strand in "+-"}
    scoring, protein = random_scoring(rng), ProteinSequence.from_text("t", target)
    case = api.ProteinCase(Sequence.from_text("b", base), protein, tables)
    found, seen = ranked(case, scoring), set()
    for one in found if found[0].chain else ():
        pairs = {(one.strand, *pair) for pair in pairs_of(one)}
        assert not pairs & seen
        seen |= pairs
        assert rescored(base, target, one, tables[one.strand], scoring) == one.score
    scores = [one.score for one in found if one.chain]
    assert scores == sorted(scores, reverse=True)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", int(rng.integers(1, 60)))
    monkeypatch.setattr(cpu, "_STATE_TO_BLOCK", 0)
    assert ranked(case, scoring, threads=2) == found


def test_copies_of_a_gene_are_found_one_after_the_other():
    text, flank = gene()
    base = Sequence.from_text("b", text + text)
    scoring = ProteinScoring(BLOSUM62)
    tables = api.protein_tables_of(base, api.protein_sites(load_sites("vertebrate")), scoring, "+")
    case = api.ProteinCase(base, ProteinSequence.from_text("p", PROTEIN), tables)
    first, second, *others = ranked(case, scoring, 3)
    assert second.score == first.score
    starts = sorted(one.chain[0][0] for one in (first, second))
    assert starts == [flank, len(text) + flank]
    assert [one.identity for one in (first, second)] == [1.0, 1.0]
    assert all(one.score < second.score for one in others)
    assert first.n_chain == len(EXONS)
