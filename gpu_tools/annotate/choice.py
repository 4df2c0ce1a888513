"""Choice among the chains that all windows of a target gave: direction, hits, and which overlap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from gpu_tools.annotate.options import Alignment
from gpu_tools.model.loci import interval_of
from gpu_tools.model.significance import Gumbel


def in_one_direction(
    found: Iterable[tuple[int, Alignment]],
    laws: Sequence[Gumbel],
    is_hit: Callable[[Alignment], bool],
) -> list[tuple[int, Alignment]]:
    """Return the chains of each cDNA in its better direction, all of proteins.

    A cDNA is reversed if a hit of its reverse complement scores clearly more than all chains of the
    cDNA itself.
    """
    found = list(found)
    best: dict[tuple[int, bool], float] = {}
    for target, alignment in found:
        turned = _is_reversed(alignment)
        if not turned or is_hit(alignment):
            best[target, turned] = max(best.get((target, turned), -math.inf), alignment.score)
    turned = {
        target for target, is_turned in best
        if is_turned
        and laws[target].is_clearly_above(
            best[target, True], best.get((target, False), -math.inf)
        )
    }  # fmt: skip
    return [pair for pair in found if _is_reversed(pair[1]) == (pair[0] in turned)]


def outdone_by(found: Iterable[tuple[int, Alignment]], laws: Sequence[Gumbel]) -> list[float]:
    """Return for each cDNA the least score of a hit that `in_one_direction` takes it reversed for.

    It takes the reverse complement's chains if one scores clearly more than the cDNA's own.
    """
    best = [-math.inf] * len(laws)
    for target, alignment in found:
        best[target] = max(best[target], alignment.score)
    return [law.clearly_above(score) for law, score in zip(laws, best, strict=True)]


def _is_reversed(alignment: Alignment) -> bool:
    return getattr(alignment, "target_reversed", False)


def credible_or_best(
    found: Iterable[tuple[int, Alignment]], is_hit: Callable[[Alignment], bool]
) -> list[tuple[int, Alignment]]:
    """Return all hits of each target, or else the best chain of a target that has none.

    `results_of` of several such lists together is that of all that they were made from.
    """
    best: dict[int, Alignment] = {}
    hits: dict[int, dict[tuple, Alignment]] = {}
    for target, alignment in found:
        if is_hit(alignment):
            hits.setdefault(target, {}).setdefault(rank(alignment), alignment)
        elif target not in best or rank(alignment) < rank(best[target]):
            best[target] = alignment
    several = {k: sorted(hits[k].values(), key=rank) if k in hits else [best[k]]
               for k in sorted({*hits, *best})}  # fmt: skip
    return [(target, alignment) for target in several for alignment in several[target]]


def results_of(
    found: Iterable[tuple[int, Alignment]], is_hit: Callable[[Alignment], bool]
) -> list[tuple[int, Alignment]]:
    """Return the hits of each target, or else the best chain of a target that has none."""
    chosen = []
    for target, group in groupby(credible_or_best(found, is_hit), key=lambda pair: pair[0]):
        several = [alignment for _, alignment in group]
        several = apart(several) if len(several) > 1 else several
        chosen += [(target, alignment) for alignment in several]
    return chosen


def rank(alignment: Alignment) -> tuple:
    """Return a key that orders alignments of one target: by falling score, then place."""
    return -alignment.score, alignment.base, alignment.strand, alignment.chain


def apart(alignments: Iterable[Alignment]) -> list[Alignment]:
    """Return the best chains of one target that do not overlap on one strand, by rank."""
    taken: dict[tuple, list[tuple[int, int]]] = {}
    chosen = []
    for alignment in sorted(alignments, key=rank):
        start, end = interval_of(alignment)
        others = taken.setdefault((alignment.base, alignment.strand), [])
        if all(end <= a or b <= start for a, b in others):
            others.append((start, end))
            chosen.append(alignment)
    return chosen
