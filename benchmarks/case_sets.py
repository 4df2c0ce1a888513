"""Case sets to measure with: the published data set's shape, one very large case, the demo.

The published data (240 human genes with their surroundings, GENSCAN's exons, up to five cDNA
targets a gene) cannot be had any more. What is drawn here has its figures: every minimum and
maximum exactly, the means as closely as whole numbers allow.

What the figures leave open was settled so:

- Candidates of a base lie on one strand, the gene's: then a case is one problem, and its nominal
  cells are the sum of its exons' lengths times the target's length, as the published numbers
  count them. The demo's candidates lie on both strands.
- Exons share starts and ends as the demo's do: of the candidates that a predictor of matrices
  found in the ten demo loci, the best 1.3 a kilobase (the published density) remained: 367 exons,
  143 bp long on average, 0.62 distinct starts and 0.78 distinct ends an exon in transcript
  direction, 54 % with a start and 35 % with an end that another exon has too; the longest exons of
  all starts hold 0.63 of all exons' symbols (here 0.68). All of the demo's candidates together, 28
  a kilobase and strand, share far more. Reports of GENSCAN at hand list no suboptimal exons, and
  without them no two exons overlap.
- The mean exon length published, 149.35, is not the mean sum over the mean number, 140.01; it is
  taken as the mean over bases of each base's mean.
- Long bases have more exons, more exonic sequence and longer targets (rank correlations below).
- A target is a mutated copy of a chain of its base's candidates, 5 to 30 % of its symbols changed,
  one change in five a gap; random flanks fill it up where the chain is shorter than the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gpu_tools import Case, ExonSet, Sequence

SHARED_START, SHARED_END = 0.38, 0.22
"""Probability that a candidate takes over the start, or the end, of an earlier one."""
PARENTS = 8
"""An exon that shares an end takes the most alike in length of eight earlier exons."""
EXONS_FOLLOW_BASE, TARGET_FOLLOWS_BASE = 0.9, 0.6
"""Correlation of the normal scores behind the ranks."""
EXON_LENGTH_SIGMA, MEAN_LENGTH_SIGMA = 0.65, 0.2
"""Standard deviations of the logarithm: of lengths within a base, of bases' mean lengths."""
SHORTER_AMONG_MORE = 0.03
"""The mean length falls with this power of the number of exons."""


@dataclass(frozen=True)
class Spread:
    """Minimum, mean and maximum of a figure."""

    lowest: int
    mean: float
    highest: int

    def values(self, count: int) -> NDArray[np.int64]:
        """Return `count` rising numbers with this spread and a long tail to the right.

        They are log-normal: exponential in the normal score of their rank, taken from 0 to 1 and
        to a power near 1 that the mean asks for.
        """
        normal = NormalDist()
        score = np.array([normal.inv_cdf((k + 0.5) / count) for k in range(count)])
        rank = (score - score[0]) / (score[-1] - score[0])
        ratio = self.highest / self.lowest
        flat, steep = 1e-3, 1e3
        for _ in range(60):
            power = np.sqrt(flat * steep)
            numbers = np.rint(self.lowest * ratio ** (rank**power)).astype(np.int64)
            flat, steep = (power, steep) if numbers.mean() > self.mean else (flat, power)
        return numbers


@dataclass(frozen=True)
class Shape:
    """Figures of a case set: lengths in symbols, `exon_sum` the sum of a base's exon lengths."""

    bases: int
    cases: int
    base_length: Spread
    exons: Spread
    exon_length: tuple[int, int]
    exon_sum: Spread
    target_length: Spread
    targets_per_base: tuple[int, int]


PUBLISHED = Shape(
    240, 1010, base_length=Spread(2_848, 42_181, 575_746), exons=Spread(2, 55.08, 622),
    exon_length=(1, 4_778), exon_sum=Spread(442, 7_711.73, 71_873),
    target_length=Spread(189, 1_460.48, 8_652), targets_per_base=(1, 5),
)  # fmt: skip
"""Nolasco 2014; a mean of 4.2 targets a base follows from the numbers of cases and bases."""
SMALL = Shape(
    12, 50, base_length=Spread(400, 1_400, 6_000), exons=Spread(2, 9, 30), exon_length=(1, 300),
    exon_sum=Spread(60, 400, 1_500), target_length=Spread(20, 150, 700), targets_per_base=(1, 5),
)  # fmt: skip
"""The same at a size for tests."""
TINY = Shape(
    2, 3, base_length=Spread(60, 80, 100), exons=Spread(2, 3, 4), exon_length=(1, 29),
    exon_sum=Spread(30, 45, 60), target_length=Spread(6, 8, 10), targets_per_base=(1, 2),
)  # fmt: skip
"""The same at a size for a simulated GPU."""


