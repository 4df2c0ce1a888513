"""Warp tiles as the tables that the kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.spliced.gpu.warp_tiles import EMPTY

# elements of a part in the tables: the steps that it is behind, the stored row above it or
# `NOT_STORED`, its first source, and past its last; without sources that row is the empty chain's
BEHIND, ABOVE, FIRST, PAST, PART_FIELDS = range(5)
# elements of a source: the stored row, and what it adds
ROW, ADDED, SOURCE_FIELDS = range(3)
NOT_STORED = -1
_OPEN = 4
"""Warp tiles that still take parts."""


class TileTables(NamedTuple):
    """Where `arrange` writes: numbers of warp tiles, parts and spans; parts; sources."""

    numbers: NDArray[np.int32]
    parts: NDArray[np.int32]
    sources: NDArray[np.int32]


@njit(nogil=True)
def fill_warps(tiles, capacity):
    """Put the parts of a graph into warp tiles, in the order of their ticks.

    A part goes into the fullest of the last few tiles that have space for it and come no earlier
    than any tile that it reads from, else into a new one. So a tile reads from earlier ones only.

    Parameters
    ----------
    tiles : WarpTiles
    capacity : Capacity

    Returns
    -------
    order : ndarray of int32, shape (G,)
        The parts of all tiles, tile after tile.
    first_parts : ndarray of int32, shape (P + 1,)
        Where each tile begins in them, and last, their number.
    """
    parts, order = tiles.parts, tiles.order
    own_lanes, first_sources, ticks = parts.lanes, parts.first_sources, parts.ticks
    writer, tile_of = _writers(tiles), np.empty(len(order), dtype=np.int32)
    lanes, read, held, first_ticks = np.zeros((4, len(order)), dtype=np.int32)
    n = 0
    for part in order:
        n_sources = first_sources[part + 1] - first_sources[part]
        chosen, first = n, max(n - _OPEN, 0)
        for source in range(first_sources[part], first_sources[part + 1]):
            row = parts.sources[source, 0]
            if row != EMPTY:
                first = max(first, tile_of[writer[row]])
        for tile in range(first, n):
            full = lanes[tile] + own_lanes[part] > capacity.lanes
            full = full or read[tile] + n_sources > capacity.sources
            full = full or held[tile] == capacity.parts
            full = full or ticks[part] - first_ticks[tile] > capacity.reach
            if not full and (chosen == n or lanes[tile] > lanes[chosen]):
                chosen = tile
        if chosen == n:
            first_ticks[n], n = ticks[part], n + 1
        tile_of[part] = chosen
        lanes[chosen] += own_lanes[part]
        read[chosen] += n_sources
        held[chosen] += 1
    return _by_tile(order, tile_of, held[:n])


@register_jitable
def _writers(tiles):
    """Return the part that writes each stored row."""
    parts, n_spans = tiles.parts, len(tiles.spans.ends)
    first_spans, above = parts.first_spans, parts.above
    writer = np.empty(n_spans + tiles.n_above, dtype=np.int32)
    for part in range(len(above)):
        writer[first_spans[part] : first_spans[part + 1]] = part
        if above[part] != EMPTY:
            writer[above[part]] = part
    return writer


@register_jitable
def _by_tile(order, tile_of, held):
    """Return the parts by tile, each tile's in the order given, and where tiles begin."""
    first_parts = np.zeros(len(held) + 1, dtype=np.int32)
    first_parts[1:] = np.cumsum(held)
    following, ordered = first_parts.copy(), np.empty_like(order)
    for part in order:
        tile = tile_of[part]
        ordered[following[tile]] = part
        following[tile] += 1
    return ordered, first_parts


@njit(nogil=True)
def arrange(tiles, filled, capacity, bonuses, tables):
    """Write the tiles as tables in the tiles' order, see `sweep.sweep_warp_tiles`.

    Parameters
    ----------
    tiles : WarpTiles
    filled : tuple of ndarray
        The parts by tile, and where each tile begins, see `fill_warps`.
    capacity : Capacity
    bonuses : ndarray of int64, shape (B,)
        What an exon's last row adds to what follows it.
    tables : TileTables
        The tiles' numbers, 2 P + G + 3 S + 2 of them, their parts, 4 G, and their sources, 2 Q,
        at least.

    Returns
    -------
    int
        Sources written; the empty chain's row is none.
    """
    spans, parts = tiles.spans, tiles.parts
    numbers, own_parts, own_sources = tables
    order, first_parts = filled
    begins, ends, virtual_lanes, late = spans.begins, spans.ends, spans.virtual_lanes, capacity.late
    n_tiles, n_parts, n_spans = len(first_parts) - 1, len(order), len(ends)
    numbers[: n_tiles + 1], extra = first_parts, numbers[n_tiles + 1 :]
    first_spans = extra[n_tiles:]
    own_spans = first_spans[n_parts + 1 :]
    ticks, lanes, above = parts.ticks, parts.lanes, parts.above
    spans_of, sources_of, rows = parts.first_spans, parts.first_sources, parts.sources
    read, span = 0, 0
    for tile in range(n_tiles):
        first, most = first_parts[tile], 0
        for k in range(first, first_parts[tile + 1]):
            s, at = order[k], PART_FIELDS * k
            delay = capacity.chunk * (ticks[s] - ticks[order[first]])
            first_spans[k] = span
            most = max(most, delay + 2 * lanes[s] + late - 1)
            for own in range(spans_of[s], spans_of[s + 1]):
                own_spans[span], own_spans[n_spans + span] = begins[own], ends[own]
                own_spans[2 * n_spans + span] = stored_row(own, virtual_lanes, late)
                span += 1
            own_parts[at + BEHIND], own_parts[at + FIRST] = delay, read
            for source in range(sources_of[s], sources_of[s + 1]):
                row, exon = rows[source, 0], rows[source, 1]
                if row != EMPTY:
                    own_sources[SOURCE_FIELDS * read + ROW] = stored_row(row, virtual_lanes, late)
                    own_sources[SOURCE_FIELDS * read + ADDED] = bonuses[exon] if exon >= 0 else 0
                    read += 1
            own_parts[at + PAST] = read
            row_above = stored_row(above[s], virtual_lanes, late) if above[s] >= 0 else NOT_STORED
            own_parts[at + ABOVE] = row_above
        extra[tile] = most
    first_spans[n_parts] = span
    return read


@register_jitable
def stored_row(row, virtual_lanes, late):
    """Return the number of a stored row times `late`, plus the columns it is shifted by.

    Steps that store together store aligned; `virtual_lanes` are those of the spans.
    """
    return row * late + (virtual_lanes[row] % late if row < len(virtual_lanes) else 0)
