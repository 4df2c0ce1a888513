"""Matching beside programs of others: edlib and pyahocorasick."""

import ahocorasick
import edlib
import numpy as np
import pytest

from gpu_tools.matching import PatternSet, match_approximate, match_exact
from gpu_tools.model.sequences import Sequence


def random_letters(rng, n):
    return "".join(rng.choice(list("ACGT"), n))


@pytest.mark.parametrize("m", [5, 32, 64, 65, 150, 700, 1500])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_best_distance_and_ends_are_those_of_edlib(m, share):
    rng = np.random.default_rng(m)
    text = random_letters(rng, 5000)
    copy = list(text[2000 : 2000 + m])
    for place in np.flatnonzero(rng.random(m) < share):
        copy[place] = str(rng.choice(["A", "C", "G", "T", "", "AC"]))
    pattern = "".join(copy) or "A"
    peer = edlib.align(pattern, text, mode="HW", task="locations")
    found = match_approximate(
        PatternSet.from_texts({"p": pattern}), [Sequence.from_text("t", text)], device="cpu"
    )
    assert {match.distance for match in found} == {peer["editDistance"]}
    assert [match.end for match in found] == [end + 1 for _, end in peer["locations"]]


@pytest.mark.parametrize("count", [1, 30, 3000])
def test_occurrences_are_those_of_pyahocorasick(count):
    rng = np.random.default_rng(count)
    text = random_letters(rng, 20_000)
    words = {random_letters(rng, int(rng.integers(3, 40))) for _ in range(count)}
    words |= {text[k : k + 20] for k in range(0, 15_000, 1000)}
    automaton = ahocorasick.Automaton()
    for word in words:
        automaton.add_word(word, word)
    automaton.make_automaton()
    expected = sorted((end + 1 - len(word), word) for end, word in automaton.iter(text))
    patterns = PatternSet.from_texts({word: word for word in words})
    found = match_exact(patterns, [Sequence.from_text("t", text)], device="cpu")
    assert sorted((row[2], row[0]) for row in found) == expected
