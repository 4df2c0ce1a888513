"""A sweep program as the pieces that the packed GPU kernel works on.

The rows of a track become *stops*: runs of rows that end with the last row of an exon, or where a
track is too long for a warp. Stops of a track that a warp can hold together are a *segment*, and a
*piece* is what one warp works on at a time: segments side by side, each some chunks of columns
behind the first.

How far behind is decided here. Every segment gets a *tick*, the number of the chunk in which its
first columns can be there if every warp works at the same pace. What a segment reads is written by
segments of earlier ticks only, so a warp that waits always waits for something of an earlier tick,
and pieces that are begun in the order of their ticks never wait for each other in a circle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.spliced.program import SweepProgram

EMPTY = -1
"""Stands for the empty chain among the rows that a segment reads."""
_RECOMPUTED = 4
"""Up to so many exons before a track are read by each track they precede, more by the first one."""


class Capacity(NamedTuple):
    """What one warp holds, and how its lanes keep time.

    A lane holds two *virtual lanes* of `slots` rows each, one column apart. `chunk` columns come in
    together; `late` steps pass until a value is stored; the segments of a piece are at most `span`
    chunks apart.
    """

    lanes: int
    slots: int
    chunk: int
    late: int
    span: int


class Stops(NamedTuple):
    """Runs of rows whose last row is kept.

    Attributes
    ----------
    begins, ends : ndarray of int32, shape (S,)
        Stream rows, half-open, rising.
    virtual_lanes : ndarray of int32, shape (S,)
        Virtual lane of the last row, counted from the segment's first.
    of_exon : ndarray of int32, shape (B,)
        Stop that is the last row of each exon.
    """

    begins: NDArray[np.int32]
    ends: NDArray[np.int32]
    virtual_lanes: NDArray[np.int32]
    of_exon: NDArray[np.int32]


class Segments(NamedTuple):
    """Stops that lie side by side in a warp.

    Attributes
    ----------
    first_stops : ndarray of int32, shape (G + 1,)
        First stop of each segment; last, the number of stops.
    tracks : ndarray of int32, shape (G,)
        Track of each segment.
    lanes : ndarray of int32, shape (G,)
        Lanes that it takes.
    """

    first_stops: NDArray[np.int32]
    tracks: NDArray[np.int32]
    lanes: NDArray[np.int32]


class Sources(NamedTuple):
    """Rows whose maximum is the row above a segment.

    Attributes
    ----------
    first : ndarray of int32, shape (G + 1,)
        First source of each segment; last, the number of sources.
    rows : ndarray of int32, shape (Q,)
        A stop, or the number of stops plus a group of tracks, for the row above that group, or
        `EMPTY`.
    exons : ndarray of int32, shape (Q,)
        The exon whose last row it is, else -1.
    """

    first: NDArray[np.int32]
    rows: NDArray[np.int32]
    exons: NDArray[np.int32]


class Pieces(NamedTuple):
    """Pieces of one program, in an order in which each needs itself and earlier ones only.

    Attributes
    ----------
    stops, segments, sources : Stops, Segments, Sources
        In the order of the stream.
    groups : ndarray of int32, shape (T,)
        Tracks that the same exons precede are a group: the row above them is the same.
    order : ndarray of int32, shape (G,)
        Segments in the order of the pieces.
    first_segments : ndarray of int32, shape (P + 1,)
        Where each piece begins in `order`; last, the number of segments.
    ticks : ndarray of int32, shape (G,)
        Tick of each segment, in the order of the stream.
    """

    stops: Stops
    segments: Segments
    sources: Sources
    groups: NDArray[np.int32]
    order: NDArray[np.int32]
    first_segments: NDArray[np.int32]
    ticks: NDArray[np.int32]


def cut_into_pieces(program: SweepProgram, capacity: Capacity) -> Pieces:
    """Cut the tracks of a program into pieces that a warp can hold."""
    stops, of_track = _find_stops(
        program.exit_rows, program.exit_tracks, 2 * capacity.lanes * capacity.slots
    )
    segments = _find_segments(stops, of_track, capacity)
    by_end = np.argsort(program.exit_ends, kind="stable")
    committed = np.searchsorted(program.exit_ends[by_end], program.track_commits)
    groups = np.cumsum(np.diff(committed, prepend=committed[:1]) > 0, dtype=np.int32)
    sources = _find_sources(stops, segments, groups, committed, by_end)
    ticks = _find_ticks(stops, segments, sources, groups, capacity)
    order = np.argsort(ticks, kind="stable").astype(np.int32)
    first_segments = _fill_warps(order, ticks, segments.lanes, capacity)
    return Pieces(stops, segments, sources, groups, order, first_segments, ticks)


@njit(cache=True)
def _find_stops(exit_rows, exit_tracks, longest):
    """Return the stops, their virtual lanes still open, and each stop's track."""
    most = len(exit_rows) + exit_rows[-1] // longest + 1 if len(exit_rows) else 0
    begins, ends = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    of_track, of_exon = np.empty(most, dtype=np.int32), np.empty(len(exit_rows), dtype=np.int32)
    n, row = 0, 0
    for exon in range(len(exit_rows)):
        while row <= exit_rows[exon]:
            begins[n], ends[n] = row, min(exit_rows[exon] + 1, row + longest)
            of_track[n] = exit_tracks[exon]
            row = ends[n]
            n += 1
        of_exon[exon] = n - 1
    return Stops(begins[:n], ends[:n], np.empty(n, dtype=np.int32), of_exon), of_track[:n]


