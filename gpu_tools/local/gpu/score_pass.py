"""The score pass on GPUs: assignment of problems to kernels, GPUs and memory.

Bounds are the largest score of a tile, or of cells of its neighbours in the row that are at most
`packed.UNROLLED` columns away, if that is more. Padding behind the last row and column, where
scores fall no faster than by mismatches, counts as cells.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Callable
from functools import cache
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError, device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import BufferPool, Buffers, borrowed_pools, map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.local.gpu import packed
from gpu_tools.local.gpu.score_pass32 import score_pass as score_pass32
from gpu_tools.local.problem import ALL, Problem, Threshold
from gpu_tools.model.sequences import OTHER

_log = logging.getLogger(__name__)

PACKED_CAPABILITY = (9, 0)
_STEPS_BEHIND = 3 * WARP + 8
"""Approximate steps between a strip and the one above."""
_BLOCKS_PER_MULTIPROCESSOR, _BLOCKS_OF_A_CHAIN = 4, 1
"""Thread blocks at once, and the same if most strips wait for others of the same problem."""
_LOOK_UP = (1, WARP) if simulated() else (512, 256)
"""Blocks and threads that look up codes."""
_ENABLED_BEFORE = 704
"""Driver error: another library of the process has enabled the access."""
Passes = list[NDArray[np.int32]]


def score_passes(
    problems: list[Problem],
    sides: list[int],
    ordinals: tuple[int, ...] = (0,),
    thresholds: list[Threshold] | None = None,
) -> Passes:
    """Return upper bounds on the scores of each tile of several problems, which share a scoring.

    The GPUs share the problems; if there are fewer, each is cut into bands of rows. The sides of
    tiles are powers of two, at least two warps. Cells below a threshold may be skipped.
    """
    thresholds = thresholds or [ALL] * len(problems)
    with cuda.gpus[ordinals[0]]:
        rows = rows_per_lane(problems, thresholds)
    kernel = "32-bit kernel" if rows is None else f"packed kernel, {rows} rows a lane"
    _log.info("score passes on GPUs: %d by the %s", len(problems), kernel)
    if rows is None:
        in_turn = list(islice(cycle(ordinals), len(problems)))
        return map_gpus(in_turn, score_pass32, problems, sides, thresholds)
    if len(problems) < len(ordinals):
        each = zip(problems, sides, thresholds, strict=True)
        return [in_bands(p, side, rows, ordinals, t) for p, side, t in each]
    with borrowed_pools(ordinals) as pools:
        return _distribute(problems, sides, rows, ordinals, thresholds, pools)


def rows_per_lane(problems: list[Problem], thresholds: list[Threshold]) -> int | None:
    """Return the rows of a virtual lane, None if the packed kernel is not applicable.

    With more rows a cell is less work, but there are fewer warps, and more steps between strips.
    """
    one = problems[0]
    by_equality = len(one.table) == OTHER + 1 and one.table[0, 1] <= 0
    small = int(one.table.max()) - int(one.table.min()) < 128
    capable = simulated() or cuda.get_current_device().compute_capability >= PACKED_CAPABILITY
    if not (by_equality and small and capable):
        return None
    able = [rows for rows in packed.ROWS if packed.score_range(one, rows) is not None]
    lengths = _lengths(problems)
    shares = _shares(*lengths, int(one.table.max()), thresholds)
    return min(able, key=lambda rows: _estimate(*lengths, shares, rows), default=None)


def _lengths(problems: list[Problem]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the problems' rows and columns."""
    return tuple(
        np.array(n, dtype=np.int64) for n in zip(*(p.shape for p in problems), strict=True)
    )


def _shares(n_rows, columns, gain: int, thresholds: list[Threshold]) -> NDArray[np.float64]:
    """Return the largest fraction of the strips that can be at work in a column.

    For its score an alignment needs pairs, of at most `gain` each, so that it can skip only some
    rows and columns, and stays near the diagonal.
    """
    pairs = np.array([threshold.least for threshold in thresholds]) / max(gain, 1)
    return np.clip((n_rows + columns - 2 * pairs) / n_rows, 0, 1)


def _estimate(n_rows: NDArray[np.int64], columns: NDArray[np.int64], shares, rows: int) -> float:
    """Return the approximate cycles for problems of these sizes.

    The step of a single warp takes the latency of its instructions, that of warps which share a
    scheduler the time to issue those of all.
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
    """Return the thread blocks of a multiprocessor; `longest` is the most strips of a job.

    Where all strips follow each other, two warps per scheduler are slower than one.
    """
    is_chain = longest > _BLOCKS_OF_A_CHAIN * _schedulers()
    return _BLOCKS_OF_A_CHAIN if is_chain else _BLOCKS_PER_MULTIPROCESSOR


def _schedulers() -> int:
    return 1 if simulated() else 4 * cuda.get_current_device().MULTIPROCESSOR_COUNT


def _distribute(
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


def row_between(writer: int, reader: int, width: int, is_direct: bool):
    """Return a row of `width` zeros, int64, that one GPU writes while another one polls it.

    It lies in the reader's memory if the writer can write it directly, else in the host's.
    """
    if is_direct:
        with cuda.gpus[reader]:
            row = cuda.device_array(width, dtype=np.int64)
            device_memset(row, 0, row.nbytes)
            cuda.synchronize()
    else:
        with cuda.gpus[writer]:
            row = cuda.mapped_array(width, dtype=np.int64, portable=True)
        row[:] = 0
    return row


@cache
def may_write(writer: int, reader: int) -> bool:
    """Enable a GPU to write another one's memory; return whether it can."""
    if writer == reader:
        return True
    with cuda.gpus[reader]:
        of_reader = cuda.current_context()
    with cuda.gpus[writer]:
        of_writer = cuda.current_context()
        return of_writer.can_access_peer(reader) and _enabled(of_writer, of_reader)


