"""From the rows of a packed launch to chains: what `cuda_trace` needs, and what it found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numpy.typing import NDArray

from gpu_tools.ptx import WARP
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cuda_packed as packed
from gpu_tools.spliced import cuda_trace as kernels
from gpu_tools.spliced.pieces import Pieces, Rows, place
from gpu_tools.spliced.program import SweepProgram
from gpu_tools.spliced.traceback import INTRON, Chain, runs_of


class Found(NamedTuple):
    """A job's best score, and its best chain unless another job of its case wins."""

    score: int
    best: Chain | None

    def chain(self) -> Chain:
        """Return the best chain of a job that wins."""
        if self.best is None:
            raise ValueError("the chain of a strand was asked for that is not the better one")
        return self.best


class Sizes(NamedTuple):
    """Elements of the room that one job needs, see `cuda_trace.trace_chains`."""

    strips: int
    borders: int
    ways: int
    found: int


def sizes(program: SweepProgram, columns: int) -> Sizes:
    """Return how much room the chain of a program takes at most, with so many target columns."""
    lengths = program.ends[program.exit_ends] - program.starts[program.exit_tracks]
    longest, most_exits = int(lengths.max()), int(np.diff(program.first_by_end).max())
    strips = longest // kernels.STRIP + most_exits + 1
    lanes = longest // kernels.SLOTS + strips
    ways = (columns + 2 * WARP) // 2 + WARP
    # runs that are no deletions take a target symbol each, and a deletion follows one or begins
    runs = 2 * columns + len(program.ends) * (kernels.HEAD + 2)
    return Sizes(2 * strips, 2 * (columns + 2 * WARP), lanes * ways, 1 + runs)


def find_chains(launch, jobs: list, cases: list[int], scoring: SplicedScoring) -> list[Found]:
    """Return the best scores and chains of jobs whose rows a launch has left on the current GPU.

    Parameters
    ----------
    launch : PackedLaunch
    jobs : list of Job
        Those of the launch.
    cases : list of int
        The case of each job; jobs of a case follow each other.
    scoring : SplicedScoring

    Returns
    -------
    list of Found
    """
    tables = [_exits(job) for job in jobs]
    layout, room, n_found = _layout(launch.layout, jobs, tables, cases)
    device = cuda.to_device(layout)
    exits = cuda.to_device(np.concatenate(tables))
    targets = cuda.to_device(np.concatenate([job.target for job in jobs]))
    best = cuda.to_device(np.zeros(len(jobs), dtype=np.int64))
    space = cuda.device_array(room, dtype=np.int32)
    found = cuda.device_array(n_found, dtype=np.int32)
    most = max(int((scoring.substitution() - scoring.gap).max()), 0)
    free = int(scoring.ends != "global")
    constants = np.array([scoring.gap, free, scoring.intron_penalty, most], dtype=np.int32)
    constants = cuda.to_device(constants)
    kernels.find_ends[len(jobs), kernels.FINDERS](device, exits, launch.cells, best, constants)
    kernels.trace_chains[len(jobs), WARP](
        device, exits, launch.symbols, launch.words, targets, launch.cells, best, space, found,
        constants,
    )  # fmt: skip
    return _all_found(jobs, layout, best.copy_to_host(), found.copy_to_host())


