"""Listed candidates whose chains translate, against their definition and against site mode."""

from functools import partial

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    ScoringError,
    Sequence,
    SiteCase,
    SplicedScoring,
    site_align,
    spliced_align,
)
from gpu_tools.sites.table import CLOSED, IntronClass, SiteTable
from gpu_tools.splicing.reading import stop_words
from tests import cases
from tests.oracles import sites as oracle_sites
from tests.oracles import spliced as oracles

READINGS = ("complete", "incomplete")
WORDS = ["ATG", "TAA", "TAG", "TGA", "AT", "G", "T", "A", "C", "CCA", "N"]


def coding_text(rng, length):
    """Return letters with many start and stop codons."""
    shares = [0.2, 0.07, 0.07, 0.07, 0.1, 0.1, 0.1, 0.1, 0.1, 0.07, 0.02]
    return "".join(rng.choice(WORDS, size=length, p=shares))[:length]


def coding_example(rng):
    """Return a case of few exons on text with many start and stop codons."""
    sizes = {"base": int(rng.integers(6, 28)), "target": int(rng.integers(1, 9))}
    example = cases.random_example(rng, **sizes, count=int(rng.integers(1, 7)), longest=12)
    example.base = coding_text(rng, sizes["base"])
    for exons in (example.plus, example.minus):
        exons += [(s, e) for s, e in exons_between_codons(example.base) if rng.random() < 0.3]
    example.scores = {
        (strand, exon): float(rng.integers(-3, 4))
        for strand, exons in (("+", example.plus), ("-", example.minus)) for exon in exons
    }  # fmt: skip
    example.plus, example.minus = example.plus[-7:], example.minus[-7:]
    return example


def exons_between_codons(text):
    """Yield intervals from a start codon on, and up to a stop codon."""
    for k in range(len(text) - 3):
        if text[k : k + 3] == "ATG":
            yield k, min(k + 4, len(text))
        if text[k : k + 3] in oracle_sites.STOPS:
            yield max(k - 2, 0), k + 3


def best_by_enumeration(reading, base, target, exons, terms, bonus):
    """Best score of all chains that translate, or None."""
    best = None
    for chain in oracles.chains(exons):
        text = "".join(base[start:end] for start, end in chain)
        if not oracle_sites.translates(base, chain):
            continue
        whole = text[:3] == "ATG" and text[-3:] in oracle_sites.STOPS
        if whole or reading == "incomplete":
            score = oracles.chain_score(base, target, chain, terms, bonus)
            best = score if best is None else max(best, score)
    return best


def check_by_enumeration(rng, reading):
    """Compare with the definition; return whether there is a chain of more than one exon."""
    example, scoring = coding_example(rng), cases.random_scoring(rng)
    best = cases.best_by_strand(example, scoring, partial(best_by_enumeration, reading))
    (result,) = spliced_align([example.case()], scoring, device="cpu", reading=reading)
    cases.check_best(example, scoring, result, best)
    if not best:
        assert (result.chain, result.n_exons) == ((), 0)
        return False
    check_translation(example.base, result)
    return result.n_chain > 1


def check_translation(base, result):
    """Check phases and outer codons of a result."""
    m, strand = len(base), result.strand
    text = base if strand == "+" else oracles.reverse_complement(base)
    chain = [(s, e) if strand == "+" else (m - e, m - s) for s, e in result.chain]
    assert oracle_sites.translates(text, tuple(chain))
    spliced = "".join(text[start:end] for start, end in chain)
    assert result.start_codon == (spliced[:3] == "ATG")
    assert result.stop_codon == (spliced[-3:] in oracle_sites.STOPS)
    before = np.cumsum([0] + [end - start for start, end in chain[:-1]])
    assert result.phases == tuple(-before % 3)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(6))
def test_small_cases_by_enumeration(seed, reading):
    rng = np.random.default_rng([seed, READINGS.index(reading)])
    spliced = [check_by_enumeration(rng, reading) for _ in range(40)]
    assert any(spliced)


