"""The order of work on pairs: score passes, and the searches for alignments that follow."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, repeat
from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.device import Device, on_gpu_or_cpu
from gpu_tools.hardware.threads import CaseProgress, map_on_threads, prefetch, within_limit
from gpu_tools.local import cpu
from gpu_tools.local import problem as problems
from gpu_tools.local import traceback as tiling
from gpu_tools.local.problem import USUAL_SIZES, Problem, SearchSizes, Threshold
from gpu_tools.local.traceback import FoundAlignment, Tiles
from gpu_tools.model.results import PairwiseAlignment
from gpu_tools.model.scoring import LIMIT_INT32, AffineScoring
from gpu_tools.model.sequences import Sequence, reverse_complement

BYTES_PER_BATCH = 1 << 30
"""Limit of the GPU memory for the score passes of one batch."""
PART_OF_SCORES = 0.9
"""Fraction of a pair's progress: the score pass takes most of the time."""
TILES_IN_HOST_MEMORY = 1 << 20
TILES_FROM_GPU = 1 << 24
"""Limits of the tiles of a matrix: small tiles make the search short, and cost a GPU nothing."""
_MANY_COLUMNS = 4 * simd.VECTOR_BYTES * cpu.LONGEST_BLOCK
_BYTES_PER_COLUMN, _BYTES_PER_TILE = 12, 4


class LocalSearch(NamedTuple):
    """Options of the search in each pair of sequences; see `gpu_tools.local_align`."""

    scoring: AffineScoring
    k: int = 1
    min_score: int = 1
    strands: str = "+"
    sizes: SearchSizes = USUAL_SIZES

    @property
    def threshold(self) -> Threshold:
        """Threshold as long as no score is known."""
        return Threshold(min(self.min_score, LIMIT_INT32), only_best=self.k == 1)


class SequencePair(NamedTuple):
    """A pair of sequences and its problems, one for each strand of the query."""

    query: Sequence
    subject: Sequence
    problems: tuple[Problem, ...]

    @property
    def cells(self) -> int:
        """Cells of the matrix of one strand."""
        return len(self.query) * len(self.subject)


def make_pairs(
    pairs: list[tuple[Sequence, Sequence]], scoring: AffineScoring, strands: str = "+"
) -> list[SequencePair]:
    """Return pairs with the problems of the queries' strands."""
    nothing = np.empty(0, np.uint8)
    scored = problems.make_problem(nothing, nothing, scoring)
    made = []
    for query, subject in pairs:
        codes = (query.codes if s == "+" else reverse_complement(query.codes) for s in strands)
        of_strands = (scored._replace(query=each, subject=subject.codes) for each in codes)
        made.append(SequencePair(query, subject, tuple(of_strands)))
    return made


def search_pairs(
    pairs: list[tuple[Sequence, Sequence]],
    search: LocalSearch,
    where: Device,
    threads: int,
    done: Callable[[int], None],
) -> list[list[PairwiseAlignment]]:
    """Return the best alignments of each pair, in order.

    A thread works on one pair at a time. With GPUs, the score passes of the next batch run while
    threads search the batch before. `done` is called with the cells since its last call, of a large
    pair also within its score pass on the CPU.
    """
    made = make_pairs(pairs, search.scoring, search.strands)

    def finish(pair: SequencePair, tiles: list[Tiles], tally: CaseProgress):
        return _best_of_strands(pair, tiles, search, tally)

    def on_cpu(pair: SequencePair) -> list[PairwiseAlignment]:
        tally = CaseProgress(pair.cells, done)
        return finish(pair, _tiles_on_cpu(pair, search, tally), tally)

    def on_gpus(ordinals: tuple[int, ...]) -> list[list[PairwiseAlignment]]:
        results, batches = [], _from_gpus(made, search, ordinals)
        # one pair has no next batch that a thread could prepare meanwhile
        for batch, tiles in prefetch(batches, 1) if len(made) > 1 else batches:
            tallies = [CaseProgress(pair.cells, done) for pair in batch]
            results += map_on_threads(threads, finish, batch, tiles, tallies)
        return results

    return on_gpu_or_cpu(where, on_gpus, partial(map_on_threads, threads, on_cpu, made))


