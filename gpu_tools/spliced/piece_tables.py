"""Pieces of a sweep program as the tables that the kernels read."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import register_jitable

from gpu_tools.spliced.pieces import EMPTY

NOT_THE_LAST, NOT_KEPT = -1, -2
"""Stand, with a source, for the row above its segment: not complete yet, and not to be kept."""


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
        The pieces' numbers, 3 P + 2 G + 3 S + 3 of them, and their sources, 4 Q, at least.
    """
    (stops, segments, _, _, order), (numbers, sources) = pieces, tables
    begins, ends, virtual_lanes, late = stops.begins, stops.ends, stops.virtual_lanes, capacity.late
    n_pieces, n_segments, n_stops = len(first_segments) - 1, len(order), len(ends)
    numbers[: n_pieces + 1], extra = first_segments, numbers[n_pieces + 1 :]
    first_sources = extra[n_pieces:]
    first_stops = first_sources[n_pieces + 1 :]
    delays = first_stops[n_segments + 1 :]
    own_stops = delays[n_segments:]
    ticks, lanes, kept = segments.ticks, segments.lanes, segments.kept
    stops_of, sources_of, rows = segments.first_stops, segments.first_sources, segments.sources
    read, stop = 0, 0
    for piece in range(n_pieces):
        first, most = first_segments[piece], 0
        first_sources[piece] = read
        for k in range(first, first_segments[piece + 1]):
            s = order[k]
            delay = capacity.chunk * (ticks[s] - ticks[order[first]])
            delays[k], first_stops[k] = delay, stop
            most = max(most, delay + 2 * lanes[s] + late - 1)
            for own in range(stops_of[s], stops_of[s + 1]):
                own_stops[stop], own_stops[n_stops + stop] = begins[own], ends[own]
                own_stops[2 * n_stops + stop] = stored_row(own, virtual_lanes, late)
                stop += 1
            for source in range(sources_of[s], sources_of[s + 1]):
                row, exon, at = rows[source, 0], rows[source, 1], 4 * read
                sources[at] = delay
                sources[at + 1] = EMPTY if row == EMPTY else stored_row(row, virtual_lanes, late)
                sources[at + 2] = bonuses[exon] if exon >= 0 else 0
                sources[at + 3] = NOT_THE_LAST
                read += 1
            of_kept = stored_row(kept[s], virtual_lanes, late) if kept[s] >= 0 else NOT_KEPT
            sources[4 * read - 1] = of_kept
        extra[piece] = most
    first_sources[n_pieces], first_stops[n_segments] = read, stop


@register_jitable
def stored_row(row, virtual_lanes, late):
    """Return the number of a stored row times `late`, plus the columns it is shifted by.

    Steps that store together store aligned; `virtual_lanes` are those of the stops.
    """
    return row * late + (virtual_lanes[row] % late if row < len(virtual_lanes) else 0)
