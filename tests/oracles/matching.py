"""Naive pattern matching; imports nothing from gpu_tools."""

from __future__ import annotations

from itertools import accumulate, pairwise

_BASES = {
    "A": "A", "C": "C", "G": "G", "T": "T", "U": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip
_AMINO = {"B": "DN", "J": "IL", "Z": "EQ", "X": "ACDEFGHIKLMNPQRSTVWYUO"}
_COMPLEMENTS = dict(zip("ACGTURYSWKMBDHVN", "TGCAAYRSWMKVHDBN", strict=True))


def matches(alphabet, symbol, letter):
    """Whether a pattern's symbol matches a text's letter."""
    if alphabet == "bytes":
        return symbol == letter
    if alphabet == "text":
        return symbol.lower() == letter.lower()
    symbol, letter = symbol.upper(), letter.upper()
    if alphabet == "dna":
        return letter in "ACGTU" and letter.replace("U", "T") in _BASES[symbol]
    return letter not in _AMINO and letter in _AMINO.get(symbol, symbol)


def reverse_complement(pattern):
    """Reverse complement of a pattern with IUPAC codes."""
    return "".join(_COMPLEMENTS[symbol.upper()] for symbol in reversed(pattern))


def strands(pattern, both):
    """What is searched in the forward text."""
    return [("+", pattern)] + ([("-", reverse_complement(pattern))] if both else [])


def exact(patterns, texts, alphabet="dna", both=False):
    """All occurrences as (pattern, text, start, end, strand), sorted as promised."""
    found = []
    for t, (text_name, text) in enumerate(texts.items()):
        for p, (name, pattern) in enumerate(patterns.items()):
            for strand, probe in strands(pattern, both):
                for start in range(len(text) - len(probe) + 1):
                    part = text[start : start + len(probe)]
                    if all(matches(alphabet, a, b) for a, b in zip(probe, part, strict=True)):
                        key = (t, start, p, strand)
                        row = (name, text_name, start, start + len(probe), strand)
                        found.append((key, row))
    return [row for _, row in sorted(found)]


def least_by_end(pattern, text, pair, insertion, deletion):
    """For every end the least cost of a part that is not empty, and its longest start.

    One row of the programme for each start: the definition, in cubic time. Costs are functions: of
    a pair of letters, of a text's letter and of a pattern's.
    """
    least = {}
    for start in range(len(text)):
        column = [0, *accumulate(map(deletion, pattern))]
        for end in range(start + 1, len(text) + 1):
            letter, following = text[end - 1], [column[0] + insertion(text[end - 1])]
            for i, symbol in enumerate(pattern, start=1):
                following.append(min(
                    column[i - 1] + pair(symbol, letter), following[-1] + deletion(symbol),
                    column[i] + insertion(letter),
                ))  # fmt: skip
            column = following
            if end not in least or column[-1] < least[end][0]:
                least[end] = (column[-1], start)
    return least


def approximate(patterns, texts, costs, max_distance=None, alphabet="dna", both=False):
    """Matches as (pattern, text, start, end, strand, distance), sorted as promised.

    `costs` is (insertion, deletion, pair), functions as `least_by_end` takes them.
    """
    insertion, deletion, pair = costs
    found = []
    for p, (name, pattern) in enumerate(patterns.items()):
        own = []
        for t, (text_name, text) in enumerate(texts.items()):
            for strand, probe in strands(pattern, both):
                least = least_by_end(probe, text, pair, insertion, deletion)
                for end, (distance, start) in least.items():
                    row = (name, text_name, start, end, strand, distance)
                    own.append(((t, end, p, strand), row))
        limit = min((row[5] for _, row in own), default=0)
        limit = limit if max_distance is None else max_distance
        found += [pair for pair in own if pair[1][5] <= limit]
    return [row for _, row in sorted(found)]


def recount(pattern, part, cigar, costs, alphabet="dna"):
    """Cost of a reported alignment, recounted from its CIGAR alone."""
    insertion, deletion, pair = costs
    i = j = total = 0
    for letter, n in cigar:
        assert n > 0
        for _ in range(n):
            if letter in "=X":
                assert matches(alphabet, pattern[i], part[j]) == (letter == "=")
                total += pair(pattern[i], part[j])
            else:
                assert letter in "ID"
                total += deletion(pattern[i]) if letter == "I" else insertion(part[j])
            i, j = i + (letter != "D"), j + (letter != "I")
    assert all(a[0] != b[0] for a, b in pairwise(cigar))
    assert (i, j) == (len(pattern), len(part))
    return total
