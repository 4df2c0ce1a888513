"""The score pass on GPUs: which kernel, which GPU, and what lies where in their memory."""

from __future__ import annotations

import heapq
from itertools import cycle, islice

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.cuda_kept import KEPT
from gpu_tools.device import simulated
from gpu_tools.local import cuda_packed as packed
from gpu_tools.local import cuda_wide as wide
from gpu_tools.local.cuda_memory import device_arrays
from gpu_tools.local.problem import Problem
from gpu_tools.ptx import WARP
from gpu_tools.sequences import OTHER

PACKED_CAPABILITY = (9, 0)
_STEPS_BEHIND = 3 * WARP + 8
"""By how many steps a strip follows the one above, about."""
_BLOCKS_PER_MULTIPROCESSOR, _BLOCKS_OF_A_CHAIN = 4, 2
"""How many run at once, and how many if most strips wait for others of the same problem."""
NEAR = packed.UNROLLED
_OF_CODE = np.array([0x80, 0x91, 0xA2, 0xB3, 0x88], dtype=np.int32)
"""By query code: which byte is the score's, and its sign; of others the sign alone, which is 0."""
_LOOK_UP = (1, WARP) if simulated() else (512, 256)
"""Blocks and threads that look up codes."""
_KERNELS = {}
Passes = list[NDArray[np.int32]]


def score_passes(
    problems: list[Problem], sides: list[int], ordinals: tuple[int, ...] = (0,)
) -> Passes:
    """Return upper bounds on the scores of each tile of several problems.

    Parameters
    ----------
    problems : list of Problem
        All scored the same way.
    sides : list of int
        Side of each problem's tiles, a power of two, at least two warps.
    ordinals : tuple of int
        The GPUs. They share the problems; one problem alone is cut into bands of rows.

    Returns
    -------
    list of ndarray of int32, shape (tiles down, tiles across)
        The largest score of each tile, or of cells of its neighbours in the row that are at most
        `NEAR` columns away, if that is more. Padding behind the last row and column, where
        scores fall no faster than by mismatches, counts as cells.
    """
    with cuda.gpus[ordinals[0]]:
        rows = rows_per_lane(problems)
    if rows is None:
        turns = list(islice(cycle(ordinals), len(problems)))
        return KEPT.map_gpus(turns, wide.score_pass, problems, sides)
    if len(problems) < len(ordinals):
        return [in_bands(p, s, rows, ordinals) for p, s in zip(problems, sides, strict=True)]
    return _shared_out(problems, sides, rows, ordinals)


def rows_per_lane(problems: list[Problem]) -> int | None:
    """Return how many rows a virtual lane holds, None if the packed kernel cannot do the work.

    More rows are less work a cell, but fewer warps, and strips that follow each other later.
    """
    one = problems[0]
    by_equality = len(one.table) == OTHER + 1 and one.table[0, 1] <= 0
    small = int(one.table.max()) - int(one.table.min()) < 128
    capable = simulated() or cuda.get_current_device().compute_capability >= PACKED_CAPABILITY
    if not (by_equality and small and capable):
        return None
    able = [rows for rows in packed.ROWS if packed.score_range(one, rows) is not None]
    lengths = _lengths(problems)
    return min(able, key=lambda rows: _estimate(*lengths, rows), default=None)


