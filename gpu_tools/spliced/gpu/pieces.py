"""A sweep program as the pieces that the packed GPU kernel works on.

The rows of a track become *stops*: runs of rows that end with the last row of an exon, or where a
track is too long for a warp. Stops of a track that a warp can hold together are a *segment*. Where
many exons end before a track, segments without rows *fold* them: the maximum over a few last rows
is a row of its own. A *piece* is what one warp works on at a time: segments side by side, each some
chunks of columns behind the first.

How far behind is decided here. Every segment gets a *tick*, the number of the chunk in which its
first columns can be there if every warp works at the same pace. What a segment reads is written by
segments of earlier ticks only, so a warp that waits always waits for something of an earlier tick,
and pieces that are begun in the order of their ticks never wait for each other in a circle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

EMPTY = -1
"""Stands for the empty chain among the rows that a segment reads."""
_RECOMPUTED = 4
"""Up to so many exons before a track are read by each track they precede, more by the first one."""
_FOLDED = 6
"""Rows that a segment reads at most."""


class Capacity(NamedTuple):
    """What one warp holds, and how its lanes keep time.

    A lane holds two *virtual lanes* of `slots` rows each, one column apart. `chunk` columns come in
    together; values are stored when there are `late` of them. The segments of a piece are at most
    `span` chunks apart and at most `segments`, and read at most `sources` rows.
    """

    lanes: int
    slots: int
    chunk: int
    late: int
    span: int
    segments: int
    sources: int


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
    """Stops that lie side by side in a warp, and what streams in above them.

    Attributes
    ----------
    first_stops : ndarray of int32, shape (G + 1,)
        First stop of each segment; last, the number of stops. A fold has none.
    lanes : ndarray of int32, shape (G,)
        Lanes that it takes.
    ticks : ndarray of int32, shape (G,)
        The chunk that its first columns are due in.
    kept : ndarray of int32, shape (G,)
        The row above it if that is kept, numbered behind the stops, or -1.
    first_sources : ndarray of int32, shape (G + 1,)
        First source of each segment; last, the number of sources.
    sources : ndarray of int32, shape (Q, 2)
        Rows whose maximum is the row above: a stop's, a kept one, or `EMPTY`; and the exon whose
        last row it is, or -1.
    """

    first_stops: NDArray[np.int32]
    lanes: NDArray[np.int32]
    ticks: NDArray[np.int32]
    kept: NDArray[np.int32]
    first_sources: NDArray[np.int32]
    sources: NDArray[np.int32]


class Pieces(NamedTuple):
    """What pieces of one program are made of, in an order in which each needs earlier ones only.

    Attributes
    ----------
    stops, segments : Stops, Segments
        In the order of the stream.
    entries : ndarray of int32, shape (T,)
        The kept row above each track; tracks that the same exons precede share one.
    n_kept : int
        Rows that are kept besides those of stops.
    order : ndarray of int32, shape (G,)
        Segments in the order of their ticks.
    """

    stops: Stops
    segments: Segments
    entries: NDArray[np.int32]
    n_kept: int
    order: NDArray[np.int32]


@njit(cache=True, nogil=True)
def cut(exit_rows, exit_tracks, by_end, committed, capacity):
    """Cut tracks into segments; `committed` counts the exons that may precede each track."""
    stops, of_track = _find_stops(exit_rows, exit_tracks, 2 * capacity.lanes * capacity.slots)
    draft, due = _room(len(of_track), len(by_end))
    exons = by_end, _exon_of_stop(stops.of_exon, len(of_track)), committed
    n, entries, n_kept = _find_segments(draft, due, stops, of_track, exons, capacity)
    segments = _without_spare_room(draft, n)
    return Pieces(stops, segments, entries, n_kept, _by_tick(segments.ticks))


@njit(cache=True, nogil=True)
def _by_tick(ticks):
    """Return the order of the ticks, equal ones as they come."""
    places = np.zeros(ticks.max() + 2, dtype=np.int32)
    for tick in ticks:
        places[tick + 1] += 1
    for tick in range(len(places) - 1):
        places[tick + 1] += places[tick]
    order = np.empty(len(ticks), dtype=np.int32)
    for k in range(len(ticks)):
        order[places[ticks[k]]] = k
        places[ticks[k]] += 1
    return order


@njit(cache=True, nogil=True)
def _find_stops(exit_rows, exit_tracks, longest):
    """Return the stops, their virtual lanes still open, and each stop's track."""
    most = len(exit_rows) + (exit_rows[-1] + 1) // longest + 1
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