@njit(cache=True)
def _find_segments(stops, of_track, capacity):
    """Put stops of a track together as long as a warp has room; number the virtual lanes."""
    n_stops = len(of_track)
    first_stops = np.empty(n_stops + 1, dtype=np.int32)
    tracks, lanes = np.empty(n_stops, dtype=np.int32), np.empty(n_stops, dtype=np.int32)
    n, used = 0, 0
    for stop in range(n_stops):
        needed = (stops.ends[stop] - stops.begins[stop] + capacity.slots - 1) // capacity.slots
        goes_on = stop > 0 and of_track[stop - 1] == of_track[stop]
        if not goes_on or used + needed > 2 * capacity.lanes:
            first_stops[n], tracks[n], used = stop, of_track[stop], 0
            n += 1
        used += needed
        stops.virtual_lanes[stop], lanes[n - 1] = used - 1, (used + 1) // 2
    first_stops[n] = n_stops
    return Segments(first_stops[: n + 1], tracks[:n], lanes[:n])


@njit(cache=True)
def _find_sources(stops, segments, groups, committed, by_end):
    """Return what each segment reads: its row goes on, is its group's, or is made anew."""
    n_segments, n_stops = len(segments.tracks), len(stops.ends)
    first = np.zeros(n_segments + 1, dtype=np.int32)
    rows, exons = [np.int32(0) for _ in range(0)], [np.int32(0) for _ in range(0)]
    for s in range(n_segments):
        track = segments.tracks[s]
        group = groups[track]
        begin = 0
        opens = track == 0 or groups[track - 1] != group
        if s > 0 and segments.tracks[s - 1] == track:
            rows.append(segments.first_stops[s] - 1)
        else:
            before = track
            while before > 0 and groups[before - 1] == group:
                before -= 1
            begin = committed[before - 1] if before > 0 else np.int64(0)
            many = committed[track] - begin > _RECOMPUTED
            if many and not opens:
                rows.append(np.int32(n_stops + group))
            else:
                rows.append(np.int32(n_stops + group - 1 if before > 0 else EMPTY))
        exons.append(np.int32(-1))
        if rows[-1] == EMPTY or (rows[-1] >= n_stops and rows[-1] < n_stops + group):
            for k in range(begin, committed[track]):
                rows.append(stops.of_exon[by_end[k]])
                exons.append(np.int32(by_end[k]))
        first[s + 1] = len(rows)
    return Sources(first, np.array(rows, dtype=np.int32), np.array(exons, dtype=np.int32))


