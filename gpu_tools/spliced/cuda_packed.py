"""The packed sweep on a GPU: exons stay in the lanes, the target streams past them.

One warp holds a *piece* of a track (see `pieces`), two int16 rows a register: virtual lane v (two a
lane) owns neighbouring rows and works on target column s - v in step s. The row above the piece
streams in at the top, column by column, and the last rows of the exons that end in it, each the
last of its virtual lane, stream out, so that everything that is special about an exon happens
outside of the inner loop, and pieces that depend on each other run one behind the other instead of
one after the other.

What one warp hands to another is a cell in memory that was `NEVER` before: its reader waits until
it is not. So no flags and no fences are needed, and a value is seen as soon as it is there.

Rows that a virtual lane lacks lie at its top and do nothing: gap 0 and no pair better than the cell
above.
"""

from __future__ import annotations

from numba import cuda, int32, uint32, uint64

from gpu_tools.ptx import (
    WARP,
    add2,
    load_relaxed,
    max2,
    permute,
    shuffle,
    shuffle_up,
    store_low,
    store_relaxed,
)
from gpu_tools.spliced import core
from gpu_tools.spliced.pieces import Capacity

CAPACITY = Capacity(lanes=2 * WARP, slots=(1, 2, 3, 4, 6, 8))
"""Virtual lanes of a warp, and the rows a virtual lane that the kernel is compiled for."""
CHUNK = WARP
"""Columns that come in together, one a lane; fewer were slower, for each look at memory counts."""
AT_ONCE = 4
"""Rows of exons before a track that are asked for together."""
UNROLLED = 4
"""Steps that are written out one after the other; their table words are loaded as far ahead."""
LEAD = 2 * WARP
"""Elements before column 0 of a stored row and of a target's words: steps that come too early."""
TAIL = 4 * WARP
"""Elements after the last column, for steps that come too late."""
NEVER = -32_640
"""Stands for minus infinity and for a cell that is not there yet; its two bytes are equal."""
NEVER_BYTE = NEVER & 0xFF
_BOTH_NEVER = int32((NEVER & 0xFFFF) | (NEVER << 16))

# columns of the job table
COLUMNS, PIECES, STOPS, TRACKS, EXONS, STRIDE, NUMBERS, SYMBOLS, WORDS, CELLS = range(10)
# elements of the scoring
GAP, PENALTY, FREE = range(3)

_SIGN_OF_LOW, _SIGN_OF_HIGH = 0x88, 0xCC
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432

empty_chain = cuda.jit(device=True)(core.empty_chain)


