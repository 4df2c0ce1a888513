"""The order of work on pairs: score passes, and the searches for alignments that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.device import Device, on_gpu_or_cpu
from gpu_tools.hardware.threads import CaseProgress, map_on_threads
from gpu_tools.local import cpu
from gpu_tools.local import problem as problems
from gpu_tools.local import traceback as tiling
from gpu_tools.local.problem import USUAL_SIZES, Batch, SearchSizes, Tiles
from gpu_tools.model.results import PairwiseAlignment, Runs
from gpu_tools.model.scoring import LIMIT_INT32, AffineScoring
from gpu_tools.model.sequences import Sequence, reverse_complement

CELLS_OF_A_GROUP, _GROUPS_OF_A_THREAD = 1 << 26, 4
"""Limit of the cells that a thread searches together, and the groups that it should have."""
BYTES_PER_BATCH, ROWS_OF_A_BATCH = 1 << 29, 1 << 21
"""Limits of the memory of a batch, of which a GPU has two, and of its rows on a GPU, enough for all
multiprocessors to have work."""
PART_OF_SCORES = 0.9
"""Fraction of a pair's progress: the score pass takes most of the time."""
TILES_IN_HOST_MEMORY = 1 << 20
TILES_FROM_GPU = 1 << 24
"""Limits of the tiles of a matrix: small tiles make the search short, and cost a GPU nothing."""
_MANY_COLUMNS = 4 * simd.VECTOR_BYTES * cpu.LONGEST_BLOCK
_BYTES_PER_COLUMN, _BYTES_PER_TILE = 12, 4
_NO_LIMIT = 1 << 62


class LocalSearch(NamedTuple):
    """Options of the search in each pair of sequences; see `gpu_tools.local_align`."""

    scoring: AffineScoring
    k: int = 1
    min_score: int = 1
    strands: str = "+"
    sizes: SearchSizes = USUAL_SIZES


Pair = tuple[Sequence, Sequence]
"""Query and subject."""


class Work(NamedTuple):
    """Pairs, their matrices, those of a pair's strands in order, and the matrices' tiles."""

    pairs: list[Pair]
    batch: Batch
    tiles: Tiles


