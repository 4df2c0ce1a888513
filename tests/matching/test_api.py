"""Approximate and exact matching on the CPU against their definitions."""

from itertools import accumulate

import ahocorasick
import edlib
import numpy as np
import pytest

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.matching import ALPHABETS, Pattern, PatternSet, cpu, match_approximate, match_exact
from gpu_tools.model.scoring import EditCosts
from gpu_tools.model.sequences import Sequence, SequenceChunk
from tests.oracles import matching as oracle

LETTERS = {
    "dna": ("ACGT" * 6 + "N", "ACGT" * 6 + "RYSWKMBDHVNU"),
    "protein": ("ACDEFGHIKLMNPQRSTVWYX*", "ACDEFGHIKLMNPQRSTVWYBJZX"),
    "bytes": ("ab\xff", "ab\xff"),
}
BORDERS = (1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 192)


def text_of(rng, letters, length):
    return "".join(rng.choice(list(letters), length))


def encoded(texts, alphabet):
    known = ALPHABETS[alphabet]
    raw = {name: text.encode("latin-1") for name, text in texts.items()}
    return [Sequence(name, known.encode_text(text)) for name, text in raw.items()]


def pattern_set(patterns, alphabet="dna", both=False):
    raw = {name: text.encode("latin-1") for name, text in patterns.items()}
    return PatternSet.from_texts(raw, alphabet, both)


def exact(patterns, texts, alphabet="dna", both=False, **options):
    patterns, texts = pattern_set(patterns, alphabet, both), encoded(texts, alphabet)
    return match_exact(patterns, texts, device="cpu", **options)


def approximate(patterns, texts, alphabet="dna", both=False, **options):
    patterns, texts = pattern_set(patterns, alphabet, both), encoded(texts, alphabet)
    return match_approximate(patterns, texts, device="cpu", **options)


def oracle_costs(costs, alphabet):
    def pair(symbol, letter):
        return 0 if oracle.matches(alphabet, symbol, letter) else costs.substitution

    return (lambda letter: costs.insertion), (lambda symbol: costs.deletion), pair


def rows(matches):
    return [(m.pattern, m.text, m.start, m.end, m.strand, m.distance) for m in matches]


def check_cigars(matches, patterns, texts, costs, alphabet):
    for match in matches:
        pattern, text = patterns[match.pattern], texts[match.text]
        probe = pattern if match.strand == "+" else oracle.reverse_complement(pattern)
        part = text[match.start : match.end]
        assert oracle.recount(probe, part, match.cigar, costs, alphabet) == match.distance


def random_patterns(rng, texts, letters, count, longest):
    """Patterns, some of them copied from a text and changed a little."""
    patterns = {}
    for k in range(count):
        length = int(rng.integers(1, longest + 1))
        pattern = text_of(rng, letters, length)
        source = str(rng.choice(list(texts.values())))
        if rng.random() < 0.5 and len(source) >= length and "N" not in source:
            at = int(rng.integers(0, len(source) - length + 1))
            pattern = source[at : at + length]
        patterns[f"p{k}"] = pattern
    return patterns


@pytest.mark.parametrize("alphabet", LETTERS)
@pytest.mark.parametrize("seed", range(10))
def test_exact_matches_are_all_occurrences(seed, alphabet):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([5, 40, 10_000]))
    both = alphabet == "dna" and bool(rng.integers(2))
    texts = {
        f"t{k}": text_of(rng, LETTERS[alphabet][0], int(rng.integers(1, 90))) for k in range(3)
    }
    patterns = random_patterns(rng, texts, LETTERS[alphabet][1], int(rng.integers(1, 12)), 9)
    found = exact(patterns, texts, alphabet, both, threads=2, block_symbols=size)
    assert list(found) == oracle.exact(patterns, texts, alphabet, both)


