"""The score pass on GPUs: which kernel fills which problem on which GPU, and in what memory."""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import BufferPool, Buffers, borrowed_pools
from gpu_tools.hardware.gpu.dispatch import map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.local.gpu import packed
from gpu_tools.local.gpu.memory import may_write, row_between
from gpu_tools.local.gpu.packed_scores import (
    OF_CODE,
    VIRTUAL_LANES,
    look_up_thread,
    score_range,
    scoring_of,
    tilt,
    words_of,
)
from gpu_tools.local.gpu.score_pass32 import score_pass as score_pass32
from gpu_tools.local.problem import ALL, Problem, Threshold
from gpu_tools.model.sequences import OTHER

_log = logging.getLogger(__name__)

PACKED_CAPABILITY = (9, 0)
_STEPS_BEHIND = 3 * WARP + 8
"""By how many steps a strip follows the one above, about."""
_BLOCKS_PER_MULTIPROCESSOR, _BLOCKS_OF_A_CHAIN = 4, 1
"""How many run at once, and how many if most strips wait for others of the same problem."""
_LOOK_UP = (1, WARP) if simulated() else (512, 256)
"""Blocks and threads that look up codes."""
_KERNELS = {}
Passes = list[NDArray[np.int32]]


def score_passes(
    problems: list[Problem], sides: list[int], ordinals: tuple[int, ...] = (0,),
    thresholds: list[Threshold] | None = None,
) -> Passes:  # fmt: skip
    """Return upper bounds on the scores of each tile of several problems.

    Parameters
    ----------
    problems : list of Problem
        All scored the same way.
    sides : list of int
        Side of each problem's tiles, a power of two, at least two warps.
    ordinals : tuple of int
        The GPUs. They share the problems; one problem alone is cut into bands of rows.
    thresholds : list of Threshold, optional
        For which alignments of each problem the scores are bounds, all by default; what cannot be
        part of one is left out. `only_best` is the same for all problems.

    Returns
    -------
    list of ndarray of int32, shape (tiles down, tiles across)
        The largest score of each tile, or of cells of its neighbours in the row that are at most
        `packed.UNROLLED` columns away, if that is more. Padding behind the last row and column,
        where scores fall no faster than by mismatches, counts as cells.
    """
    thresholds = thresholds or [ALL] * len(problems)
    with cuda.gpus[ordinals[0]]:
        rows = rows_per_lane(problems, thresholds)
    kernel = "32-bit kernel" if rows is None else f"packed kernel, {rows} rows a lane"
    _log.info("score passes on GPUs: %d by the %s", len(problems), kernel)
    if rows is None:
        turns = list(islice(cycle(ordinals), len(problems)))
        return map_gpus(turns, score_pass32, problems, sides, thresholds)
    if len(problems) < len(ordinals):
        each = zip(problems, sides, thresholds, strict=True)
        return [in_bands(p, side, rows, ordinals, t) for p, side, t in each]
    with borrowed_pools(ordinals) as pools:
        return _shared_out(problems, sides, rows, ordinals, thresholds, pools)


def rows_per_lane(problems: list[Problem], thresholds: list[Threshold]) -> int | None:
    """Return how many rows a virtual lane holds, None if the packed kernel cannot do the work.

    More rows are less work a cell, but fewer warps, and strips that follow each other later.
    """
    one = problems[0]
    by_equality = len(one.table) == OTHER + 1 and one.table[0, 1] <= 0
    small = int(one.table.max()) - int(one.table.min()) < 128
    capable = simulated() or cuda.get_current_device().compute_capability >= PACKED_CAPABILITY
    if not (by_equality and small and capable):
        return None
    able = [rows for rows in packed.ROWS if score_range(one, rows) is not None]
    lengths = _lengths(problems)
    shares = _shares(*lengths, int(one.table.max()), thresholds)
    return min(able, key=lambda rows: _estimate(*lengths, shares, rows), default=None)


