"""The packed sweep on a GPU: exons stay in the lanes, the target streams past them.

A *piece* is a run of base symbols without an exon end inside: from a track's start or an exon's
end to the next end, at most `LONGEST` rows. One warp holds a piece, two int16 rows a register:
virtual lane v (two a lane) owns neighbouring rows and works on target column s - v in step s. The
row above the piece streams in at the top, column by column, and its last row streams out at the
bottom, so that everything that is special about an exon happens outside of the inner loop, and
pieces that depend on each other run one behind the other instead of one after the other.

What one warp hands to another is a cell in memory that was `NEVER` before: its reader waits until
it is not. So no flags and no fences are needed, and a value is seen as soon as it is there.

Rows that a piece lacks lie at its top and do nothing: gap 0 and no pair better than the cell above.
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
    store_relaxed,
)
from gpu_tools.spliced import core

SLOTS = (1, 2, 3, 4, 6, 8)
"""Registers of rows a lane that the kernel is compiled for; each holds two rows."""
LONGEST = 2 * WARP * SLOTS[-1]
"""Rows of the longest piece."""
CHUNK = WARP
"""Columns that come in and go out together, one a lane."""
UNROLLED = 4
"""Steps that are written out one after the other; their table words are loaded as far ahead."""
LEAD = 2 * WARP
"""Neutral words before column 0 of a target's table words."""
PADDING = LEAD + 2 * WARP + 2 * CHUNK
"""Neutral words of a target in all, before and after its columns."""
NEVER = -32_640
"""Stands for minus infinity and for a cell that is not there yet; its two bytes are equal."""
NEVER_BYTE = NEVER & 0xFF
_BOTH_NEVER = int32((NEVER & 0xFFFF) | (NEVER << 16))

# columns of the job table
COLUMNS, PIECES, TRACKS, EXONS, STRIDE, NUMBERS, SYMBOLS, WORDS, CELLS, COUNTER = range(10)
# elements of the scoring
GAP, PENALTY, FREE = range(3)

_SIGN_OF_LOW, _SIGN_OF_HIGH = 0x88, 0xCC
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432

empty_chain = cuda.jit(device=True)(core.empty_chain)