@pytest.mark.parametrize("alphabet", LETTERS)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["unit", "weighted"])
def test_approximate_matches_are_the_definition(seed, kind, alphabet):
    rng = np.random.default_rng(seed)
    size = int(rng.choice([7, 30, 10_000]))
    weights = (int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(0, 5)))
    costs = EditCosts() if kind == "unit" else EditCosts(*weights)
    both = alphabet == "dna" and bool(rng.integers(2))
    texts = {
        f"t{k}": text_of(rng, LETTERS[alphabet][0], int(rng.integers(1, 45))) for k in range(2)
    }
    patterns = random_patterns(rng, texts, LETTERS[alphabet][1], int(rng.integers(1, 4)), 12)
    limit = min(map(len, patterns.values())) * costs.deletion
    max_distance = int(rng.integers(0, limit)) if rng.integers(2) else None
    options = {"max_distance": max_distance, "costs": costs, "block_symbols": size}
    found = approximate(patterns, texts, alphabet, both, threads=2, **options)
    terms = oracle_costs(costs, alphabet)
    assert rows(found) == oracle.approximate(patterns, texts, terms, max_distance, alphabet, both)
    check_cigars(found, patterns, texts, terms, alphabet)


@pytest.mark.parametrize("length", BORDERS)
@pytest.mark.parametrize("kind", ["unit", "weighted"])
def test_lengths_around_words(length, kind):
    rng = np.random.default_rng(length)
    costs = EditCosts() if kind == "unit" else EditCosts(2, 3, 4)
    limit = length // 8 * costs.deletion
    copy = text_of(rng, "ACGT", length)
    errors = list(copy)
    for place in rng.integers(0, length, length // 10):
        errors[place] = str(rng.choice(list("ACGT")))
    del errors[length // 2 : length // 2 + length // 20]
    text = text_of(rng, "ACGT", 150) + "".join(errors) + text_of(rng, "ACGT", 40) + copy
    found = approximate({"p": copy}, {"t": text}, max_distance=limit, costs=costs)
    terms = oracle_costs(costs, "dna")
    expected = [
        (end, distance)
        for end, distance in least_by_programme(copy, text, terms).items()
        if distance <= limit
    ]
    assert [(match.end, match.distance) for match in found] == expected
    check_cigars(found, {"p": copy}, {"t": text}, terms, "dna")
    assert list(exact({"p": copy}, {"t": text})) == oracle.exact({"p": copy}, {"t": text})


def least_by_programme(pattern, text, costs):
    """The plain recurrence: for every end its least cost."""
    insertion, deletion, pair = costs
    column, least = [0, *accumulate(map(deletion, pattern))], {}
    for end, letter in enumerate(text, start=1):
        following = [0]
        for i, symbol in enumerate(pattern, start=1):
            diagonal = column[i - 1] + pair(symbol, letter)
            moved = following[-1] + deletion(symbol), column[i] + insertion(letter)
            following.append(min(diagonal, *moved))
        column = following
        least[end] = column[-1]
    return least


@pytest.mark.parametrize("lengths", [(3, 70_000), (130, 700), (900, 2500)])
def test_long_texts_on_many_threads_and_blocks(lengths):
    rng = np.random.default_rng(sum(lengths))
    pattern, text = (text_of(rng, "ACGT", n) for n in lengths)
    text += pattern[: lengths[0] // 2] + "A" + pattern[lengths[0] // 2 :] + text[:50]
    least = least_by_programme(pattern, text, oracle_costs(EditCosts(), "dna"))
    best = min(least.values())
    for size in (997, 1_000_000):
        found = approximate({"p": pattern}, {"t": text}, threads=3, block_symbols=size)
        assert [(m.end, m.distance) for m in found] == [
            (end, value) for end, value in least.items() if value == best
        ]


def test_progress_moves_within_a_block(monkeypatch):
    monkeypatch.setattr(cpu, "POSITIONS_PER_TASK", 100)
    text, done = text_of(np.random.default_rng(3), "ACGT", 2000), []
    patterns = {"p": "ACGTACGT", "q": text[50:250]}
    approximate(patterns, {"t": text}, max_distance=1, threads=2, progress=done.append)
    assert sum(done) == len(text)
    assert len(done) > 10


def test_substitution_table():
    table = np.full((16, 5), 3)
    table[ALPHABETS["dna"].matches] = 0
    table[1, 2] = table[4, 0] = 1  # transitions of A and G are cheap
    texts, patterns = {"t": "CCACACCGCGCC"}, {"p": "ACAC"}

    def pair(symbol, letter):
        return 0 if symbol == letter else 1 if {symbol, letter} == {"A", "G"} else 3

    found = approximate(patterns, texts, max_distance=3, costs=EditCosts(2, 2, 0, table))
    two = lambda letter: 2  # noqa: E731
    assert rows(found) == oracle.approximate(patterns, texts, (two, two, pair), 3)
    with pytest.raises(ScoringError, match=r"insertion costs have shape \(4,\); expected 5"):
        approximate(patterns, {}, max_distance=1, costs=EditCosts(insertion=[1] * 4))
    with pytest.raises(ScoringError, match="table has shape"):
        approximate(patterns, {}, max_distance=1, costs=EditCosts(table=np.zeros((2, 2), int)))


def letter_costs(rng, alphabet, letters):
    """Random costs by letter and of pairs, for `EditCosts` and for the oracle."""
    known = ALPHABETS[alphabet]
    single = sorted(set(letters) - set("NX")) if alphabet != "bytes" else list("ab")
    others = [int(value) for value in rng.integers(1, 5, 3)]
    insertion, deletion = (
        {letter: int(rng.integers(1, 6)) for letter in single if rng.integers(3)} for _ in range(2)
    )
    pairs = rng.integers(0, 6, (len(single), len(single)))
    costs = EditCosts(
        known.insertion_costs(insertion, others[0]), known.deletion_costs(deletion, others[1]), 1,
        known.pair_costs(single, pairs, others[2]),
    )  # fmt: skip

    def members(symbol):
        return [letter for letter in single if oracle.matches(alphabet, symbol, letter)] or [symbol]

    def pair(symbol, letter):
        if letter not in single or not set(members(symbol)) & set(single):
            return 0 if oracle.matches(alphabet, symbol, letter) else others[2]
        return min(
            pairs[single.index(member), single.index(letter)] if member in single else others[2]
            for member in members(symbol)
        )

    return costs, (
        lambda letter: insertion.get(letter, others[0]),
        lambda symbol: min(deletion.get(member, others[1]) for member in members(symbol)),
        pair,
    )


@pytest.mark.parametrize("alphabet", LETTERS)
@pytest.mark.parametrize("seed", range(10))
def test_costs_by_symbol(seed, alphabet):
    rng = np.random.default_rng(700 + seed)
    letters = {"dna": "ACGTN", "protein": "ACDEFX", "bytes": "ab\xff"}[alphabet]
    in_patterns = letters.replace("N", "RYN" if alphabet == "dna" else "N").replace("X", "")
    both = alphabet == "dna" and bool(rng.integers(2))
    costs, terms = letter_costs(rng, alphabet, letters)
    texts = {f"t{k}": text_of(rng, letters, int(rng.integers(1, 45))) for k in range(2)}
    patterns = random_patterns(rng, texts, in_patterns, int(rng.integers(1, 4)), 12)
    patterns = {name: p.replace("X", "A") for name, p in patterns.items()}
    probes = [probe for p in patterns.values() for _, probe in oracle.strands(p, both)]
    limit = min(sum(map(terms[1], probe)) for probe in probes)
    max_distance = int(rng.integers(0, limit)) if rng.integers(2) else None
    size = int(rng.choice([7, 30, 10_000]))
    options = {"max_distance": max_distance, "costs": costs, "block_symbols": size}
    found = approximate(patterns, texts, alphabet, both, threads=2, **options)
    assert rows(found) == oracle.approximate(patterns, texts, terms, max_distance, alphabet, both)
    check_cigars(found, patterns, texts, terms, alphabet)


@pytest.mark.parametrize("text", ["GGGG", "GGTTGG", "GGAAGG", "CCTTAACC"])
def test_strands_that_cost_differently_to_delete(text):
    """What is below an empty match on one strand may be above it on the other."""
    known = ALPHABETS["dna"]
    by_letter = {"A": 9, "T": 2}
    costs = EditCosts(3, known.deletion_costs(by_letter, 3), 8)
    patterns, texts = {"p": "AAAA"}, {"t": text}

    def pair(symbol, letter):
        return 0 if symbol == letter else 8

    found = approximate(patterns, texts, both=True, costs=costs)
    terms = (lambda letter: 3), (lambda symbol: by_letter.get(symbol, 3)), pair
    assert rows(found) == oracle.approximate(patterns, texts, terms, both=True)
    check_cigars(found, patterns, texts, terms, "dna")


def test_wide_costs_need_32_bits():
    costs = EditCosts(2000, 3000, 4000)
    rng = np.random.default_rng(9)
    patterns, texts = {"p": text_of(rng, "ACGT", 40)}, {"t": text_of(rng, "ACGT", 60)}
    found = approximate(patterns, texts, costs=costs)
    assert rows(found) == oracle.approximate(patterns, texts, oracle_costs(costs, "dna"))
    with pytest.raises(ScoringError, match="could overflow"):
        approximate({"p": "A" * 100}, {}, costs=EditCosts(1, 2**28, 1))


@pytest.mark.parametrize("deletion", [1000, 1 << 20])
def test_matches_that_may_be_far_longer_than_the_text(monkeypatch, deletion):
    """At such a cost a match may have millions of symbols, but no more than the text has."""
    spans, lay_out = [], cpu.lay_out

    def spied(codes, start, span, *arguments):
        spans.append(span)
        return lay_out(codes, start, span, *arguments)

    monkeypatch.setattr(cpu, "lay_out", spied)
    rng = np.random.default_rng(3)
    texts = {"t0": "AC", "t1": text_of(rng, "ACGT", 90)}
    patterns = {"p": text_of(rng, "ACGT", 70)}
    costs = EditCosts(1, deletion, 1)
    found = approximate(patterns, texts, costs=costs, threads=2)
    assert rows(found) == oracle.approximate(patterns, texts, oracle_costs(costs, "dna"))
    assert max(span[0] for span in spans) <= 92


@pytest.mark.parametrize("patterns", [{"p": "AAA"}, {"p": "AAA", "q": "AAR"}])
def test_more_hits_than_the_first_buffer_holds(patterns):
    n = 70_000
    found = exact(patterns, {"t": "A" * n}, threads=1)
    assert len(found) == len(patterns) * (n - 2)
    assert found.starts[:: len(patterns)].tolist() == list(range(n - 2))
    found = approximate({"p": "AAA"}, {"t": "A" * 40_000}, max_distance=1, threads=1)
    assert [match.end for match in found] == list(range(2, 40_001))


@pytest.mark.parametrize("size", [1, 4, 9, 1 << 24])
def test_chunks_are_one_text(size):
    """One text in chunks of several sizes, an empty one at the end, and a whole one."""
    texts, patterns = {"t": "ACGTACGGTACGTTACG", "u": "TTACGTTACG"}, {"p": "ACG", "q": "GTTA"}
    whole, second = encoded(texts, "dna")
    parts = whole.codes[:5], whole.codes[5:6], whole.codes[6:], whole.codes[:0]
    chunks = [SequenceChunk("t", part, k == 3) for k, part in enumerate(parts)]
    options = {"device": "cpu", "block_symbols": size}
    found = match_exact(pattern_set(patterns), [*chunks, second], **options)
    assert list(found) == oracle.exact(patterns, texts)
    found = match_approximate(pattern_set(patterns), [*chunks, second], max_distance=1, **options)
    costs = oracle_costs(EditCosts(), "dna")
    assert rows(found) == oracle.approximate(patterns, texts, costs, max_distance=1)


@pytest.mark.parametrize(("text", "pattern"), [("ACG", "ACGT"), ("ACGT", "ACGT"), ("NNNN", "NN")])
def test_pattern_longer_than_text_equal_to_it_and_n(text, pattern):
    texts, patterns = {"t": text}, {"p": pattern}
    found = exact(patterns, texts)
    assert list(found) == oracle.exact(patterns, texts)
    assert bool(len(found)) == (text == pattern)
    found = approximate(patterns, texts)
    assert rows(found) == oracle.approximate(patterns, texts, oracle_costs(EditCosts(), "dna"))


def test_nothing_found():
    patterns, texts = {"p": "ACGTACGT"}, {"t": "TTTTTTTT"}
    assert len(exact(patterns, texts)) == 0
    assert approximate(patterns, texts, max_distance=2) == []
    assert approximate(patterns, {}) == []


def test_starts_are_those_of_the_longest_match():
    (match,) = approximate({"p": "AACC"}, {"t": "GGAAACCGG"}, max_distance=0)
    assert (match.start, match.end, match.cigar) == (3, 7, (("=", 4),))
    found = approximate({"p": "AACC"}, {"t": "GGACCGG"})
    # G|ACC with a substitution is longer than ACC with a deletion
    assert [(m.start, m.end, m.cigar) for m in found] == [(1, 5, (("X", 1), ("=", 3)))]


@pytest.mark.parametrize("costs", [{"insertion": 0}, {"deletion": 0}, {"substitution": -1}])
def test_bad_costs(costs):
    ((name, cost),) = costs.items()
    for wrong in (cost, [1, cost] if name != "substitution" else cost):
        with pytest.raises(ScoringError, match=f"{name} cost {cost} is out of range"):
            EditCosts(**{name: wrong})


def test_bad_input():
    text = {"t": "ACGT"}
    with pytest.raises(InputError, match="record p: empty pattern"):
        exact({"p": ""}, text)
    with pytest.raises(InputError, match="no pattern"):
        exact({}, text)
    with pytest.raises(InputError, match="record q: the maximum distance 2 is not below 2"):
        approximate({"p": "ACG", "q": "AC"}, text, max_distance=2)
    with pytest.raises(InputError, match="negative"):
        approximate({"p": "ACG"}, text, max_distance=-1)
    with pytest.raises(InputError, match="no reverse strand"):
        exact({"p": "ACG"}, text, "protein", both=True)
    with pytest.raises(InputError, match="record p, position 2: illegal symbol '!'"):
        Pattern.from_text("p", "A!")


@pytest.mark.parametrize("m", [5, 32, 64, 65, 150, 700, 1500])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_best_distance_and_ends_are_those_of_edlib(m, share):
    rng = np.random.default_rng(m)
    text = text_of(rng, "ACGT", 5000)
    copy = list(text[2000 : 2000 + m])
    for place in np.flatnonzero(rng.random(m) < share):
        copy[place] = str(rng.choice(["A", "C", "G", "T", "", "AC"]))
    pattern = "".join(copy) or "A"
    peer = edlib.align(pattern, text, mode="HW", task="locations")
    found = approximate({"p": pattern}, {"t": text})
    assert {match.distance for match in found} == {peer["editDistance"]}
    assert [match.end for match in found] == [end + 1 for _, end in peer["locations"]]


@pytest.mark.parametrize("count", [1, 30, 3000])
def test_occurrences_are_those_of_pyahocorasick(count):
    rng = np.random.default_rng(count)
    text = text_of(rng, "ACGT", 20_000)
    words = {text_of(rng, "ACGT", int(rng.integers(3, 40))) for _ in range(count)}
    words |= {text[k : k + 20] for k in range(0, 15_000, 1000)}
    automaton = ahocorasick.Automaton()
    for word in words:
        automaton.add_word(word, word)
    automaton.make_automaton()
    expected = sorted((end + 1 - len(word), word) for end, word in automaton.iter(text))
    found = exact({word: word for word in words}, {"t": text})
    assert sorted((row[2], row[0]) for row in found) == expected