@njit(cache=True, nogil=True)
def _exon_of_stop(of_exon, n_stops):
    exons = np.full(n_stops, -1, dtype=np.int32)
    for exon in range(len(of_exon)):
        exons[of_exon[exon]] = exon
    return exons


@register_jitable
def most_segments(n_stops, n_exons):
    """Return how many segments there are at most.

    There are at most as many with rows as stops, and a fold puts one row in place of several.
    """
    return n_stops + n_exons // (_FOLDED - 1) + 1


@register_jitable
def most_sources(n_stops, n_exons):
    """Return how many sources there are at most.

    Tracks of a group read all its exons only where those are few.
    """
    return n_stops * (1 + _RECOMPUTED) + n_exons + 2 * most_segments(n_stops, n_exons)


@njit(cache=True, nogil=True)
def _room(n_stops, n_exons):
    """Return room for segments, and for when the rows of stops, then the kept ones, are there."""
    most, n_sources = most_segments(n_stops, n_exons), most_sources(n_stops, n_exons)
    segments = Segments(
        np.empty(most + 1, dtype=np.int32), np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32),
        np.zeros(most + 1, dtype=np.int32), np.empty((n_sources, 2), dtype=np.int32),
    )  # fmt: skip
    return segments, np.zeros(n_stops + most, dtype=np.int32)


