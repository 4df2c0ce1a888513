"""Strands that are swept from both ends at once have the scores of whole ones."""

import numpy as np
import pytest

from gpu_tools import SplicedScoring, case_columns, spliced_scores
from gpu_tools.hardware.device import simulated
from tests import cases
from tests.oracles import spliced as oracles

pytestmark = pytest.mark.cuda


def cuts_of(examples):
    """Return how many strands of some cases are cut."""
    from gpu_tools.spliced.gpu.halves import halved

    columns = case_columns([example.case() for example in examples])
    return halved(columns, 1).strands.count - columns.strands.count


def check(examples, scoring, oracle=oracles.spliced_by_enumeration):
    """Compare a GPU's scores with the oracle's."""
    made = [example.case(f"case{k}") for k, example in enumerate(examples)]
    expected = []
    for example in examples:
        strands = [s for s, exons in (("+", example.plus), ("-", example.minus)) if exons]
        best = []
        for strand in strands:
            base, exons = example.strand_view(strand)
            bonus = example.bonus(strand, scoring.exon_weight, transcript=True)
            args = base, example.target, exons, cases.oracle_scoring(scoring), bonus
            found = oracle(*args)
            best.append(found[0] if isinstance(found, tuple) else found)
        expected.append(max(best))
    assert spliced_scores(made, scoring, device="cuda").tolist() == expected


@pytest.mark.parametrize("seed", range(4 if simulated() else 60))
def test_random_cases(seed):
    """Cases with a place that no candidate spans, and without one, in one launch."""
    rng = np.random.default_rng(seed)
    sizes = {"base": 30, "count": 5, "longest": 7, "n_rate": 0.0}
    targets = rng.integers(1, 10, 2 if simulated() else 12)
    examples = [cases.random_example(rng, **sizes, target=int(n)) for n in targets]
    for example in examples:
        example.scores = {key: round(value) for key, value in example.scores.items()}
    assert cuts_of(examples) > 0
    check(examples, cases.random_scoring(rng))


@pytest.mark.skipif(simulated(), reason="takes hours on the simulator")
@pytest.mark.parametrize("seed", range(20))
def test_larger_cases(seed):
    rng = np.random.default_rng(100 + seed)
    n = int(rng.integers(1, 400))
    example = cases.random_example(rng, base=3000, target=n, count=40, longest=60, n_rate=0.0)
    example.scores = {key: round(value) for key, value in example.scores.items()}
    assert cuts_of([example]) > 0
    check([example], cases.random_scoring(rng), oracles.spliced_by_programme)


@pytest.mark.parametrize("ends", ["global", "free-target"])
@pytest.mark.parametrize("strand", "+-")
def test_the_best_chain_goes_through_both_halves(strand, ends):
    exons = [(0, 4), (6, 10)]
    own = ([], exons) if strand == "-" else (exons, [])
    base = "ACCTTTGACC" if strand == "+" else oracles.reverse_complement("ACCTTTGACC")
    example = cases.Example(base, "ACCTGACC", *own, {(strand, (0, 4)): 3.0})
    scoring = SplicedScoring(ends=ends, intron_penalty=2, exon_weight=1.0)
    assert cuts_of([example]) == 1
    score = spliced_scores([example.case()], scoring, device="cuda")[0]
    assert score == 8 + 3 - 2
    check([example], scoring)


@pytest.mark.parametrize("penalty", [0, -9], ids=["no penalty", "a reward for introns"])
def test_two_empty_chains_are_none(penalty):
    """Every chain is worse than none, whichever half its exons lie in."""
    example = cases.Example("CCCCACCCC", "A", [(0, 4), (5, 9)])
    assert cuts_of([example]) == 1
    check([example], SplicedScoring(gap=-3, intron_penalty=penalty))


@pytest.mark.parametrize("exons", [
    [(0, 3), (2, 6), (5, 9)], [(0, 9), (3, 6)], [(2, 5)],
], ids=["one behind the other", "one inside the other", "one alone"])  # fmt: skip
def test_nowhere_to_cut(exons):
    example = cases.Example("ACCGTATGT", "CCGGT", exons)
    assert cuts_of([example]) == 0
    check([example], SplicedScoring())


@pytest.mark.parametrize("first", [True, False], ids=["before", "behind"])
def test_one_exon_alone_in_a_half(first):
    many = [(4, 6), (4, 8), (5, 9), (7, 9)]
    exons = [(0, 3), *many] if first else [(9 - e, 9 - s) for s, e in [(0, 3), *many]]
    example = cases.Example("ACCGTATGT", "ACGTATT", exons)
    assert cuts_of([example]) == 1
    check([example], SplicedScoring())
