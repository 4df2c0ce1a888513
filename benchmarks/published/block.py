"""What both accelerators share: a block computes an exon, an anti-diagonal at a time."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import cuda, int32, uint32

from benchmarks.published.problem import Problem, problems
from gpu_tools import Case, SplicedScoring
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.sequences import OTHER

TILE = 4 if simulated() else 1024
"""Rows of an exon that a block computes side by side; few in the simulator."""
_D = TILE + 1
"""Elements of an anti-diagonal in shared memory."""
_THREE = 3 * _D


@cuda.jit(device=True)
def _enter_block(row, exon, first, exons, rows, gap):
    """Fill the row from which an exon starts: the best of the empty chain and its predecessors."""
    start = exons[exon, 0]
    for column in range(uint32(cuda.threadIdx.x), uint32(len(row)), uint32(cuda.blockDim.x)):
        best = int32(gap * int32(column))
        for other in range(uint32(first)):
            if exons[other, 1] <= start:
                best = max(best, rows[other, column])
        row[column] = best


@cuda.jit(device=True)
def _sweep_tile_block(row, symbols, target, match, mismatch, gap, diagonals):
    """Turn the row above a tile into its last row, in place.

    Thread t owns the tile's row t and element t + 1 of the anti-diagonals; element 0 holds the row
    above. `symbols` are the tile's; an anti-diagonal is written over the one before the last two.
    """
    thread, height, columns = int32(cuda.threadIdx.x), int32(len(symbols)), int32(len(row))
    # unsigned, as signed indices would be tested for being negative
    above, here = uint32(thread), uint32(thread + 1)
    earlier, previous, current = uint32(_D), uint32(2 * _D), uint32(0)
    own = symbols[above] if thread < height else symbols[0]
    if thread == 0:
        diagonals[previous] = row[0]
    cuda.syncthreads()
    for step in range(int32(columns + height - 1)):
        column = int32(step - thread)
        if thread == 0 and int32(step + 1) < columns:
            diagonals[current] = row[uint32(step + 1)]
        if thread < height and column >= 0 and column < columns:
            value = int32(diagonals[uint32(previous + above)] + gap)
            if column > 0:
                equal = own == target[uint32(column - 1)] and own < OTHER
                pair = int32(diagonals[uint32(earlier + above)] + (match if equal else mismatch))
                left = int32(diagonals[uint32(previous + here)] + gap)
                value = max(max(pair, left), value)
            diagonals[uint32(current + here)] = value
            if int32(thread + 1) == height:
                row[uint32(column)] = value
        cuda.syncthreads()
        earlier, previous, current = previous, current, earlier


@cuda.jit
def align_exons_block(first, exons, symbols, length, rows, scores, match, mismatch, gap):
    """Compute the last rows of the exons from `first` on, one a block.

    Parameters
    ----------
    first : int32
        Exon of block 0; the rows of all exons before it are done.
    exons : ndarray of int32, shape (B, 2)
        Starts and ends.
    symbols : ndarray of uint8
        The base, of `length` symbols, then the target.
    length : int32
    rows : ndarray of int32, shape (B, n + 1)
        Last rows: those of earlier exons are read, those of this launch's written.
    scores : ndarray of int32, shape (B,)
        Filled with the last column of `rows`.
    match, mismatch, gap : int32
    """
    diagonals = cuda.shared.array(_THREE, int32)
    exon = uint32(first + cuda.blockIdx.x)
    row = rows[exon]
    _enter_block(row, exon, first, exons, rows, gap)
    start, end = exons[exon, 0], exons[exon, 1]
    for top in range(start, end, int32(TILE)):
        cuda.syncthreads()
        tile = symbols[top : min(int32(top + TILE), end)]
        _sweep_tile_block(row, tile, symbols[length:], match, mismatch, gap, diagonals)
    if cuda.threadIdx.x == 0:
        scores[exon] = row[len(row) - 1]


@dataclass(frozen=True)
class Resident:
    """A problem whose data lie on the GPU."""

    problem: Problem
    exons: object
    symbols: object
    rows: object
    scores: object

    def align(self, first: int, stop: int, stream) -> None:
        """Launch a block for each exon from `first` to before `stop`; none may precede another."""
        p = self.problem
        longest = int(np.diff(p.exons[first:stop]).max())
        threads = min(-(-longest // WARP) * WARP, TILE)
        align_exons_block[stop - first, threads, stream](
            np.int32(first), self.exons, self.symbols, np.int32(len(p.base)), self.rows,
            self.scores, p.match, p.mismatch, p.gap,
        )  # fmt: skip


@functools.cache
def _stream():
    """Return the one stream of all runs: a launch's configuration is kept with its stream."""
    return cuda.stream()