@njit(cache=True, nogil=True)
def _without_spare_room(segments, n):
    n_sources = segments.first_sources[n]
    return Segments(
        segments.first_stops[: n + 1], segments.lanes[:n], segments.ticks[:n], segments.kept[:n],
        segments.first_sources[: n + 1], segments.sources[:n_sources],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _find_segments(segments, due, stops, of_track, exons, capacity):
    """Write the segments; return their number, the kept row above each track, and of kept rows.

    Tracks with as many exons committed before them are a group. The row above is kept where a group
    begins, and read where the next one does, together with the exons that ended in between.
    """
    # what is in a tuple of arrays is counted each time that it is taken out
    first_stops, lanes, ticks, kept = segments[:4]
    of_exon, virtual_lanes = stops.of_exon, stops.virtual_lanes
    (by_end, exon_of_stop, committed), n_stops = exons, len(of_track)
    entries = np.empty(len(committed), dtype=np.int32)
    # behind the rows that are wanted come those that they are folded into
    wanted = np.empty(len(by_end) + 1 + len(kept), dtype=np.int64)
    n, n_kept, stop, group, before, opened = 0, 0, 0, EMPTY, EMPTY, np.int64(0)
    while stop < n_stops:
        track = of_track[stop]
        goes_on = stop > 0 and of_track[stop - 1] == track
        opens = not goes_on and (track == 0 or committed[track] != committed[track - 1])
        if opens:
            before, opened = group, committed[track - 1] if track > 0 else np.int64(0)
        n_ended = committed[track] - opened
        many = not opens and n_ended > _RECOMPUTED
        wanted[0] = _wanted(due, stop - 1 if goes_on else group if many else before)
        if goes_on or many:
            n_ended = 0
        for k in range(n_ended):
            wanted[k + 1] = _wanted(due, of_exon[by_end[opened + k]])
        rows = 0, n_ended + 1, n_ended + 1, n_ended + 1
        if rows[1] > _FOLDED:
            rows = _fold(segments, due, (n, stop, n_kept), wanted, rows, exon_of_stop)
            n, n_kept = n + rows[3] - rows[1], n_kept + rows[3] - rows[1]
        _read(segments, n, wanted, rows, _left(rows), exon_of_stop)
        if goes_on:
            segments.sources[segments.first_sources[n], 1] = -1  # not as an exon's last row
        first_stops[n], kept[n] = stop, EMPTY
        if opens:
            group = kept[n] = n_stops + n_kept
            due[group] = ticks[n] + 1
            n_kept += 1
        entries[track] = group - n_stops
        stop = _place_stops(stops, of_track, stop, due, ticks[n], capacity)
        lanes[n] = virtual_lanes[stop - 1] // 2 + 1
        n += 1
    first_stops[n] = n_stops
    return n, entries, n_kept


@register_jitable
def _fold(segments, due, place, wanted, rows, exon_of_stop):
    """Fold wanted rows, those first that are there first, until a segment can read what is left.

    `place` is the number of the next segment, the stop it is at, and the number of rows kept.
    `rows` is where the wanted ones and, behind them, the folded ones begin and end, see `_read`.
    """
    (n, stop, n_kept), n_stops = place, len(exon_of_stop)
    first_stops, lanes, ticks, kept = segments[:4]
    wanted[: rows[1]].sort()
    while _left(rows) > _FOLDED:
        one, past, other, last = _read(segments, n, wanted, rows, _FOLDED, exon_of_stop)
        first_stops[n], lanes[n], kept[n] = stop, 0, n_stops + n_kept
        due[kept[n]] = ticks[n] + 1
        wanted[last] = _wanted(due, kept[n])
        rows, n, n_kept = (one, past, other, last + 1), n + 1, n_kept + 1
    return rows


@register_jitable
def _left(rows):
    return rows[1] - rows[0] + rows[3] - rows[2]


@register_jitable
def _wanted(due, row):
    """Return a number for a row that rises with when it is there, and for equals with the row."""
    tick = due[row] if row != EMPTY else 0
    return np.int64(tick) << 32 | np.int64(row + 1)


@register_jitable
def _read(segments, n, wanted, rows, count, exon_of_stop):
    """Have segment `n` read `count` rows, those first that are there first.

    `rows` is where two queues of wanted rows begin and end, each in order or read whole; returned
    is the same without those.
    """
    ticks, first_sources, sources = segments.ticks, segments.first_sources, segments.sources
    one, past, other, last = rows
    read, tick = first_sources[n], np.int32(0)
    for _ in range(count):
        if other == last or (one < past and wanted[one] < wanted[other]):
            at, one = one, one + 1
        else:
            at, other = other, other + 1
        row = np.int32((wanted[at] & 0xFFFFFFFF) - 1)
        tick = max(tick, np.int32(wanted[at] >> 32))
        sources[read, 0] = row
        sources[read, 1] = exon_of_stop[row] if 0 <= row < len(exon_of_stop) else -1
        read += 1
    ticks[n], first_sources[n + 1] = tick, read
    return one, past, other, last


@register_jitable
def _place_stops(stops, of_track, stop, due, tick, capacity):
    """Put stops of a track side by side as long as a warp has room; return the first left out."""
    begins, ends, virtual_lanes = stops.begins, stops.ends, stops.virtual_lanes
    used, track = 0, of_track[stop]
    while stop < len(of_track) and of_track[stop] == track:
        used += (ends[stop] - begins[stop] + capacity.slots - 1) // capacity.slots
        if used > 2 * capacity.lanes:
            break
        virtual_lanes[stop] = used - 1
        lag = used - 1 + capacity.late
        due[stop] = tick + 1 + (lag + capacity.chunk - 1) // capacity.chunk
        stop += 1
    return stop