@dataclass(frozen=True)
class Gene:
    """A base sequence with its candidate exons, ordered by start and end."""

    base: Sequence
    exons: ExonSet


def case_set(shape: Shape = PUBLISHED, seed: int = 2014) -> list[Case]:
    """Return a set of cases of a shape.

    A seed always gives the same cases. They are ordered by base, and cases of a base share its
    sequence and its candidates.
    """
    rng = np.random.default_rng(seed)
    size = rng.normal(size=shape.bases)
    genes = _genes(rng, shape, size)
    owners = np.repeat(np.arange(shape.bases), _targets_per_base(rng, shape))
    follow = _follow(rng, size[owners], TARGET_FOLLOWS_BASE)
    lengths = _by_rank(shape.target_length, follow)
    return [
        Case(gene.base, _target(rng, gene, f"target{k:04d}", int(length)), gene.exons)
        for k, (gene, length) in enumerate(zip((genes[o] for o in owners), lengths, strict=True))
    ]


def il1rapl1_like(seed: int = 2014) -> Case:
    """Return a case with the figures of the largest published one, IL1RAPL1.

    Base 2,168,787, target 2,355, 1,878 exons of 253,156 symbols together: 596,182,380 cells.
    """
    rng = np.random.default_rng(seed)
    gene = _gene(rng, "IL1RAPL1-like", 2_168_787, _lengths(rng, 1_878, 253_156, 4_778))
    return Case(gene.base, _target(rng, gene, "IL1RAPL1-like-target", 2_355), gene.exons)


def many_cases(cases: list[Case], count: int = 40_000, seed: int = 2014) -> list[Case]:
    """Return distinct pairs of the bases and targets of a set, for several GPUs.

    Most targets have nothing to do with their base. No sequence is copied.
    """
    genes = list({case.base.name: Gene(case.base, case.exons) for case in cases}.values())
    pairs = list(product(genes, [case.target for case in cases]))
    chosen = np.random.default_rng(seed).choice(len(pairs), count, replace=False)
    return [Case(gene.base, target, gene.exons) for gene, target in (pairs[k] for k in chosen)]


def _follow(rng, leader, correlation: float):
    """Return normal scores with a correlation to those of a leader."""
    own = rng.normal(size=len(leader))
    return correlation * leader + np.sqrt(1 - correlation**2) * own


def _by_rank(spread: Spread, scores) -> NDArray[np.int64]:
    """Assign the values of a spread so that their ranks are those of the scores."""
    ranks = np.argsort(np.argsort(scores, kind="stable"), kind="stable")
    return spread.values(len(scores))[ranks]


def _targets_per_base(rng, shape: Shape) -> NDArray[np.int64]:
    """Return how many targets each base has: most of them the most, one the fewest."""
    fewest, most = shape.targets_per_base
    counts = np.full(shape.bases, most)
    counts[rng.integers(shape.bases)] = fewest
    while counts.sum() > shape.cases:
        counts[rng.choice(np.flatnonzero(counts > fewest))] -= 1
    return counts


def _genes(rng, shape: Shape, size) -> list[Gene]:
    counts = _by_rank(shape.exons, _follow(rng, size, EXONS_FOLLOW_BASE))
    sums = _exon_sums(rng, shape.exon_sum, counts)
    base_lengths = _by_rank(shape.base_length, size)
    shortest, longest = shape.exon_length
    most, second = np.argsort(-sums, kind="stable")[:2]
    extremes = {most: (longest,), second: (shortest,)}
    return [
        _gene(
            rng, f"base{k:03d}", base_lengths[k],
            _lengths(rng, counts[k], sums[k], longest, extremes.get(k, ())),
        )
        for k in range(shape.bases)
    ]  # fmt: skip


