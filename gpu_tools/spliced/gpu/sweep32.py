"""The 32-bit sweep on a GPU, for scores or devices that the packed one cannot take.

    S'(i, j) = max(S'(i-1, j-1) + w - gap, S'(i-1, j) + gap, S'(i, j-1)), see `splicing.recurrence`

One warp sweeps a job: lanes own neighbouring columns, all tracks lie back to back. As on the CPU,
lane l works on stream row s - l in step s and takes what it needs from the lane before by a
shuffle. The columns of a lane live in registers. A target with more columns than a warp owns is
swept in strips, one after the other; the border between them goes through memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP, kernel, shuffle_up
from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.spliced.cpu.sweep import Border, fill_column_zero
from gpu_tools.spliced.exon_graph import ExonGraph, bounds
from gpu_tools.splicing import recurrence
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.recurrence_gpu import cell

COLUMNS_PER_LANE = 2 if simulated() else 8
"""Registers of a lane that hold cells; few in the simulator, so that small tests have strips."""
STRIP = WARP * COLUMNS_PER_LANE
LEAD = 32
"""Elements before column 1 in a stored row: column 0 and padding that keeps rows aligned."""
_TABLE = N_SYMBOLS * N_SYMBOLS
_GAP, _PENALTY, _FREE = _TABLE, _TABLE + 1, _TABLE + 2

empty_chain = cuda.jit(device=True)(recurrence.empty_chain)


class Job32(NamedTuple):
    """A graph and an encoded target."""

    graph: ExonGraph
    target: NDArray[np.uint8]

    @property
    def strips(self) -> int:
        """Strips of the target's columns."""
        return max(-(-len(self.target) // STRIP), 1)

    @property
    def stride(self) -> int:
        """Elements of a stored row."""
        return LEAD + self.strips * STRIP

    @property
    def stored_rows(self) -> int:
        """Rows of `ends` and `entries` together."""
        return len(self.graph.tracks.ends) + len(self.graph.tracks.starts)

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Elements of each of `BEGINS`: a border has a value a row, and one above each track."""
        rows, tracks = self.graph.n_rows, len(self.graph.tracks.starts)
        numbers, cells = 2 * tracks + 3 * self.graph.n_exons, self.stored_rows * self.stride
        return rows, self.strips * STRIP, numbers, cells, 2 * (rows + tracks)

    @property
    def device_bytes(self) -> int:
        """Device memory."""
        rows, columns, *others = self.sizes
        return rows + columns + 4 * sum(others)


COUNTS = "rows", "tracks", "exons", "ends", "strips"
BEGINS = "symbols", "target", "numbers", "cells", "borders"
JOB = np.dtype([(name, np.int64) for name in (*COUNTS, *BEGINS)], align=True)
"""A row of the job table: counts, and where the job's parts begin in the buffers."""


@cuda.jit(device=True)
def _enter(row, maxima, ends, width, entry, committed, commits, penalty):
    """Commit the ends up to `commits` and load the row that a track starts from; all a lane's.

    `ends` begins with the lane's first column; its rows are `width` apart.
    """
    for end in range(committed, commits):
        for c in range(COLUMNS_PER_LANE):
            maxima[c] = max(maxima[c], int32(ends[end * width + c] - penalty))
    for c in range(COLUMNS_PER_LANE):
        row[c] = maxima[c]
        entry[c] = maxima[c]


@cuda.jit(device=True)
def _leave(row, values, bonus):
    """Take a lane's row as the last row of an exon."""
    for c in range(COLUMNS_PER_LANE):
        values[c] = max(values[c], int32(row[c] + bonus))


@cuda.jit(device=True)
def _advance(row, target, lifted, diagonal, left, gap):
    """Compute a lane's columns of one row; return the last."""
    for c in range(COLUMNS_PER_LANE):
        up = row[c]
        left = cell(diagonal, up, left, lifted[target[c]], gap)
        row[c] = left
        diagonal = up
    return left


class GraphArrays32(NamedTuple):
    """A job's rows, tracks and exits; see `sweep_warp`."""

    stream: Any
    track_commits: Any
    track_rows: Any
    last_rows: Any
    exon_ends: Any
    bonus: Any


class LaneColumns32(NamedTuple):
    """A lane's columns: cells of the row, maxima of committed ends, and target symbols."""

    row: Any
    maxima: Any
    target: Any


@cuda.jit(device=True)
def _graph_of(job, symbols, numbers):
    """Return the arrays of a job's graph."""
    n_tracks, n_exits = int32(job["tracks"]), int32(job["exons"])
    stream = symbols[job["symbols"] : job["symbols"] + int32(job["rows"])]
    track_commits = numbers[job["numbers"] :]
    track_rows, exits = track_commits[n_tracks:], track_commits[2 * n_tracks :]
    last_rows, exon_ends, bonus = exits[:n_exits], exits[n_exits:], exits[2 * n_exits :]
    return GraphArrays32(stream, track_commits, track_rows, last_rows, exon_ends, bonus)


@cuda.jit(device=True)
def _stored_of(job, cells):
    """Return a job's `ends` and `entries`, row by row, and the elements of a row.

    They stay flat: a kernel that changes an array's shape calls a function of another library, and
    numba does not keep what it compiles of such a kernel.
    """
    width = LEAD + job["strips"] * STRIP
    ends = cells[job["cells"] :]
    return ends, ends[job["ends"] * width :], width


@cuda.jit(device=True)
def _begin_strip(own, job, symbols, column, scores):
    """Fill in what a lane holds before the first row of a strip; `column` is its first."""
    gap, _, free = scores
    for c in range(COLUMNS_PER_LANE):
        own.target[c] = symbols[job["target"] + column + c]
        own.maxima[c] = empty_chain(int32(column + c + 1), gap, free)
        own.row[c] = 0


@cuda.jit(device=True)
def _sweep_strip(own, graph, rows, first, borders, table, scores, scratch):
    """Sweep a strip."""
    stream, track_commits, track_rows, last_rows, exon_ends, bonus = graph
    row, maxima, target = own
    ends, entries, width, n_tracks = rows
    ends, entries = ends[first:], entries[first:]
    before, after = borders
    gap, penalty, _ = scores
    n_rows, n_exits = int32(len(stream)), int32(len(last_rows))
    lane = int32(cuda.threadIdx.x)
    track, exon, committed = int32(0), int32(0), int32(0)
    last, corner, diagonal = int32(0), int32(0), int32(0)
    for step in range(n_rows + WARP - 1):
        at = int32(step - lane)
        left, neighbour = shuffle_up(last, scratch), shuffle_up(corner, scratch)
        if at < 0 or at >= n_rows:
            continue
        if lane == 0:
            left = before[at]
        arriving = left
        if track < n_tracks and track_rows[track] == at:
            commits, entry = track_commits[track], entries[track * width :]
            _enter(row, maxima, ends, width, entry, committed, commits, penalty)
            committed = commits
            diagonal = neighbour if lane > 0 else before[n_rows + track]
            corner = row[COLUMNS_PER_LANE - 1]
            if lane == WARP - 1:
                after[n_rows + track] = corner
            track += int32(1)
        lifted = table[int32(stream[at]) * N_SYMBOLS :]
        last = _advance(row, target, lifted, diagonal, left, gap)
        diagonal = arriving
        if lane == WARP - 1:
            after[at] = last
        while exon < n_exits and last_rows[exon] == at:
            _leave(row, ends[exon_ends[exon] * width :], bonus[exon])
            exon += int32(1)


@kernel()
def sweep_warp(jobs, symbols, numbers, cells, borders, scoring):
    """Sweep one job a block of one warp."""
    job = jobs[cuda.blockIdx.x]
    lane = int32(cuda.threadIdx.x)
    scratch = cuda.shared.array(WARP, int32)
    table = cuda.shared.array(_TABLE, int32)
    row = cuda.local.array(COLUMNS_PER_LANE, int32)
    maxima = cuda.local.array(COLUMNS_PER_LANE, int32)
    target = cuda.local.array(COLUMNS_PER_LANE, int32)
    for k in range(lane, _TABLE, WARP):
        table[k] = scoring[k]
    cuda.syncthreads()
    scores = scoring[_GAP], scoring[_PENALTY], scoring[_FREE] != 0
    own, graph = LaneColumns32(row, maxima, target), _graph_of(job, symbols, numbers)
    ends, entries, width = _stored_of(job, cells)
    rows = ends, entries, width, int32(job["tracks"])
    border = int32(job["rows"]) + int32(job["tracks"])
    for strip in range(int32(job["strips"])):
        column = int32(strip * STRIP + lane * COLUMNS_PER_LANE)
        before = borders[job["borders"] + (strip % 2) * border :]
        after = borders[job["borders"] + ((strip + 1) % 2) * border :]
        _begin_strip(own, job, symbols, column, scores)
        borders_here = before, after
        _sweep_strip(own, graph, rows, LEAD + column, borders_here, table, scores, scratch)
        cuda.syncthreads()


def sweep(jobs: list[Job32], scoring: SplicedScoring) -> list[recurrence.Sweep]:
    """Sweep jobs that together fit into the memory of the current GPU."""
    if not jobs:
        return []
    for job in jobs:
        narrowest(bounds(job.graph, job.strips * STRIP, scoring))
    streams = [job.graph.codes for job in jobs]
    table, *_, cells_of_last, borders_of_last = _layout(jobs), *jobs[-1].sizes
    symbols = np.concatenate(streams + [_padded(job) for job in jobs])
    numbers = np.concatenate([_numbers(job.graph) for job in jobs])
    n_cells = int(table[-1]["cells"]) + cells_of_last
    cells = np.full(n_cells, np.iinfo(np.int32).min, dtype=np.int32)
    borders = np.zeros(int(table[-1]["borders"]) + borders_of_last, dtype=np.int32)
    for job, row in zip(jobs, table, strict=True):
        _fill_column_zero(job, cells[row["cells"] :], borders[row["borders"] :], scoring)
    on_device = cuda.to_device(cells)
    inputs = map(cuda.to_device, (table, symbols, numbers))
    sweep_warp[len(jobs), WARP](
        *inputs, on_device, cuda.to_device(borders), cuda.to_device(_scores(scoring))
    )
    on_device.copy_to_host(cells)
    return [_sweep_of(job, cells[row["cells"] :]) for job, row in zip(jobs, table, strict=True)]


def _layout(jobs: list[Job32]) -> NDArray[np.void]:
    """Return the job table."""
    table, sizes = np.zeros(len(jobs), JOB), np.array([job.sizes for job in jobs], dtype=np.int64)
    for k, job in enumerate(jobs):
        graph, tracks = job.graph, job.graph.tracks
        counts = graph.n_rows, len(tracks.starts), graph.n_exons, len(tracks.ends), job.strips
        table[k] = counts + (0,) * len(BEGINS)
    for name, begins in zip(BEGINS, (np.cumsum(sizes, axis=0) - sizes).T, strict=True):
        table[name] = begins
    table["target"] += sizes[:, 0].sum()  # targets follow all streams in the symbols' buffer
    return table


def _padded(job) -> NDArray[np.uint8]:
    target = np.full(job.strips * STRIP, OTHER, dtype=np.uint8)
    target[: len(job.target)] = job.target
    return target


def _numbers(graph: ExonGraph) -> NDArray[np.int32]:
    tracks = graph.tracks
    exons = tracks.last_rows, tracks.exon_ends, graph.bonus
    return np.concatenate([tracks.commits, tracks.rows[:-1], *exons]).astype(np.int32)


def _scores(scoring: SplicedScoring) -> NDArray[np.int32]:
    lifted = (scoring.substitution() - scoring.gap).ravel()
    free = int(scoring.ends != "global")
    return np.array([*lifted, scoring.gap, scoring.intron_penalty, free], dtype=np.int32)


def _sweep_of(job, cells) -> recurrence.Sweep:
    """Return the views of a job's stored rows from column 0 on."""
    rows = cells[: job.stored_rows * job.stride].reshape(job.stored_rows, job.stride)
    n_ends = len(job.graph.tracks.ends)
    return recurrence.Sweep(rows[:n_ends, LEAD - 1 :], rows[n_ends:, LEAD - 1 :])


def _fill_column_zero(job, cells, borders, scoring: SplicedScoring) -> None:
    n_rows, past = job.graph.n_rows, job.sizes[-1] // 2
    border = Border(borders[:n_rows], borders[n_rows:past])
    fill_column_zero(job.graph, _sweep_of(job, cells), border, scoring)
