"""Shuffled targets: what they keep, and the laws that are fitted to their scores."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    Sequence,
    SiteCase,
    fit_gumbel,
    load_sites,
    shuffled_laws,
    site_align,
    spliced_align,
    tables_of,
)  # fmt: skip
from gpu_tools.model.sequences import decode
from gpu_tools.splicing.shuffles import shuffled

SEED = 5
CODING = "ATGCCCAAATTTGGGTCATAA"


def codons(text):
    return [text[k : k + 3] for k in range(0, len(text), 3)]


def test_nucleotides_are_shuffled():
    target = Sequence.from_text("t", "ACGTNACCA" * 9)
    texts = [decode(shuffled(target, number).codes) for number in range(5)]
    assert all(Counter(text) == Counter(decode(target.codes)) for text in texts)
    assert len({*texts, decode(target.codes)}) == 6


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [(CODING, 1, 1), (CODING[3:], 0, 1), (CODING[:-3], 1, 0), (CODING + "AC", 1, 1), ("ATG", 1, 0)],
)
def test_codons_are_shuffled_between_start_and_stop(text, first, last):
    target, whole = Sequence.from_text("t", text), len(text) // 3 * 3
    found = {decode(shuffled(target, number, codons=True).codes) for number in range(40)}
    assert len(found) > 10 or len(text) == 3
    for other in found:
        assert Counter(codons(other[:whole])) == Counter(codons(text[:whole]))
        assert other[: 3 * first] == text[: 3 * first]
        assert other[whole - 3 * last :] == text[whole - 3 * last :]


def test_the_order_depends_on_nucleotides_and_number_alone():
    one, same = Sequence.from_text("one", CODING * 3), Sequence.from_text("same", CODING * 3)
    other = Sequence.from_text("one", CODING * 2 + CODING[::-1])
    assert decode(shuffled(one, 4).codes) == decode(shuffled(same, 4).codes)
    assert decode(shuffled(one, 4).codes) != decode(shuffled(other, 4).codes)
    assert shuffled(one, 4).name == "one"


def listed_cases(random):
    """Return cases of two targets on one base with candidates on both strands."""
    base = Sequence("b", random.integers(0, 4, 300).astype(np.uint8))
    exons = [
        ExonSet.from_intervals([(a, a + 30) for a in random.integers(0, 270, 12)], strand)
        for strand in "+-"
    ]
    exons = ExonSet(*(np.concatenate([getattr(e, n) for e in exons]) for n in
                      ("starts", "ends", "reverse")))  # fmt: skip
    targets = [Sequence(f"t{n}", random.integers(0, 4, n).astype(np.uint8)) for n in (40, 60)]
    return [Case(base, target, exons) for target in targets]


def site_cases(random):
    base = Sequence("b", random.integers(0, 4, 400).astype(np.uint8))
    tables = tables_of(base, load_sites("vertebrate"))
    targets = [Sequence(f"t{n}", random.integers(0, 4, n).astype(np.uint8)) for n in (30, 51)]
    return [SiteCase(base, target, tables) for target in targets]


def test_laws_are_those_of_the_shuffled_targets_scores():
    cases = listed_cases(np.random.default_rng(3))
    laws = shuffled_laws(cases, partial(spliced_align, device="cpu"), 20)
    for case, law in zip(cases, laws, strict=True):
        made = [Case(case.base, shuffled(case.target, k), case.exons) for k in range(20)]
        expected = fit_gumbel([a.score for a in spliced_align(made, device="cpu")])
        assert law._replace(least=expected.least) == expected


def test_laws_do_not_depend_on_what_else_is_asked():
    cases = site_cases(np.random.default_rng(4))
    align = partial(site_align, device="cpu")
    together = shuffled_laws(cases, align, 20)
    assert shuffled_laws(cases[::-1], align, 20) == together[::-1]
    assert shuffled_laws(cases, align, 20, most_alignments=20) == together


def test_the_bases_tables_are_used_as_they_are():
    cases, seen = site_cases(np.random.default_rng(4)), []

    def align(made):
        seen.extend(made)
        return site_align(made, device="cpu")

    shuffled_laws(cases, align, 20)
    assert len(seen) == 40
    assert all(case.tables is cases[0].tables and case.base is cases[0].base for case in seen)


def test_no_chain_no_law():
    base = Sequence.from_text("b", "C" * 30)
    tables = tables_of(base, load_sites("vertebrate"), reading="complete")
    cases = [SiteCase(base, Sequence.from_text("t", CODING), tables)]
    assert shuffled_laws(cases, partial(site_align, device="cpu"), 20, codons=True) == [None]


def test_too_few_shuffles():
    with pytest.raises(ValueError, match="19 shuffles; expected at least 20"):
        shuffled_laws([], site_align, 19)
