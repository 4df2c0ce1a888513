"""CUDA and CPU give the same matches, on a GPU or on numba's simulator."""

import numpy as np
import pytest

from gpu_tools.hardware.device import Device, simulated
from gpu_tools.matching import (
    ALPHABETS,
    Pattern,
    PatternSet,
    api,
    cpu,
    match_approximate,
    match_exact,
)
from gpu_tools.model.scoring import EditCosts
from gpu_tools.model.sequences import Sequence
from tests.matching.test_api import letter_costs

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]
SMALL = simulated()


def random_search(rng, longest, n, count):
    """Texts with some N, and patterns of which some are changed copies; classes in a few."""
    texts = [
        Sequence(name, rng.choice(5, size, p=[0.24, 0.25, 0.25, 0.24, 0.02]).astype(np.uint8))
        for name, size in (("t", n), ("u", max(n // 7, 1)))
    ]
    patterns = []
    for k in range(count):
        m = int(rng.integers(1, longest + 1))
        symbols = 1 << rng.integers(0, 4, m)
        if m < n and k % 2:
            at = int(rng.integers(0, n - m))
            copied = texts[0].codes[at : at + m]
            changed = (rng.random(m) < 0.1) | (copied == 4)
            symbols = np.where(changed, symbols, 1 << np.minimum(copied, 3))
        if k % 3 == 0:
            symbols[int(rng.integers(m))] = int(rng.integers(1, 16))
        patterns.append(Pattern(f"p{k}", symbols.astype(np.uint8)))
    return PatternSet(patterns, both_strands=bool(rng.integers(2))), texts


def approximate(patterns, texts, **options):
    """Return approximate matches, which are the same on both devices."""
    cpu, cuda = (match_approximate(patterns, texts, device=d, **options) for d in ("cpu", "cuda"))
    assert cuda == cpu
    return cpu


def exact(patterns, texts, **options):
    """Return occurrences, which are the same on both devices."""
    cpu, cuda = (match_exact(patterns, texts, device=d, **options) for d in ("cpu", "cuda"))
    assert list(cuda) == list(cpu)
    return list(cpu)


COSTS = {"unit": EditCosts(), "weighted": EditCosts(2, 3, 4), "cheap-pairs": EditCosts(3, 5, 1)}
KINDS = ("unit", "weighted") if SMALL else tuple(COSTS)


@pytest.mark.parametrize("within", [False, True], ids=["best", "within a distance"])
@pytest.mark.parametrize("costs", KINDS)
@pytest.mark.parametrize("seed", range(1 if SMALL else 8))
def test_matches_are_equal(seed, costs, within):
    rng = np.random.default_rng(100 * within + seed)
    sizes = (5, 16, 2) if SMALL else (int(rng.choice([40, 300, 1100])), 30_000, 8)
    patterns, texts = random_search(rng, *sizes)
    shortest = min(map(len, patterns.patterns)) * COSTS[costs].deletion
    limit = min(int(rng.integers(0, shortest)), shortest // 4) if within else None
    assert approximate(patterns, texts, costs=COSTS[costs], max_distance=limit) or within


@pytest.mark.parametrize("seed", range(1 if SMALL else 12))
def test_costs_by_symbol(seed):
    rng = np.random.default_rng(500 + seed)
    sizes = (5, 16, 2) if SMALL else (int(rng.choice([40, 300])), 30_000, 8)
    patterns, texts = random_search(rng, *sizes)
    costs = letter_costs(rng, "dna", "ACGTN")[0]
    assert approximate(patterns, texts, costs=costs)
    least = min(costs.deletion[probe.symbols].sum() for probe in patterns.probes())
    approximate(patterns, texts, costs=costs, max_distance=int(least) // 2)


@pytest.mark.parametrize("alphabet", ["protein", "bytes"])
def test_costs_by_symbol_in_other_alphabets(alphabet):
    rng = np.random.default_rng(600)
    patterns, texts = protein_search(rng, 30 if SMALL else 5000, 5 if SMALL else 60, alphabet)
    costs = letter_costs(rng, alphabet, "ACDEFGHIKL")[0]
    assert approximate(patterns, texts, costs=costs)


LENGTHS = [(k, "unit") for k in ((33,) if SMALL else (31, 32, 33, 64, 65, 255, 256, 257, 2049))]
LENGTHS += [(k, "weighted") for k in ((9,) if SMALL else (2, 31, 32, 33, 513, 1024, 1025))]


@pytest.mark.parametrize(("length", "costs"), LENGTHS)
def test_rows_over_many_lanes(length, costs):
    rng = np.random.default_rng(length)
    codes, other = rng.integers(0, 4, length).astype(np.uint8), rng.integers(0, 4, 20)
    # copies at several places, as what a lane does depends on where it is
    text = np.concatenate((other[:10], codes, codes[:7], codes, codes, other)).astype(np.uint8)
    symbols = (1 << codes).astype(np.uint8)
    symbols[length // 2] ^= 15
    least = COSTS[costs].substitution
    patterns = PatternSet([Pattern("p", symbols)])
    assert approximate(
        patterns, [Sequence("t", text)], costs=COSTS[costs], max_distance=max(length // 8, least)
    )


@pytest.mark.parametrize("seed", range(3 if SMALL else 16))
def test_occurrences_are_equal(seed):
    rng = np.random.default_rng(200 + seed)
    size = 90 if rng.integers(2) else 1 << 24
    patterns, texts = random_search(rng, 24, 200 if SMALL else 3000, 9)
    assert exact(patterns, texts, block_symbols=size)


def test_many_patterns():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 4, 600 if SMALL else 200_000).astype(np.uint8)
    count = 50 if SMALL else 20_000
    at, sizes = rng.integers(0, len(codes) - 30, count), rng.integers(8, 30, count)
    parts = (1 << codes[a : a + m] for a, m in zip(at, sizes, strict=True))
    patterns = [Pattern(str(k), part.astype(np.uint8)) for k, part in enumerate(parts)]
    assert len(exact(PatternSet(patterns), [Sequence("t", codes)])) >= count


def test_n_behind_the_window_is_no_base():
    patterns = PatternSet.from_texts({"short": "ACGTAC", "long": "ACGTACAAAAAA"})
    texts = [Sequence.from_text("n", "ACGTACAAANAAA"), Sequence.from_text("t", "ACGTACAAAAAA")]
    expected = [("short", "n", 0, 6, "+"), ("short", "t", 0, 6, "+"), ("long", "t", 0, 12, "+")]
    assert exact(patterns, texts) == expected


OTHER_LETTERS = {
    "protein": ("ACDEFGX", "FACDEGX*BZ"),
    "bytes": ("\x00\x04abcd\xff", "\x04abcd\xff"),
}
"""Letters of texts and of patterns: more than 4, and among them what stands behind a text's end."""


@pytest.mark.parametrize("alphabet", sorted(OTHER_LETTERS))
@pytest.mark.parametrize("seed", range(1 if SMALL else 8))
def test_occurrences_in_other_alphabets(seed, alphabet):
    rng = np.random.default_rng(300 + seed)
    letters, drawn = OTHER_LETTERS[alphabet]
    text = "".join(rng.choice(list(letters), 130 if SMALL else 5000)) + 2 * drawn[0]
    patterns = {"all": drawn, "end": 3 * drawn[0]}
    for k in range(6 if SMALL else 40):
        at, m = int(rng.integers(len(text))), int(rng.integers(1, 9))
        patterns[f"copy{k}"] = text[at : at + m]
        patterns[f"random{k}"] = "".join(rng.choice(list(drawn), m))
    patterns = PatternSet.from_texts(
        {n: p.encode("latin-1") for n, p in patterns.items()}, alphabet
    )
    texts = [Sequence("t", ALPHABETS[alphabet].encode_text(text.encode("latin-1")))]
    assert exact(patterns, texts)


def protein_search(rng, n, m, alphabet):
    letters = {"protein": "ACDEFGHIKLMNPQRSTVWY", "bytes": bytes(range(256)).decode("latin-1")}
    known, drawn = ALPHABETS[alphabet], list(letters[alphabet])
    text = "".join(rng.choice(drawn, n))
    copied = list(text[n // 3 : n // 3 + m])
    copied[m // 2] = str(rng.choice(drawn))
    words = {"copy": "".join(copied), "other": "".join(rng.choice(drawn, max(m // 2, 1)))}
    patterns = {name: word.encode("latin-1") for name, word in words.items()}
    codes = known.encode_text(text.encode("latin-1"))
    return PatternSet.from_texts(patterns, alphabet), [Sequence("t", codes)]


@pytest.mark.parametrize("alphabet", ["protein", "bytes"])
@pytest.mark.parametrize("costs", KINDS)
@pytest.mark.parametrize("m", (5,) if SMALL else (5, 33, 60, 120))
def test_other_alphabets_have_equal_matches(m, costs, alphabet):
    rng = np.random.default_rng(m)
    patterns, texts = protein_search(rng, 30 if SMALL else 5000, m, alphabet)
    assert approximate(patterns, texts, costs=COSTS[costs])


@pytest.mark.parametrize("costs", KINDS[:1] if SMALL else KINDS)
@pytest.mark.parametrize("options", [{}, {"max_distance": 2}], ids=["best", "within"])
def test_matches_everywhere(options, costs):
    text = np.tile([0, 0, 0, 1], 3 if SMALL else 600).astype(np.uint8)
    texts = [Sequence("t", text), Sequence("u", text[:5])]
    patterns = PatternSet([Pattern("p", np.array([1, 1, 1], dtype=np.uint8))])
    assert len(approximate(patterns, texts, costs=COSTS[costs], **options)) > 3


def test_several_shares_of_a_text(monkeypatch):
    """Three shares, as on three GPUs."""
    devices = {"cpu": Device("cpu"), "cuda": Device("cuda", (0, 0, 0))}
    monkeypatch.setattr(api, "resolve", devices.get)
    patterns, texts = random_search(np.random.default_rng(12), 6, 40 if SMALL else 20_000, 3)
    assert exact(patterns, texts)
    assert approximate(patterns, texts)


def test_seeds_on_a_gpu():
    rng = np.random.default_rng(14)
    codes = rng.integers(0, 4, 130 if SMALL else 30_000).astype(np.uint8)
    patterns = []
    for k in range(4):
        symbols = 1 << codes[20 * k : 20 * k + 50]
        symbols[[7, 33]] = 1, 8
        patterns.append(Pattern(f"p{k}", symbols.astype(np.uint8)))
    patterns = PatternSet(patterns)
    times = cpu.SCAN_TIMES["cuda"]
    assert not cpu.choose(patterns.probes(), patterns.matches, 2, times).others
    found = approximate(patterns, [Sequence("t", codes)], max_distance=2)
    assert {match.pattern for match in found} == {"p0", "p1", "p2", "p3"}


def test_the_kernels_do_the_work(monkeypatch):
    from gpu_tools.matching import gpu
    from gpu_tools.matching.gpu import CostKernels, UnitKernels

    patterns, texts = random_search(np.random.default_rng(1), 4, 16, 1)
    calls = []

    def spy(kernels):
        real = kernels.prepared
        monkeypatch.setattr(
            kernels, "prepared", lambda *inputs: calls.append(kernels.__name__) or real(*inputs)
        )

    for kernels in (UnitKernels, CostKernels, gpu):
        spy(kernels)
    match_approximate(patterns, texts, device="cuda")
    match_approximate(patterns, texts, device="cuda", costs=EditCosts(2, 2, 2))
    match_exact(patterns, texts, device="cuda")
    assert set(calls) == {"UnitKernels", "CostKernels", gpu.__name__}