@cuda.jit(device=True)
def _locate(virtual_lane, piece, stops, slots):
    """Return the stream row of a virtual lane's first slot, the first real one, and its stop.

    `piece` is (first row, number of stops). A lane that is not used has no real row, one that does
    not end with a stop has stop -1. Last, the virtual lanes in use.
    """
    begin, count = piece
    row, real, stop, used = int32(0), int32(1 << 30), int32(-1), int32(0)
    for k in range(int32(0), count):
        end = int32(stops[uint32(k)] + int32(1))
        lanes = int32((end - begin + slots - 1) // slots)
        if virtual_lane >= used and virtual_lane < used + lanes:
            row = int32(end - (used + lanes - virtual_lane) * slots)
            real = begin
            if virtual_lane == used + lanes - 1:
                stop = int32(k)
        used += lanes
        begin = end
    return row, real, stop, used


@cuda.jit(device=True)
def _selector(codes, row, real, half):
    """Return the byte that looks a row's lifted score up in a half's table word, see `permute`."""
    if row < real:
        return int32(_SIGN_OF_HIGH if half else _SIGN_OF_LOW)
    code = int32(codes[uint32(row)]) + int32(4 * half)
    return code | int32((code | int32(8)) << int32(4))


@cuda.jit(device=True)
def _await(cells, index, value):
    """Return the cell at `index` once it is there; `value` is what was seen of it last."""
    while value == NEVER:
        value = load_relaxed(cells, index)
    return value


@cuda.jit(device=True)
def _peek(cells, index, there):
    """Return the cell at `index` as it is now, `NEVER` if it is not `there` to be read."""
    return load_relaxed(cells, index) if there else int32(NEVER)


@cuda.jit(device=True)
def _above(cells, source, seen, column, scoring):
    """Return a lane's value of the row above a piece at `column`, waiting for it.

    Parameters
    ----------
    cells : int16 array
        The job's.
    source : tuple
        Where the row lies that it goes on from, whether there is one, and the exons that end just
        before: where their last rows lie, their bonuses, their number.
    seen : tuple of (int32, int32)
        What was seen of the row and of the first exon's last.
    column : int32
    scoring : int32 array, shape (3,)
    """
    row, follows, places, bonuses, count = source
    value, chained = seen
    penalty = scoring[PENALTY]
    if follows:
        value = _await(cells, uint32(row + column), value)
    else:
        value = int32(empty_chain(column, scoring[GAP], scoring[FREE] != 0))
    for first in range(int32(0), count, int32(AT_ONCE)):
        # loads of several rows are under way together; a row beyond the last is the last again
        last = int32(count - first - int32(1))
        at, more = places[first:], bonuses[first:]
        k1, k2, k3 = min(last, int32(1)), min(last, int32(2)), min(last, int32(3))
        p0, p1 = uint32(at[uint32(0)] + column), uint32(at[uint32(k1)] + column)
        p2, p3 = uint32(at[uint32(k2)] + column), uint32(at[uint32(k3)] + column)
        c0 = chained if first == 0 else load_relaxed(cells, p0)
        c1, c2, c3 = load_relaxed(cells, p1), load_relaxed(cells, p2), load_relaxed(cells, p3)
        value = max(value, int32(_await(cells, p0, c0) + more[uint32(0)] - penalty))
        value = max(value, int32(_await(cells, p1, c1) + more[uint32(k1)] - penalty))
        value = max(value, int32(_await(cells, p2, c2) + more[uint32(k2)] - penalty))
        value = max(value, int32(_await(cells, p3, c3) + more[uint32(k3)] - penalty))
    return value


@cuda.jit(device=True)
def _seen(cells, source, column, columns):
    """Look, without waiting, at what `_above` will want for `column`."""
    row, follows, places, _, count = source
    inside = column < columns
    last = places[uint32(0)] if count > 0 else int32(0)
    return (
        _peek(cells, uint32(row + column), follows and inside),
        _peek(cells, uint32(last + column), count > 0 and inside),
    )


def _make_run(slots):
    """Return the device function that sweeps a piece with `slots` registers of rows a lane."""

    @cuda.jit(device=True)
    def step(row, selectors, gaps, state, word, late):
        """Move all lanes on by one column; `state` is the diagonal, what is above, and lane 0's."""
        diagonal, up, bottom, top, lane = state
        if lane == 0:
            up = top
        up = permute(up, bottom, int32(_NEIGHBOURS_HIGH_THEN_OWN_LOW))
        above = up
        for c in range(slots):
            left = row[c]
            paired = add2(diagonal, permute(word, late, selectors[c]))
            up = max2(add2(up, gaps[c]), max2(paired, left))
            diagonal = left
            row[c] = up
        return above, up

    @cuda.jit(device=True)
    def run(piece, columns, codes, words, cells, source, places, scoring, scratch):
        begin, stops, count = piece
        entry, out, stride = places
        lane = int32(cuda.threadIdx.x)
        row = cuda.local.array(slots, int32)
        selectors = cuda.local.array(slots, int32)
        gaps = cuda.local.array(slots, int32)
        low, real_low, stop_low, used = _locate(int32(2 * lane), (begin, count), stops, slots)
        high, real_high, stop_high, _ = _locate(int32(2 * lane + 1), (begin, count), stops, slots)
        gap = int32(scoring[GAP] & int32(0xFFFF))
        for c in range(slots):
            selectors[c] = _selector(codes, int32(low + c), real_low, 0) | int32(
                _selector(codes, int32(high + c), real_high, 1) << int32(8)
            )
            gaps[c] = (gap if low + c >= real_low else int32(0)) | int32(
                (gap << int32(16)) if high + c >= real_high else int32(0)
            )
            row[c] = _BOTH_NEVER
        before, bottom, late = _BOTH_NEVER, _BOTH_NEVER, int32(0)
        at = uint64(LEAD) - uint64(2 * lane)
        out_low = uint64(out + max(stop_low, int32(0)) * stride) + at
        out_high = uint64(out + max(stop_high, int32(0)) * stride) + at - uint64(1)
        w0, w1, w2, w3 = (
            words[at], words[at + uint64(1)], words[at + uint64(2)], words[at + uint64(3)],
        )  # fmt: skip
        seen = _seen(cells, source, lane, columns)
        for first in range(int32(0), int32(columns + used - 1), int32(CHUNK)):
            column = int32(first + lane)
            arriving = int32(0)
            if column < columns:
                arriving = _above(cells, source, seen, column, scoring)
                if entry >= 0:
                    store_relaxed(cells, uint32(entry + column), arriving)
            arriving = int32(arriving << int32(16))
            seen = _seen(cells, source, int32(column + CHUNK), columns)
            for k in range(int32(0), int32(CHUNK), int32(UNROLLED)):
                at += uint64(UNROLLED)
                n0, n1, n2, n3 = (
                    words[at], words[at + uint64(1)], words[at + uint64(2)], words[at + uint64(3)],
                )  # fmt: skip
                for word, u in ((w0, 0), (w1, 1), (w2, 2), (w3, 3)):
                    up = shuffle_up(bottom, scratch)
                    top = shuffle(arriving, int32(k + int32(u)), scratch)
                    state = (before, up, bottom, top, lane)
                    before, bottom = step(row, selectors, gaps, state, word, late)
                    late = word
                    if stop_low >= 0:
                        store_low(cells, out_low + uint64(u), bottom)
                    if stop_high >= 0:
                        store_low(cells, out_high + uint64(u), int32(bottom >> int32(16)))
                out_low += uint64(UNROLLED)
                out_high += uint64(UNROLLED)
                w0, w1, w2, w3 = n0, n1, n2, n3

    return run


_run_1, _run_2, _run_3, _run_4, _run_6, _run_8 = (_make_run(slots) for slots in CAPACITY.slots)


@cuda.jit
def sweep_pieces(jobs, team, numbers, symbols, words, cells, counters, scoring):
    """Sweep the pieces of a team's job, as long as there are any; a block is one warp.

    Every piece needs only pieces that were begun before it, so a warp that waits always waits for
    one that runs.

    Parameters
    ----------
    jobs : int64 array, shape (J, 10)
        Counts, the length of a stored row and where the job's parts lie in the buffers.
    team : int32 array
        The job of each block.
    numbers : int32 array
        Of each program: first row, first stop, track (-1 unless the piece is a track's first) and
        rows a virtual lane of each piece; the stops' rows and their number; exons committed before
        each track; then by exon end the place of the exon's last row, and the exon's bonus.
    symbols : uint8 array
        Streams of base symbols, 0 to 3.
    words : int32 array
        Of each target, by column: four lifted scores, one byte a base symbol.
    cells : int16 array, all `NEVER`
        Written, of each job: the row of each stop, then the entry of each track.
    counters : int32 array, zeros, shape (J,)
        Pieces begun of each job.
    scoring : int32 array, shape (3,)
        Gap, intron penalty, free ends.
    """
    scratch = cuda.shared.array(WARP, int32)
    own = team[cuda.blockIdx.x]
    job = jobs[own]
    lane = int32(cuda.threadIdx.x)
    columns, stride, n_pieces = int32(job[COLUMNS]), int32(job[STRIDE]), int32(job[PIECES])
    first_rows = numbers[job[NUMBERS] :]
    first_stops, tracks = first_rows[n_pieces:], first_rows[2 * n_pieces + 1 :]
    slots, all_stops = tracks[n_pieces:], tracks[2 * n_pieces :]
    ends_before = all_stops[job[STOPS] :]
    places, bonuses = ends_before[job[TRACKS] :], ends_before[job[TRACKS] + job[EXONS] :]
    stream, table, stored = symbols[job[SYMBOLS] :], words[job[WORDS] :], cells[job[CELLS] :]
    while True:
        begun = int32(0)
        if lane == 0:
            begun = int32(cuda.atomic.add(counters, own, 1))
        k = shuffle(begun, int32(0), scratch)
        if k >= n_pieces:
            return
        track, stop = tracks[uint32(k)], first_stops[uint32(k)]
        first, count, entry = int32(0), int32(0), int32(-1)
        above, follows = int32((stop - int32(1)) * stride + LEAD), True
        if track >= 0:
            entry = int32((job[STOPS] + track) * stride + LEAD)
            above, follows = int32(entry - stride), track > 0
            first = ends_before[uint32(track - 1)] if track > 0 else int32(0)
            count = int32(ends_before[uint32(track)] - first)
        piece = (first_rows[uint32(k)], all_stops[stop:], int32(first_stops[uint32(k + 1)] - stop))
        source = (above, follows, places[first:], bonuses[first:], count)
        out = (entry, int32(stop * stride), stride)
        rows = slots[uint32(k)]
        if rows == 1:
            _run_1(piece, columns, stream, table, stored, source, out, scoring, scratch)
        elif rows == 2:
            _run_2(piece, columns, stream, table, stored, source, out, scoring, scratch)
        elif rows == 3:
            _run_3(piece, columns, stream, table, stored, source, out, scoring, scratch)
        elif rows == 4:
            _run_4(piece, columns, stream, table, stored, source, out, scoring, scratch)
        elif rows == 6:
            _run_6(piece, columns, stream, table, stored, source, out, scoring, scratch)
        else:
            _run_8(piece, columns, stream, table, stored, source, out, scoring, scratch)