def _best_of_strands(
    pair: SequencePair, tiles: list[Tiles], search: LocalSearch, tally: CaseProgress
) -> list[PairwiseAlignment]:
    """Return the k best alignments of all strands; ``+`` comes before ``-``."""
    streams = [
        zip(tiling.best_alignments(of_strand, search.k), repeat(strand), strict=False)
        for of_strand, strand in zip(tiles, search.strands, strict=True)
    ]
    best = heapq.merge(*streams, key=lambda found: -found[0].score)
    results = [
        as_result(pair, found, rank, strand)
        for rank, (found, strand) in enumerate(islice(best, search.k), start=1)
    ]
    tally.finish()
    return results


def as_result(pair: SequencePair, found: FoundAlignment, rank: int, strand: str):
    """Return an alignment with the names of its sequences and positions on the forward strands."""
    query, subject, (start, end) = pair.query, pair.subject, (found.start[0], found.end[0])
    if strand == "-":
        start, end = len(query) - end, len(query) - start
    return PairwiseAlignment(
        query=query.name,
        subject=subject.name,
        query_length=len(query),
        subject_length=len(subject),
        rank=rank,
        score=found.score,
        query_start=start,
        query_end=end,
        subject_start=found.start[1],
        subject_end=found.end[1],
        cigar=found.cigar,
        strand=strand,
    )


def side_on_cpu(problem: Problem, smallest: int = USUAL_SIZES.smallest_tile) -> int:
    """Return the side of the tiles for a score pass on the CPU."""
    side = tiling.tile_side(*problem.shape, TILES_IN_HOST_MEMORY, smallest)
    # as wide as a lane's block can be, where that leaves few lanes without columns
    return max(side, cpu.LONGEST_BLOCK) if problem.shape[1] >= _MANY_COLUMNS else side


def _known_threshold(pair: SequencePair, threshold: Threshold, smallest: int) -> Threshold:
    """Return the threshold, raised to a score that the best alignment of a pair reaches.

    In sequences of fewer than `smallest` symbols finding such a score costs too much.
    """
    if not threshold.only_best or min(pair.problems[0].shape) < smallest:
        return threshold
    return threshold._replace(
        least=max(threshold.least, *map(problems.score_reached, pair.problems))
    )


def _tiles_on_cpu(pair: SequencePair, search: LocalSearch, tally: CaseProgress) -> list[Tiles]:
    def done(cells: int) -> None:
        tally.add(int(PART_OF_SCORES * cells) // len(pair.problems))

    sizes = search.sizes
    threshold = _known_threshold(pair, search.threshold, sizes.words_on_cpu)
    tiles = []
    for problem in pair.problems:
        side = side_on_cpu(problem, sizes.smallest_tile)
        upper = cpu.score_pass(problem, side, threshold, done)
        tiles.append(Tiles(problem, side, upper, threshold.least, sizes))
    return tiles


def _from_gpus(
    pairs: list[SequencePair], search: LocalSearch, ordinals
) -> Iterator[tuple[list[SequencePair], list[list[Tiles]]]]:
    """Yield batches of pairs with the bounds of their tiles from the GPUs' score passes."""
    from gpu_tools.local.gpu.score_pass import score_passes

    sizes = search.sizes
    for batch in within_limit(pairs, partial(_gpu_bytes, sizes=sizes), BYTES_PER_BATCH):
        of_pairs = [_known_threshold(p, search.threshold, sizes.words_on_gpu) for p in batch]
        of_batch = [problem for pair in batch for problem in pair.problems]
        thresholds = [t for t in of_pairs for _ in search.strands]
        sides = [tiling.tile_side(*p.shape, TILES_FROM_GPU, sizes.smallest_tile) for p in of_batch]
        passes = score_passes(of_batch, sides, ordinals, thresholds)
        leasts = [threshold.least for threshold in thresholds]
        tiles = map(Tiles, of_batch, sides, passes, leasts, repeat(sizes))
        yield batch, [[next(tiles) for _ in search.strands] for _ in batch]


def _gpu_bytes(pair: SequencePair, sizes: SearchSizes) -> int:
    rows, columns = pair.problems[0].shape
    side = tiling.tile_side(rows, columns, TILES_FROM_GPU, sizes.smallest_tile)
    tiles = (rows // side + 1) * (columns // side + 1)
    bytes_of_strand = _BYTES_PER_COLUMN * (rows + columns) + _BYTES_PER_TILE * tiles
    return len(pair.problems) * bytes_of_strand