def _exon_sums(rng, spread: Spread, counts) -> NDArray[np.int64]:
    """Return sums of exon lengths with a spread; bases with more exons have shorter ones."""
    raw = counts ** (1 - SHORTER_AMONG_MORE) * rng.lognormal(0, MEAN_LENGTH_SIGMA, len(counts))
    small, large = 1e-6, 1e6
    for _ in range(100):
        factor = np.sqrt(small * large)
        sums = np.clip(np.rint(factor * raw), spread.lowest, spread.highest).astype(np.int64)
        sums[raw.argmin()], sums[raw.argmax()] = spread.lowest, spread.highest
        small, large = (small, factor) if sums.mean() > spread.mean else (factor, large)
    return sums


def _lengths(rng, count: int, total: int, longest: int, fixed=()) -> NDArray[np.int64]:
    """Return exon lengths of log-normal shape that sum up exactly, the fixed ones among them."""
    count, total = count - len(fixed), total - sum(fixed)
    draws = rng.lognormal(0, EXON_LENGTH_SIGMA, count)
    lengths = np.clip((draws / draws.sum() * total).astype(np.int64), 1, longest)
    while missing := total - lengths.sum():
        step = np.sign(missing)
        able = np.flatnonzero((lengths + step >= 1) & (lengths + step <= longest))
        lengths[rng.choice(able, min(abs(missing), len(able)), replace=False)] += step
    return rng.permutation(np.concatenate([np.array(fixed, dtype=np.int64), lengths]))


def _gene(rng, name: str, length: int, exon_lengths) -> Gene:
    codes = rng.integers(0, 4, length).astype(np.uint8)
    placed: list[tuple[int, int]] = []
    taken: set[tuple[int, int]] = set()
    for exon_length in exon_lengths:
        exon = _place(rng, placed, int(exon_length), length)
        while exon in taken or exon[0] < 0 or exon[1] > length:
            exon = _place(rng, placed, int(exon_length), length)
        placed.append(exon)
        taken.add(exon)
    return Gene(Sequence(name, codes), ExonSet.from_intervals(sorted(placed)))


def _place(rng, placed, exon_length: int, length: int) -> tuple[int, int]:
    """Return an exon at the start or at the end of one already placed, or anywhere."""
    role = rng.random()
    if placed and role < SHARED_START + SHARED_END:
        parents = (placed[k] for k in rng.integers(len(placed), size=PARENTS))
        start, end = min(parents, key=lambda exon: abs(exon[1] - exon[0] - exon_length))
        return (start, start + exon_length) if role < SHARED_START else (end - exon_length, end)
    start = int(rng.integers(0, length - exon_length + 1))
    return start, start + exon_length


def _target(rng, gene: Gene, name: str, length: int) -> Sequence:
    """Return a target of a length: a mutated chain of the gene's candidates, with flanks."""
    parts, total = [], 0
    for start, end in _chain(rng, gene.exons, length):
        parts.append(gene.base.codes[start:end])
        total += end - start
    copy = _mutated(rng, np.concatenate(parts), rng.uniform(0.05, 0.3))[:length]
    left = int(rng.integers(0, length - len(copy) + 1))
    flanks = rng.integers(0, 4, length - len(copy)).astype(np.uint8)
    return Sequence(name, np.concatenate([flanks[:left], copy, flanks[left:]]))


def _chain(rng, exons: ExonSet, length: int) -> list[tuple[int, int]]:
    """Return random disjoint candidates, in order, with about `length` symbols or all there are."""
    chain: list[tuple[int, int]] = []
    for k in rng.permutation(len(exons)):
        start, end = int(exons.starts[k]), int(exons.ends[k])
        if sum(b - a for a, b in chain) >= length:
            break
        if all(end <= a or b <= start for a, b in chain):
            chain.append((start, end))
    return sorted(chain)


def _mutated(rng, codes, rate: float) -> NDArray[np.uint8]:
    """Return a copy with a share of the symbols changed: 80 % replaced, 10 % lost, 10 % gained."""
    fate = rng.random(len(codes)) / rate
    other = (codes + rng.integers(1, 4, len(codes))) % 4
    copy = np.where(fate < 0.8, other, codes).astype(np.uint8)
    gained = np.flatnonzero((fate >= 0.9) & (fate < 1))
    retained = np.insert((fate < 0.8) | (fate >= 0.9), gained, True)
    return np.insert(copy, gained, rng.integers(0, 4, len(gained)).astype(np.uint8))[retained]
