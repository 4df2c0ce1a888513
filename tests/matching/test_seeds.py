"""Approximate matching by seeds gives what the definition gives, and is used where it pays."""

import numpy as np
import pytest

from gpu_tools.matching import ALPHABETS, cpu, match_approximate
from gpu_tools.matching.approximate import Tables
from gpu_tools.model.scoring import EditCosts
from tests.matching import test_api as shared
from tests.oracles import matching as oracle


def chosen(patterns, errors):
    """Return the seeds that a CPU takes for patterns."""
    times = cpu.SCAN_TIMES["cpu"]
    return cpu.choose(patterns.probes(), patterns.matches, errors, times)


@pytest.mark.parametrize("alphabet", shared.LETTERS)
@pytest.mark.parametrize("kind", ["unit", "weighted"])
@pytest.mark.parametrize("seed", range(2))
def test_seeds_miss_nothing(seed, kind, alphabet):
    rng = np.random.default_rng(300 + seed)
    costs = EditCosts() if kind == "unit" else EditCosts(2, 1, 3)
    letters = shared.LETTERS[alphabet][0]
    plain = "".join(letter for letter in letters if letter not in "NX*")
    patterns = {f"p{k}": shared.text_of(rng, plain, int(rng.integers(18, 26))) for k in range(4)}
    texts = {"t": shared.text_of(rng, letters, 30), "u": shared.text_of(rng, letters, 30)}
    for pattern in patterns.values():
        copied = list(pattern)
        for _ in range(int(rng.integers(0, 3))):
            copied[int(rng.integers(len(copied)))] = str(rng.choice(list(plain)))
        del copied[int(rng.integers(len(copied)))]
        texts["t"] += "".join(copied) + shared.text_of(rng, letters, int(rng.integers(3)))
    texts["u"] += patterns["p0"]
    searched = shared.pattern_set(patterns, alphabet, alphabet == "dna")
    assert not chosen(searched, 2).others
    options = {"max_distance": 2, "costs": costs, "block_symbols": 50 if seed % 2 else 10_000}
    found = match_approximate(searched, shared.encoded(texts, alphabet), device="cpu", **options)
    terms = shared.oracle_costs(costs, alphabet)
    assert shared.rows(found) == oracle.approximate(
        patterns, texts, terms, 2, alphabet, alphabet == "dna"
    )
    assert found
    shared.check_cigars(found, patterns, texts, terms, alphabet)


@pytest.mark.parametrize("seed", range(3))
def test_seeds_with_costs_by_symbol(seed):
    rng = np.random.default_rng(400 + seed)
    costs, terms = shared.letter_costs(rng, "dna", "ACGTN")
    cheapest = cpu.most_errors(Tables.of(ALPHABETS["dna"].matches, costs), 2)
    patterns = {f"p{k}": shared.text_of(rng, "ACGT", int(rng.integers(20, 26))) for k in range(4)}
    texts = {"t": shared.text_of(rng, "ACGTN", 20) + patterns["p1"][:9] + patterns["p1"][10:]}
    assert cheapest is None or not chosen(shared.pattern_set(patterns), cheapest).others
    found = shared.approximate(patterns, texts, max_distance=2, costs=costs)
    assert shared.rows(found) == oracle.approximate(patterns, texts, terms, 2)


def test_seeds_are_used_where_they_pay():
    rng = np.random.default_rng(5)
    patterns = {f"p{k}": shared.text_of(rng, "ACGT", 40) for k in range(8)}
    patterns["short"] = "ACGTAC"
    texts = shared.encoded({"t": patterns["p3"][:20] + "A" + patterns["p3"][20:]}, "dna")
    found = match_approximate(shared.pattern_set(patterns), texts, max_distance=3, device="cpu")
    assert chosen(shared.pattern_set(patterns), 3).others == [8]
    assert {match.pattern for match in found} == {"p3", "short"}


def test_errors_that_cost_nothing_have_no_seeds():
    table = np.full((16, 5), 2)
    table[ALPHABETS["dna"].matches] = 0
    table[1, 3] = 0  # T is as good as A
    costs = EditCosts(2, 2, 2, table)
    matches = ALPHABETS["dna"].matches
    assert cpu.most_errors(Tables.of(matches, costs), 4) is None
    assert cpu.most_errors(Tables.of(matches, EditCosts(3, 2, 5)), 5) == 2
    patterns = {f"p{k}": "AC" * 20 for k in range(3)}
    texts = shared.encoded({"t": "TC" * 20}, "dna")
    options = {"max_distance": 0, "costs": costs, "device": "cpu"}
    found = match_approximate(shared.pattern_set(patterns), texts, **options)
    assert [match.distance for match in found] == [0, 0, 0]
