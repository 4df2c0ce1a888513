"""Seeded random cases and edge cases that several tests share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gpu_tools import Case, ExonSet, Sequence, SplicedScoring
from tests.oracles import spliced as oracles

LETTERS = "ACGTN"


@dataclass
class Example:
    """A case in plain Python, for the oracles, and what the package makes of it."""

    base: str
    target: str
    plus: list
    minus: list = field(default_factory=list)
    scores: dict = field(default_factory=dict)

    def case(self, name: str = "case") -> Case:
        strands = (("+", self.plus), ("-", self.minus))
        sets = [
            ExonSet.from_intervals(e, s, [self.scores.get((s, x), 0.0) for x in e])
            for s, e in strands
        ]
        return Case(
            Sequence.from_text(f"{name}-base", self.base),
            Sequence.from_text(f"{name}-target", self.target),
            ExonSet.concatenate(sets),
        )

    def strand_view(self, strand: str):
        """Return base text and exons in transcript direction of `strand`."""
        if strand == "+":
            return self.base, self.plus
        m = len(self.base)
        return oracles.reverse_complement(self.base), [(m - e, m - s) for s, e in self.minus]

    def bonus(self, strand: str, weight: float, transcript: bool = False) -> dict:
        """Return each exon's integer bonus, by forward or by transcript interval."""
        exons, m = (self.plus if strand == "+" else self.minus), len(self.base)
        flip = strand == "-" and transcript
        return {
            ((m - e, m - s) if flip else (s, e)): round(
                weight * self.scores.get((strand, (s, e)), 0.0)
            )
            for s, e in exons
        }


def oracle_scoring(scoring: SplicedScoring) -> dict:
    """Return a scoring in the oracles' terms."""
    matrix = scoring.substitution()
    code = {letter: k for k, letter in enumerate("ACGT")}

    def pair(a, b):
        a, b = a.upper().replace("U", "T"), b.upper().replace("U", "T")
        return int(matrix[code.get(a, 4), code.get(b, 4)])

    return {
        "pair": pair, "gap": scoring.gap, "penalty": scoring.intron_penalty, "ends": scoring.ends,
        "end_cost": scoring.clip_cost,
    }  # fmt: skip


def best_by_strand(example: Example, scoring: SplicedScoring, best_score) -> dict:
    """Return the best score of each strand that has a chain, by an oracle."""
    terms, found = oracle_scoring(scoring), {}
    for strand in "+-":
        base, exons = example.strand_view(strand)
        bonus = example.bonus(strand, scoring.exon_weight, transcript=True)
        found[strand] = best_score(base, example.target, exons, terms, bonus) if exons else None
    return {strand: score for strand, score in found.items() if score is not None}


def check_best(example: Example, scoring: SplicedScoring, result, best: dict) -> None:
    """The score is the best of both strands, ``+`` before ``-``; the alignment really has it."""
    assert result.score == max(best.values(), default=None)
    assert result.strand == max(best, key=best.get, default=None)
    if best:
        terms, bonus = oracle_scoring(scoring), example.bonus(result.strand, scoring.exon_weight)
        found = oracles.rescore(example.base, example.target, result, terms, bonus)
        assert found == result.score


def random_text(rng, length: int, n_rate: float = 0.02) -> str:
    """Return random letters, some of them N."""
    p = [(1 - n_rate) / 4] * 4 + [n_rate]
    return "".join(rng.choice(list(LETTERS), size=length, p=p))


def random_exons(rng, count: int, length: int, longest: int) -> list:
    """Return intervals that share starts and ends now and then."""
    exons = []
    for _ in range(count):
        if exons and rng.random() < 0.3:
            start = exons[int(rng.integers(len(exons)))][0]
        else:
            start = int(rng.integers(0, length))
        end = min(start + int(rng.integers(1, longest + 1)), length)
        if exons and rng.random() < 0.2:
            end = max(end, min(exons[int(rng.integers(len(exons)))][1], start + longest))
        exons.append((start, end))
    return exons


def random_example(
    rng, base: int, target: int, count: int, longest: int, n_rate: float = 0.02
) -> Example:
    """Return a case whose target is partly a mutated copy of some exons."""
    text = random_text(rng, base, n_rate)
    plus, minus = random_exons(rng, count, base, longest), random_exons(rng, count, base, longest)
    if rng.random() < 0.2:
        minus = []
    copied = "".join(text[s:e] for s, e in sorted(plus)[::2]) or "A"
    letters = [c if rng.random() > 0.2 else str(rng.choice(list("ACGT"))) for c in copied]
    aim = ("".join(letters) + random_text(rng, target))[:target]
    scores = {
        (s, x): float(np.round(rng.normal(0, 3), 1)) for s, e in (("+", plus), ("-", minus))
        for x in e
    }  # fmt: skip
    return Example(text, aim, plus, minus, scores)


def nested_example(rng, base=60, target=12, starts=5, ends=3, n_rate=0.02) -> Example:
    """Return a case whose exons share ends; their scores differ at starts, at ends, or at random.

    Where they are sums of one of the start and one of the end, tracks differ by a constant.
    """
    example = random_example(rng, base, target, count=2, longest=base // 2, n_rate=n_rate)
    for strand, exons in (("+", example.plus), ("-", example.minus)):
        firsts, lasts = rng.integers(0, base - 1, starts), rng.integers(1, base + 1, ends)
        of_start, of_end = rng.integers(-4, 5, base + 1), rng.integers(-4, 5, base + 1)
        exons += [(int(s), int(e)) for s in firsts for e in lasts if s < e and rng.random() < 0.8]
        noise = rng.choice([0, 0, 0, 1], len(exons)) * int(rng.integers(0, 2))
        for (s, e), more in zip(exons, noise, strict=True):
            example.scores[strand, (s, e)] = float(of_start[s] + of_end[e] + more)
    return example


def random_scoring(rng) -> SplicedScoring:
    """Return a scoring: mostly ordinary, sometimes with a matrix or odd signs."""
    matrix = rng.integers(-4, 6, (5, 5)) if rng.random() < 0.3 else None
    return SplicedScoring(
        match=int(rng.integers(0, 6)),
        mismatch=int(rng.integers(-5, 2)),
        gap=int(rng.integers(-5, 1)) if rng.random() < 0.9 else 1,
        matrix=matrix,
        exon_weight=float(rng.choice([0.0, 0.0, 0.5, 1.0, 2.0])),
        intron_penalty=int(rng.choice([0, 0, 3, 20])),
        ends=str(rng.choice(["global", "free-target"])),
    )


def random_site_scoring(rng) -> SplicedScoring:
    """Return a scoring as site mode takes it: leaving out an end of the target may cost something.

    The costs are below and above those of gaps.
    """
    return replace(random_scoring(rng), end_cost=int(rng.choice([0, 1, 2, 5, 12, 1000])))


def with_tail(rng, target: str) -> str:
    """Return a target to which A may be added, fewer and more than a poly-A tail has at least."""
    return target + "A" * int(rng.choice([0, 0, 3, 9, 10, 13]))


WORKED_EXAMPLE = Example(
    "ACCGTATGT", "CCGGT", [(0, 2), (2, 4), (3, 5), (5, 8), (7, 9)]
)  # Nolasco 2014, section 3.5