@cuda.jit(device=True)
def _selector(codes, row, length, half):
    """Return the byte that looks a row's lifted score up in a half's table word, see `permute`."""
    if row < 0 or row >= length:
        return int32(_SIGN_OF_HIGH if half else _SIGN_OF_LOW)
    code = int32(codes[uint32(row)]) + int32(4 * half)
    return code | ((code | int32(8)) << int32(4))


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
    if follows:
        value = _await(cells, uint32(row + column), value)
    else:
        value = int32(empty_chain(column, scoring[GAP], scoring[FREE] != 0))
    for commit in range(int32(0), count):
        chained = _await(cells, uint32(places[uint32(commit)] + column), chained)
        value = max(value, int32(chained + bonuses[uint32(commit)] - scoring[PENALTY]))
        chained = int32(NEVER)
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
    def run(length, columns, codes, words, cells, source, places, scoring, scratch):
        lane = int32(cuda.threadIdx.x)
        entry, out = places
        used = int32((length + slots - 1) // slots)
        row = cuda.local.array(slots, int32)
        selectors = cuda.local.array(slots, int32)
        gaps = cuda.local.array(slots, int32)
        gap = scoring[GAP] & int32(0xFFFF)
        for c in range(slots):
            low = int32(2 * slots * lane + c - (used * slots - length))
            high = int32(low + slots)
            selectors[c] = _selector(codes, low, length, 0) | int32(
                _selector(codes, high, length, 1) << int32(8)
            )
            gaps[c] = (gap if low >= 0 else int32(0)) | int32(
                (gap << int32(16)) if high >= 0 else int32(0)
            )
            row[c] = _BOTH_NEVER
        lag = int32(used - 1)
        last_lane, shift = int32(lag >> int32(1)), int32((lag & int32(1)) << int32(4))
        before, bottom, late = _BOTH_NEVER, _BOTH_NEVER, int32(0)
        at = uint64(LEAD) - uint64(2 * lane)
        w0, w1, w2, w3 = (
            words[at], words[at + uint64(1)], words[at + uint64(2)], words[at + uint64(3)],
        )  # fmt: skip
        seen = _seen(cells, source, lane, columns)
        # what a step computes leaves in the next one, hence one step more than columns and lag
        for first in range(int32(0), int32(columns + lag + 1), int32(CHUNK)):
            column = int32(first + lane)
            arriving, leaving = int32(0), int32(0)
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
                    last = shuffle(bottom, last_lane, scratch)
                    top = shuffle(arriving, int32(k + int32(u)), scratch)
                    state = (before, up, bottom, top, lane)
                    before, bottom = step(row, selectors, gaps, state, word, late)
                    late = word
                    if lane == int32(k + int32(u)):
                        leaving = last
                w0, w1, w2, w3 = n0, n1, n2, n3
            column = int32(first + lane - int32(1) - lag)
            if column >= 0 and column < columns:
                store_relaxed(cells, uint32(out + column), int32(leaving >> shift))

    return run


_run_1, _run_2, _run_3, _run_4, _run_6, _run_8 = (_make_run(slots) for slots in SLOTS)


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
        Of each program: length, offset of the first symbol and track (-1 unless the piece is a
        track's first) of each piece; exons committed before each track; then by exon end the place
        of the exon's last row among the job's cells, and the exon's bonus.
    symbols : uint8 array
        Streams of base symbols, 0 to 3.
    words : int32 array
        Of each target, by column: four lifted scores, one byte a base symbol.
    cells : int16 array, all `NEVER`
        Written, of each job: the last row of each piece, then the entry of each track.
    counters : int32 array, zeros, shape (J,)
        Pieces begun of each job.
    scoring : int32 array, shape (3,)
        Gap, intron penalty, free ends.
    """
    scratch = cuda.shared.array(WARP, int32)
    own = team[cuda.blockIdx.x]
    job = jobs[own]
    lane = int32(cuda.threadIdx.x)
    columns, stride = int32(job[COLUMNS]), int32(job[STRIDE])
    n_pieces, n_tracks, n_exons = int32(job[PIECES]), int32(job[TRACKS]), int32(job[EXONS])
    lengths = numbers[job[NUMBERS] :]
    offsets, tracks, ends_before = (
        lengths[n_pieces:],
        lengths[2 * n_pieces :],
        lengths[3 * n_pieces :],
    )
    places, bonuses = ends_before[n_tracks:], ends_before[n_tracks + n_exons :]
    stream, table, stored = symbols[job[SYMBOLS] :], words[job[WORDS] :], cells[job[CELLS] :]
    while True:
        begun = int32(0)
        if lane == 0:
            begun = int32(cuda.atomic.add(counters, own, 1))
        piece = shuffle(begun, int32(0), scratch)
        if piece >= n_pieces:
            return
        length, track = lengths[uint32(piece)], tracks[uint32(piece)]
        first, count, entry = int32(0), int32(0), int32(-1)
        above, follows = (piece - int32(1)) * stride, True
        if track >= 0:
            entry = (n_pieces + track) * stride
            above, follows = entry - stride, track > 0
            first = ends_before[uint32(track - 1)] if track > 0 else int32(0)
            count = ends_before[uint32(track)] - first
        codes = stream[offsets[uint32(piece)] :]
        source = (above, follows, places[first:], bonuses[first:], count)
        out = (entry, piece * stride)
        if length <= 2 * WARP * 1:
            _run_1(length, columns, codes, table, stored, source, out, scoring, scratch)
        elif length <= 2 * WARP * 2:
            _run_2(length, columns, codes, table, stored, source, out, scoring, scratch)
        elif length <= 2 * WARP * 3:
            _run_3(length, columns, codes, table, stored, source, out, scoring, scratch)
        elif length <= 2 * WARP * 4:
            _run_4(length, columns, codes, table, stored, source, out, scoring, scratch)
        elif length <= 2 * WARP * 6:
            _run_6(length, columns, codes, table, stored, source, out, scoring, scratch)
        else:
            _run_8(length, columns, codes, table, stored, source, out, scoring, scratch)
