"""Naive definition of protein targets in site mode; imports nothing from gpu_tools."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

from tests.oracles.sites import intron_penalty, starts_at

NONE = float("-inf")
SAME, BESIDE = 12, 4


def end_points(base, ends, stops):
    """Points of first entries and last exits by boundary, as docs/design/proteins.md has them."""
    usual = 0 if ends == "free" else -8
    boundaries = range(len(base) + 1)
    return (
        [12 if starts_at(base, i) else usual for i in boundaries],
        [10 if base[i : i + 3] in stops else usual for i in boundaries],
    )


def rising_lines(lines):
    """The lines of an intron's penalty against proteins, from those of the model."""
    return tuple((4 * extra, max(every // 4, 1)) for extra, every in lines)


def amino_acid(codon, acid_of):
    """Amino acid of a codon that may hold N; `acid_of` has those of the codons without."""
    words = product(*("ACGT" if letter == "N" else letter for letter in codon))
    found = {acid_of["".join(word)] for word in words}
    return found.pop() if len(found) == 1 else "X"


def place_points(places, at):
    """Points of an intron behind `at` coding nucleotides, by the places of the target's introns."""
    return max((SAME if at == place else BESIDE for place in places if abs(at - place) in (0, 3)),
               default=0)  # fmt: skip


def inner_places(places, residues):
    """Places between the nucleotides of a protein's codons."""
    return [place for place in places if 0 < place < 3 * residues]


def best_score(base, target, sites, scoring, places=(), banned=frozenset()):
    """Best score over all chains, None if none scores more than leaving all residues out.

    `sites` is as in `tests.oracles.sites.chains`, with scores of first entries and last exits at
    all boundaries, and ``usual``, those of most boundaries. A chain has the points of a first entry
    if its first codon, aligned to a residue or left out, lies in its first exon; it may always have
    the usual ones. `scoring` holds ``open``, ``extend``, ``shift``, ``stop``, ``free``, and the
    functions ``pair`` of a codon and a residue, and ``is_stop`` of a codon. `places` are the
    nucleotides of codons before each intron of the target's gene. `banned` are pairs that no chain
    has: a codon's first nucleotide, whole or split, and a residue.
    """
    n, m = len(base), len(target)
    places = inner_places(places, m)
    pair, free = scoring["pair"], scoring["free"]
    extend = scoring["extend"]

    def insertion(length):
        return scoring["open"] + length * extend if length else 0

    def unaligned(j):
        return 0 if free else -insertion(j)

    def begun(i, j):
        """Value of a chain whose first codon begins at boundary i."""
        return sites["first_entry"][i] + unaligned(j)

    @cache
    def left_out(i, j):
        """Best if the codon that ends at boundary i is left out."""
        if i < 3:
            return NONE
        cost = scoring["stop"] if scoring["is_stop"](base[i - 3 : i]) else extend
        opened = max(whole(i - 3, j), begun(i - 3, j)) - scoring["open"]
        return max(opened, left_out(i - 3, j)) - cost

    @cache
    def aligned(i, j):
        """Best if the exon has nucleotides, and no residues are left out last."""
        values = [left_out(i, j)]
        if j and i >= 3 and (i - 3, j - 1) not in banned:
            before = max(whole(i - 3, j - 1), begun(i - 3, j - 1))
            values.append(before + pair(base[i - 3 : i], target[j - 1]))
        for few in (1, 2):
            if i >= few:
                values.append(whole(i - few, j) - scoring["shift"])
                if j:
                    values.append(whole(i - few, j - 1) - scoring["shift"])
        if j:
            values += [
                came + pair(left + base[start:i], target[j - 1])
                for phase in (1, 2)
                for start in (i - 3 + phase,)
                for came, left in introns(start, j - 1, phase)
            ]
        return max(values)

    @cache
    def inside(i, j):
        """Best if the exon has nucleotides."""
        return max(aligned(i, k) - insertion(j - k) for k in range(j + 1))

    def entered(i, j):
        """Best if an exon begins at boundary i."""
        values = [came for came, _ in introns(i, j, 0)]
        return max([*values, sites["usual"][0] + unaligned(j)])

    @cache
    def whole(i, j):
        """Best with a codon's end at boundary i and j residues."""
        values = [max(aligned(i, k), entered(i, k)) - insertion(j - k) for k in range(j + 1)]
        return max(values)

    def introns(start, j, phase):
        """Values of chains that enter an exon at `start`, and the nucleotides of a split codon."""
        if start < 0 or start not in sites["inner_entry"]:
            return
        for end, score in sites["inner_exit"].items():
            penalty = intron_penalty(sites, end, start) if end <= start else None
            if penalty is None or end < phase or (phase and (end - phase, j) in banned):
                continue
            came = inside(end, j) if phase == 0 else whole(end - phase, j)
            added = score + sites["inner_entry"][start] - penalty
            added += place_points(places, 3 * j + phase)
            yield came + added, base[end - phase : end]

    best = max(
        inside(i, j) + unaligned(m - j if free else 0) + sites["last_exit"][i]
        for i in range(1, n + 1)
        for j in (range(m + 1) if free else (m,))
    )
    nothing = sum(sites["usual"])
    return best if best > nothing + unaligned(m) else None


def rescore(base, target, chain, runs, sites, scoring, places=()):
    """Score of an alignment by its letters, see the docstring of `ProteinAlignment`.

    `base` and `chain`, without the stop codon behind it, run in reading direction; `runs` are
    letters and lengths from the first aligned residue on, before which no nucleotide of `places`
    is counted.
    """
    total = aligned_score(base, target, chain, runs, scoring)
    begin, first = sites["usual"][0], next(letter for letter, _ in runs if letter != "I")
    if first in "MD":
        begin = max(begin, sites["first_entry"][chain[0][0]])
    total += begin + sites["last_exit"][chain[-1][1]]
    for (_, end), (start, _) in pairwise(chain):
        total += sites["inner_exit"][end] + sites["inner_entry"][start]
        total -= intron_penalty(sites, end, start)
    residues = 0
    for letter, length in runs:
        if letter in "NUV":
            total += place_points(places, 3 * residues + "NUV".index(letter))
        residues += length if letter in "MI" else letter in "GUV"
    return total


def aligned_score(base, target, chain, runs, scoring):
    """Sum of the scores of codons, gaps and frameshifts; checks that runs fit the chain."""
    text = "".join(base[start:end] for start, end in chain)
    total, at, j, k = 0, 0, 0, 0
    for letter, length in runs:
        if letter == "M":
            for _ in range(length):
                total += scoring["pair"](text[at : at + 3], target[j])
                at, j = at + 3, j + 1
        elif letter == "D":
            total -= scoring["open"]
            for _ in range(length):
                stop = scoring["is_stop"](text[at : at + 3])
                total -= scoring["stop"] if stop else scoring["extend"]
                at += 3
        elif letter == "I":
            total -= scoring["open"] + length * scoring["extend"]
            j += length
        elif letter in "FG":
            total -= scoring["shift"]
            at, j = at + length, j + (letter == "G")
        else:
            assert length == chain[k + 1][0] - chain[k][1]
            assert "NUV".index(letter) == sum(b - a for a, b in chain[: k + 1]) - at
            k += 1
            if letter != "N":
                total += scoring["pair"](text[at : at + 3], target[j])
                at, j = at + 3, j + 1
        assert at <= sum(b - a for a, b in chain[: k + 1])
    assert (at, j, k) == (len(text), len(target), len(chain) - 1)
    return total


def pairs_of(chain, runs, first):
    """Pairs of an alignment: a codon's first nucleotide, whole or split, and a residue.

    `chain` runs in reading direction; `first` residues lie before the alignment.
    """
    places = [at for start, end in chain for at in range(start, end)]
    pairs, at, j = [], 0, first
    for letter, length in runs:
        for _ in range(1 if letter in "GNUV" else length):
            if letter in "MUV":
                pairs.append((places[at], j))
            at += {"M": 3, "D": 3, "U": 3, "V": 3, "F": 1, "G": length}.get(letter, 0)
            j += letter in "MIGUV"
    return pairs
