"""The packed sweep of many jobs on a GPU: lays out its buffers and runs it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.ptx import WARP
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda_ends as ends
from gpu_tools.spliced import cuda_packed as packed
from gpu_tools.spliced import cuda_programs as of
from gpu_tools.spliced import cuda_trace as trace
from gpu_tools.spliced.columns import Jobs
from gpu_tools.spliced.cuda_programs import Programs, place_sources
from gpu_tools.spliced.widths import Extent, bound_cells

PACKED_CAPABILITY = (9, 0)
BLOCKS_PER_MULTIPROCESSOR = 28
"""Blocks of one warp that a launch brings along for each multiprocessor."""
CHUNKS_A_TICK = 12
"""Chunks that a multiprocessor full of warps gets done while one piece waits for another."""
SLACK = 2.0
"""Blocks that a job gets for each of its pieces that are at work at the same time."""
_THREADS = 4 if simulated() else 128


def strides(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return elements of stored rows: columns 0 to n, and what steps too early or late write."""
    columns = lengths + 1 + packed.LEAD + packed.TAIL
    return -(-columns // packed.UNROLLED) * packed.UNROLLED


def fit_packed(table, lengths, base_lengths, scoring: SplicedScoring) -> NDArray[np.bool_]:
    """Tell of which jobs 16-bit cells and byte scores provably suffice.

    Parameters
    ----------
    table : ndarray of int64, shape (J, cuda_programs.FIELDS)
        The row of each job's program.
    lengths, base_lengths : ndarray of int64, shape (J,)
        Of targets and bases.
    scoring : SplicedScoring
    """
    lifted = scoring.substitution() - scoring.gap
    extent = Extent(*table[:, [of.LONGEST_TRACK, of.MOST_BONUS, of.BEST_BONUS]].T, base_lengths)
    low, high = bound_cells(extent, strides(lengths), scoring)
    rows = table[:, of.N_STOPS] + table[:, of.N_KEPT]
    return (
        (np.abs(lifted).max() <= 127)
        & (scoring.gap <= 0)
        & (table[:, of.AMBIGUOUS] == 0)
        & (low > packed.NEVER + 256)
        & (high < 2**15 - 256)
        & (rows * strides(lengths) < 2**31)
        & (lengths < ends.COLUMNS_AT_MOST)
        & (table[:, of.N_EXITS] <= ends.EXITS_AT_MOST)
    )


class Sizes(NamedTuple):
    """Elements that each job takes in the buffers of a launch and of `cuda_trace.trace_chains`."""

    cells: NDArray[np.int64]
    sources: NDArray[np.int64]
    words: NDArray[np.int64]
    strips: NDArray[np.int64]
    borders: NDArray[np.int64]
    ways: NDArray[np.int64]
    found: NDArray[np.int64]

    @property
    def bytes(self) -> NDArray[np.int64]:
        """Device memory that each job takes; what was found is there twice."""
        return 2 * self.cells + 4 * (sum(self[1:]) + self.found)


def sizes_of(table, lengths) -> Sizes:
    """Return the sizes of jobs, from their programs' rows of the table and targets' lengths."""
    columns = lengths + 1
    strips = table[:, of.LONGEST_EXON] // trace.STRIP + table[:, of.MOST_EXITS] + 1
    lanes = table[:, of.LONGEST_EXON] // trace.SLOTS + strips
    # runs that are no deletions take a target symbol each, and a deletion follows one or begins
    runs = 2 * columns + table[:, of.N_ENDS] * (trace.HEAD + 2)
    return Sizes(
        cells=(table[:, of.N_STOPS] + table[:, of.N_KEPT]) * strides(lengths),
        sources=4 * table[:, of.N_SOURCES],
        words=lengths + packed.WORD_LEAD + 1 + packed.WORD_TAIL,
        strips=2 * strips,
        borders=2 * (columns + 2 * WARP),
        ways=lanes * (columns // 2 + 2 * WARP),
        found=1 + runs,
    )


def held_up(table, lengths, multiprocessors: int) -> NDArray[np.bool_]:
    """Tell which jobs' dependent segments would take longer than the work of all jobs together.

    Parameters
    ----------
    table : ndarray of int64, shape (J, cuda_programs.FIELDS)
        Programs laid out with pieces filled.
    lengths : ndarray of int64, shape (J,)
        Of targets.
    multiprocessors : int
        Of all GPUs that share the work.
    """
    chunks = lengths / packed.CHUNK + 2
    work = (table[:, of.N_PIECES] * chunks).sum()
    return (table[:, of.LAST_TICK] + chunks) * CHUNKS_A_TICK * multiprocessors > work


def multiprocessors() -> int:
    """Return the number of multiprocessors of the current GPU."""
    return 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT


class Resident(NamedTuple):
    """Programs and targets in the memory of a GPU, for all its launches."""

    programs: Programs
    numbers: object
    sources: object
    exits: object
    symbols: object
    targets: object

    @classmethod
    def copy(cls, programs: Programs, targets: NDArray[np.uint8]) -> Resident:
        """Copy programs and targets to the current GPU."""
        exits = programs.exits.reshape(-1, 8)
        arrays = programs.numbers, programs.sources, exits, programs.symbols, targets
        return cls(programs, *(cuda.to_device(array) for array in arrays))


class PackedLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    resident : Resident
    jobs : Jobs
        All of which fit the packed kernel.
    scoring : SplicedScoring
    """

    def __init__(self, resident: Resident, jobs: Jobs, scoring: SplicedScoring):
        self.table = resident.programs.table[jobs.programs]
        self.sizes = sizes_of(self.table, jobs.lengths)
        self.layout = _layout(self.table, jobs, self.sizes)
        self.teams = [
            (warps, cuda.to_device(team))
            for warps, team in _teams(self.table, jobs.lengths) if len(team)
        ]  # fmt: skip
        self.cells = cuda.device_array(int(self.sizes.cells.sum()), dtype=np.int16)
        self.counters = cuda.device_array(jobs.count, dtype=np.int32)
        self.words = cuda.device_array(int(self.sizes.words.sum()), dtype=np.int32)
        # the kernel looks at four sources at once, and never uses what lies behind the last
        self.sources = cuda.device_array(int(self.sizes.sources.sum()) + 16, dtype=np.int32)
        self.jobs = cuda.to_device(self.layout)
        constants = [scoring.gap, int(scoring.ends != "global")]
        self.scoring = cuda.to_device(np.array(constants, dtype=np.int32))
        self.resident = resident
        self._place(jobs, scoring)

    def _place(self, jobs: Jobs, scoring: SplicedScoring) -> None:
        """Write the sources' places and the targets' words."""
        parts = self.table[:, of.N_SOURCES], self.table[:, of.SOURCES], jobs.targets
        programs = cuda.to_device(np.stack([*parts, self.sizes.words], axis=1))
        lifted = (scoring.substitution() - scoring.gap)[:4].astype(np.int8)
        of_symbol = cuda.to_device(np.ascontiguousarray(lifted.T).view(np.int32).ravel())
        place_sources[jobs.count, _THREADS](
            self.jobs, programs, self.resident.sources, self.resident.targets, of_symbol,
            self.sources, self.words,
        )  # fmt: skip

    def run(self) -> None:
        """Clear what the kernel writes and start it."""
        device_memset(self.cells, packed.NEVER_BYTE, self.cells.nbytes)
        device_memset(self.counters, 0, self.counters.nbytes)
        for warps, team in self.teams:
            # streams of their own run side by side, behind what was started before
            packed.sweep_pieces[len(team), (packed.WARP, warps), cuda.stream()](
                self.jobs, team, self.resident.numbers, self.sources, self.resident.symbols,
                self.words, self.cells, self.counters, self.scoring,
            )  # fmt: skip


def _teams(table, lengths):
    """Return the warps of a block and the job of each block, for the two ways of laying out."""
    chunks = lengths / packed.CHUNK + 2
    at_once = SLACK * table[:, of.N_PIECES] * chunks / (table[:, of.LAST_TICK] + chunks)
    work = table[:, of.N_PIECES] * chunks
    blocks = 2 if simulated() else BLOCKS_PER_MULTIPROCESSOR * multiprocessors()
    sizes = np.minimum(at_once, work * (blocks / work.sum()))
    apart = table[:, of.APART] != 0
    sizes = np.where(apart, at_once, sizes)
    sizes = np.clip(np.ceil(sizes).astype(np.int64), 1, table[:, of.N_PIECES])
    order = np.argsort(-work / sizes, kind="stable")
    team = np.repeat(order, sizes[order]).astype(np.int32)
    # the simulator gets by with one warp, which does the work of both
    return (1 if simulated() else 2, team[apart[team]]), (1, team[~apart[team]])


def _layout(table, jobs: Jobs, sizes: Sizes) -> NDArray[np.int64]:
    """Return the job table of the packed kernel."""
    layout = np.empty((jobs.count, packed.FIELDS), dtype=np.int64)
    layout[:, packed.COLUMNS], layout[:, packed.STRIDE] = jobs.lengths + 1, strides(jobs.lengths)
    for column, own in (
        (packed.PIECES, of.N_PIECES), (packed.SEGMENTS, of.N_SEGMENTS), (packed.STOPS, of.N_STOPS),
        (packed.NUMBERS, of.NUMBERS), (packed.SYMBOLS, of.SYMBOLS),
    ):  # fmt: skip
        layout[:, column] = table[:, own]
    for column, size in (
        (packed.SOURCES, sizes.sources), (packed.WORDS, sizes.words), (packed.CELLS, sizes.cells),
    ):  # fmt: skip
        layout[:, column] = np.cumsum(size) - size
    return layout
