"""Jobs for the kernel with all rows in memory: what each is, buffers, launch, best ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.gpu import sweep32 as wide
from gpu_tools.sites.gpu.job import DeviceRows, End, begun
from gpu_tools.sites.gpu.program import ADVANCE, LAST


class RowProgram(NamedTuple):
    """Rows in places, and what becomes of them boundary by boundary.

    Attributes
    ----------
    boundaries, operations : ndarray of int32
        As `gpu_tools.sites.gpu.program.Program` has them.
    n_places : int
    row, tracks : int
        First place and number of the current rows, which every base moves on.
    start : int
        Place of the empty chain's row.
    """

    boundaries: NDArray[np.int32]
    operations: NDArray[np.int32]
    n_places: int
    row: int
    tracks: int
    start: int


class RowJob(NamedTuple):
    """A program for one target; jobs may share programs.

    Attributes
    ----------
    program : RowProgram
    target : ndarray of uint8, shape (n,)
        Encoded target.
    floor : int
        Value of cells that nothing has reached.
    """

    program: RowProgram
    target: NDArray[np.uint8]
    floor: int

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return len(self.target) + 1

    @property
    def rows(self) -> int:
        """Boundaries."""
        return len(self.program.boundaries)

    @property
    def strips(self) -> int:
        """Strips of columns, each of which a warp holds."""
        return -(-self.columns // wide.STRIP)

    @property
    def strip_words(self) -> int:
        """Words of a strip's rows."""
        return self.program.n_places * wide.STRIP

    @property
    def advances(self) -> int:
        """How often a row is moved on by a base."""
        alone = self.program.operations[:, 0] & (LAST - 1) == ADVANCE
        return self.program.tracks * (self.rows - 1) + int(alone.sum())

    @property
    def device_bytes(self) -> int:
        """Device memory that the job takes, about."""
        program = self.program.boundaries.nbytes + self.program.operations.nbytes
        return self.strips * (4 * self.strip_words + 8 * self.advances) + program


class RowLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the kernel.

    Parameters
    ----------
    jobs : list of RowJob
    scoring : SplicedScoring
    """

    def __init__(self, jobs: list[RowJob], scoring: SplicedScoring):
        self.jobs = jobs
        self.layout, sizes = _layout(jobs)
        self.cells = cuda.device_array(int(sizes[wide.CELLS]), dtype=np.int32)
        self.borders = cuda.device_array(max(int(sizes[wide.BORDERS]), 1), dtype=np.int64)
        ends = (int(sizes[wide.ENDS]), wide.WARP, 3)
        self.ends = cuda.device_array(ends, dtype=np.int32)
        inputs = (
            self.layout, begun(jobs), _numbers(jobs),
            np.concatenate([_padded_target(job) for job in jobs]),
        )  # fmt: skip
        self.inputs = [cuda.to_device(array) for array in inputs]
        lifted = (scoring.substitution() - scoring.gap).ravel()
        constants = [*lifted, scoring.gap, int(scoring.ends != "global")]
        self.scoring = cuda.to_device(np.array(constants, dtype=np.int32))

    def run(self) -> None:
        """Clear what the kernel writes and start it."""
        counter = self.inputs[1][-1]
        device_memset(counter, 0, counter.nbytes)
        device_memset(self.borders, wide.NEVER_BYTE, self.borders.nbytes)
        wide.sweep_strips_warp[self.ends.shape[0], wide.WARP](
            *self.inputs, self.cells, self.borders, self.ends, self.scoring
        )

    def best_ends(self) -> list[End]:
        """Return the jobs' best ends once the kernel is done: the first, at the least column."""
        host = self.ends.copy_to_host()
        firsts = self.layout[:, wide.ENDS]
        return [
            _best(host[first : first + job.strips].reshape(-1, 3))
            for first, job in zip(firsts, self.jobs, strict=True)
        ]

    def rows(self, k: int) -> DeviceRows:
        """Fetch the rows of job `k`."""
        job, first = self.jobs[k], int(self.layout[k, wide.CELLS])
        words = self.cells[first : first + job.strips * job.strip_words].copy_to_host()
        shape = job.strips, -1, wide.COLUMNS_PER_LANE, wide.WARP, 1
        return DeviceRows(words.reshape(shape), 0)


def _numbers(jobs: list[RowJob]) -> NDArray[np.int32]:
    """Return operations, then boundaries, of all programs, each once."""
    programs = list({id(job.program): job.program for job in jobs}.values())
    # operations come first, for they are read four numbers at a time; one more is read ahead
    parts = [p.operations.ravel() for p in programs] + [np.zeros(4, dtype=np.int32)]
    return np.concatenate(parts + [p.boundaries for p in programs])


def _layout(jobs: list[RowJob]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kernel's job table, and the sizes of its buffers by column."""
    table = np.zeros((len(jobs), 15), dtype=np.int64)
    sizes, seen = np.zeros_like(table), {}
    for k, job in enumerate(jobs):
        program = job.program
        table[k, : wide.BOUNDARIES] = (
            job.floor, job.rows, program.n_places, job.advances, program.tracks, job.columns,
            program.row, program.start,
        )  # fmt: skip
        table[k, wide.STRIDE] = job.strip_words
        if seen.setdefault(id(program), k) == k:
            sizes[k, wide.BOUNDARIES] = job.rows
            sizes[k, wide.OPERATIONS] = program.operations.size
        sizes[k, wide.TARGET] = job.strips * wide.STRIP
        sizes[k, wide.CELLS] = job.strips * job.strip_words
        sizes[k, wide.BORDERS] = job.strips * job.advances
        sizes[k, wide.ENDS] = job.strips
    starts, total = np.cumsum(sizes, axis=0) - sizes, sizes.sum(axis=0)
    starts[:, wide.BOUNDARIES] += total[wide.OPERATIONS] + 4
    own = [seen[id(job.program)] for job in jobs]
    for column in (wide.BOUNDARIES, wide.OPERATIONS):
        starts[:, column] = starts[own, column]
    return table + starts, total


def _padded_target(job: RowJob) -> NDArray[np.uint8]:
    symbols = np.full(job.strips * wide.STRIP, OTHER, dtype=np.uint8)
    symbols[1 : job.columns] = job.target
    return symbols


def _best(lanes: NDArray[np.int32]) -> End:
    scores, ends, columns = lanes.T
    equal = np.flatnonzero(scores == scores.max())
    first = equal[np.lexsort((columns[equal], ends[equal]))[0]]
    return End(*lanes[first].tolist())
