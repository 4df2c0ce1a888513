"""Pieces of a sweep program as the tables that the kernels read."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import register_jitable

from gpu_tools.spliced.gpu.pieces import EMPTY

# elements of a segment in the tables: the steps that it is behind, the stored row above it or
# `NOT_KEPT`, its first source, and past its last; without sources that row is the empty chain's
BEHIND, KEPT, FIRST, PAST, OF_SEGMENT = range(5)
# elements of a source: the stored row, and what it adds
ROW, ADDED, OF_SOURCE = range(3)
NOT_KEPT = -1
_OPEN = 4
"""Pieces that still take segments."""


@njit(cache=True, nogil=True)
def fill_warps(pieces, capacity):
    """Put the segments of a program into pieces, in the order of their ticks.

    A segment goes into the fullest of the last few pieces that have room for it and come no earlier
    than any piece that it reads from, else into a new one. So a piece reads from earlier ones only.

    Parameters
    ----------
    pieces : Pieces
    capacity : Capacity

    Returns
    -------
    order : ndarray of int32, shape (G,)
        The segments of all pieces, piece after piece.
    first_segments : ndarray of int32, shape (P + 1,)
        Where each piece begins in them, and last, their number.
    """
    segments, order = pieces.segments, pieces.order
    own_lanes, first_sources, ticks = segments.lanes, segments.first_sources, segments.ticks
    writer, piece_of = _writers(pieces), np.empty(len(order), dtype=np.int32)
    lanes, read, held, first_ticks = np.zeros((4, len(order)), dtype=np.int32)
    n = 0
    for segment in order:
        n_sources = first_sources[segment + 1] - first_sources[segment]
        chosen, first = n, max(n - _OPEN, 0)
        for source in range(first_sources[segment], first_sources[segment + 1]):
            row = segments.sources[source, 0]
            if row != EMPTY:
                first = max(first, piece_of[writer[row]])
        for piece in range(first, n):
            full = lanes[piece] + own_lanes[segment] > capacity.lanes
            full = full or read[piece] + n_sources > capacity.sources
            full = full or held[piece] == capacity.segments
            full = full or ticks[segment] - first_ticks[piece] > capacity.span
            if not full and (chosen == n or lanes[piece] > lanes[chosen]):
                chosen = piece
        if chosen == n:
            first_ticks[n], n = ticks[segment], n + 1
        piece_of[segment] = chosen
        lanes[chosen] += own_lanes[segment]
        read[chosen] += n_sources
        held[chosen] += 1
    return _by_piece(order, piece_of, held[:n])


@register_jitable
def _writers(pieces):
    """Return the segment that writes each stored row."""
    segments, n_stops = pieces.segments, len(pieces.stops.ends)
    first_stops, kept = segments.first_stops, segments.kept
    writer = np.empty(n_stops + pieces.n_kept, dtype=np.int32)
    for segment in range(len(kept)):
        writer[first_stops[segment] : first_stops[segment + 1]] = segment
        if kept[segment] != EMPTY:
            writer[kept[segment]] = segment
    return writer


@register_jitable
def _by_piece(order, piece_of, held):
    """Return the segments by piece, each piece's in the order given, and where pieces begin."""
    first_segments = np.zeros(len(held) + 1, dtype=np.int32)
    first_segments[1:] = np.cumsum(held)
    following, ordered = first_segments.copy(), np.empty_like(order)
    for segment in order:
        piece = piece_of[segment]
        ordered[following[piece]] = segment
        following[piece] += 1
    return ordered, first_segments


@njit(cache=True, nogil=True)
def arrange(pieces, filled, capacity, bonuses, tables):
    """Write the pieces as tables in the pieces' order, see `cuda_packed.sweep_pieces`.

    Parameters
    ----------
    pieces : Pieces
    filled : tuple of ndarray
        The segments by piece, and where each piece begins, see `fill_warps`.
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
    (stops, segments, _, _, _), (numbers, own_segments, own_sources) = pieces, tables
    order, first_segments = filled
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