def _enabled(writer, reader) -> bool:
    """Enable the access of one context to another one's memory; return whether it is possible."""
    try:
        writer.enable_peer_access(reader.handle)
    except CudaAPIError as error:
        return int(error.code) == _ENABLED_BEFORE
    return True


def in_bands(
    problem: Problem,
    side: int,
    rows: int,
    ordinals,
    threshold: Threshold = ALL,
    is_direct: Callable[[int, int], bool] = may_write,
) -> NDArray[np.int32]:
    """Return the bounds of one problem, whose strips are cut into bands, one per GPU.

    Each GPU writes the row below a band for the next GPU while it computes it, if `is_direct` to
    the memory of that GPU.
    """
    n_strips = _strips(problem.shape[0], rows)
    width = packed.stride(problem.shape[1])
    with cuda.gpus[ordinals[0]]:
        at_once = _BLOCKS_OF_A_CHAIN * _schedulers()
    group = min(-(-n_strips // len(ordinals)), at_once)
    following = zip(ordinals, ordinals[1:] + ordinals[:1], strict=True)
    rows_below = [row_between(w, r, width, is_direct(w, r)) for w, r in following]

    def prepared(k: int, pool: BufferPool) -> ScoreLaunch:
        strips = [s for s in range(n_strips) if s // group % len(ordinals) == k]
        band = Band(group, strips, rows_below[k - 1], rows_below[k])
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
    """The strips of one problem that a GPU fills, and the rows between them and other GPUs."""

    group: int  # neighbouring strips on one GPU
    strips: list[int]
    above: Any  # row above the first strip of a group
    below: Any  # row below the last strip of a group


class ScoreLaunch:
    """Problems in the memory of the current GPU, ready for the packed kernel.

    `buffers` belong to the launch until it has returned its results.
    """

    def __init__(
        self,
        buffers: Buffers,
        problems: list[Problem],
        sides: list[int],
        thresholds: list[Threshold],
        rows: int,
        band: Band | None = None,
    ):
        self.buffers = buffers
        self.kernel = packed.make_kernel(rows, packed.tilt(problems[0]) == problems[0].gap_extend)
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
        limits = np.array([threshold.least for threshold in thresholds], dtype=np.int64)
        group = band.group if band else 1 << 30
        scoring = packed.scoring_of(problems[0], rows, group, thresholds[0].only_best)
        units = np.concatenate([counters, units])
        tables = {"jobs": jobs, "units": units, "limits": limits, "scoring": scoring}
        self.tables = [self._copied(name, table) for name, table in tables.items()]
        self._look_up(
            problems, strips * (rows * packed.VIRTUAL_LANES), packed.stride(columns), rows
        )
        above, below = (band.above, band.below) if band else (self.row, self.row)
        self.borders = (self.row, above, below)

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
        words = packed.words_of(problems[0])
        tables = self._copied("of query", packed.OF_CODE), self._copied("of subject", words)
        packed.look_up_thread[(*_LOOK_UP, buffers.stream)](*codes, *tables, *self.inputs, rows)
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


def _laid_out(parts: list[NDArray[np.uint8]], sizes, lead: int, filling: int):
    """Return codes one after the other, each behind `lead` elements and padded to `sizes`."""
    codes = np.full(int(sizes.sum()), filling, dtype=np.uint8)
    for part, first in zip(parts, (np.cumsum(sizes) - sizes + lead).tolist(), strict=True):
        codes[first : first + len(part)] = part
    return codes


def _strips(n_rows, rows: int):
    return -(-n_rows // (rows * packed.VIRTUAL_LANES))


def _tiles_of(n_rows, columns, sides, rows: int) -> NDArray[np.int64]:
    """Return the tiles down and across in the kernel's output, and the tiles down of the matrix."""
    height = _strips(n_rows, rows) * rows * packed.VIRTUAL_LANES
    return np.stack([-(-height // sides), -(-columns // sides), -(-n_rows // sides)], axis=1)


def _units(strips: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return job and strip of each unit."""
    first = np.cumsum(strips) - strips
    jobs = np.repeat(np.arange(len(strips)), strips)
    return np.stack([jobs, np.arange(len(jobs)) - first[jobs]], axis=1).astype(np.int32)


def _jobs(columns, strips, rows: int, sides, shapes) -> NDArray[np.int64]:
    """Return the job table."""
    jobs = np.zeros((len(strips), packed.FIELDS), dtype=np.int64)
    sizes = {
        packed.SELECTORS: strips * (rows * WARP),
        packed.COLUMN: packed.stride(columns),
        packed.TILES: shapes[:, 0] * shapes[:, 1],
    }
    for column, each in sizes.items():
        jobs[:, column] = np.cumsum(each) - each
    jobs[:, packed.CHUNKS] = packed.chunks(columns)
    jobs[:, packed.ACROSS] = shapes[:, 1]
    jobs[:, packed.SPAN] = [(side // WARP).bit_length() - 1 for side in sides]
    jobs[:, packed.SIDE] = sides
    return jobs