def product_case(rng, length):
    """Return a base, its candidates (every start with every later end) and its site table."""
    base = coding_text(rng, length)
    starts, ends = (np.flatnonzero(rng.random(length + 1) < share) for share in (0.15, 0.15))
    codes, stops = Sequence.from_text("b", base).codes, stop_words()
    table = [np.full(length + 1, CLOSED) for _ in range(4)]
    table[1][starts], table[2][ends] = 0, 0
    for start in starts[starts <= length - 3]:
        if codes[start : start + 3].tolist() == [0, 3, 2]:
            table[0][start] = 0
    for end in ends[ends >= 3]:
        if stops[tuple(codes[end - 3 : end])]:
            table[3][end] = 0
    exons = [(int(s), int(e)) for s in starts for e in ends if s < e]
    return base, exons, table


@pytest.mark.parametrize("seed", range(8))
def test_same_chain_as_site_mode(seed):
    """All starts with all later ends are what site mode works on: same chain, same ties."""
    rng, n_chains = np.random.default_rng(70 + seed), 0
    for _ in range(12):
        base, exons, scores = product_case(rng, int(rng.integers(40, 160)))
        penalty, ends = int(rng.integers(-3, 3)), str(rng.choice(["global", "free-target"]))
        table = SiteTable(*scores, (IntronClass(0, 0, penalty),), stops=stop_words())
        target = Sequence.from_text("t", coding_text(rng, int(rng.integers(5, 80))))
        scoring = SplicedScoring(1, -1, -2, intron_penalty=penalty, ends=ends)
        sequence = Sequence.from_text("b", base)
        case = Case(sequence, target, ExonSet.from_intervals(exons))
        (listed,) = spliced_align([case], scoring, device="cpu", reading="complete")
        (free,) = site_align([SiteCase(sequence, target, {"+": table})], scoring, device="cpu")
        for name in ("score", "chain", "target_start", "target_end", "cigar", "phases"):
            assert getattr(listed, name) == getattr(free, name), name
        assert (listed.start_codon, listed.stop_codon) == (free.start_codon, free.stop_codon)
        n_chains += listed.n_chain > 1
    assert n_chains


def chain_of(base, target, exons, reading="complete", **scoring):
    case = Case(
        Sequence.from_text("b", base), Sequence.from_text("t", target),
        ExonSet.from_intervals(exons),
    )  # fmt: skip
    (result,) = spliced_align([case], SplicedScoring(**scoring), device="cpu", reading=reading)
    return result.chain


def test_codon_over_an_intron_that_would_be_a_stop_is_left_out():
    """ATG CCT|AA GGT TGA: the intron would make TAA, so only the other end of the exon is left."""
    question = "ATGCCTCCCAAGGTTGA", "ATGCCTAAGGTTGA", [(0, 6), (0, 7), (9, 17), (10, 17)]
    assert chain_of(*question, reading="any") == ((0, 6), (9, 17))
    assert oracle_sites.translates(question[0], chain_of(*question))


def test_a_predecessor_that_would_make_a_stop_is_not_taken_for_one_of_the_same_value():
    """With free gaps ATGC and ATGCCCT are worth the same, but T|AA is a stop codon."""
    exons = [(0, 4), (0, 7), (9, 14)]
    assert chain_of("ATGCCCTGGAATGA", "ATGCAATGA", exons, gap=0) == ((0, 4), (9, 14))


def test_an_exon_that_may_be_first_is_first_on_equal_scores():
    exons = [(0, 6), (8, 14)]
    assert chain_of("ATGCCCGGATGTAA", "ATGTAA", exons, intron_penalty=-12) == ((8, 14),)
    assert chain_of("ATGCCCGGATGTAA", "ATGTAA", exons, intron_penalty=-13) == tuple(exons)


def test_other_readings_and_ends_are_refused():
    case = cases.WORKED_EXAMPLE.case()
    with pytest.raises(ScoringError, match="unknown reading 'open'; expected one of any, complete"):
        spliced_align([case], reading="open")
    with pytest.raises(ScoringError, match="free ends; expected whole candidates"):
        spliced_align([case], SplicedScoring(ends="free"), reading="complete")
    with pytest.raises(ScoringError, match="expected less than 2"):
        spliced_align([case], SplicedScoring(match=2**27), device="cpu", reading="complete")
