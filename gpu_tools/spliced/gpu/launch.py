"""The packed sweep of many jobs on a GPU: what it can take, what it needs there, and its start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.spliced.bounds import Extent, bound_cells
from gpu_tools.spliced.gpu import best_ends as ends
from gpu_tools.spliced.gpu import job_table as of_job
from gpu_tools.spliced.gpu import programs as of
from gpu_tools.spliced.gpu import sweep as packed
from gpu_tools.spliced.gpu.layout import Laid, stride_of
from gpu_tools.spliced.gpu.programs import Programs, place_sources

PACKED_CAPABILITY = (9, 0)
BLOCKS_PER_MULTIPROCESSOR = 28
"""Blocks of one warp that jobs share in, for each multiprocessor."""
BLOCKS_AT_ONCE, BLOCKS_AT_ONCE_APART = 2, 3
"""Blocks that a job gets at most for each of its pieces that are at work at the same time."""
EXONS_APART = 16
"""So many candidates a multiprocessor, each with its target, do not keep a GPU busy."""
_THREADS = 4 if simulated() else 128


def scores_fit(scoring: SplicedScoring) -> bool:
    """Tell whether bytes suffice for what pairs and gaps add to a cell."""
    lifted = scoring.substitution() - scoring.gap
    in_bytes = np.abs(lifted).max() <= 127 and (lifted - scoring.gap).max() <= 127
    return bool(in_bytes) and scoring.gap <= 0


@register_jitable
def cells_fit(own, length, base_length, costs, around):
    """Tell whether 16-bit cells provably suffice for a job, and what else is counted.

    What fits with a target also fits with any shorter one.

    Parameters
    ----------
    own : ndarray of int64, shape (cuda_programs.FIELDS,)
        The job's program.
    length, base_length : int
        Of the target and the base.
    costs : Costs
    around : Around
    """
    stride, longest = stride_of(length, around), own[of.LONGEST_TRACK]
    extent = Extent(longest, own[of.MOST_BONUS], own[of.BEST_BONUS], base_length)
    low, high = bound_cells(extent, stride, costs)
    # cells inside a track lack a gap a row, where a row without a pair adds nothing
    high -= costs.gap * min(longest, stride)
    return (
        own[of.AMBIGUOUS] == 0
        and low > packed.NEVER + 256
        and high < 2**15 - 256
        and (own[of.N_STOPS] + own[of.N_KEPT]) * stride < 2**31
        and length < ends.COLUMNS_AT_MOST
        and own[of.N_EXITS] <= ends.EXITS_AT_MOST
    )


def most_exons_apart(ordinal: int) -> int:
    """Return how many candidates had better be pieces of their own on a GPU.

    These are the candidates of all its jobs together. Then dependent exons hold the jobs up, not
    the arithmetic.
    """
    return EXONS_APART * count_multiprocessors((ordinal,))


def count_multiprocessors(ordinals: Iterable[int]) -> int:
    """Return the multiprocessors of some GPUs."""
    if simulated():
        return len(tuple(ordinals))
    return sum(cuda.gpus[ordinal].MULTIPROCESSOR_COUNT for ordinal in ordinals)


def can_pack(ordinal: int) -> bool:
    """Tell whether a GPU has the instructions of the packed kernel."""
    return simulated() or cuda.gpus[ordinal].compute_capability >= PACKED_CAPABILITY


class Resident(NamedTuple):
    """Programs, targets and the scoring in the memory of a GPU, for all its launches.

    They are there when the event of those `buffers` has happened.
    """

    programs: Programs
    numbers: object
    sources: object
    exits: object
    symbols: object
    targets: object
    scoring: object
    buffers: Buffers

    @classmethod
    def copy(cls, programs: Programs, given: Sequence, buffers: Buffers):
        """Put copies of programs to the current GPU down, where what is `given` is."""
        parts = {
            "numbers": programs.numbers, "sources": programs.sources,
            "exits": programs.exits.reshape(-1, 8), "symbols": programs.symbols,
        }  # fmt: skip
        copies = [buffers.copy(f"resident {name}", part) for name, part in parts.items()]
        buffers.calls.record(buffers.event)
        return cls(programs, *copies, *given, buffers)


def constants_of(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the elements of the scoring, see `cuda_job`."""
    given = scoring.substitution(), scoring.gap, scoring.intron_penalty
    return _constants(*given, scoring.ends != "global")


@njit(cache=True)
def _constants(substitution, gap, penalty, free):
    constants = np.zeros(of_job.LIFTED + N_SYMBOLS, dtype=np.int32)
    constants[of_job.GAP], constants[of_job.PENALTY] = gap, penalty
    constants[of_job.FREE] = free
    for symbol in range(N_SYMBOLS):
        raised, lifted = 0, 0
        for base in range(N_SYMBOLS):
            score = substitution[base, symbol] - gap
            constants[of_job.MOST] = max(constants[of_job.MOST], score)
            if base < 4:
                raised |= (max(score - gap, 0) & 0xFF) << (8 * base)
                lifted |= (score & 0xFF) << (8 * base)
        constants[of_job.RAISED + symbol] = np.int32(raised)
        constants[of_job.LIFTED + symbol] = np.int32(lifted)
    return constants


class PackedLaunch:
    """Jobs for the packed kernel, put down with what they need in buffers of the current GPU.

    Parameters
    ----------
    resident : Resident
    laid : Laid
        Jobs all of which fit the packed kernel, laid out for these buffers.
    apart : bool
        Whether the programs were laid out with each segment a piece.
    buffers : Buffers
        What it lies in, until the next launch takes them.
    """

    def __init__(self, resident: Resident, laid: Laid, apart: bool, buffers: Buffers):
        # the simulator gets by with one warp, which does the work of both
        self.warps = 2 if apart and not simulated() else 1
        self.buffers, self.resident, self.laid = buffers, resident, laid
        takes = laid.takes
        self.cells = buffers.array("cells", takes.cells, np.int16)
        self.words = buffers.array("words", takes.words, np.int32)
        self.sources = buffers.array("sources", takes.sources, np.int32)
        self.table, self.team = buffers.copy("jobs", laid.table), buffers.copy("team", laid.team)
        buffers.calls.wait(resident.buffers.event, resident.buffers.calls)
        buffers.calls.launch(
            place_sources, laid.jobs.count, _THREADS, self.table, resident.sources,
            resident.targets, resident.scoring, self.sources, self.words,
        )  # fmt: skip

    def run(self) -> None:
        """Clear what the kernel writes and run it, once the calls of the buffers are started."""
        laid = self.laid
        counters = self.buffers.filled("counters", laid.jobs.count, np.int32)
        cells = self.buffers.filled("cells", laid.takes.cells, np.int16, packed.NEVER_BYTE)
        self.buffers.calls.launch(
            packed.sweep_pieces, len(laid.team), (packed.WARP, self.warps), self.table, self.team,
            self.resident.numbers, self.sources, self.resident.symbols, self.words, cells,
            counters, self.resident.scoring,
        )  # fmt: skip


def most_blocks(apart: bool, ordinal: int) -> tuple[int, int, float]:
    """Return how many blocks jobs get at most on a GPU, see `cuda_layout.lay_out`."""
    if apart:
        return packed.CHUNK, BLOCKS_AT_ONCE_APART, np.inf
    each = 2 if simulated() else BLOCKS_PER_MULTIPROCESSOR
    return packed.CHUNK, BLOCKS_AT_ONCE, float(each * count_multiprocessors((ordinal,)))
