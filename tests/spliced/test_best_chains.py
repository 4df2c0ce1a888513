"""Several chains of a pair in list mode against their definition."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import InputError, SplicedScoring, spliced_align
from gpu_tools.spliced.api import spliced_scores
from gpu_tools.spliced.case import graphs_of
from gpu_tools.spliced.cpu.sweep import sweep
from gpu_tools.splicing import rows
from gpu_tools.splicing.best_chains import BannedPairs
from gpu_tools.splicing.rows import empty_score
from tests import cases
from tests.oracles import best_chains as oracle
from tests.oracles import sites as oracle_sites
from tests.oracles import spliced as oracles
from tests.spliced.cpu.test_free_ends import chains_of_parts, part_bonus
from tests.spliced.cpu.test_reading import coding_example

MOST = 5


def chains_of(example, strand, scoring, reading):
    """Return all chains of a strand with the sum of their points."""
    base, exons = example.strand_view(strand)
    bonus = example.bonus(strand, scoring.exon_weight, transcript=True)
    chains = ((chain, chain) for chain in oracles.chains(exons))
    if scoring.ends == "free":
        chains = chains_of_parts(exons)
    found = {}
    for chain, parts in chains:
        text = "".join(base[start:end] for start, end in parts)
        if reading != "any" and not oracle_sites.translates(base, parts):
            continue
        if reading == "complete" and not (text[:3] == "ATG" and text[-3:] in oracle_sites.STOPS):
            continue
        points = sum(bonus[exon] for exon in chain) - scoring.intron_penalty * (len(chain) - 1)
        found[parts] = max(found.get(parts, points), points)
    return found


def rescored(example, scoring, result):
    """Count the score of a result again."""
    bonus = example.bonus(result.strand, scoring.exon_weight)
    terms = cases.oracle_scoring(scoring)
    if scoring.ends != "free":
        return oracles.rescore(example.base, example.target, result, terms, bonus)
    parts = dict.fromkeys(result.chain, 0)
    exons = example.plus if result.strand == "+" else example.minus
    aligned = oracles.rescore(example.base, example.target, result, terms, parts)
    return aligned + part_bonus(result, exons, bonus)


def check(example, scoring, reading="any", **options):
    """Compare the chains of a case with their definition; return how many there are."""
    texts = {strand: example.strand_view(strand)[0] for strand in "+-"}
    chains = {strand: chains_of(example, strand, scoring, reading) for strand in "+-"}
    terms, case = cases.oracle_scoring(scoring), example.case()
    found = spliced_align([case], scoring, best=MOST, reading=reading, **options)
    oracle.check_several(
        found, MOST, len(example.base),
        lambda s, banned: oracle.best_score(texts[s], example.target, chains[s], terms, banned),
        empty_score(case.target.codes, scoring),
        lambda result: rescored(example, scoring, result),
    )  # fmt: skip
    (alone,) = spliced_align([case], scoring, reading=reading, **options)
    assert found[0] == alone.changed(rank=1)
    assert {(one.cells, one.n_exons) for one in found if one.strand == found[0].strand} == {
        (alone.cells, alone.n_exons)
    }
    return len(found)


@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
@pytest.mark.parametrize("seed", range(5))
def test_chains_by_enumeration(seed, ends):
    print("seed", seed)
    rng, several = np.random.default_rng(seed), 0
    for _ in range(8):
        sizes = {"base": int(rng.integers(4, 30)), "target": int(rng.integers(2, 12))}
        example = cases.random_example(rng, **sizes, count=int(rng.integers(1, 5)), longest=8)
        example.scores = {key: round(value) for key, value in example.scores.items()}
        scoring = replace(cases.random_scoring(rng), ends=ends)
        several += check(example, scoring, device="cpu") > 1
    assert several


@pytest.mark.parametrize("reading", ["complete", "incomplete"])
@pytest.mark.parametrize("seed", range(3))
def test_chains_that_translate_by_enumeration(seed, reading):
    print("seed", seed)
    rng, several = np.random.default_rng([seed, 7]), 0
    for k in range(30):
        scoring = cases.random_scoring(rng)
        if k % 2:
            scoring = replace(scoring, match=3, gap=-1, matrix=None, ends="free-target")
        several += check(coding_example(rng), scoring, reading, device="cpu") > 1
    assert several


@pytest.mark.cuda
def test_the_device_does_not_matter():
    """Without banned pairs a GPU aligns, with them the CPU does."""
    made = [cases.Example("ACCGTACGT", "ACGT", [(0, 4), (4, 9)]).case()]
    found = [spliced_align(made, best=3, device=device) for device in ("cpu", "cuda")]
    assert found[0] == found[1]
    assert len(found[0]) > 1


def columns_of(stored):
    """Return the first 201 columns of rows, which lie strip by strip."""
    lanes = rows.lanes_of(stored.dtype)
    return np.concatenate([rows.by_column(strip, lanes) for strip in stored], axis=1)[:, :201]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("match", [1, 3000])
def test_strips_of_a_target_know_their_banned_pairs(seed, match):
    """In 16-bit cells and in 32-bit ones."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    case = cases.random_example(rng, 60, 200, 6, 30).case()
    pairs = rng.integers(0, [60, 200], (400, 2)).T
    scoring = SplicedScoring(match=match, exon_weight=1.0)
    for graph in graphs_of(case, scoring):
        one, several = (
            sweep(graph, case.target.codes, scoring, threads, 7, banned=BannedPairs.of(*pairs))
            for threads in (1, 3)
        )
        for each, others in zip(one, several, strict=True):
            assert np.array_equal(columns_of(each), columns_of(others))
        plain = sweep(graph, case.target.codes, scoring)
        assert (columns_of(plain.ends) >= columns_of(one.ends)).all()
        assert (columns_of(plain.ends) > columns_of(one.ends)).any()


def test_scores_alone_are_without_banned_pairs():
    case = cases.WORKED_EXAMPLE.case()
    (best,) = spliced_align([case], device="cpu")
    further = case.without_pairs_of(best)
    (second,) = spliced_align([further], device="cpu")
    scores = spliced_scores([case, further], device="cpu")
    assert scores.tolist() == [best.score, second.score]
    assert second.score < best.score


@pytest.mark.parametrize("pair", [(-1, 0), (9, 0), (0, -1), (0, 5)])
@pytest.mark.parametrize("ends", ["global", "free"])
def test_banned_pairs_lie_within_the_sequences(pair, ends):
    case = replace(cases.WORKED_EXAMPLE.case(), banned={"+": BannedPairs.of(*zip(pair))})
    with pytest.raises(InputError, match="a banned pair outside of the sequences"):
        spliced_align([case], SplicedScoring(ends=ends), device="cpu")
    with pytest.raises(ValueError, match="best 0; expected at least 1"):
        spliced_align([], best=0)
