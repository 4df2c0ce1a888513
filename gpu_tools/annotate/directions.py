"""The direction of each cDNA: as it is given, or reversed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from gpu_tools.annotate.options import Alignment
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.significance import Gumbel


def in_one_direction(
    found: Iterable[tuple[int, Alignment]], laws: Sequence[Gumbel],
    accepts: Callable[[Alignment], bool],
) -> list[tuple[int, Alignment]]:  # fmt: skip
    """Return the chains of each target in its better direction.

    A target is reversed if a hit of its reverse complement scores clearly more than all chains of
    the target as it is given.
    """
    found = list(found)
    best: dict[tuple[int, bool], float] = {}
    for target, alignment in found:
        turned = _is_reversed(alignment)
        if not turned or accepts(alignment):
            best[target, turned] = max(best.get((target, turned), -math.inf), alignment.score)
    turned = {
        target for target, is_turned in best
        if is_turned
        and laws[target].is_clearly_above(
            best[target, True], best.get((target, False), -math.inf)
        )
    }  # fmt: skip
    return [pair for pair in found if _is_reversed(pair[1]) == (pair[0] in turned)]


def _is_reversed(alignment: Alignment) -> bool:
    return isinstance(alignment, SplicedAlignment) and alignment.target_reversed
