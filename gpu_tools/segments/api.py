"""The public functions: validate, choose units and device, search, wrap the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import (
    GpuUntilItFails,
    cpu_threads,
    on_gpu_or_cpu,
    resolve,
    simulated,
)
from gpu_tools.hardware.own_files import check_memory
from gpu_tools.model.results import Segment, Segments, Submatrix
from gpu_tools.segments import cpu
from gpu_tools.segments.runs import Units, as_numbers, choose_units
from gpu_tools.segments.submatrix import Rectangle, disjoint_rectangles, orient

Search = Callable[[Rectangle], tuple[int, Rectangle] | None]

DOT_SCORE_LIMIT = 2**15
"""Magnitudes of scores of a dot plot stay below it, so that a cell takes 16 bits."""
_BYTES_PER_CELL = 3
"""Bytes per cell while a dot plot is made: the score, and whether the symbols are equal."""

LEAST_OF_A_GPU = 0 if simulated() else 2**25
"""Steps over pairs of lines, twice, from which on a part of a matrix is searched on a GPU."""


def max_segment(
    values: ArrayLike, *, device: str = "auto", threads: int | None = None
) -> Segment | None:
    """Find the run of consecutive values with the largest sum.

    Parameters
    ----------
    values : array_like of numbers, shape (n,)
        Integers of at most 64 bits or floats of at most 64; arrays of int32, int64, float32 and
        float64, memory-mapped ones too, are read in place.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU path, which also copy values to a GPU; all that the process may use by
        default.

    Returns
    -------
    Segment or None
        0-based half-open, with its sum; None if no value is positive (the best run is the empty
        one, of sum 0).

    Raises
    ------
    InputError
        If there is no value, one is NaN or infinite, sums of integers could exceed 64 bits, or a
        sum of floats is infinite.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: of runs with the same sum the one that starts first, then the shortest.

    Sums of integers are exact. Floats are cut towards zero to multiples of a power of two u, the
    same for all values, with ``n * max(abs(values)) < 2**62 * u``, at most 4 times what that needs,
    and not below 2^-1023; sums of these multiples are exact and have no order, so that they are
    equal on all devices. The sum of k values is off by less than ``k * u``. Values below u count
    as 0.

    References
    ----------
    .. [1] J. Bentley, "Programming pearls: algorithm design techniques", Communications of the ACM
       27 (1984) 865-873, doi:10.1145/358234.381162.

    Examples
    --------
    >>> max_segment([3, -5, 4, -1, 2, -9, 1], device="cpu")
    Segment(start=2, end=5, score=5)
    """
    found, units = _searched("best_segment", values, device, threads)
    if found is None:
        return None
    start, end, total = found
    return Segment(int(start), int(end), units.score(total))


def max_segments(
    values: ArrayLike,
    *,
    min_score: float | None = None,
    device: str = "auto",
    threads: int | None = None,
) -> Segments:
    """Find all maximal scoring segments, after Ruzzo and Tompa.

    These are the best segment, then the best ones of what lies before and behind it, and so on
    until no positive value is left; each is disjoint from the others.

    Parameters
    ----------
    values : array_like of numbers, shape (n,)
        As for `max_segment`.
    min_score : float, optional
        Report the segments with at least this sum.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU path, which also copy values and results of a GPU; all that the process
        may use by default.

    Returns
    -------
    Segments
        In the order of their positions, 0-based half-open.

    Raises
    ------
    InputError
        As for `max_segment`.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Each segment has a larger sum than all its parts: none has a beginning or an end of sum 0. A
    segment is reported if no longer one has that property. There are no ties. Sums of floats are
    those of `max_segment`.

    References
    ----------
    .. [1] W. L. Ruzzo, M. Tompa, "A linear time algorithm for finding all maximal scoring
       subsequences", Proceedings of ISMB (1999) 234-241.

    Examples
    --------
    >>> found = max_segments([4, -5, 3, -3, 1, 2, -2, 2, -2, 1, 5], device="cpu")
    >>> list(zip(found.starts.tolist(), found.ends.tolist(), found.scores.tolist()))
    [(0, 1, 4), (2, 3, 3), (4, 11, 7)]
    """
    (starts, ends, sums), units = _searched("maximal", values, device, threads)
    found = Segments(starts, ends, units.scores(sums))
    return found if min_score is None else found.take(found.scores >= min_score)


def max_submatrix(
    matrix: ArrayLike, *, device: str = "auto", threads: int | None = None
) -> Submatrix | None:
    """Find the rectangle of neighbouring rows and columns with the largest sum.

    Parameters
    ----------
    matrix : array_like of numbers, shape (rows, columns)
        Types as for `max_segment`.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU path, all that the process may use by default.

    Returns
    -------
    Submatrix or None
        0-based half-open, with its sum; None if no value is positive.

    Raises
    ------
    InputError
        As for `max_segment`; the text names row and column.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: the first by row start, then by column start, then by row end, then by column end. Sums of
    floats are those of `max_segment`, n being rows * columns. All pairs of rows or of columns,
    whichever are fewer, are tried: time grows with rows * columns * min(rows, columns) / 2.

    References
    ----------
    .. [1] J. Bentley, "Programming pearls: perspective on performance", Communications of the ACM
       27 (1984) 1087-1092, doi:10.1145/1968.381154.

    Examples
    --------
    >>> max_submatrix([[-1, 2, 3], [-4, 5, -6], [1, 1, -9]], device="cpu")
    Submatrix(row_start=0, row_end=3, column_start=1, column_end=2, score=8)
    """
    found = max_submatrices(matrix, count=1, device=device, threads=threads)
    return found[0] if found else None


def max_submatrices(
    matrix: ArrayLike, *, count: int | None = None, device: str = "auto", threads: int | None = None
) -> list[Submatrix]:
    """Find disjoint rectangles with the largest sums: all maximal ones, or the best of them.

    The first is that of `max_submatrix`. Each other one has the largest sum of all rectangles that
    share no cell with those before, and so on until no positive value is left. In a matrix of one
    row these are the segments of `max_segments`, unless sums are equal: ties are broken here.

    Parameters
    ----------
    matrix : array_like of numbers, shape (rows, columns)
        Types as for `max_segment`.
    count : int, optional
        Number of rectangles to find, at least 1; all by default.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU path, all that the process may use by default.

    Returns
    -------
    list of Submatrix
        Best first, 0-based half-open; no sum is larger than the one before.

    Raises
    ------
    InputError
        As for `max_submatrix`, or if `count` is less than 1.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties are those of `max_submatrix`, for each rectangle in turn; sums are as there. What is left
    beside the rectangles found is searched again where it may hold the next one: a rectangle may
    take several searches of parts of the matrix.

    Examples
    --------
    >>> max_submatrices([[-1, 2, 3], [-4, 5, -6], [1, 1, -9]], count=2, device="cpu")
    ... # doctest: +NORMALIZE_WHITESPACE
    [Submatrix(row_start=0, row_end=3, column_start=1, column_end=2, score=8),
     Submatrix(row_start=0, row_end=1, column_start=2, column_end=3, score=3)]
    """
    if count is not None and count < 1:
        raise InputError(f"count {count}", expected="at least 1")
    numbers = as_numbers(matrix, 2)
    units, n_threads = choose_units(numbers), cpu_threads(threads)

    on_cpu = partial(_best_within, numbers, partial(cpu.best_rectangle, threads=n_threads), units)

    def on_gpus(ordinals: tuple[int, ...]) -> Search:
        from gpu_tools.segments import gpu

        best = partial(gpu.best_rectangle, ordinals=ordinals)
        return lambda region: (
            on_cpu(region) if _is_small_part(region, numbers.shape)
            else _best_within(numbers, best, units, region)
        )  # fmt: skip

    search = GpuUntilItFails(resolve(device), on_gpus, on_cpu)
    found = islice(disjoint_rectangles(numbers.shape, search), count)
    return [Submatrix(r0, r1, c0, c1, units.score(total)) for total, (r0, c0, r1, c1) in found]


def _is_small_part(region: Rectangle, shape: tuple[int, ...]) -> bool:
    """Return whether a part of a matrix takes a GPU longer to start than the CPU to search."""
    r0, c0, r1, c1 = region
    sides = r1 - r0, c1 - c0
    return sides != shape and max(sides) * min(sides) ** 2 < LEAST_OF_A_GPU


def _best_within(numbers, best: Callable, units: Units, region: Rectangle) -> tuple | None:
    """Return the best rectangle of a region and its sum, None if no sum is positive."""
    top, left, bottom, right = region
    found = best(orient(numbers[top:bottom, left:right]), units.scale)
    if found is None:
        return None
    total, (row_start, row_end, column_start, column_end) = found
    return total, (top + row_start, left + column_start, top + row_end, left + column_end)


def _searched(
    name: str, values: ArrayLike, device: str, threads: int | None
) -> tuple[tuple | None, Units]:
    """Return what a function finds, of that name for either device, and the units of its sums."""
    numbers = as_numbers(values, 1)
    units, count = choose_units(numbers), cpu_threads(threads)

    def on_gpus(ordinals: tuple[int, ...]) -> tuple | None:
        from gpu_tools.segments import gpu

        return getattr(gpu, name)(numbers, units.scale, ordinals, count)

    on_cpu = partial(getattr(cpu, name), numbers, units.scale, count)
    return on_gpu_or_cpu(resolve(device), on_gpus, on_cpu), units


def dot_plot(
    rows: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    match: int = 1,
    mismatch: int = -1,
    never: int | None = None,
) -> NDArray[np.int16]:
    """Return the dot plot of two encoded sequences, for `gpu_tools.max_submatrix`.

    Parameters
    ----------
    rows, columns : ndarray of uint8, shape (n,) and (m,)
        Encoded symbols.
    match, mismatch : int
        Scores of two equal and of two unequal symbols.
    never : int, optional
        Code that matches nothing, itself included; `sequences.OTHER` for nucleotides.

    Returns
    -------
    ndarray of int16, shape (n, m)

    Raises
    ------
    InputError
        If a score does not fit into 16 bits, or the dot plot does not fit into memory.

    Examples
    --------
    >>> from gpu_tools.model.sequences import encode
    >>> dot_plot(encode("AC"), encode("CCA"))
    array([[-1, -1,  1],
           [ 1,  1, -1]], dtype=int16)
    """
    for score in (match, mismatch):
        if abs(score) >= DOT_SCORE_LIMIT:
            raise InputError(f"score {score}", expected=f"a magnitude below {DOT_SCORE_LIMIT}")
    cells = f"{len(rows):,} times {len(columns):,} cells"
    check_memory(_BYTES_PER_CELL * len(rows) * len(columns), cells)
    equal = rows[:, None] == columns
    if never is not None:
        equal &= columns != never
    return np.where(equal, np.int16(match), np.int16(mismatch))


# Karlin and Altschul's statistics of segments of independent scores.


ROUNDS = 400
"""Convolutions after which the series for K is cut off at the latest."""
WIDEST = 200
"""Steps from the lowest to the highest score; wider scales are made coarser for K."""
_ENOUGH = 1e-9
_NEGLIGIBLE = 1e-13


class Statistics(NamedTuple):
    """Parameters of the distribution of segment scores, for scores in whole units.

    ``decay`` (lambda) per unit, and ``factor`` (K).
    """

    decay: float
    factor: float

    def expected(self, length: int, score: int) -> float:
        """Return the number of segments of at least `score` expected in `length` values."""
        return self.factor * length * math.exp(-self.decay * score)


def statistics(values: ArrayLike) -> Statistics | None:
    """Estimate the statistics of a sequence from the frequencies of its scores.

    Scores are taken as independent draws; real sequences are not, so that the numbers are a guide.
    Where scores spread over more than `WIDEST` steps K is that of rounded ones, some per cent off.

    .. [1] S. Karlin, S. F. Altschul, "Methods for assessing the statistical significance of
       molecular sequence features by using general scoring schemes", PNAS 87 (1990) 2264-2268,
       doi:10.1073/pnas.87.6.2264.
    """
    scores, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    span = int(np.gcd.reduce(scores)) or 1
    steps, chances = scores // span, counts / counts.sum()
    if not _holds(steps, chances):
        return None
    coarse = np.rint(steps / max((steps[-1] - steps[0]) / WIDEST, 1)).astype(np.int64)
    if not _holds(coarse, chances):
        return None
    return Statistics(_decay(steps, chances) / span, _factor(coarse, chances))


def _holds(steps: NDArray[np.int64], chances: NDArray[np.float64]) -> bool:
    return bool(steps[-1] > 0 > steps @ chances)


def _factor(steps: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Return K of scores in whole steps."""
    decay = _decay(steps, chances)
    drift = float(steps @ (chances * np.exp(decay * steps)))
    return math.exp(-2 * _series(steps, chances, decay)) / (drift * -math.expm1(-decay))


