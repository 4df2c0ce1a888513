"""Chance in place: which chains are judged by shuffled targets, and what these say."""

import numpy as np
import pytest

from gpu_tools import Gumbel, SplicedAlignment
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.sequences import Sequence
from gpu_tools.spliced.case import Case
from gpu_tools.splicing.chance import LEAST_PLACE, is_doubtful, judged_in_place, lengthened
from gpu_tools.splicing.shuffles import shuffled

KNOWN = Gumbel(20.0, 2.0)
UNKNOWN = KNOWN._replace(known=False)


@pytest.mark.parametrize(
    ("evalue", "law", "doubtful"),
    [
        (0.2, KNOWN, False), (0.2, UNKNOWN, False), (1e-3, KNOWN, True), (1e-3, UNKNOWN, True),
        (1e-30, KNOWN, False), (1e-30, UNKNOWN, True), (None, KNOWN, False), (None, None, False),
    ],
)  # fmt: skip
def test_what_is_doubtful(evalue, law, doubtful):
    assert is_doubtful(evalue, law) is doubtful


def result(score):
    return SplicedAlignment("b", "t", 9, 5, "+", score, chain=((0, 5),), cigar=(("=", 5),))


@pytest.mark.parametrize("seed", range(3))
def test_the_larger_evalue_counts(seed):
    """Shuffled targets score 30 in the mean where the law expects 20."""
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    target = Sequence("t", random.integers(0, 4, 300).astype(np.uint8))
    case = Case(Sequence.from_text("b", "ACGT" * 500), target, ExonSet.empty())
    scores, law = (20, 35, 1000), Gumbel(20.0, 2.0)
    found = [result(score).with_evalue(law.evalue(score)) for score in scores]
    aligned = []

    def align(cases):
        aligned.extend(cases)
        return [result(int(score)) for score in random.gumbel(30, 3, len(cases))]

    hopeless, doubtful, clear = judged_in_place([case] * 3, found, [law] * 3, align)
    assert (hopeless, clear) == (found[0], found[2])
    assert 0.05 < doubtful.evalue < 0.5 > found[1].evalue * 100
    assert len(aligned) == 30


def test_few_shuffles_say_that_chance_in_place_is_no_larger():
    case = Case(Sequence.from_text("b", "ACGT" * 500), Sequence.from_text("t", "ACG" * 50),
                ExonSet.empty())  # fmt: skip
    found, aligned = result(35).with_evalue(KNOWN.evalue(35)), []

    def align(cases):
        aligned.extend(cases)
        return [result(1)] * len(cases)

    assert judged_in_place([case], [found], [KNOWN], align) == [found]
    assert len(aligned) == 10


def test_a_short_base_is_lengthened_by_its_own_nucleotides():
    base = Sequence.from_text("b", "AACGTTT" * 10)
    longer = lengthened(base)
    assert (longer.name, len(longer)) == ("b", LEAST_PLACE)
    assert longer.letters()[:70] == base.letters()
    assert sorted(longer.letters()[70:140]) == sorted(base.letters())
    assert longer.letters()[70:140] != longer.letters()[140:210]
    assert longer.letters() == lengthened(base).letters()
    long = Sequence.from_text("b", "ACGT" * 5000)
    assert lengthened(long).letters() == long.letters()


def test_a_lengthened_base_holds_no_shuffled_copy_of_itself():
    """A target may be the base: then a shuffle would score as the target does."""
    base = Sequence("b", np.random.default_rng(4).integers(0, 4, 200).astype(np.uint8))
    longer = lengthened(base).letters()
    assert not any(shuffled(base, number).letters() in longer for number in range(30))