def _lengths(problems: list[Problem]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the problems' rows and columns."""
    return tuple(
        np.array(n, dtype=np.int64) for n in zip(*(p.shape for p in problems), strict=True)
    )


def _estimate(n_rows: NDArray[np.int64], columns: NDArray[np.int64], rows: int) -> float:
    """Return about how many cycles pass until problems of these sizes are done.

    A step takes a warp alone as long as its instructions wait for each other, and warps that share
    a scheduler as long as all of them issue.
    """
    strips = _strips(n_rows, rows)
    longest = int((strips * _STEPS_BEHIND + columns).max())
    work = float((strips * columns).sum()) / _schedulers()
    sharing = min(-(-int(strips.sum()) // _schedulers()), _blocks_at_once(int(strips.max())))
    alone, issue = 130 + 12 * rows, 60 + 15 * rows
    return max(longest * max(alone, sharing * issue), work * issue)


def _blocks_at_once(longest: int) -> int:
    """Return how many blocks a multiprocessor has at once; `longest` is the most strips of a job.

    Where all strips follow each other, more than two warps a scheduler are slower than two: on an
    H200, 2,000,000 x 2,000,000 took 1.32, 1.37 and 1.89 s with one, two and three blocks.
    """
    is_chain = longest > _BLOCKS_OF_A_CHAIN * _schedulers()
    return _BLOCKS_OF_A_CHAIN if is_chain else _BLOCKS_PER_MULTIPROCESSOR


def _schedulers() -> int:
    return 1 if simulated() else 4 * cuda.get_current_device().MULTIPROCESSOR_COUNT


def _shared_out(problems, sides, rows: int, ordinals) -> Passes:
    """Give each GPU the problem with the most cells that is left, as soon as it has the least."""
    loads = [(0, k) for k in range(len(ordinals))]
    shares = [[] for _ in ordinals]
    cells = [p.shape[0] * p.shape[1] for p in problems]
    for number in sorted(range(len(problems)), key=lambda n: -cells[n]):
        load, k = heapq.heappop(loads)
        shares[k].append(number)
        heapq.heappush(loads, (load + cells[number], k))
    launches = []
    for ordinal, share in zip(ordinals, shares, strict=True):
        with cuda.gpus[ordinal]:
            mine = [problems[n] for n in share], [sides[n] for n in share]
            launches.append(PackedLaunch(*mine, rows))
            launches[-1].run()
    results = {}
    for ordinal, share, launch in zip(ordinals, shares, launches, strict=True):
        with cuda.gpus[ordinal]:
            results.update(zip(share, launch.results(), strict=True))
    return [results[n] for n in range(len(problems))]


def in_bands(problem: Problem, side: int, rows: int, ordinals) -> NDArray[np.int32]:
    """Cut the strips of one problem into bands, one a GPU, as far as they run at once.

    Each GPU hands the row below a band on to the next one through host memory while it is made.
    """
    n_strips = _strips(problem.shape[0], rows)
    width = packed.stride(problem.shape[1])
    with cuda.gpus[ordinals[0]]:
        at_once = _BLOCKS_OF_A_CHAIN * _schedulers()
        handed = [cuda.mapped_array(width, dtype=np.int64, portable=True) for _ in ordinals]
    group = min(-(-n_strips // len(ordinals)), at_once)
    for row in handed:
        row[:] = 0
    launches = []
    for k, ordinal in enumerate(ordinals):
        strips = [s for s in range(n_strips) if s // group % len(ordinals) == k]
        with cuda.gpus[ordinal]:
            bands = (group, strips, handed[k - 1], handed[k])
            launches.append(PackedLaunch([problem], [side], rows, bands))
    for ordinal, launch in zip(ordinals, launches, strict=True):
        with cuda.gpus[ordinal]:
            launch.run()
    best, *others = KEPT.map_gpus(ordinals, lambda launch: launch.results()[0], launches)
    for most in others:
        np.maximum(best, most, out=best)
    return best


class PackedLaunch:
    """Problems laid out in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    problems : list of Problem
        All of which fit the packed kernel.
    sides : list of int
        Side of each one's tiles.
    rows : int
        Rows of a virtual lane.
    bands : tuple, optional
        If strips of a single problem are elsewhere: how many stay together, the strips that are
        here, and the rows that come from there and go there.
    """

    def __init__(self, problems: list[Problem], sides: list[int], rows: int, bands=None):
        self.kernel = _kernel(rows, packed.tilt(problems[0]) == problems[0].gap_extend)
        n_rows, columns = _lengths(problems)
        strips = _strips(n_rows, rows)
        self.shapes = _tiles_of(n_rows, columns, np.array(sides), rows)
        group, own_strips, *borders = bands or (1 << 30, None)
        units = _units(strips)
        if own_strips is not None:
            units = np.array([(0, strip) for strip in own_strips], dtype=np.int32).reshape(-1, 2)
        self.n_units = len(units)
        self.blocks_at_once = _blocks_at_once(int(np.bincount(units[:, 0], minlength=1).max()))
        self.units_at_start = np.concatenate([np.array([[len(units), 0]], dtype=np.int32), units])
        jobs = _jobs(columns, strips, rows, sides, self.shapes)
        tables = [jobs, self.units_at_start, _scoring(problems[0], rows, group)]
        codes = _codes(problems, strips * (rows * packed.VIRTUAL_LANES), packed.stride(columns))
        self._place(tables, codes, [_OF_CODE, _words(problems[0])], rows)
        self.borders = (self.row, *(borders or (self.row, self.row)))
        self.clear()

    def _place(self, tables, codes, looked_up, rows: int) -> None:
        """Copy everything to the GPU, and look the codes up there."""
        query, subject = codes
        tiles = int(np.prod(self.shapes[:, :2], axis=1).sum())
        blank = [(len(query) // 2, np.int32), (len(subject), np.int32)]
        blank += [(len(subject), np.int64), (tiles, np.int32)]
        arrays = device_arrays([*tables, *codes, *looked_up], blank)
        self.jobs, self.units, self.scoring, *inputs, selectors, words, self.row, self.most = arrays
        self.inputs = selectors, words
        packed.look_up_thread[_LOOK_UP](*inputs, *self.inputs, rows)

    def run(self) -> None:
        """Start the kernel; needs fresh rows."""
        blocks = -(-self.n_units // packed.WARPS)
        if not simulated():
            device = cuda.get_current_device()
            blocks = min(blocks, self.blocks_at_once * device.MULTIPROCESSOR_COUNT)
        self.kernel[max(blocks, 1), (WARP, packed.WARPS)](
            self.jobs, self.units, *self.inputs, self.borders, self.most, self.scoring
        )

    def finished(self) -> Passes:
        """Run and return the results."""
        self.run()
        return self.results()

    def reset(self) -> None:
        """Make ready for another run."""
        self.units.copy_to_device(self.units_at_start)
        self.clear()

    def clear(self) -> None:
        """Fill in the cells above the matrix, which are worth nothing, and scores of no cell."""
        for array in (self.row, self.most):
            device_memset(array, 0, array.nbytes)

    def results(self) -> Passes:
        """Return the largest scores, by problem."""
        most, first, results = self.most.copy_to_host(), 0, []
        for down, across, used in self.shapes.tolist():
            results.append(most[first : first + used * across].reshape(used, across))
            first += down * across
        return results


def _kernel(rows: int, level: bool):
    if (rows, level) not in _KERNELS:
        _KERNELS[rows, level] = packed.make_kernel(rows, level)
    return _KERNELS[rows, level]


def _strips(n_rows, rows: int):
    return -(-n_rows // (rows * packed.VIRTUAL_LANES))


def _tiles_of(n_rows, columns, sides, rows: int) -> NDArray[np.int64]:
    """Return the tiles down and across that the kernel writes, and those down that are used."""
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


def _codes(problems: list[Problem], heights, widths) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of all strips' rows and of all columns."""
    query = _laid_out([p.query for p in problems], heights, 0, OTHER)
    return query, _laid_out([p.subject for p in problems], widths, packed.LEAD, OTHER + 1)


def _laid_out(parts: list[NDArray[np.uint8]], sizes, lead: int, filling: int):
    """Return codes one after the other, each behind `lead` elements, in space for `sizes`."""
    codes = np.full(int(sizes.sum()), filling, dtype=np.uint8)
    for part, first in zip(parts, (np.cumsum(sizes) - sizes + lead).tolist(), strict=True):
        codes[first : first + len(part)] = part
    return codes


def _words(problem: Problem) -> NDArray[np.int32]:
    """Return, by subject code, the scores with the four query nucleotides, and those of padding."""
    scores = np.ascontiguousarray((problem.table[:4].T + packed.tilt(problem)).astype(np.int8))
    return np.append(scores.view(np.int32).ravel(), np.int32(0))


def _scoring(problem: Problem, rows: int, group: int) -> NDArray[np.int32]:
    tilt = packed.tilt(problem)
    opens, extends = problem.gap_open, problem.gap_extend
    down = np.array([-opens, -extends, tilt - extends]) & 0xFFFF
    added = [(tilt - opens) * 65537, *(down | down << 16).astype(np.uint32).view(np.int32)]
    scores = packed.score_range(problem, rows)
    return np.array([*added, tilt, *scores, group], dtype=np.int32)
