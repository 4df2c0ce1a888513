"""The score pass on GPUs: assignment of problems to kernels, GPUs and memory.

Bounds are the largest score of a tile, or of cells of its neighbours in the row that are at most
`packed.UNROLLED` columns away, if that is more. Padding behind the last row and column, where
scores fall no faster than by mismatches, counts as cells.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, uint32
from numba.cuda.cudadrv.driver import CudaAPIError, device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers, borrowed_pools, map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    any_lane,
    kernel,
    shuffle,
    shuffle_up,
)
from gpu_tools.local.gpu import packed
from gpu_tools.local.gpu.packed import NOT_REACHED
from gpu_tools.local.problem import Batch, Problem, Tiles, problem_of
from gpu_tools.model.sequences import OTHER

# The score pass on a GPU in 32-bit cells.
#
# The lanes of a warp hold neighbouring rows in registers, and columns stream past.
#
# The matrix is cut into strips of as many rows as a warp owns, and strips into blocks of columns.
# Blocks on one anti-diagonal are independent: a launch fills them all, a warp each. A
# block reads the row above it from memory and writes its last row there; the state of its lanes is
# stored in memory for the next block of the strip. A block is skipped if no score that comes in can
# reach the threshold up to the last row or column; then 0 comes out.


ROWS = 2 if simulated() else 8
"""Rows of a lane; few in the simulator, so that small tests have strips."""
STRIP = WARP * ROWS
BLOCK = 2 * WARP if simulated() else 512
"""Columns of a block, whole chunks of a warp."""
_TABLE_SIDE = 28
"""Codes of the score table, padding being the last."""
_TABLE = _TABLE_SIDE * _TABLE_SIDE
_PAD = _TABLE_SIDE - 1
_OPEN, _EXTEND = range(2)
_NO_PAIR = -(2**30)
"""Score of padding: below any other, and 32 bits hold its sum with a score."""


class BlockPosition(NamedTuple):
    """The anti-diagonal of blocks that a launch fills, its first strip, and the side of a tile."""

    diagonal: int
    first_strip: int
    side: int


class Pruning32(NamedTuple):
    """Inputs of skipping: does the threshold rise, largest score of a pair, size of the matrix."""

    rises: int
    gain: int
    rows: int
    columns: int


class LaneCells32(NamedTuple):
    """A lane's rows: best scores, gaps of the query, and where each row's scores begin."""

    best: Any
    gaps: Any
    letters: Any


@cuda.jit(device=True)
def _highest(state, row, strip, start):
    """Return the highest score that comes into a lane's part of a block."""
    lane = int32(cuda.threadIdx.x)
    highest = state[strip, 2 * ROWS, 0]
    for c in range(ROWS):
        highest = max(highest, state[strip, c, lane])
    for k in range(lane, int32(BLOCK), int32(WARP)):
        highest = max(highest, row[0, uint32(start + k)])
    return highest


@cuda.jit(device=True)
def _skip(state, row, strip, start):
    """Write 0 for the blocks behind a skipped block."""
    lane = int32(cuda.threadIdx.x)
    for c in range(2 * ROWS + 1):
        state[strip, c, lane] = int32(0)
    for k in range(lane, int32(BLOCK), int32(WARP)):
        row[0, uint32(start + k)] = int32(0)
        row[1, uint32(start + k)] = int32(0)


@cuda.jit(device=True)
def _load(cells, state, query, strip, first_row):
    """Load the state of a lane's rows after the block before."""
    lane = int32(cuda.threadIdx.x)
    for c in range(ROWS):
        cells.best[c] = state[strip, c, lane]
        cells.gaps[c] = state[strip, c + ROWS, lane]
        cells.letters[c] = int32(query[uint32(first_row + c)]) * int32(_TABLE_SIDE)


@cuda.jit(device=True)
def _store(cells, state, strip, above):
    """Store a lane's rows for the next block of the strip; `above` is as lane 0 has it."""
    lane = int32(cuda.threadIdx.x)
    for c in range(ROWS):
        state[strip, c, lane] = cells.best[c]
        state[strip, c + ROWS, lane] = cells.gaps[c]
    if lane == 0:
        state[strip, 2 * ROWS, 0] = above


