"""Loci that chains of many targets share: the best target of each, the best loci of a target."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_tools.model.results import SplicedAlignment


class SharedLocus(NamedTuple):
    """A place on one strand of a base sequence, and the chains there."""

    # the chain of the highest score; the locus reaches from its first to its last nucleotide
    best: SplicedAlignment
    others: tuple[SplicedAlignment, ...]  # chains that overlap it, by falling score

    @property
    def interval(self) -> tuple[int, int]:
        """Start and end on the forward strand of the base, 0-based half-open."""
        return interval_of(self.best)


def interval_of(alignment: SplicedAlignment) -> tuple[int, int]:
    """Return where a chain starts and ends on the forward strand, introns included."""
    return min(start for start, _ in alignment.chain), max(end for _, end in alignment.chain)


def best_targets(alignments: Iterable[SplicedAlignment]) -> list[SharedLocus]:
    """Group chains into loci, each with its best target.

    Chains are taken by falling score, equal ones in their order. One that overlaps no locus so far
    makes a new one; otherwise it joins the best locus of its base and strand that it overlaps, and
    does not widen it. So a long poor chain does not make one locus of two.
    """
    chains = [alignment for alignment in alignments if alignment.chain]
    strands: dict[tuple[str, str | None], _Strand] = {}
    for chain in chains:
        strands.setdefault((chain.base, chain.strand), _Strand())
    for chain in sorted(chains, key=lambda chain: -chain.score):
        strands[chain.base, chain.strand].add(chain)
    order = {base: k for k, base in enumerate(dict.fromkeys(chain.base for chain in chains))}
    loci = [SharedLocus(b, tuple(o)) for strand in strands.values() for b, o in strand.loci]
    return sorted(loci, key=lambda x: (order[x.best.base], x.interval[0], x.best.strand or ""))


def best_loci(alignments: Iterable[SplicedAlignment]) -> list[tuple[SplicedAlignment, ...]]:
    """Rank the loci of each target."""
    by_target: dict[str, list[SplicedAlignment]] = {}
    for alignment in alignments:
        if alignment.chain:
            by_target.setdefault(alignment.target, []).append(alignment)
    ranked = []
    for chains in by_target.values():
        best = {id(locus.best) for locus in best_targets(chains)}
        ordered = sorted(chains, key=lambda chain: -chain.score)
        ranked.append(tuple(chain for chain in ordered if id(chain) in best))
    return ranked


@dataclass
class _Strand:
    """Loci of a strand, the best first, and their disjoint intervals with their numbers, sorted."""

    loci: list[tuple[SplicedAlignment, list[SplicedAlignment]]] = field(default_factory=list)
    intervals: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, chain: SplicedAlignment) -> None:
        """Add a chain that is not better than those so far."""
        start, end = interval_of(chain)
        last = bisect_left(self.intervals, (end,))
        first = last
        while first and self.intervals[first - 1][1] > start:
            first -= 1
        if first < last:
            self.loci[min(number for *_, number in self.intervals[first:last])][1].append(chain)
        else:
            insort(self.intervals, (start, end, len(self.loci)))
            self.loci.append((chain, []))
