"""Windows of a batch of targets, by either search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from gpu_tools.annotate.genome import GenomeRecords, GenomeTile, genome_tiles, tile_windows
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.sequences import Sequence as Nucleotides

if TYPE_CHECKING:
    from gpu_tools.search.windows import TargetSearch

BY_CHANCE = 10
"""Windows a protein that chance makes, by which words are chosen: cores refuse them cheaply."""
Windows = Callable[[Sequence[int], int], Iterable[SearchWindow]]
"""From numbers of targets, and a number of threads, to windows, whose targets count from 0."""


def windows_by(
    genome: GenomeRecords, tiles: list[GenomeTile] | None, targets: TargetSet,
    options: AnnotationOptions, threads: int,
) -> Iterator[tuple[int, int, Windows]]:  # fmt: skip
    """Yield the bounds of targets that are searched together, and the function of their windows.

    An exhaustive search is one of tiles, by default those of the whole genome.
    """
    if options.search == "exhaustive" and tiles is None:
        tiles = genome_tiles(genome.lengths, options.longest_gene)
    if tiles is not None:
        yield 0, len(targets.sequences), lambda some, threads: tile_windows(tiles, len(some))
        return
    from gpu_tools.search.windows import searches
    from gpu_tools.search.words import SearchOptions

    search = SearchOptions(
        max_intron=options.max_intron, by_chance=BY_CHANCE, genetic_code=targets.genetic_code,
        intron_costs=targets.intron_costs,
    )  # fmt: skip
    of_targets = targets.sequences, targets.kind.lower(), search, threads
    for first, found in searches(genome.records, *of_targets):
        yield first, first + len(found.targets), partial(_seeded, found)


def _seeded(search: TargetSearch, numbers: Sequence[int], threads: int) -> list[SearchWindow]:
    windows = search.part(numbers).windows
    return joined(chain.from_iterable(map_on_threads(threads, windows, range(len(numbers)))))


def joined(windows: Iterable[SearchWindow]) -> list[SearchWindow]:
    """Return windows by place, those of one target and strand that touch or overlap as one.

    Copies of a gene in a window are found one after the other, so that a border between them that
    lies wrong can do no harm.
    """
    found: list[SearchWindow] = []
    for window in sorted(windows, key=lambda w: (w.target, w.record, w.strand, w.start, w.end)):
        last = found[-1] if found else None
        if last and _place(last) == _place(window) and window.start <= last.end:
            end, score = max(last.end, window.end), max(last.score, window.score)
            chains = tuple(sorted({*last.chains, *window.chains}))
            found[-1] = replace(last, end=end, score=score, chains=chains)
        else:
            found.append(window)
    return sorted(found, key=_BY_PLACE)


def of_reverse_complements(
    windows: Iterable[SearchWindow], numbers: Sequence[int], targets: Sequence[Nucleotides]
) -> list[SearchWindow]:
    """Return the windows of the reverse complements of some targets, which are counted from 0.

    `numbers` are those of the targets in `windows`.
    """
    own = {
        number: (k, len(one)) for k, (number, one) in enumerate(zip(numbers, targets, strict=True))
    }
    turned = (one.of_reverse_complement(*own[one.target]) for one in windows if one.target in own)
    return sorted(turned, key=_BY_PLACE)


_BY_PLACE = attrgetter("record", "start", "end", "strand", "target")


def _place(window: SearchWindow) -> tuple[int, int, str]:
    return window.target, window.record, window.strand