def _decay(steps: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Return the positive root of sum(chance * exp(root * step)) = 1, by halving."""

    def excess(root: float) -> float:
        # the largest exponent is taken out, so that nothing overflows
        return root * steps[-1] + math.log(chances @ np.exp(root * (steps - steps[-1])))

    high = 1.0
    while excess(high) <= 0:
        high *= 2
    while excess(high / 2) > 0:
        high /= 2
    low = high / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return high


def _series(steps: NDArray[np.int64], chances: NDArray[np.float64], decay: float) -> float:
    """Return sum over k of E(exp(decay * min(S_k, 0))) / k, S_k being the sum of k scores."""
    one = np.zeros(int(steps[-1] - steps[0]) + 1)
    np.add.at(one, steps - steps[0], chances)
    total, density, lowest = 0.0, np.ones(1), 0
    for k in range(1, ROUNDS + 1):
        density, lowest = np.convolve(density, one), lowest + int(steps[0])
        sums = lowest + np.arange(len(density))
        term = float(density @ np.exp(decay * np.minimum(sums, 0)))
        total += term / k
        if term / k < _ENOUGH:
            break
        # what lies far below adds nothing; the rest must not grow without bounds
        keep = density * np.exp(decay * np.minimum(sums, 0)) > _NEGLIGIBLE
        first, last = np.flatnonzero(keep)[[0, -1]]
        density, lowest = density[first : last + 1], lowest + int(first)
    return total
