"""Shuffled targets: what the best scores of a case are if its target is unrelated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar
from zlib import crc32

import numpy as np

from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import Gumbel, fit_gumbel, least_evalues
from gpu_tools.splicing.reading import FRAMES, begins_with_start, ends_with_stop

AnyCase = TypeVar("AnyCase")
SHUFFLE_SEED = 20
LEAST_SHUFFLES = 20
"""Shuffles that a law is fitted to, at least."""
MOST_ALIGNMENTS = 10_000


def shuffled(target: Nucleotides, number: int, codons: bool = False) -> Nucleotides:
    """Return a target with its symbols, or its codons, in random order."""
    codes = target.codes
    random = np.random.default_rng([SHUFFLE_SEED, crc32(codes.tobytes()), number])
    if not codons:
        return type(target)(target.name, random.permutation(codes))
    starts, stops = begins_with_start(codes), ends_with_stop(codes)
    first, last = FRAMES * starts, len(codes) - len(codes) % FRAMES - FRAMES * stops
    inner = random.permutation(codes[first : max(last, first)].reshape(-1, FRAMES)).ravel()
    order = np.concatenate([codes[:first], inner, codes[first + len(inner) :]])
    return Nucleotides(target.name, order)


def shuffled_laws(
    cases: Sequence[AnyCase],
    align: Callable[[list[AnyCase]], Sequence[SplicedAlignment]],
    shuffles: int = 100,
    codons: bool = False,
    most_alignments: int = MOST_ALIGNMENTS,
) -> list[Gumbel | None]:
    """Fit the law of each case's best score to the scores of its shuffled targets.

    Parameters
    ----------
    cases : sequence of Case or SiteCase
        Base sequences, candidates and tables of sites are used as they are.
    align : callable
        Aligns cases, with the scores and on the device of the results to be judged.
    shuffles : int
        Shuffles of each case's target, at least `LEAST_SHUFFLES`.
    codons : bool
        Shuffle codons rather than nucleotides: for chains that translate.
    most_alignments : int
        Alignments in memory at a time, unless one case needs more.

    Returns
    -------
    list of Gumbel or None
        One for each case; None where no chain exists, whatever the target is.

    Raises
    ------
    ValueError
        If there are fewer shuffles.

    Notes
    -----
    The same cases give the same laws on every device. The law is extrapolated: with N shuffles
    E-values far below 1 / N are as good as Gumbel's law is; see also `least_evalues`.
    """
    if shuffles < LEAST_SHUFFLES:
        raise ValueError(f"{shuffles} shuffles; expected at least {LEAST_SHUFFLES}")
    return laws_of(cases, shuffled_scores(cases, align, range(shuffles), codons, most_alignments))


def shuffled_scores(
    cases: Sequence[AnyCase], align: Callable[[list[AnyCase]], Sequence[SplicedAlignment]],
    numbers: range, codons: bool = False, most_alignments: int = MOST_ALIGNMENTS,
) -> list[list[int | None]]:  # fmt: skip
    """Return each case's best scores with shuffles of its target, by the shuffles' numbers."""
    found: list[list[int | None]] = []
    for part in _parts(cases, max(most_alignments // len(numbers), 1)):
        made = [
            replace(case, target=shuffled(case.target, number, codons))
            for case in part
            for number in numbers
        ]
        scores = [alignment.score for alignment in align(made)]
        found += _parts(scores, len(numbers))
    return found


def laws_of(
    cases: Sequence[AnyCase], scores: Sequence[Sequence[int | None]]
) -> list[Gumbel | None]:
    """Fit the law of each case's best score to scores of shuffles, see `shuffled_laws`."""
    laws, least = map(_law_of, scores), least_evalues(cases)
    return [law and law._replace(least=chance) for law, chance in zip(laws, least, strict=True)]


def _parts(several: Sequence, size: int) -> Iterator[Sequence]:
    for first in range(0, len(several), size):
        yield several[first : first + size]


def _law_of(scores: list[int | None]) -> Gumbel | None:
    return None if None in scores else fit_gumbel(scores)