@njit(cache=True)
def _find_ticks(stops, segments, sources, groups, capacity):
    """Return the first tick of each segment that is later than all it reads."""
    n_stops = len(stops.ends)
    ticks = np.zeros(len(segments.tracks), dtype=np.int32)
    of_group = np.zeros(groups[-1] + 1 if len(groups) else 0, dtype=np.int32)
    of_stop = np.empty(n_stops, dtype=np.int32)
    for s in range(len(ticks)):
        for q in range(sources.first[s], sources.first[s + 1]):
            row = sources.rows[q]
            if row >= n_stops:
                ticks[s] = max(ticks[s], of_group[row - n_stops] + 1)
            elif row >= 0:
                ticks[s] = max(ticks[s], of_stop[row])
        if s == 0 or groups[segments.tracks[s - 1]] != groups[segments.tracks[s]]:
            of_group[groups[segments.tracks[s]]] = ticks[s]
        for stop in range(segments.first_stops[s], segments.first_stops[s + 1]):
            lag = stops.virtual_lanes[stop] + capacity.late
            of_stop[stop] = ticks[s] + 1 + (lag + capacity.chunk - 1) // capacity.chunk
    return ticks


@njit(cache=True)
def _fill_warps(order, ticks, lanes, capacity):
    """Return where the pieces begin in `order`."""
    first_segments = np.empty(len(order) + 1, dtype=np.int32)
    n, used = 0, 0
    for k in range(len(order)):
        behind = ticks[order[k]] - ticks[order[first_segments[n - 1]]] if n else 0
        if n == 0 or used + lanes[order[k]] > capacity.lanes or behind > capacity.span:
            first_segments[n], used = k, 0
            n += 1
        used += lanes[order[k]]
    first_segments[n] = len(order)
    return first_segments[: n + 1]


def arrange(
    pieces: Pieces, capacity: Capacity, places: tuple[int, int, int], bonuses: NDArray[np.int64]
) -> tuple[NDArray[np.int32], ...]:
    """Return the pieces as the tables that the kernel reads, in the pieces' order.

    Parameters
    ----------
    pieces : Pieces
    capacity : Capacity
    places : tuple of (int, int, int)
        Elements of a stored row, those before column 0, and how many columns are stored together.
    bonuses : ndarray of int64, shape (B,)
        What an exon adds to what follows it.

    Returns
    -------
    tuple of ndarray of int32
        As `cuda_packed.sweep_pieces` documents them.
    """
    stride, lead, together = places
    stops, segments, order = pieces.stops, pieces.segments, pieces.order
    base = np.repeat(pieces.ticks[order[pieces.first_segments[:-1]]], np.diff(pieces.first_segments))
    delays = capacity.chunk * (pieces.ticks[order] - base)
    extra = np.maximum.reduceat(
        delays + 2 * segments.lanes[order] + capacity.late - 1, pieces.first_segments[:-1]
    )
    of_stop, first_stops = _gather(order, segments.first_stops)
    of_source, first_sources = _gather(order, pieces.sources.first)
    row_places = lead + stride * np.arange(len(stops.ends) + pieces.groups[-1] + 1)
    row_places[: len(stops.ends)] += stops.virtual_lanes % together
    rows, exons = pieces.sources.rows[of_source], pieces.sources.exons[of_source]
    behind = np.repeat(delays, np.diff(first_sources))
    entries = np.where(
        _opens_group(pieces), row_places[len(stops.ends) + pieces.groups[segments.tracks]], -1
    )
    tables = (
        pieces.first_segments, extra, first_stops, first_sources, entries[order], delays,
        stops.begins[of_stop], stops.ends[of_stop], row_places[of_stop],
        behind, np.where(rows == EMPTY, EMPTY, row_places[rows]),
        np.where(exons < 0, 0, bonuses[exons]),
    )  # fmt: skip
    return tuple(table.astype(np.int32) for table in tables)


def _gather(order, first):
    """Return the indices of all parts of the segments in `order`, and where each one's begin."""
    counts = np.diff(first)[order]
    begins = np.concatenate(([0], np.cumsum(counts)))
    return np.arange(begins[-1]) + np.repeat(first[:-1][order] - begins[:-1], counts), begins


def _opens_group(pieces: Pieces) -> NDArray[np.bool_]:
    """Whether each segment is the first of a group of tracks."""
    groups = pieces.groups[pieces.segments.tracks]
    return np.diff(groups, prepend=-1) > 0
