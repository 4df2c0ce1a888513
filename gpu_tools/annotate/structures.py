"""Structures of a gene: which one stands for it, and which others are isoforms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpu_tools.annotate.genes import Hit, HitCluster, Interval

MOST_STRUCTURES = 40
"""Different structures of a gene that may be isoforms: those of the best hits."""
HOME = 0.9
"""Evidence of a hit, as a share of its target's best one, that makes an isoform: other hits are of
paralogues, whose exons may differ."""


@dataclass(frozen=True)
class Structure:
    """A structure of a gene, and who supports it.

    Parameters
    ----------
    hit : Hit
        The hit that it is.
    supporters : tuple of int
        Numbers of the targets that have the same introns, the hit's own included.
    intron_support : tuple of int
        By intron, in transcript order: targets that have it.
    """

    hit: Hit
    supporters: tuple[int, ...]
    intron_support: tuple[int, ...]


def quality(hit: Hit, having: Counter[Interval], hits: Sequence[Hit]) -> float:
    """Return how good a hit's structure is as that of a gene.

    It is evidence times coverage times the mean, over introns, of the part of targets that agree:
    those with the intron, of those whose exons reach across it. That part is halved towards 1.
    """
    own = hit.alignment.coverage * hit.evidence
    agreement = [
        having[intron] / max(sum(_reaches(other, intron) for other in hits), having[intron])
        for intron in hit.introns
    ]
    return own * (1 + (sum(agreement) / len(agreement) if agreement else 1.0)) / 2


def _reaches(hit: Hit, intron: Interval) -> bool:
    exons = hit.exons
    return exons[0][0] < intron[0] and exons[-1][1] > intron[1]


def structures_of(
    cluster: HitCluster, isoforms: bool, gain: Callable[[Hit, Hit], float]
) -> list[Structure]:
    """Return the structures of a gene.

    Parameters
    ----------
    cluster : HitCluster
    isoforms : bool
        Whether there may be more than one.
    gain : callable
        Tells how much better a hit's target is explained by its own structure than by that of
        another hit: 1 and more is clearly better.

    Returns
    -------
    list of Structure
        The first has the best quality, see `quality`. Each other one, by falling quality, explains
        its own target clearly better than every structure before it.
    """
    hits = cluster.hits
    having = Counter(intron for hit in hits for intron in set(hit.introns))
    ranked = sorted(hits, key=lambda hit: (-quality(hit, having, hits), hit.order))
    chosen, seen = [ranked[0]], {ranked[0].introns}
    candidates = [hit for hit in ranked if hit.share >= HOME] if isoforms else []
    for hit in candidates:
        if hit.introns in seen or len(seen) > MOST_STRUCTURES:
            continue
        seen.add(hit.introns)
        if all(gain(hit, other) >= 1 for other in chosen):
            chosen.append(hit)
    return [_structure(hit, hits, having) for hit in chosen]


def _structure(hit: Hit, hits: Sequence[Hit], having: Counter[Interval]) -> Structure:
    supporters = sorted({other.target for other in hits if other.introns == hit.introns}
                        | {hit.target})  # fmt: skip
    support = [having[intron] for intron in hit.introns]
    ordered = support if hit.alignment.strand == "+" else support[::-1]
    return Structure(hit, tuple(supporters), tuple(ordered))
