"""Random problems of matching, and their times on one core beside those of other programs."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import median_ms
from gpu_tools.matching import Pattern, PatternSet, match_approximate, match_exact
from gpu_tools.model.sequences import Sequence

LETTERS = np.frombuffer(b"ACGTN", dtype=np.uint8)


def random_text(rng, n: int) -> Sequence:
    """Return random nucleotides."""
    return Sequence("text", rng.integers(0, 4, n, dtype=np.uint8))


def random_patterns(rng, count: int, shortest: int, longest: int) -> PatternSet:
    """Return random patterns of random lengths."""
    sizes = rng.integers(shortest, longest + 1, count)
    return PatternSet([
        Pattern(str(k), (1 << rng.integers(0, 4, m)).astype(np.uint8)) for k, m in enumerate(sizes)
    ])  # fmt: skip


def letters(codes) -> str:
    """Return the letters of text codes."""
    return LETTERS[codes].tobytes().decode()


def pattern_letters(patterns: PatternSet) -> list[str]:
    """Return the letters of patterns without classes."""
    table = np.zeros(16, dtype=np.uint8)
    table[[1, 2, 4, 8]] = range(4)
    return [letters(table[pattern.symbols]) for pattern in patterns.patterns]


def _peer(name: str):
    try:
        return __import__(name)
    except ImportError:
        return None


def approximate_one_core(rng, n: int, m: int, limit: int | None) -> dict:
    """Time unit costs on one core beside edlib; the pattern has one symbol in ten changed."""
    text = random_text(rng, n)
    codes = text.codes[n // 3 : n // 3 + m].copy()
    codes[::10] ^= 1
    return {"n": n, "m": m, "max_distance": limit, **beside_edlib(text, [codes], limit)}


def many_one_core(rng, n: int, count: int, limit: int = 2) -> dict:
    """Time many patterns within a distance on one core beside edlib, one after the other there."""
    text, several = random_text(rng, n), []
    for _ in range(count):
        at, m = int(rng.integers(n - 40)), int(rng.integers(24, 33))
        codes = text.codes[at : at + m].copy()
        codes[rng.integers(m, size=limit)] ^= 1
        several.append(codes)
    figures = {"n": n, "patterns": count, "max_distance": limit}
    return figures | beside_edlib(text, several, limit)


def beside_edlib(text: Sequence, several: list, limit: int | None) -> dict:
    """Return the times of one core and of edlib (HW, ends only); the best ends are equal."""
    patterns = PatternSet([
        Pattern(str(k), (1 << codes).astype(np.uint8)) for k, codes in enumerate(several)
    ])  # fmt: skip

    def own():
        return match_approximate(patterns, [text], max_distance=limit, device="cpu", threads=1)

    matches, figures = own(), {"own_ms": median_ms(own, 3)}
    if edlib := _peer("edlib"):
        target, words = letters(text.codes), [letters(codes) for codes in several]

        def peer():
            return [edlib.align(word, target, mode="HW", task="distance", k=limit or -1)
                    for word in words]  # fmt: skip

        for k, found in enumerate(peer()):
            of_pattern = [match for match in matches if match.pattern == str(k)]
            best = min(match.distance for match in of_pattern)
            ends = [match.end - 1 for match in of_pattern if match.distance == best]
            if (found["editDistance"], [end for _, end in found["locations"]]) != (best, ends):
                raise AssertionError("edlib gives other matches")
        figures["edlib_ms"] = median_ms(peer, 3 if len(words) == 1 else 1)
    return figures


def exact_one_core(rng, n: int, count: int) -> dict:
    """Time exact matching on one core beside pyahocorasick and hyperscan; matches are equal."""
    text, patterns = random_text(rng, n), random_patterns(rng, count, 10, 30)

    def own():
        return match_exact(patterns, [text], device="cpu", threads=1)

    found = sorted((match[3], int(match[0])) for match in own())
    figures = {"n": n, "patterns": count, "matches": len(found)}
    figures["own_ms"] = median_ms(own, 3)
    symbols, words = letters(text.codes), pattern_letters(patterns)
    for name, peer in (("pyahocorasick", _aho_corasick(symbols, words)),
                       ("hyperscan", _hyperscan(symbols, words))):  # fmt: skip
        if peer:
            if sorted(peer()) != found:
                raise AssertionError(f"{name} gives other matches")
            figures[f"{name}_ms"] = median_ms(peer, 3)
    return figures


def _aho_corasick(symbols: str, words: list[str]):
    module = _peer("ahocorasick")
    if not module:
        return None
    automaton, numbers = module.Automaton(), {}
    for k, word in enumerate(words):
        numbers.setdefault(word, []).append(k)
    for word, own in numbers.items():
        automaton.add_word(word, own)
    automaton.make_automaton()
    return lambda: [(end + 1, k) for end, own in automaton.iter(symbols) for k in own]


def _hyperscan(symbols: str, words: list[str]):
    module = _peer("hyperscan")
    if not module:
        return None
    database, raw = module.Database(mode=module.HS_MODE_BLOCK), symbols.encode()
    database.compile(
        expressions=[word.encode() for word in words], ids=list(range(len(words))),
        elements=len(words), flags=[0] * len(words), literal=True,
    )  # fmt: skip

    def search():
        found = []
        database.scan(
            raw, match_event_handler=lambda k, start, end, flags, context: found.append((end, k))
        )
        return found

    return search