def _exits(job) -> NDArray[np.int32]:
    """Return a job's table of exits, see `cuda_trace.trace_chains`."""
    program, pieces = job.program, job.pieces
    rows = Rows(job.stride, packed.LEAD, packed.UNROLLED)
    return _exits_of(
        program.by_end, program.first_by_end, program.exit_ends, program.exit_tracks,
        program.exit_rows, program.exit_bonus, program.ends, program.starts,
        program.track_commits, pieces, rows,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _exits_of(
    by_end, first_by_end, exit_ends, exit_tracks, exit_rows, exit_bonus, ends, starts,
    track_commits, pieces: Pieces, rows: Rows,
):  # fmt: skip
    table = np.empty((len(by_end), 8), dtype=np.int32)
    for k in range(len(by_end)):
        exon = by_end[k]
        end, track = exit_ends[exon], exit_tracks[exon]
        table[k, kernels.PLACE] = place(pieces.stops.of_exon[exon], pieces.stops, rows)
        table[k, kernels.BONUS] = exit_bonus[exon]
        table[k, kernels.LENGTH] = ends[end] - starts[track]
        table[k, kernels.LAST_ROW] = exit_rows[exon]
        above = len(pieces.stops.ends) + pieces.entries[track]
        table[k, kernels.ENTRY] = place(above, pieces.stops, rows)
        table[k, kernels.COMMITTED] = first_by_end[track_commits[track]]
        table[k, kernels.FIRST] = first_by_end[end]
        table[k, kernels.BEHIND] = first_by_end[end + 1]
    return table


def _layout(launched, jobs: list, tables: list, cases: list[int]):
    """Return the table of jobs, the elements of the room and those of what is found."""
    layout = np.zeros((len(jobs), kernels.FIELDS), dtype=np.int64)
    lengths = np.array([len(job.target) for job in jobs])
    layout[:, kernels.COLUMNS] = lengths + 1
    layout[:, kernels.N_EXITS] = [len(table) for table in tables]
    for column, size in ((kernels.EXITS, layout[:, kernels.N_EXITS]), (kernels.TARGET, lengths)):
        layout[:, column] = np.cumsum(size) - size
    for column in ("SYMBOLS", "WORDS", "CELLS"):
        layout[:, getattr(kernels, column)] = launched[:, getattr(packed, column)]
    room = np.array([sizes(job.program, len(job.target) + 1) for job in jobs])
    ends = np.cumsum(room[:, :3]).reshape(-1, 3)
    layout[:, [kernels.STRIPS, kernels.BORDERS, kernels.WAYS]] = ends - room[:, :3]
    found = np.cumsum(room[:, 3])
    layout[:, kernels.FOUND] = found - room[:, 3]
    layout[:, kernels.FIRST_RIVAL] = np.searchsorted(cases, cases, side="left")
    layout[:, kernels.PAST_RIVALS] = np.searchsorted(cases, cases, side="right")
    return layout, int(ends[-1, -1]), int(found[-1])


def _all_found(jobs: list, layout, best, found) -> list[Found]:
    scores, columns = kernels.score_of(best).tolist(), kernels.column_of(best).tolist()
    chains = [
        _chain(job, found[first:], column)
        for job, first, column in zip(jobs, layout[:, kernels.FOUND], columns, strict=True)
    ]
    return [Found(*each) for each in zip(scores, chains, strict=True)]


def _chain(job, found, column: int) -> Chain | None:
    if found[0] == 0:
        return None
    if found[0] < 0:
        raise ValueError("no exon explains a value of a row: the sweep is wrong")
    program, gap = job.program, job.scoring.gap
    # free ends leave the symbols before the first exon out, unless gaps are worth taking
    keeps_start = job.scoring.ends == "global" or gap > 0
    exons, first, letters, lengths = _decode(
        found, program.by_end, program.exit_tracks, program.exit_ends, program.starts,
        program.ends, keeps_start,
    )  # fmt: skip
    return Chain(exons.tolist(), (first, column), runs_of(letters, lengths))


@njit(cache=True, nogil=True)
def _decode(found, by_end, exit_tracks, exit_ends, starts, ends, keeps_start):
    """Return a chain's exons, the symbols before it, and its operations and their lengths."""
    n_exons = found[0]
    at = np.empty(n_exons, dtype=np.int64)
    place_, most = 1, 1
    for k in range(n_exons):
        at[n_exons - 1 - k] = place_
        most += found[place_ + 2] + 1
        place_ += kernels.HEAD + found[place_ + 2]
    exons = np.empty(n_exons, dtype=np.int64)
    letters, lengths = np.empty(most, dtype=np.uint8), np.empty(most, dtype=np.int64)
    first = found[at[0] + 1]
    n = 0
    if keeps_start and first > 0:
        letters[0], lengths[0], n = kernels.INSERTION, first, 1
    for k in range(n_exons):
        exons[k] = by_end[found[at[k]]]
        if k > 0:
            intron = starts[exit_tracks[exons[k]]] - ends[exit_ends[exons[k - 1]]]
            if intron > 0:
                letters[n], lengths[n], n = INTRON, intron, n + 1
        for run in found[at[k] + kernels.HEAD : at[k] + kernels.HEAD + found[at[k] + 2]]:
            letter, length = (
                run & ((1 << kernels.OPERATION_BITS) - 1),
                run >> kernels.OPERATION_BITS,
            )
            if n > 0 and letters[n - 1] == letter:
                lengths[n - 1] += length
            else:
                letters[n], lengths[n], n = letter, length, n + 1
    return exons, (0 if keeps_start else first), letters[:n], lengths[:n]
