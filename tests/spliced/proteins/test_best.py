"""Several chains of a base and a protein in list mode: each the best without earlier pairs."""

import numpy as np
import pytest

from gpu_tools import ExonSet, Sequence
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.spliced.proteins.api import ListedProteinCase, protein_spliced_align
from tests.oracles import listed_proteins as oracle
from tests.sites.proteins.test_best import check_ranks, pairs_of, ranked
from tests.spliced.proteins.test_api import (
    PROTEIN,
    SCORING,
    candidates,
    edge_question,
    listed,
    of_strand,
    random_question,
    rescored,
    terms,
)


def case_of(base, target, exons):
    return ListedProteinCase(
        Sequence.from_text("b", base), ProteinSequence.from_text("t", target), exons
    )


@pytest.mark.parametrize("question", [random_question, edge_question])
@pytest.mark.parametrize("seed", range(24))
def test_each_chain_is_the_best_without_pairs_of_better_ones(question, seed):
    base, target, exons, scoring = question(seed)
    case = case_of(base, target, exons)
    found = ranked(case, scoring, align=protein_spliced_align)
    known = terms(scoring) | {"penalty": scoring.intron_penalty}

    def best_score(strand, banned):
        own = candidates(exons, strand, len(base), scoring), known, banned
        return oracle.best_score(of_strand(base, strand), target, *own)

    check_ranks(found, 5, best_score, case.empty_score(scoring))
    for one in found:
        if one.score is not None:
            assert rescored(base, target, one, exons, scoring) == one.score, (seed, one.rank)


@pytest.mark.parametrize("seed", range(6))
def test_larger_cases_rescore_and_share_no_pair(seed):
    base, target, exons, scoring = random_question(seed, 900, 150, 90)
    found, seen = ranked(case_of(base, target, exons), scoring, align=protein_spliced_align), set()
    for one in found if found[0].chain else ():
        pairs = {(one.strand, *pair) for pair in pairs_of(one)}
        assert not pairs & seen
        seen |= pairs
        assert rescored(base, target, one, exons, scoring) == one.score
    scores = [one.score for one in found if one.chain]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("strand", ["+", "-"])
def test_copies_of_a_gene_are_found_one_after_the_other(strand):
    text, exons, intervals = listed(strand=strand)
    moved = ExonSet(
        exons.starts + len(text), exons.ends + len(text), exons.reverse, exons.scores,
        phases=exons.phases,
    )  # fmt: skip
    case = case_of(text + text, PROTEIN, ExonSet.concatenate([exons, moved]))
    first, second, *_ = ranked(case, SCORING, align=protein_spliced_align)
    assert first.score == second.score
    copies = [list(intervals), [(s + len(text), e + len(text)) for s, e in intervals]]
    assert sorted(list(one.chain) for one in (first, second)) == copies


def test_a_codon_that_an_intron_splits_is_one_pair_with_its_first_nucleotide():
    text, exons, _ = listed()
    (first, *_) = ranked(case_of(text, PROTEIN, exons), SCORING, align=protein_spliced_align)
    case = case_of(text, PROTEIN, exons)
    rows, columns = case.pairs_of(first)
    assert columns.tolist() == [*range(len(PROTEIN))]
    assert len(np.unique(np.diff(rows))) == 2  # codons, and the one that the intron splits
    assert rows[15] == first.chain[0][1] - 1
