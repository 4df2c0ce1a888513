"""The sweep on a GPU: chooses the kernel for each job, lays out its buffers and runs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.device import simulated
from gpu_tools.scoring import SplicedScoring
from gpu_tools.sequences import OTHER
from gpu_tools.spliced import cuda_packed as packed
from gpu_tools.spliced import cuda_wide as wide
from gpu_tools.spliced.case import BASES_KEPT, Outcome
from gpu_tools.spliced.core import Sweep
from gpu_tools.spliced.cuda_chains import find_chains, sizes
from gpu_tools.spliced.pieces import Pieces, Rows, Tables, arrange, cut_into_pieces, fill_warps
from gpu_tools.spliced.program import SweepProgram
from gpu_tools.spliced.traceback import Swept
from gpu_tools.spliced.widths import bounds

PACKED_CAPABILITY = (9, 0)
BLOCKS_PER_MULTIPROCESSOR = 28
"""Blocks of one warp that a launch brings along for each multiprocessor."""
BLOCKS_APART = 12
"""Blocks of two warps that run on a multiprocessor at the same time."""


class Job:
    """One strand of one case.

    Parameters
    ----------
    program : SweepProgram
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    """

    def __init__(self, program: SweepProgram, target: NDArray[np.uint8], scoring: SplicedScoring):
        self.program, self.target, self.scoring = program, target, scoring

    @cached_property
    def fits_packed(self) -> bool:
        """Whether 16-bit cells and byte scores provably suffice."""
        lifted = self.scoring.substitution() - self.scoring.gap
        bound = bounds(self.program, self.stride, self.scoring)
        return bool(
            np.abs(lifted).max() <= 127
            and self.scoring.gap <= 0
            and not (self.program.codes == OTHER).any()
            and bound.lowest > packed.NEVER + 256
            and bound.highest < 2**15 - 256
            and self.stored_rows * self.stride < 2**31
        )

    @cached_property
    def pieces(self) -> Pieces:
        """The program's pieces."""
        return _pieces_of(self.program)

    @property
    def stride(self) -> int:
        """Elements of a stored row: columns 0 to n, and what steps too early or late write."""
        columns = len(self.target) + 1 + packed.LEAD + packed.TAIL
        return -(-columns // packed.UNROLLED) * packed.UNROLLED

    @property
    def stored_rows(self) -> int:
        """Rows that the packed kernel stores."""
        return len(self.pieces.stops.ends) + self.pieces.n_kept

    @property
    def work(self) -> int:
        """Cells to compute."""
        return self.program.n_rows * self.stride

    @property
    def device_bytes(self) -> int:
        """Device memory that the job takes at most."""
        program, rows = self.program, self.stored_rows
        if not self.fits_packed:
            small = 24 * (program.n_exons + len(program.starts)) + 5 * program.n_rows
            return 4 * rows * wide.stride(self) + small
        stops, segments = self.pieces.stops, self.pieces.segments
        tables = 16 * len(segments.sources) + 20 * len(segments.ticks) + 12 * len(stops.ends)
        words = 4 * (len(self.target) + 2 * packed.WORD_TAIL)
        chain = 4 * sum(sizes(program, len(self.target) + 1)) + 32 * program.n_exons
        return 2 * rows * self.stride + tables + words + program.n_rows + chain


@lru_cache(maxsize=BASES_KEPT)
def _pieces_of(program: SweepProgram) -> Pieces:
    return cut_into_pieces(program, packed.CAPACITY)


def sweep_all(
    jobs: list[Job],
    cases: list[int],
    scoring: SplicedScoring,
    ordinal: int = 0,
    spread: Callable = map,
) -> list[Outcome]:
    """Sweep jobs that together fit into the memory of one GPU, and find their best chains.

    Parameters
    ----------
    jobs : list of Job
    cases : list of int
        The case of each job; jobs of a case follow each other.
    scoring : SplicedScoring
    ordinal : int
        The GPU.
    spread : callable
        Used like `map` for work of the CPU that may go to several threads.

    Returns
    -------
    list of Outcome
        In the order of `jobs`.
    """
    with cuda.gpus[ordinal]:
        can_pack = simulated() or cuda.get_current_device().compute_capability >= PACKED_CAPABILITY
        narrow = [k for k, job in enumerate(jobs) if can_pack and job.fits_packed]
        broad = sorted(set(range(len(jobs))) - set(narrow))
        wide_jobs = [jobs[k] for k in broad]
        outcomes = dict(
            zip(broad, spread(_swept, wide_jobs, wide.sweep(wide_jobs, scoring)), strict=True)
        )
        found = _sweep_packed([jobs[k] for k in narrow], [cases[k] for k in narrow], scoring)
        outcomes.update(zip(narrow, found, strict=True))
    return [outcomes[k] for k in range(len(jobs))]


def _swept(job: Job, sweep: Sweep) -> Swept:
    return Swept(job.program, sweep, job.target, job.scoring)


def _sweep_packed(jobs: list[Job], cases: list[int], scoring: SplicedScoring) -> list[Outcome]:
    if not jobs:
        return []
    launch = PackedLaunch(jobs, scoring)
    launch.run()
    return find_chains(launch, jobs, cases, scoring)


class PackedLaunch:
    """Jobs laid out in the memory of the current GPU, ready for the packed kernel.

    Parameters
    ----------
    jobs : list of Job
        All of which fit the packed kernel.
    scoring : SplicedScoring
    """

    def __init__(self, jobs: list[Job], scoring: SplicedScoring):
        first_segments, apart = _fill(jobs)
        # the simulator gets by with one warp, which does the work of both
        self.warps = 2 if apart and not simulated() else 1
        tables = [_tables(job, first) for job, first in zip(jobs, first_segments, strict=True)]
        words = [_words(job) for job in jobs]
        pieces = np.array([len(first) - 1 for first in first_segments])
        self.layout = _layout(jobs, pieces, tables, words)
        n_cells = int(self.layout[-1, packed.CELLS]) + jobs[-1].stored_rows * jobs[-1].stride
        self.cells = cuda.device_array(n_cells, dtype=np.int16)
        self.counters = cuda.device_array(len(jobs), dtype=np.int32)
        team = _team(np.array([job.work for job in jobs]), pieces, apart)
        self.blocks = len(team)
        inputs = (self.layout, team, *_joined(jobs, tables, words))
        self.inputs = [cuda.to_device(array) for array in inputs]
        self.symbols, self.words = self.inputs[-2:]
        constants = [scoring.gap, int(scoring.ends != "global")]
        self.scoring = cuda.to_device(np.array(constants, dtype=np.int32))

    def run(self) -> None:
        """Clear what the kernel writes and start it."""
        device_memset(self.cells, packed.NEVER_BYTE, self.cells.nbytes)
        device_memset(self.counters, 0, self.counters.nbytes)
        packed.sweep_pieces[self.blocks, (packed.WARP, self.warps)](
            *self.inputs, self.cells, self.counters, self.scoring
        )


def _fill(jobs: list[Job]) -> tuple[list[NDArray[np.int32]], bool]:
    """Return where the pieces of each job begin, and whether every segment is one.

    It is if all segments can run at the same time: then dependent exons hold the jobs up, not the
    arithmetic.
    """
    segments = sum(len(job.pieces.order) for job in jobs)
    apart = segments <= BLOCKS_APART * _multiprocessors()
    capacity = packed.APART if apart else packed.CAPACITY
    return [fill_warps(job.pieces.order, job.pieces.segments, capacity) for job in jobs], apart


def _multiprocessors() -> int:
    return 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT


def _team(work, pieces, apart: bool) -> NDArray[np.int32]:
    """Return the job of each block, those with the most work a block first.

    If segments are apart every piece gets a block. Else a job gets blocks by its share of the work,
    at least one and at most one a piece.
    """
    blocks = 2 if simulated() else BLOCKS_PER_MULTIPROCESSOR * _multiprocessors()
    shares = np.ceil(work * (blocks / work.sum())).astype(np.int64)
    sizes = pieces if apart else np.clip(shares, 1, pieces)
    order = np.argsort(-work / sizes, kind="stable")
    return np.repeat(order, sizes[order]).astype(np.int32)


def _layout(jobs: list[Job], pieces, tables: list[Tables], words) -> NDArray[np.int64]:
    """Return the job table of the packed kernel."""
    table = np.zeros((len(jobs), 9), dtype=np.int64)
    sizes = np.zeros((len(jobs), 5), dtype=np.int64)
    for k, job in enumerate(jobs):
        segments, stops = len(job.pieces.order), len(job.pieces.stops.ends)
        table[k, :4] = len(job.target) + 1, pieces[k], segments, stops
        sizes[k] = (
            len(tables[k].numbers), tables[k].sources.size, job.program.n_rows, len(words[k]),
            job.stored_rows * job.stride,
        )  # fmt: skip
    table[:, packed.NUMBERS :] = np.cumsum(sizes, axis=0) - sizes
    return table


def _joined(jobs: list[Job], tables: list[Tables], words) -> list[NDArray]:
    # the kernel looks at four sources at once, and never uses what lies behind the last
    beyond = np.zeros((4, 4), dtype=np.int32)
    return [
        np.concatenate([table.numbers for table in tables]),
        np.concatenate([*(table.sources for table in tables), beyond]).ravel(),
        np.concatenate([job.program.codes for job in jobs]),
        np.concatenate(words),
    ]


def _tables(job: Job, first_segments: NDArray[np.int32]) -> Tables:
    rows = Rows(job.stride, packed.LEAD, packed.UNROLLED)
    bonuses = job.program.exit_bonus - job.scoring.intron_penalty
    return arrange(job.pieces, first_segments, packed.CAPACITY, rows, bonuses)


def _words(job: Job) -> NDArray[np.int32]:
    """Return the table word of each target column, neutral ones around them."""
    lifted = (job.scoring.substitution() - job.scoring.gap)[:4].astype(np.int8)
    of_symbol = np.ascontiguousarray(lifted.T).view(np.int32).ravel()
    first = packed.WORD_LEAD + 1
    words = np.zeros(first + len(job.target) + packed.WORD_TAIL, dtype=np.int32)
    words[first : first + len(job.target)] = of_symbol[job.target]
    return words
