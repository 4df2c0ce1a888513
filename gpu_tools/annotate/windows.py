"""Windows of a batch of targets, by either search."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tools.annotate.genome import GenomeRecords, genome_tiles, tile_windows
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.sequences import Sequence as Nucleotides

if TYPE_CHECKING:
    from gpu_tools.search.api import GenomeIndex

_log = logging.getLogger(__name__)
BY_CHANCE = 10
"""Windows a protein that chance makes, by which words are chosen: cores refuse them cheaply."""
Windows = Callable[[list[Nucleotides], int], Iterable[SearchWindow]]


def windows_by(
    genome: GenomeRecords,
    targets: TargetSet,
    options: AnnotationOptions,
    index: str | Path | None,
    threads: int,
) -> Windows:
    """Return a function from targets and a number of threads to the targets' windows."""
    if options.search == "exhaustive":
        tiles = genome_tiles(genome.lengths, options.longest_gene)
        return lambda some, threads: tile_windows(tiles, len(some))
    return _seeded(genome, targets, options, index, threads)


def _seeded(
    genome: GenomeRecords, targets: TargetSet, options: AnnotationOptions, index, threads: int
) -> Windows:
    from gpu_tools.search.api import SearchOptions, find_windows

    made = index_of(genome, targets.kind, targets.genetic_code, index, threads)
    search = SearchOptions(
        max_intron=options.max_intron, by_chance=BY_CHANCE, genetic_code=targets.genetic_code,
        intron_costs=targets.intron_costs,
    )  # fmt: skip
    return lambda some, threads: joined(find_windows(made, some, search, threads))


def index_of(
    genome: GenomeRecords, kind: str, genetic_code: int, folder: str | Path | None, threads: int
) -> GenomeIndex:
    """Return the index of a genome for a kind of targets."""
    from gpu_tools.search.api import SearchOptions, build_index, load_index
    from gpu_tools.search.index import UnusableIndexError

    search = SearchOptions(genetic_code=genetic_code)
    own = None if folder is None else Path(folder, kind.lower())
    if own is not None and own.exists():
        try:
            return load_index(own, genome.records, options=search)
        except UnusableIndexError as error:
            _log.warning("%s; the index is made again", error)
    made = build_index(genome.records, kind=kind.lower(), options=search, threads=threads)
    if own is not None:
        made.save(own)
    return made


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