def _stage(problem: Problem, allocate: Callable) -> tuple:
    """Return host buffers: exons, symbols, and scores to come."""
    exons = allocate(problem.exons.shape, np.int32)
    symbols = allocate(len(problem.base) + len(problem.target), np.uint8)
    exons[:] = problem.exons
    symbols[:] = np.concatenate([problem.base, problem.target])
    return exons, symbols, allocate(len(exons), np.int32)


def _upload(problem: Problem, staged: tuple, stream) -> Resident:
    exons, symbols, scores = staged
    return Resident(
        problem,
        cuda.to_device(exons, stream=stream),
        cuda.to_device(symbols, stream=stream),
        cuda.device_array((len(exons), problem.columns), np.int32, stream=stream),
        cuda.device_array(len(scores), np.int32, stream=stream),
    )


@dataclass(frozen=True)
class Accelerator:
    """A published accelerator.

    `launch` starts all exons of a `Resident` on a stream; `allocate` makes a host buffer of a shape
    and type.
    """

    launch: Callable
    allocate: Callable

    def score(self, case: Case, scoring: SplicedScoring | None = None) -> int | None:
        """Return the best chain's score; None without candidates."""
        stream = _stream()
        strands = self._staged(case, scoring)
        return max((self._solve(*strand, stream) for strand in strands), default=None)

    def last_rows(self, case: Case, scoring: SplicedScoring | None = None) -> list:
        """Return each strand's last rows, int32 of shape (exons, target length + 1)."""
        stream = _stream()
        residents = [_upload(*strand, stream) for strand in self._staged(case, scoring)]
        for resident in residents:
            self.launch(resident, stream)
        stream.synchronize()
        return [resident.rows.copy_to_host() for resident in residents]

    def kernel_milliseconds(self, case: Case, scoring: SplicedScoring | None = None) -> float:
        """Return the GPU's time from the first launch's start to the last one's end."""
        stream = _stream()
        residents = [_upload(*strand, stream) for strand in self._staged(case, scoring)]
        stream.synchronize()
        begin, end = cuda.event(), cuda.event()
        begin.record(stream)
        for resident in residents:
            self.launch(resident, stream)
        end.record(stream)
        end.synchronize()
        return begin.elapsed_time(end)

    def wall_milliseconds(self, case: Case, scoring: SplicedScoring | None = None) -> float:
        """Return the wall time from filled host buffers to the score."""
        stream = _stream()
        strands = self._staged(case, scoring)
        begin = time.perf_counter()
        for strand in strands:
            self._solve(*strand, stream)
        return (time.perf_counter() - begin) * 1e3

    def _staged(self, case: Case, scoring: SplicedScoring | None) -> list:
        parts = problems(case, scoring or SplicedScoring())
        return [(problem, _stage(problem, self.allocate)) for problem in parts]

    def _solve(self, problem: Problem, staged: tuple, stream) -> int:
        resident = _upload(problem, staged, stream)
        self.launch(resident, stream)
        scores = staged[-1]
        resident.scores.copy_to_host(scores, stream=stream)
        stream.synchronize()
        return int(scores.max())
