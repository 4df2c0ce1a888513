"""Chance in place: E-values of doubtful chains from shuffled targets on the same base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np

from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import Gumbel
from gpu_tools.splicing.shuffles import SHUFFLE_SEED, AnyCase, laws_of, shuffled_scores

SHUFFLES = 30
"""Shuffles of a doubtful target."""
LEAST_DOUBTFUL, MOST_DOUBTFUL = 1e-12, 0.1
"""E-values by a shipped law from which on, and up to which, chance in place is looked at."""
LEAST_PLACE = 10_000
"""Nucleotides of a base, at least, whose scores tell of a genome's."""
_FEW_SCORES = 1.15
"""Factor of a scale that so few scores give: E-values of 0.001 are then as rare as they say."""
_FIRST, _FIRST_SCORES = 10, 2.0
"""Shuffles that may do, and the factor of their scale: one of a hundred scales is still larger."""


def is_doubtful(evalue: float | None, law: Gumbel | None) -> bool:
    """Return whether chance in place is to be looked at.

    It is where the shipped law says neither that a chain is hopeless nor that it is beyond doubt;
    the latter it cannot say of compositions to which it was not fitted.
    """
    return (
        evalue is not None and law is not None and evalue <= MOST_DOUBTFUL
        and (evalue >= LEAST_DOUBTFUL or not law.known)
    )  # fmt: skip


def evalues_in_place(
    cases: Sequence[AnyCase], scores: Sequence[int], known: Sequence[float],
    align: Callable[[list[AnyCase]], Sequence[SplicedAlignment]],
    codons: bool = False, places: Sequence[float] | None = None,
) -> list[float]:  # fmt: skip
    """Return how often targets in random order score as well on cases' own bases.

    The E-value that is known counts where it is larger; the first shuffles say that of most.
    """
    evalues, left, places = list(known), range(len(cases)), places or [1.0] * len(cases)
    found: list[list] = [[] for _ in cases]
    stages = (range(_FIRST), _FIRST_SCORES), (range(_FIRST, SHUFFLES), _FEW_SCORES)
    for numbers, factor in stages:
        some = [cases[k] for k in left]
        for k, more in zip(left, shuffled_scores(some, align, numbers, codons), strict=True):
            found[k] += more
        laws = laws_of(some, [found[k] for k in left])
        own = {
            k: law._replace(scale=factor * law.scale).among(places[k]).evalue(scores[k])
            for k, law in zip(left, laws, strict=True) if law
        }  # fmt: skip
        left = [k for k, evalue in own.items() if evalue > known[k]]
    for k in left:
        evalues[k] = own[k]
    return evalues


def lengthened(base: Nucleotides) -> Nucleotides:
    """Return a base of at least `LEAST_PLACE` nucleotides; its own in random order follow it.

    Within few nucleotides scores differ less than they do in a genome.
    """
    # not the orders of `shuffled`, for a target may be its base
    random = np.random.default_rng([crc32(base.codes.tobytes()), SHUFFLE_SEED])
    parts, length = [base.codes], max(LEAST_PLACE, len(base))
    while sum(map(len, parts)) < length:
        parts.append(random.permutation(base.codes))
    return Nucleotides(base.name, np.concatenate(parts)[:length])


def judged_in_place(
    cases: Sequence[AnyCase], alignments: Sequence[SplicedAlignment],
    laws: Sequence[Gumbel | None],
    align: Callable[[list[AnyCase]], Sequence[SplicedAlignment]], codons: bool = False,
) -> list[SplicedAlignment]:  # fmt: skip
    """Return alignments; the larger of its two E-values counts for each doubtful one."""
    alignments = list(alignments)
    doubtful = [
        k for k, (one, law) in enumerate(zip(alignments, laws, strict=True))
        if is_doubtful(one.evalue, law)
    ]  # fmt: skip
    scores = [alignments[k].score_alone for k in doubtful]
    known = [alignments[k].evalue for k in doubtful]
    found = evalues_in_place([cases[k] for k in doubtful], scores, known, align, codons)
    for k, evalue in zip(doubtful, found, strict=True):
        alignments[k] = alignments[k].with_evalue(evalue)
    return alignments
