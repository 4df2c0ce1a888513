"""Pieces of a sweep program as the tables that the kernels read."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import register_jitable

from gpu_tools.spliced.pieces import EMPTY

# elements of a segment in the tables: the steps that it is behind, the stored row above it or
# `NOT_KEPT`, its first source, and past its last; without sources that row is the empty chain's
BEHIND, KEPT, FIRST, PAST, OF_SEGMENT = range(5)
# elements of a source: the stored row, and what it adds
ROW, ADDED, OF_SOURCE = range(3)
NOT_KEPT = -1


@njit(cache=True, nogil=True)
def fill_warps(order, segments, capacity):
    """Return where pieces begin in the order of the segments, and last, the number of segments.

    Each piece is filled as long as the capacity allows.

    Parameters
    ----------
    order : ndarray of int32, shape (G,)
    segments : Segments
    capacity : Capacity

    Returns
    -------
    ndarray of int32, shape (P + 1,)
    """
    own_lanes, first_sources, ticks = segments.lanes, segments.first_sources, segments.ticks
    first_segments = np.empty(len(order) + 1, dtype=np.int32)
    n, first, lanes, read = 0, 0, 0, 0
    for k in range(len(order)):
        segment = order[k]
        n_sources = first_sources[segment + 1] - first_sources[segment]
        lanes, read = lanes + own_lanes[segment], read + n_sources
        behind = ticks[segment] - ticks[order[first]]
        full = lanes > capacity.lanes or read > capacity.sources or behind > capacity.span
        if k == 0 or full or k - first >= capacity.segments:
            first_segments[n], first, n = k, k, n + 1
            lanes, read = own_lanes[segment], n_sources
    first_segments[n] = len(order)
    return first_segments[: n + 1]


@njit(cache=True, nogil=True)
def arrange(pieces, first_segments, capacity, bonuses, tables):
    """Write the pieces as tables in the pieces' order, see `cuda_packed.sweep_pieces`.

    Parameters
    ----------
    pieces : Pieces
    first_segments : ndarray of int32, shape (P + 1,)
        Where each piece begins, see `fill_warps`.
    capacity : Capacity
    bonuses : ndarray of int64, shape (B,)
        What an exon's last row adds to what follows it.
    tables : tuple of ndarray of int32
        The pieces' numbers, 2 P + G + 3 S + 2 of them, their segments, 4 G, and their sources, 2 Q,
        at least.

    Returns
    -------
    int
        Sources written; the empty chain's row is none.
    """
    (stops, segments, _, _, order), (numbers, own_segments, own_sources) = pieces, tables
    begins, ends, virtual_lanes, late = stops.begins, stops.ends, stops.virtual_lanes, capacity.late
    n_pieces, n_segments, n_stops = len(first_segments) - 1, len(order), len(ends)
    numbers[: n_pieces + 1], extra = first_segments, numbers[n_pieces + 1 :]
    first_stops = extra[n_pieces:]
    own_stops = first_stops[n_segments + 1 :]
    ticks, lanes, kept = segments.ticks, segments.lanes, segments.kept
    stops_of, sources_of, rows = segments.first_stops, segments.first_sources, segments.sources
    read, stop = 0, 0
    for piece in range(n_pieces):
        first, most = first_segments[piece], 0
        for k in range(first, first_segments[piece + 1]):
            s, at = order[k], OF_SEGMENT * k
            delay = capacity.chunk * (ticks[s] - ticks[order[first]])
            first_stops[k] = stop
            most = max(most, delay + 2 * lanes[s] + late - 1)
            for own in range(stops_of[s], stops_of[s + 1]):
                own_stops[stop], own_stops[n_stops + stop] = begins[own], ends[own]
                own_stops[2 * n_stops + stop] = stored_row(own, virtual_lanes, late)
                stop += 1
            own_segments[at + BEHIND], own_segments[at + FIRST] = delay, read
            for source in range(sources_of[s], sources_of[s + 1]):
                row, exon = rows[source, 0], rows[source, 1]
                if row != EMPTY:
                    own_sources[OF_SOURCE * read + ROW] = stored_row(row, virtual_lanes, late)
                    own_sources[OF_SOURCE * read + ADDED] = bonuses[exon] if exon >= 0 else 0
                    read += 1
            own_segments[at + PAST] = read
            of_kept = stored_row(kept[s], virtual_lanes, late) if kept[s] >= 0 else NOT_KEPT
            own_segments[at + KEPT] = of_kept
        extra[piece] = most
    first_stops[n_segments] = stop
    return read


@register_jitable
def stored_row(row, virtual_lanes, late):
    """Return the number of a stored row times `late`, plus the columns it is shifted by.

    Steps that store together store aligned; `virtual_lanes` are those of the stops.
    """
    return row * late + (virtual_lanes[row] % late if row < len(virtual_lanes) else 0)
