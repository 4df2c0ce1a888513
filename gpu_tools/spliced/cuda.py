"""The packed sweep of many jobs on a GPU: lays out its buffers and runs it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.cuda_kept import Buffers
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
"""Blocks of one warp that jobs share in, for each multiprocessor."""
BLOCKS_AT_ONCE, BLOCKS_AT_ONCE_APART = 2, 3
"""Blocks that a job gets at most for each of its pieces that are at work at the same time."""
EXONS_APART = 16
"""So many candidates a multiprocessor, each with its target, do not keep a GPU busy."""
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


def run_apart(exons: int) -> bool:
    """Tell whether so few candidates, of all jobs together, had better be pieces of their own.

    Then dependent exons hold the jobs up, not the arithmetic.
    """
    return exons <= EXONS_APART * multiprocessors()


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
    def copy(cls, programs: Programs, targets: NDArray[np.uint8], buffers: Buffers) -> Resident:
        """Copy programs and targets to the current GPU."""
        parts = {
            "numbers": programs.numbers, "sources": programs.sources,
            "exits": programs.exits.reshape(-1, 8), "symbols": programs.symbols, "targets": targets,
        }  # fmt: skip
        copies = (buffers.copy(f"resident {name}", part) for name, part in parts.items())
        resident = cls(programs, *copies)
        buffers.stream.synchronize()  # other streams read it, too
        return resident


class PackedLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    resident : Resident
    jobs : Jobs
        All of which fit the packed kernel.
    scoring : SplicedScoring
    apart : bool
        Whether the programs were laid out with each segment a piece.
    buffers : Buffers
        What it lies in, until the next launch takes them.
    """

    def __init__(
        self, resident: Resident, jobs: Jobs, scoring: SplicedScoring, apart: bool, buffers: Buffers
    ):
        # the simulator gets by with one warp, which does the work of both
        self.warps = 2 if apart and not simulated() else 1
        self.buffers, self.resident = buffers, resident
        self.table = resident.programs.table[jobs.programs]
        self.sizes = sizes_of(self.table, jobs.lengths)
        self.layout = _layout(self.table, jobs, self.sizes)
        team = _team(self.table, jobs.lengths, apart)
        self.blocks = len(team)
        self.cells = buffers.array("cells", int(self.sizes.cells.sum()), np.int16)
        self.words = buffers.array("words", int(self.sizes.words.sum()), np.int32)
        # the kernel looks at four sources at once, and never uses what lies behind the last
        n_sources = int(self.sizes.sources.sum()) + 16
        self.sources = buffers.array("sources", n_sources, np.int32)
        self.jobs, self.team = buffers.copy("jobs", self.layout), buffers.copy("team", team)
        constants = [scoring.gap, int(scoring.ends != "global")]
        self.scoring = buffers.copy("scoring", np.array(constants, dtype=np.int32))
        self._place(jobs, scoring)

    def _place(self, jobs: Jobs, scoring: SplicedScoring) -> None:
        """Write the sources' places and the targets' words."""
        parts = self.table[:, of.N_SOURCES], self.table[:, of.SOURCES], jobs.targets
        programs = self.buffers.copy("places", np.stack([*parts, self.sizes.words], axis=1))
        lifted = (scoring.substitution() - scoring.gap)[:4].astype(np.int8)
        of_symbol = np.ascontiguousarray(lifted.T).view(np.int32).ravel()
        place_sources[jobs.count, _THREADS, self.buffers.stream](
            self.jobs, programs, self.resident.sources, self.resident.targets,
            self.buffers.copy("words of symbols", of_symbol), self.sources, self.words,
        )  # fmt: skip

    def run(self) -> None:
        """Clear what the kernel writes and start it."""
        counters = self.buffers.filled("counters", len(self.layout), np.int32)
        n_cells = int(self.sizes.cells.sum())
        cells = self.buffers.filled("cells", n_cells, np.int16, packed.NEVER_BYTE)
        packed.sweep_pieces[self.blocks, (packed.WARP, self.warps), self.buffers.stream](
            self.jobs, self.team, self.resident.numbers, self.sources, self.resident.symbols,
            self.words, cells, counters, self.scoring,
        )  # fmt: skip


def _team(table, lengths, apart: bool) -> NDArray[np.int32]:
    """Return the job of each block, those with the most work a block first.

    A job gets blocks for the pieces that are at work at the same time, and for some that come next;
    if pieces are filled, no more than its share of the work.
    """
    pieces, chunks = table[:, of.N_PIECES], -(-lengths // packed.CHUNK)
    work = pieces * chunks
    at_once = work / (table[:, of.LAST_TICK] + chunks)
    if apart:
        sizes = BLOCKS_AT_ONCE_APART * at_once
    else:
        blocks = 2 if simulated() else BLOCKS_PER_MULTIPROCESSOR * multiprocessors()
        sizes = np.minimum(BLOCKS_AT_ONCE * at_once, work * (blocks / work.sum()))
    sizes = np.clip(np.ceil(sizes).astype(np.int64), 1, pieces)
    order = np.argsort(-work / sizes, kind="stable")
    return np.repeat(order, sizes[order]).astype(np.int32)


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