def _lengths(problems: list[Problem]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the problems' rows and columns."""
    return tuple(
        np.array(n, dtype=np.int64) for n in zip(*(p.shape for p in problems), strict=True)
    )


def _shares(n_rows, columns, gain: int, thresholds: list[Threshold]) -> NDArray[np.float64]:
    """Return which share of the strips may be at work in a column, at most.

    An alignment needs so many pairs for its score, of `gain` at most each, that it can leave out
    only so many rows and columns, and so keeps near the diagonal.
    """
    pairs = np.array([threshold.least for threshold in thresholds]) / max(gain, 1)
    return np.clip((n_rows + columns - 2 * pairs) / n_rows, 0, 1)


def _estimate(n_rows: NDArray[np.int64], columns: NDArray[np.int64], shares, rows: int) -> float:
    """Return about how many cycles pass until problems of these sizes are done.

    A step takes a warp alone as long as its instructions wait for each other, and warps that share
    a scheduler as long as all of them issue.
    """
    strips = _strips(n_rows, rows)
    longest = int((strips * _STEPS_BEHIND + columns).max())
    at_work = strips * np.maximum(shares, 1e-3)
    of_a_scheduler = math.ceil(at_work.sum() / _schedulers())
    sharing = min(of_a_scheduler, _blocks_at_once(int(strips.max())))
    alone, issue = 130 + 12 * rows, 60 + 15 * rows
    pace = max(alone, sharing * issue)
    rounds = of_a_scheduler / sharing
    return pace * max(longest, rounds * float(np.average(columns, weights=at_work)))


def _blocks_at_once(longest: int) -> int:
    """Return how many blocks a multiprocessor has at once; `longest` is the most strips of a job.

    Where all strips follow each other, two warps a scheduler are slower than one.
    """
    is_chain = longest > _BLOCKS_OF_A_CHAIN * _schedulers()
    return _BLOCKS_OF_A_CHAIN if is_chain else _BLOCKS_PER_MULTIPROCESSOR


def _schedulers() -> int:
    return 1 if simulated() else 4 * cuda.get_current_device().MULTIPROCESSOR_COUNT


def _shared_out(
    problems, sides, rows: int, ordinals, thresholds: list[Threshold], pools: list[BufferPool]
) -> Passes:
    """Assign problems, the largest first, each to the GPU with the fewest cells so far."""
    loads = [(0, k) for k in range(len(ordinals))]
    shares = [[] for _ in ordinals]
    cells = [p.shape[0] * p.shape[1] for p in problems]
    for number in sorted(range(len(problems)), key=lambda n: -cells[n]):
        load, k = heapq.heappop(loads)
        shares[k].append(number)
        heapq.heappush(loads, (load + cells[number], k))
    launches = []
    for ordinal, share, pool in zip(ordinals, shares, pools, strict=True):
        with cuda.gpus[ordinal]:
            mine = ([each[n] for n in share] for each in (problems, sides, thresholds))
            launches.append(ScoreLaunch(pool.batches[0], *mine, rows))
            launches[-1].run()
    results = {}
    for ordinal, share, launch in zip(ordinals, shares, launches, strict=True):
        with cuda.gpus[ordinal]:
            results.update(zip(share, launch.results(), strict=True))
    return [results[n] for n in range(len(problems))]


def in_bands(
    problem: Problem,
    side: int,
    rows: int,
    ordinals,
    threshold: Threshold = ALL,
    is_direct: Callable[[int, int], bool] = may_write,
) -> NDArray[np.int32]:
    """Cut the strips of one problem into bands, one a GPU, as far as they run at once.

    Each GPU writes the row below a band for the next one while it computes it: to the memory of the
    next one where `is_direct` says of the two that this is possible.
    """
    n_strips = _strips(problem.shape[0], rows)
    width = packed.stride(problem.shape[1])
    with cuda.gpus[ordinals[0]]:
        at_once = _BLOCKS_OF_A_CHAIN * _schedulers()
    group = min(-(-n_strips // len(ordinals)), at_once)
    following = zip(ordinals, ordinals[1:] + ordinals[:1], strict=True)
    handed = [row_between(w, r, width, is_direct(w, r)) for w, r in following]

    def prepared(k: int, pool: BufferPool) -> ScoreLaunch:
        strips = [s for s in range(n_strips) if s // group % len(ordinals) == k]
        band = Band(group, strips, handed[k - 1], handed[k])
        return ScoreLaunch(pool.batches[0], [problem], [side], [threshold], rows, band)

    with borrowed_pools(ordinals) as pools:
        launches = map_gpus(ordinals, prepared, range(len(ordinals)), pools)
        # all are prepared before one is started: an allocation may wait for a kernel that runs
        for ordinal, launch in zip(ordinals, launches, strict=True):
            with cuda.gpus[ordinal]:
                launch.run()
        best, *others = map_gpus(ordinals, lambda launch: launch.results()[0], launches)
    for most in others:
        np.maximum(best, most, out=best)
    return best


class Band(NamedTuple):
    """The strips of one problem that a GPU fills, and how they meet those of other GPUs.

    `group` strips stay together on one GPU. The row above the first strip of a group is read from
    `received`, and the row below the last one is written to `handed`.
    """

    group: int
    strips: list[int]
    received: Any
    handed: Any


class ScoreLaunch:
    """Problems in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    buffers : Buffers
        Of that GPU; they are the launch's own until it has returned its results.
    problems : list of Problem
        All of which fit the packed kernel.
    sides : list of int
        Side of each one's tiles.
    thresholds : list of Threshold
        See `score_passes`.
    rows : int
        Rows of a virtual lane.
    band : Band, optional
        If other GPUs fill some strips of a single problem.
    """

    def __init__(
        self, buffers: Buffers, problems: list[Problem], sides: list[int],
        thresholds: list[Threshold], rows: int, band: Band | None = None,
    ):  # fmt: skip
        self.buffers = buffers
        self.kernel = _kernel(rows, tilt(problems[0]) == problems[0].gap_extend)
        n_rows, columns = _lengths(problems)
        strips = _strips(n_rows, rows)
        self.shapes = _tiles_of(n_rows, columns, np.array(sides), rows)
        units = _units(strips)
        if band is not None:
            units = np.array([(0, strip) for strip in band.strips], dtype=np.int32).reshape(-1, 2)
        self.n_units = len(units)
        self.blocks_at_once = _blocks_at_once(int(np.bincount(units[:, 0], minlength=1).max()))
        counters = np.array([[len(units), 0]], dtype=np.int32)
        jobs = _jobs(columns, strips, rows, sides, self.shapes)
        jobs[:, packed.HEIGHT], jobs[:, packed.WIDTH] = n_rows, columns
        limits = np.array([(t.least, 0) for t in thresholds], dtype=np.int64).ravel()
        scoring = scoring_of(
            problems[0], rows, band.group if band else 1 << 30, thresholds[0].only_best
        )
        self.tables = (
            self._copied("jobs", jobs), self._copied("units", np.concatenate([counters, units])),
            self._copied("limits", limits), self._copied("scoring", scoring),
        )  # fmt: skip
        self._look_up(problems, strips * (rows * VIRTUAL_LANES), packed.stride(columns), rows)
        received, handed = (band.received, band.handed) if band else (self.row, self.row)
        self.borders = (self.row, received, handed)

    def _copied(self, name: str, values: NDArray):
        return self.buffers.copy(f"local, {name}", values)

    def _look_up(self, problems: list[Problem], n_rows, columns, rows: int) -> None:
        """Look the codes up on the GPU, and clear the cells above the matrix and the tiles."""
        query = _laid_out([p.query for p in problems], n_rows, 0, OTHER)
        subject = _laid_out([p.subject for p in problems], columns, packed.LEAD, OTHER + 1)
        buffers, sizes = self.buffers, (len(query) // 2, len(subject))
        tiles = int(np.prod(self.shapes[:, :2], axis=1).sum())
        self.inputs = tuple(
            buffers.array(f"local, {name}", size, np.int32)[:size]
            for name, size in zip(("selectors", "words"), sizes, strict=True)
        )
        codes = self._copied("query", query), self._copied("subject", subject)[: len(subject)]
        words = words_of(problems[0])
        tables = self._copied("of query", OF_CODE), self._copied("of subject", words)
        look_up_thread[(*_LOOK_UP, buffers.stream)](*codes, *tables, *self.inputs, rows)
        self.row = buffers.filled("local, row", len(subject), np.int64)
        self.most = buffers.filled("local, most", tiles, np.int32)[:tiles]

    def run(self) -> None:
        """Start the kernel, once."""
        blocks = -(-self.n_units // packed.WARPS)
        if not simulated():
            device = cuda.get_current_device()
            blocks = min(blocks, self.blocks_at_once * device.MULTIPROCESSOR_COUNT)
        jobs, units, limits, scoring = self.tables
        self.kernel[max(blocks, 1), (WARP, packed.WARPS), self.buffers.stream](
            jobs, units, self.inputs, self.borders, self.most, limits, scoring
        )

    def results(self) -> Passes:
        """Return the largest scores, by problem."""
        most, first, results = self.most.copy_to_host(stream=self.buffers.stream), 0, []
        self.buffers.stream.synchronize()
        for down, across, used in self.shapes.tolist():
            results.append(most[first : first + used * across].reshape(used, across))
            first += down * across
        return results


def _kernel(rows: int, level: bool):
    if (rows, level) not in _KERNELS:
        _KERNELS[rows, level] = packed.make_kernel(rows, level)
    return _KERNELS[rows, level]


def _laid_out(parts: list[NDArray[np.uint8]], sizes, lead: int, filling: int):
    """Return codes one after the other, each behind `lead` elements, in space for `sizes`."""
    codes = np.full(int(sizes.sum()), filling, dtype=np.uint8)
    for part, first in zip(parts, (np.cumsum(sizes) - sizes + lead).tolist(), strict=True):
        codes[first : first + len(part)] = part
    return codes


def _strips(n_rows, rows: int):
    return -(-n_rows // (rows * VIRTUAL_LANES))


def _tiles_of(n_rows, columns, sides, rows: int) -> NDArray[np.int64]:
    """Return the tiles down and across that the kernel writes, and those down that are used."""
    height = _strips(n_rows, rows) * rows * VIRTUAL_LANES
    return np.stack([-(-height // sides), -(-columns // sides), -(-n_rows // sides)], axis=1)


def _units(strips: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return job and strip of each unit."""
    first = np.cumsum(strips) - strips
    jobs = np.repeat(np.arange(len(strips)), strips)
    return np.stack([jobs, np.arange(len(jobs)) - first[jobs]], axis=1).astype(np.int32)


def _jobs(columns, strips, rows: int, sides, shapes) -> NDArray[np.int64]:
    """Return the job table."""
    jobs = np.zeros((len(strips), packed.FIELDS), dtype=np.int64)
    for column, sizes in (
        (packed.SELECTORS, strips * (rows * WARP)), (packed.COLUMN, packed.stride(columns)),
        (packed.TILES, shapes[:, 0] * shapes[:, 1]),
    ):  # fmt: skip
        jobs[:, column] = np.cumsum(sizes) - sizes
    jobs[:, packed.CHUNKS] = packed.chunks(columns)
    jobs[:, packed.ACROSS] = shapes[:, 1]
    jobs[:, packed.SPAN] = [(side // WARP).bit_length() - 1 for side in sides]
    jobs[:, packed.SIDE] = sides
    return jobs