@cuda.jit(device=True)
def _fill_column(cells, scores, letter, diagonal, above, largest):
    """Fill a lane's rows of a column; return its last best score and gap, and the largest score."""
    # best(i, j) = max(0, best(i-1, j-1) + pair(i, j), gap of query, gap of subject)
    # gap(i, j) = max(best - open, gap - extend) of the cell before or above
    table, opens, extends = scores
    best, gaps, letters = cells
    up, up_gap = above
    for c in range(ROWS):
        pair = int32(diagonal + table[uint32(letters[c] + letter)])
        gap = max(int32(best[c] - opens), int32(gaps[c] - extends))
        up_gap = max(int32(up - opens), int32(up_gap - extends))
        up = max(max(max(pair, gap), int32(0)), up_gap)
        diagonal = best[c]
        best[c] = up
        gaps[c] = gap
        largest = max(largest, up)
    return up, up_gap, largest


@cuda.jit(device=True)
def _raise_tile32(most, limits, tile, largest, reached):
    """Raise a tile's largest score and, above the score `reached`, the threshold."""
    if largest > 0:
        cuda.atomic.max(most, tile, largest)
    if largest > reached:
        cuda.atomic.max(limits, 0, largest)


@kernel()
def fill_blocks_warp(symbols, scores, state, row, most, limits, block, pruning):
    """Fill the blocks of one anti-diagonal; a thread block is one warp and fills one of them."""
    # symbols: codes of query and subject, padded to whole strips and blocks
    # scores: the penalties, then the scores by query and subject code, 28 * 28
    # state (strips, 2 * ROWS + 1, WARP): best scores and gaps of the query in each strip's last
    #   column; then the best score above and left of the strip's next block
    # row (2, columns): best scores and gaps of the subject in the last row filled
    # most (tiles down, tiles across): raised to the largest score of each tile
    # limits (1,): threshold, which rises to the best score if only the best alignment is requested
    query, subject = symbols
    table = cuda.shared.array(_TABLE, int32)
    scratch = cuda.shared.array(WARP, int32)
    best = cuda.local.array(ROWS, int32)
    gaps = cuda.local.array(ROWS, int32)
    letters = cuda.local.array(ROWS, int32)
    cells = LaneCells32(best, gaps, letters)
    lane = int32(cuda.threadIdx.x)
    side = block.side
    strip = int32(block.first_strip + cuda.blockIdx.x)
    start = int32(int32(block.diagonal - strip) * int32(BLOCK))
    first_row = int32(strip * int32(STRIP) + lane * int32(ROWS))
    rest = int32(pruning.rows - strip * int32(STRIP)), int32(pruning.columns - start)
    more = pruning.gain * min(rest[0], rest[1])
    reached = limits[0] if pruning.rises else int32(NOT_REACHED)
    if not any_lane(_highest(state, row, strip, start) >= int32(limits[0] - more)):
        _skip(state, row, strip, start)
        return
    opens, extends = scores[uint32(_OPEN)], scores[uint32(_EXTEND)]
    for k in range(lane, int32(_TABLE), int32(WARP)):
        table[k] = scores[uint32(k + 2)]
    cuda.syncthreads()
    _load(cells, state, query, strip, first_row)
    above = shuffle_up(best[ROWS - 1], scratch)
    if lane == 0:
        above = state[strip, 2 * ROWS, 0]
    bottom, bottom_gap, arriving, arriving_gap = int32(0), int32(0), int32(0), int32(0)
    largest = int32(0)
    tile_row = uint32(first_row // side)
    for step in range(int32(0), int32(BLOCK + WARP - 1)):
        chunk = int32(step & int32(WARP - 1))
        if chunk == 0 and step < BLOCK:
            arriving = row[0, uint32(start + step + lane)]
            arriving_gap = row[1, uint32(start + step + lane)]
        up, up_gap = shuffle_up(bottom, scratch), shuffle_up(bottom_gap, scratch)
        top, top_gap = shuffle(arriving, chunk, scratch), shuffle(arriving_gap, chunk, scratch)
        column = int32(step - lane)
        if column >= 0 and column < BLOCK:
            if lane == 0:
                up, up_gap = top, top_gap
            at = int32(start + column)
            letter = int32(subject[uint32(at)])
            diagonal = above
            above = up
            bottom, bottom_gap, largest = _fill_column(
                cells, (table, opens, extends), letter, diagonal, (up, up_gap), largest
            )
            if lane == WARP - 1:
                row[0, uint32(at)] = bottom
                row[1, uint32(at)] = bottom_gap
            if column == BLOCK - 1 or int32((at + int32(1)) & int32(side - int32(1))) == 0:
                _raise_tile32(most, limits, (tile_row, uint32(at // side)), largest, reached)
                largest = int32(0)
    _store(cells, state, strip, above)


def score_pass32(batch: Batch, tiles: Tiles) -> Passes:
    """Return the largest score of each tile of one matrix, found on the current GPU."""
    problem, side = problem_of(batch, 0), int(tiles.side[0])
    rows, columns = problem.shape
    strips, blocks = -(-rows // STRIP), -(-columns // BLOCK)
    width = blocks * BLOCK
    symbols = _padded(problem.query, strips * STRIP), _padded(problem.subject, width)
    symbols = tuple(map(cuda.to_device, symbols))
    scores = cuda.to_device(_scores(problem))
    limits = cuda.to_device(tiles.least.astype(np.int32))
    gain = int(problem.table.max())
    pruning = Pruning32(*map(np.int32, (tiles.only_best, gain, rows, columns)))
    shape = -(-strips * STRIP // side), -(-width // side)
    state, row, most = (
        cuda.to_device(np.zeros(shape, dtype=np.int32))
        for shape in ((strips, 2 * ROWS + 1, WARP), (2, width), shape)
    )
    for diagonal in range(strips + blocks - 1):
        first = max(0, diagonal - blocks + 1)
        count = min(diagonal, strips - 1) - first + 1
        block = BlockPosition(*map(np.int32, (diagonal, first, side)))
        fill_blocks_warp[count, WARP](symbols, scores, state, row, most, limits, block, pruning)
    found = most.copy_to_host()[: tiles.down[0], : tiles.across[0]]
    return tiles._replace(first=tiles.first * 0), found.ravel()


def _padded(codes: NDArray[np.uint8], length: int) -> NDArray[np.uint8]:
    padded = np.full(length, _PAD, dtype=np.uint8)
    padded[: len(codes)] = codes
    return padded


def _scores(problem: Problem) -> NDArray[np.int32]:
    table = np.full((_TABLE_SIDE, _TABLE_SIDE), _NO_PAIR, dtype=np.int32)
    size = len(problem.table)
    table[:size, :size] = problem.table
    penalties = np.array([problem.gap_open, problem.gap_extend], dtype=np.int32)
    return np.concatenate([penalties, table.ravel()])


_log = logging.getLogger(__name__)

_STEPS_BEHIND = 3 * WARP + 8
"""Approximate steps between a strip and the one above."""
_BLOCKS_PER_MULTIPROCESSOR, _BLOCKS_OF_A_CHAIN = 4, 1
"""Thread blocks at once, and the same if most strips wait for others of the same problem."""
_LOOK_UP = (1, WARP) if simulated() else (512, 256)
"""Blocks and threads that look up codes."""
_ENABLED_BEFORE = 704
"""Driver error: another library of the process has enabled the access."""
Passes = tuple[Tiles, NDArray[np.int32]]
"""Tiles of matrices, and their bounds in one array."""


def score_passes(works: Iterator[Any], ordinals: tuple[int, ...] = (0,)) -> Iterator[tuple]:
    """Yield each work with its tiles, and upper bounds on the scores of these in one array.

    While one is used the GPUs are busy with the next. They share the matrices; if there are fewer,
    each is cut into bands of rows. The sides of tiles are at least two warps. Cells below a
    threshold may be skipped.
    """
    with borrowed_pools(ordinals) as pools:
        running = deque()
        for number, work in enumerate(works):
            buffers = [pool.batches[number % 2] for pool in pools]
            running.append((work, _started(work.batch, work.tiles, ordinals, buffers)))
            if len(running) == 2:
                work, finish = running.popleft()
                yield work, *finish()
        for work, finish in running:
            yield work, *finish()


def _started(batch: Batch, tiles: Tiles, ordinals, buffers: list[Buffers]) -> Callable[[], Passes]:
    """Start the score passes of a batch; return what waits for them."""
    count = len(tiles.side)
    with cuda.gpus[ordinals[0]]:
        rows = rows_per_lane(batch, tiles)
    kernel = "32-bit kernel" if rows is None else f"packed kernel, {rows} rows a lane"
    _log.info("score passes on GPUs: %d by the %s", count, kernel)
    if rows is not None and count >= len(ordinals):
        return _distribute(batch, tiles, rows, ordinals, buffers)
    each = np.arange(count)[:, None]
    alone = [of_matrices(batch, tiles, number) for number in each]
    if rows is None:
        in_turn = list(islice(cycle(ordinals), count))
        passes = map_gpus(in_turn, score_pass32, *zip(*alone, strict=True))
    else:
        passes = [in_bands(*own, rows, ordinals, buffers) for own in alone]
    return partial(_joined, tiles, each, passes)


def of_matrices(batch: Batch, tiles: Tiles, numbers: NDArray[np.int64]) -> tuple[Batch, Tiles]:
    """Return some matrices alone."""
    own = Tiles(*(each[numbers] for each in tiles[:-1]), tiles.only_best)
    return batch._replace(spans=batch.spans[numbers]), own


def _joined(tiles: Tiles, numbers, passes: list[Passes]) -> Passes:
    """Return the bounds of matrices whose numbers are given, by pass, as one array."""
    before = 0
    for own, (found, upper) in zip(numbers, passes, strict=True):
        tiles.first[own] = found.first + before
        before += len(upper)
    return tiles, np.concatenate([upper for _, upper in passes])


def rows_per_lane(batch: Batch, tiles: Tiles) -> int | None:
    """Return the rows of a virtual lane, None if the packed kernel is not applicable.

    With more rows a cell is less work, but there are fewer warps, and more steps between strips.
    """
    scored = batch.scored
    by_equality = len(scored.table) == OTHER + 1 and scored.table[0, 1] <= 0
    small = int(scored.table.max()) - int(scored.table.min()) < 128
    if not (by_equality and small):
        return None
    able = [rows for rows in packed.ROWS if packed.score_range(scored, rows) is not None]
    shares = _shares(*batch.shapes, int(scored.table.max()), tiles.least)
    return min(able, key=lambda rows: _estimate(*batch.shapes, shares, rows), default=None)


def _shares(n_rows, columns, gain: int, leasts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest fraction of the strips that can be at work in a column.

    For its score an alignment needs pairs, of at most `gain` each, so that it can skip only some
    rows and columns, and stays near the diagonal.
    """
    pairs = leasts / max(gain, 1)
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
    batch: Batch, tiles: Tiles, rows: int, ordinals, buffers: list[Buffers]
) -> Callable[[], Passes]:
    """Assign matrices, the largest first, each to the GPU with the fewest cells so far."""
    loads = [(0, k) for k in range(len(ordinals))]
    shares = [[] for _ in ordinals]
    cells = np.multiply(*batch.shapes)
    for number in np.argsort(-cells, kind="stable").tolist():
        load, k = heapq.heappop(loads)
        shares[k].append(number)
        heapq.heappush(loads, (load + int(cells[number]), k))
    launches = []
    for ordinal, share, own in zip(ordinals, shares, buffers, strict=True):
        with cuda.gpus[ordinal]:
            mine = of_matrices(batch, tiles, np.array(share))
            launches.append(ScoreLaunch(own, *mine, rows))
            launches[-1].run()

    def finish() -> Passes:
        passes = map_gpus(ordinals, lambda launch: launch.results(), launches)
        return _joined(tiles, shares, passes)

    return finish


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
    batch: Batch,
    tiles: Tiles,
    rows: int,
    ordinals,
    buffers: list[Buffers],
    is_direct: Callable[[int, int], bool] = may_write,
) -> Passes:
    """Return the bounds of one matrix, whose strips are cut into bands, one per GPU.

    Each GPU writes the row below a band for the next GPU while it computes it, if `is_direct` to
    the memory of that GPU.
    """
    n_strips, width = (
        int(n[0]) for n in (_strips(batch.shapes[0], rows), packed.stride(batch.shapes[1]))
    )
    with cuda.gpus[ordinals[0]]:
        at_once = _BLOCKS_OF_A_CHAIN * _schedulers()
    group = min(-(-n_strips // len(ordinals)), at_once)
    following = zip(ordinals, ordinals[1:] + ordinals[:1], strict=True)
    rows_below = [row_between(w, r, width, is_direct(w, r)) for w, r in following]

    def prepared(k: int, own: Buffers) -> ScoreLaunch:
        strips = [s for s in range(n_strips) if s // group % len(ordinals) == k]
        band = Band(group, strips, rows_below[k - 1], rows_below[k])
        return ScoreLaunch(own, batch, tiles, rows, band)

    launches = map_gpus(ordinals, prepared, range(len(ordinals)), buffers)
    # all are prepared before one is started: an allocation may wait for a kernel that runs
    for ordinal, launch in zip(ordinals, launches, strict=True):
        with cuda.gpus[ordinal]:
            launch.run()
    (found, best), *others = map_gpus(ordinals, lambda launch: launch.results(), launches)
    for _, most in others:
        np.maximum(best, most, out=best)
    return found, best


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
        self, buffers: Buffers, batch: Batch, tiles: Tiles, rows: int, band: Band | None = None
    ):
        self.buffers, self.tiles, scored = buffers, tiles, batch.scored
        self.kernel = packed.make_kernel(rows, packed.tilt(scored) == scored.gap_extend)
        n_rows, columns = batch.shapes
        strips = _strips(n_rows, rows)
        # the kernel's strips end behind the matrix, and so do their tiles
        self.down = -(-strips * (rows * packed.VIRTUAL_LANES) // tiles.side)
        units = _units(strips)
        if band is not None:
            units = np.array([(0, strip) for strip in band.strips], dtype=np.int32).reshape(-1, 2)
        self.n_units = len(units)
        self.blocks_at_once = _blocks_at_once(int(np.bincount(units[:, 0], minlength=1).max()))
        counters = np.array([[len(units), 0]], dtype=np.int32)
        jobs = self._jobs(columns, strips, rows)
        jobs[:, packed.HEIGHT], jobs[:, packed.WIDTH] = n_rows, columns
        group = band.group if band else 1 << 30
        scoring = packed.scoring_of(scored, rows, group, tiles.only_best)
        units = np.concatenate([counters, units])
        tables = {"jobs": jobs, "units": units, "limits": tiles.least, "scoring": scoring}
        self.tables = [self._copied(name, table) for name, table in tables.items()]
        self._look_up(batch, strips * (rows * packed.VIRTUAL_LANES), packed.stride(columns), rows)
        above, below = (band.above, band.below) if band else (self.row, self.row)
        self.borders = (self.row, above, below)

    def _jobs(self, columns, strips, rows: int) -> NDArray[np.int64]:
        """Return the job table."""
        jobs = np.zeros((len(strips), packed.FIELDS), dtype=np.int64)
        sizes = {
            packed.SELECTORS: strips * (rows * WARP),
            packed.COLUMN: packed.stride(columns),
            packed.TILES: self.down * self.tiles.across,
        }
        for column, each in sizes.items():
            jobs[:, column] = np.cumsum(each) - each
        jobs[:, packed.CHUNKS] = packed.chunks(columns)
        jobs[:, packed.ACROSS] = self.tiles.across
        jobs[:, packed.SPAN] = np.log2(self.tiles.side // WARP)
        jobs[:, packed.SIDE] = self.tiles.side
        return jobs

    def _copied(self, name: str, values: NDArray):
        return self.buffers.copy(f"local, {name}", values)

    def _look_up(self, batch: Batch, n_rows, columns, rows: int) -> None:
        """Look the codes up on the GPU, and clear the cells above the matrix and the tiles."""
        query = _laid_out(batch.symbols, batch.spans[:, :2], n_rows, 0, OTHER)
        subject = _laid_out(batch.symbols, batch.spans[:, 2:], columns, packed.LEAD, OTHER + 1)
        buffers, sizes = self.buffers, (len(query) // 2, len(subject))
        tiles = int((self.down * self.tiles.across).sum())
        self.inputs = tuple(
            buffers.array(f"local, {name}", size, np.int32)[:size]
            for name, size in zip(("selectors", "words"), sizes, strict=True)
        )
        codes = self._copied("query", query), self._copied("subject", subject)[: len(subject)]
        words = packed.words_of(batch.scored)
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
        """Return the tiles, where their bounds begin, and the bounds."""
        most = self.most.copy_to_host(stream=self.buffers.stream)
        self.buffers.stream.synchronize()
        sizes = self.down * self.tiles.across
        return self.tiles._replace(first=np.cumsum(sizes) - sizes), most


def _laid_out(symbols: NDArray[np.uint8], spans, sizes, lead: int, filling: int):
    """Return codes one after the other, each behind `lead` elements and padded to `sizes`."""
    codes = np.full(int(sizes.sum()), filling, dtype=np.uint8)
    firsts = np.cumsum(sizes) - sizes + lead
    for (begin, end), first in zip(spans.tolist(), firsts.tolist(), strict=True):
        codes[first : first + end - begin] = symbols[begin:end]
    return codes


def _strips(n_rows, rows: int):
    return -(-n_rows // (rows * packed.VIRTUAL_LANES))


def _units(strips: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return job and strip of each unit."""
    first = np.cumsum(strips) - strips
    jobs = np.repeat(np.arange(len(strips)), strips)
    return np.stack([jobs, np.arange(len(jobs)) - first[jobs]], axis=1).astype(np.int32)
