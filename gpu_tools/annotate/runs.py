"""Runs of the search for hits: all targets, batch by batch, whose results may be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from gpu_tools.annotate.batches import BatchStore, Found, key_of
from gpu_tools.annotate.genome import GenomeSummary
from gpu_tools.annotate.hits import HitSearch, credible_or_best
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.annotate.windows import Windows
from gpu_tools.model.calibration import Composition, genome_circumstances
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import Gumbel


def laws_of(composition: Composition, targets: Sequence[TargetSet]) -> list[Gumbel]:
    """Return the law of an unrelated target's best score in a genome, for each target."""
    return [
        law for some in targets
        for law in some.null.laws(genome_circumstances(composition, some.sequences))
    ]  # fmt: skip


def numbered(targets: Sequence[TargetSet]) -> Iterator[tuple[int, TargetSet]]:
    """Yield each set of targets, and the number of its first one among all."""
    first = 0
    for some in targets:
        yield first, some
        first += len(some.sequences)


def found_in_batches(
    search: HitSearch, windows: Windows, store: BatchStore, done: Callable[[int], None]
) -> Iterator[tuple[int, object]]:
    """Yield credible or best chains of the targets of a search, batch by batch.

    Parameters
    ----------
    search : HitSearch
    windows : callable
        See `gpu_tools.annotate.windows.windows_by`.
    store : BatchStore
    done : callable
        Called with the number of targets of each batch that is complete.

    Yields
    ------
    (int, alignment)
        See `gpu_tools.annotate.hits.credible_or_best`.
    """
    sequences, size = search.targets.sequences, search.options.batch_on(search.device)
    for first in range(0, len(sequences), size):
        batch = list(sequences[first : first + size])
        part = search.of_part(first, first + size)
        compute = partial(_batch, part, windows, batch)
        for number, alignment in store.result(_key(part, batch), compute):
            yield first + number, alignment
        done(len(batch))


def _batch(search: HitSearch, windows: Windows, batch: list[Nucleotides]) -> Found:
    """Return the hits of a batch, and behind them those of its reverse complements."""
    accepts, turned = search.options.accepts, search.targets.turned
    found = credible_or_best(search.alignments(windows(batch)), accepts)
    if turned is None:
        return found
    again = replace(search, targets=turned).alignments(windows([*turned.sequences]))
    others = credible_or_best(again, accepts)
    return found + [(number, one.with_target_reversed()) for number, one in others]


def _key(search: HitSearch, batch: list[Nucleotides]) -> str:
    laws = [list(law) for law in search.laws]
    contents = [(target.name, target.letters()) for target in batch]
    return key_of(
        search.genome.summary.digest, search.targets.setting(), search.options.of_hits(), laws,
        contents,
    )  # fmt: skip


def key_of_hits(
    genome: GenomeSummary, targets: Sequence[TargetSet], options: AnnotationOptions
) -> str:
    """Return a text that differs where the hits of all targets in a genome may differ."""
    contents = [
        (some.setting(), [(target.name, target.letters()) for target in some.sequences])
        for some in targets
    ]
    return key_of(genome.digest, options.of_hits(), contents)