def search_pairs(
    pairs: list[Pair],
    search: LocalSearch,
    where: Device,
    threads: int,
    done: Callable[[int], None],
) -> list[list[PairwiseAlignment]]:
    """Return the best alignments of each pair, in order.

    Threads only call what is compiled, for several pairs at a time: Python in several threads has
    each wait for the others. With GPUs, the score passes of the next batch run while threads search
    the batch before. `done` is called with the cells since its last call, of a large pair also
    within its score pass on the CPU.
    """

    def on_cpu() -> list[list[PairwiseAlignment]]:
        results = []
        for group in _batches(pairs, search, np.inf):
            batch = _make_batch(group, search)
            work = Work(group, batch, tiles_on_cpu(batch, search))
            upper = cpu.empty_bounds(work.tiles)

            def bound(numbers: range, tally: CaseProgress, work=work, upper=upper) -> None:
                def report(cells: int) -> None:
                    tally.add(int(PART_OF_SCORES * cells) // len(search.strands))

                cpu.score_passes(work.batch, work.tiles, upper, numbers, report)

            results += _best_of_pairs(work, upper, search, threads, done, bound)
        return results

    def on_gpus(ordinals: tuple[int, ...]) -> list[list[PairwiseAlignment]]:
        from gpu_tools.local.gpu.score_pass import score_passes

        results = []
        for work, tiles, upper in score_passes(_gpu_batches(pairs, search, ordinals), ordinals):
            bounded = work._replace(tiles=tiles)
            results += _best_of_pairs(bounded, upper, search, threads, done)
        return results

    return on_gpu_or_cpu(where, on_gpus, on_cpu)


def align_pairs(
    pairs: list[Pair], scoring: AffineScoring, threads: int, done: Callable[[int], None]
) -> list[PairwiseAlignment]:
    """Return the best alignment of the whole sequences of each pair."""
    search, cells = LocalSearch(scoring), np.multiply(*_lengths(pairs))

    def align(group: tuple[int, int]) -> list[list[PairwiseAlignment]]:
        own = pairs[slice(*group)]
        found = tiling.align_whole(_make_batch(own, search), USUAL_SIZES.cells_at_once)
        done(int(cells[slice(*group)].sum()))
        return _results(own, tiling.Found(*found), search)

    found = map_on_threads(threads, align, _groups(cells, threads))
    return [one for of_group in found for (one,) in of_group]


def _lengths(pairs: list[Pair]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lengths of queries and subjects."""
    lengths = np.array([(len(query), len(subject)) for query, subject in pairs], np.int64)
    return tuple(lengths.reshape(-1, 2).T)


def _cut(sizes: NDArray, limit: float) -> list[tuple[int, int]]:
    """Cut items into groups of about a size together; return first and past of each group."""
    cuts = np.flatnonzero(np.diff(np.ceil(np.cumsum(sizes) / limit))) + 1
    return list(pairwise([0, *cuts.tolist(), len(sizes)])) if len(sizes) else []


def _groups(cells: NDArray[np.int64], threads: int) -> list[tuple[int, int]]:
    """Cut pairs into groups, small enough for all threads to have several."""
    share = int(cells.sum()) / (_GROUPS_OF_A_THREAD * threads)
    return _cut(cells, min(CELLS_OF_A_GROUP, share))


def _make_batch(pairs: list[Pair], search: LocalSearch) -> Batch:
    """Return the matrices of pairs, those of a pair's strands next to each other."""
    codes = [
        (query.codes if strand == "+" else reverse_complement(query.codes), subject.codes)
        for query, subject in pairs
        for strand in search.strands
    ]
    return problems.make_batch(codes, search.scoring)


def _best_of_pairs(
    work: Work,
    upper: NDArray[np.int32],
    search: LocalSearch,
    threads: int,
    done: Callable[[int], None],
    bound: Callable[[range, CaseProgress], None] = lambda numbers, tally: None,
) -> list[list[PairwiseAlignment]]:
    """Return the k best alignments of all strands of pairs; ``+`` comes before ``-``.

    `bound` makes the bounds of some matrices, if they are not made yet.
    """
    strands, sizes = len(search.strands), search.sizes
    cells = np.multiply(*work.batch.shapes)[::strands]

    def find(group: tuple[int, int]) -> tiling.Found:
        numbers, own = range(*(strands * k for k in group)), int(cells[slice(*group)].sum())
        tally = CaseProgress(own, done)
        bound(numbers, tally)
        # a large pair returns to Python after each alignment, so that the user can interrupt
        at_once = 1 if own > 2 * CELLS_OF_A_GROUP else _NO_LIMIT
        limits = tiling.SearchLimits(search.k, strands, at_once, sizes.margin, sizes.cells_at_once)
        found = tiling.best_alignments(work.batch, work.tiles, upper, numbers, limits)
        tally.finish()
        return found

    found = map_on_threads(threads, find, _groups(cells, threads))
    return _results(work.pairs, tiling.joined(found), search)


_EMPTY = PairwiseAlignment("", "", 0, 0, 0, 0, 0, 0, 0, 0)
vars(_EMPTY).pop("cigar")  # it is made of the runs when it is read
_NOT_COUNTED: dict[str, int] = {}


def _results(
    pairs: list[Pair], found: tiling.Found, search: LocalSearch
) -> list[list[PairwiseAlignment]]:
    """Return alignments by pair and rank, with positions on the forward strands."""
    table, n_strands = found.alignments, len(search.strands)
    letters = found.runs[:, 0].astype(np.uint8).tobytes().decode()
    lengths = np.ascontiguousarray(found.runs[:, 1])
    ends = np.cumsum(table[:, tiling.RUNS])
    order = np.argsort(-table[:, tiling.SCORE], kind="stable")
    results: list[list[PairwiseAlignment]] = [[] for _ in pairs]
    for row, end in zip(table[order].tolist(), ends[order].tolist(), strict=True):
        matrix, score, start, stop, left, right, n_runs = row
        (query, subject), of_pair = pairs[matrix // n_strands], results[matrix // n_strands]
        if len(of_pair) == search.k:
            continue
        strand = search.strands[matrix % n_strands]
        if strand == "-":
            start, stop = len(query) - stop, len(query) - start
        of_pair.append(
            _EMPTY.changed(
                query=query.name, subject=subject.name,
                query_length=len(query), subject_length=len(subject),
                rank=len(of_pair) + 1, score=score, strand=strand,
                query_start=start, query_end=stop, subject_start=left, subject_end=right,
                _runs=Runs(letters[end - n_runs : end], lengths[end - n_runs : end], _NOT_COUNTED),
            )
        )  # fmt: skip
    return results


def _sides(batch: Batch, most: int, smallest: int) -> NDArray[np.int64]:
    """Return the sides of tiles with which a matrix has at most `most` of them."""
    rows, columns = batch.shapes
    sides = np.full(len(rows), smallest)
    while (many := -(-rows // sides) * -(-columns // sides) > most).any():
        sides[many] *= 2
    return sides


def _leasts(batch: Batch, search: LocalSearch, smallest: int) -> NDArray[np.int64]:
    """Return the least scores, raised to one that the best alignment of a pair reaches.

    In sequences of fewer than `smallest` symbols finding such a score costs too much.
    """
    leasts = np.full(len(batch.spans), min(search.min_score, LIMIT_INT32))
    if search.k == 1:
        for number in np.flatnonzero(np.minimum(*batch.shapes) >= smallest).tolist():
            reached = problems.score_reached(problems.problem_of(batch, number))
            leasts[number] = max(leasts[number], reached)
    n_strands = len(search.strands)
    return np.repeat(leasts.reshape(-1, n_strands).max(axis=1), n_strands)


def tiles_on_cpu(batch: Batch, search: LocalSearch) -> Tiles:
    """Return the tiles of a batch for score passes on the CPU."""
    sides = _sides(batch, TILES_IN_HOST_MEMORY, search.sizes.smallest_tile)
    # as wide as a lane's block can be, where that leaves few lanes without columns
    wide = batch.shapes[1] >= _MANY_COLUMNS
    sides[wide] = np.maximum(sides[wide], cpu.LONGEST_BLOCK)
    leasts = _leasts(batch, search, search.sizes.words_on_cpu)
    return problems.make_tiles(batch, sides, leasts, search.k == 1)


def _gpu_batches(
    pairs: list[Pair], search: LocalSearch, ordinals: tuple[int, ...]
) -> Iterator[Work]:
    """Yield batches of pairs for score passes on GPUs."""
    rows = ROWS_OF_A_BATCH * len(ordinals)
    for group in _batches(pairs, search, rows):
        batch = _make_batch(group, search)
        sides = _sides(batch, TILES_FROM_GPU, search.sizes.smallest_tile)
        leasts = _leasts(batch, search, search.sizes.words_on_gpu)
        yield Work(group, batch, problems.make_tiles(batch, sides, leasts, search.k == 1))


def _batches(pairs: list[Pair], search: LocalSearch, most_rows: float) -> list[list[Pair]]:
    """Cut pairs into batches, with about so many rows at most, and a limit of memory."""
    (rows, columns), smallest = _lengths(pairs), search.sizes.smallest_tile
    tiles = np.minimum((rows // smallest + 1) * (columns // smallest + 1), TILES_FROM_GPU)
    size = _BYTES_PER_COLUMN * (rows + columns) + _BYTES_PER_TILE * tiles
    parts = np.maximum(rows / most_rows, size / BYTES_PER_BATCH) * len(search.strands)
    return [pairs[first:past] for first, past in _cut(parts, 1)]
