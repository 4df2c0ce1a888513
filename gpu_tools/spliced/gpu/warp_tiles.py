"""An exon graph as the warp tiles that the packed GPU kernel sweeps.

The rows of a track become *spans*: runs of rows that end with the last row of an exon, or where a
track is too long for a warp. Spans of a track that a warp can hold together are a *part*. Where
many exons end before a track, parts without rows *fold* them: the maximum over a few last rows is a
row of its own. A *warp tile* is what one warp sweeps at a time: parts side by side, each some
chunks of columns behind the first.

How far behind is decided here. Every part gets a *tick*, the number of the chunk in which its first
columns can be there if every warp works at the same pace. What a part reads is written by parts of
earlier ticks only, so a warp that waits always waits for something of an earlier tick, and tiles
that are begun in the order of their ticks never wait for each other in a circle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit

EMPTY = -1
"""Stands for the empty chain among the rows that a part reads."""
_RECOMPUTED = 4
"""Up to so many exons before a track are read by each track they precede, more by the first one."""
_FOLDED = 6
"""Rows that a part reads at most."""


class Capacity(NamedTuple):
    """What one warp holds, and how its lanes keep time.

    A lane holds two *virtual lanes*, one column apart.
    """

    lanes: int
    slots: int  # rows of a virtual lane
    chunk: int  # columns that are fetched together
    late: int  # columns that are stored together
    reach: int  # largest distance, in chunks, between parts of a tile
    parts: int  # most parts of a tile
    sources: int  # most rows that the parts of a tile read


class Spans(NamedTuple):
    """S runs of rows whose last row is stored."""

    begins: NDArray[np.int32]  # (S,) stream row, rising
    ends: NDArray[np.int32]  # (S,) exclusive
    virtual_lanes: NDArray[np.int32]  # (S,) of the last row, counted from the part's first
    of_exon: NDArray[np.int32]  # (B,) the span that ends with each exon's last row


class EndedExons(NamedTuple):
    """Which exons may precede a track."""

    by_end: NDArray[np.int64]  # (B,) exons by end
    of_span: NDArray[np.int32]  # (S,) exon that ends with the span, or -1
    committed: NDArray[np.int64]  # (T,) how many exons may precede each track


class NextPart(NamedTuple):
    """Where the next part is written."""

    part: int
    span: int  # that it begins at
    n_above: int  # rows above parts that are stored so far


class TrackParts(NamedTuple):
    """G parts: spans side by side in a warp, and Q sources whose maximum is the row above a part.

    A source is a row (of a span, a stored one above a part, or `EMPTY`) and the exon whose last row
    it is, or -1.
    """

    first_spans: NDArray[np.int32]  # (G + 1,) first span of each part, a fold has none; last, S
    lanes: NDArray[np.int32]  # (G,) lanes of each part
    ticks: NDArray[np.int32]  # (G,) the chunk that its first columns are due in
    above: NDArray[np.int32]  # (G,) the row above if it is stored, numbered behind the spans, or -1
    first_sources: NDArray[np.int32]  # (G + 1,) first source of each part; last, Q
    sources: NDArray[np.int32]  # (Q, 2)


class WarpTiles(NamedTuple):
    """The spans and parts of one graph, in the order of the stream."""

    spans: Spans
    parts: TrackParts
    entries: NDArray[np.int32]  # (T,) stored row above each track, shared by equal predecessors
    n_above: int  # stored rows above parts
    order: NDArray[np.int32]  # (G,) parts by tick: each needs earlier ones alone


@njit(cache=True, nogil=True)
def cut(last_rows, exon_tracks, by_end, committed, capacity):
    """Cut tracks into parts; `committed` counts the exons that may precede each track."""
    spans, of_track = _find_spans(last_rows, exon_tracks, 2 * capacity.lanes * capacity.slots)
    draft, due = _space(len(of_track), len(by_end))
    exons = EndedExons(by_end, _exon_of_span(spans.of_exon, len(of_track)), committed)
    n, entries, n_above = _find_parts(draft, due, spans, of_track, exons, capacity)
    parts = _without_spare_space(draft, n)
    return WarpTiles(spans, parts, entries, n_above, _by_tick(parts.ticks))


@njit(nogil=True)
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


@njit(nogil=True)
def _find_spans(last_rows, exon_tracks, longest):
    """Return the spans, their virtual lanes still open, and each span's track."""
    most = len(last_rows) + (last_rows[-1] + 1) // longest + 1
    begins, ends = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    of_track, of_exon = np.empty(most, dtype=np.int32), np.empty(len(last_rows), dtype=np.int32)
    n, row = 0, 0
    for exon in range(len(last_rows)):
        while row <= last_rows[exon]:
            begins[n], ends[n] = row, min(last_rows[exon] + 1, row + longest)
            of_track[n] = exon_tracks[exon]
            row = ends[n]
            n += 1
        of_exon[exon] = n - 1
    return Spans(begins[:n], ends[:n], np.empty(n, dtype=np.int32), of_exon), of_track[:n]


@njit(nogil=True)
def _exon_of_span(of_exon, n_spans):
    exons = np.full(n_spans, -1, dtype=np.int32)
    for exon in range(len(of_exon)):
        exons[of_exon[exon]] = exon
    return exons


@register_jitable
def most_parts(n_spans, n_exons):
    """Return how many parts there are at most.

    There are at most as many with rows as spans, and a fold puts one row in place of several.
    """
    return n_spans + n_exons // (_FOLDED - 1) + 1


@register_jitable
def most_sources(n_spans, n_exons):
    """Return how many sources there are at most.

    Tracks of a group read all its exons only where those are few.
    """
    return n_spans * (1 + _RECOMPUTED) + n_exons + 2 * most_parts(n_spans, n_exons)


@njit(nogil=True)
def _space(n_spans, n_exons):
    """Return space for parts, and for when the rows of spans, then those above parts, are there."""
    most, n_sources = most_parts(n_spans, n_exons), most_sources(n_spans, n_exons)
    parts = TrackParts(
        np.empty(most + 1, dtype=np.int32), np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32),
        np.zeros(most + 1, dtype=np.int32), np.empty((n_sources, 2), dtype=np.int32),
    )  # fmt: skip
    return parts, np.zeros(n_spans + most, dtype=np.int32)


@njit(nogil=True)
def _without_spare_space(parts, n):
    n_sources = parts.first_sources[n]
    return TrackParts(
        parts.first_spans[: n + 1], parts.lanes[:n], parts.ticks[:n], parts.above[:n],
        parts.first_sources[: n + 1], parts.sources[:n_sources],
    )  # fmt: skip


@njit(nogil=True)
def _find_parts(parts, due, spans, of_track, exons, capacity):
    """Write the parts; return their number, the stored row above each track, and of stored rows.

    Tracks with as many exons committed before them are a group. The row above is stored where a
    group begins, and read where the next one does, together with the exons that end in between.
    """
    # what is in a tuple of arrays is counted each time that it is taken out
    first_spans, lanes, ticks, above = parts[:4]
    of_exon, virtual_lanes = spans.of_exon, spans.virtual_lanes
    by_end, exon_of_span, committed = exons
    n_spans = len(of_track)
    entries = np.empty(len(committed), dtype=np.int32)
    # behind the rows that are wanted come those that they are folded into
    wanted = np.empty(len(by_end) + 1 + len(above), dtype=np.int64)
    n, n_above, span, group, before, opened = 0, 0, 0, EMPTY, EMPTY, np.int64(0)
    while span < n_spans:
        track = of_track[span]
        goes_on = span > 0 and of_track[span - 1] == track
        opens = not goes_on and (track == 0 or committed[track] != committed[track - 1])
        if opens:
            before, opened = group, committed[track - 1] if track > 0 else np.int64(0)
        n_ended = committed[track] - opened
        many = not opens and n_ended > _RECOMPUTED
        wanted[0] = _wanted(due, span - 1 if goes_on else group if many else before)
        if goes_on or many:
            n_ended = 0
        for k in range(n_ended):
            wanted[k + 1] = _wanted(due, of_exon[by_end[opened + k]])
        rows = 0, n_ended + 1, n_ended + 1, n_ended + 1
        if rows[1] > _FOLDED:
            rows = _fold(parts, due, NextPart(n, span, n_above), wanted, rows, exon_of_span)
            n, n_above = n + rows[3] - rows[1], n_above + rows[3] - rows[1]
        _read(parts, n, wanted, rows, _left(rows), exon_of_span)
        if goes_on:
            parts.sources[parts.first_sources[n], 1] = -1  # not as an exon's last row
        first_spans[n], above[n] = span, EMPTY
        if opens:
            group = above[n] = n_spans + n_above
            due[group] = ticks[n] + 1
            n_above += 1
        entries[track] = group - n_spans
        span = _place_spans(spans, of_track, span, due, ticks[n], capacity)
        lanes[n] = virtual_lanes[span - 1] // 2 + 1
        n += 1
    first_spans[n] = n_spans
    return n, entries, n_above


@register_jitable
def _fold(parts, due, place, wanted, rows, exon_of_span):
    """Fold wanted rows, those first that are there first, until a part can read what is left.

    `rows` is where the wanted ones and, behind them, the folded ones begin and end, see `_read`.
    """
    n, span, n_above = place
    n_spans = len(exon_of_span)
    first_spans, lanes, ticks, above = parts[:4]
    wanted[: rows[1]].sort()
    while _left(rows) > _FOLDED:
        one, past, other, last = _read(parts, n, wanted, rows, _FOLDED, exon_of_span)
        first_spans[n], lanes[n], above[n] = span, 0, n_spans + n_above
        due[above[n]] = ticks[n] + 1
        wanted[last] = _wanted(due, above[n])
        rows, n, n_above = (one, past, other, last + 1), n + 1, n_above + 1
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
def _read(parts, n, wanted, rows, count, exon_of_span):
    """Have part `n` read `count` rows, those first that are there first.

    `rows` is where two queues of wanted rows begin and end, each in order or read whole; returned
    is the same without those.
    """
    ticks, first_sources, sources = parts.ticks, parts.first_sources, parts.sources
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
        sources[read, 1] = exon_of_span[row] if 0 <= row < len(exon_of_span) else -1
        read += 1
    ticks[n], first_sources[n + 1] = tick, read
    return one, past, other, last


@register_jitable
def _place_spans(spans, of_track, span, due, tick, capacity):
    """Put spans of a track side by side as long as a warp has space; return the first left out."""
    begins, ends, virtual_lanes = spans.begins, spans.ends, spans.virtual_lanes
    used, track = 0, of_track[span]
    while span < len(of_track) and of_track[span] == track:
        used += (ends[span] - begins[span] + capacity.slots - 1) // capacity.slots
        if used > 2 * capacity.lanes:
            break
        virtual_lanes[span] = used - 1
        lag = used - 1 + capacity.late
        due[span] = tick + 1 + (lag + capacity.chunk - 1) // capacity.chunk
        span += 1
    return span


# Warp tiles as the tables that the kernels read.


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
    """Write the tiles as tables in the tiles' order, see `sweep.sweep_warp_tiles`."""
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
