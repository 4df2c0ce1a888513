"""The packed sweep on a GPU: exons stay in the lanes, the target streams past them.

One warp holds a *piece* (see `pieces`): segments of tracks side by side, two int16 rows a register.
Virtual lane v of a segment (two a lane) owns neighbouring rows and works on target column s - v in
step s, some chunks later if the segment is behind. The row above a segment streams in at its top,
column by column, and the last rows of the exons that end in it, each the last of its virtual lane,
stream out, so that what is special about an exon happens outside of the inner loop, and pieces that
depend on each other run one behind the other.

What one warp hands to another is a cell in memory that was `NEVER` before: its reader waits until
it is not. So no flags and no fences are needed, and a value is seen as soon as it is there.

Inside a track cells are lifted once more: S''(i, j) = S'(i, j) - gap * i for the track's row i, the
first of which is 1. Then a step down is free as well, a pair adds its score less two gaps, or 0 if
that is less, and no cell is below 0. So a plain addition adds to two cells at once and carries
nothing from one to the other. Who reads the last row of an exon adds `gap` times its length.

Rows that a virtual lane lacks lie at its top and do nothing: no pair is better than the cell above.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from gpu_tools.hardware.gpu.intrinsics import (
    FOUR_WORDS,
    WARP,
    address,
    kernel,
    load4,
    max2,
    moved,
    permute,
    put_four,
    shuffle_up,
    times_plus,
)
from gpu_tools.spliced.gpu.job_table import (
    CELLS,
    COLUMNS,
    NUMBERS,
    PIECES,
    SEGMENTS,
    SOURCES,
    STOPS,
    STRIDE,
    SYMBOLS,
    WORD_ROOM,
    WORDS,
)
from gpu_tools.spliced.gpu.piece_tables import BEHIND, OF_SEGMENT
from gpu_tools.spliced.gpu.pieces import Capacity
from gpu_tools.spliced.gpu.row_above import (
    BOTH_NEVER,
    CHUNK,
    LANES,
    LOWS,
    NEVER,
    STAGED,
    UNROLLED,
    arrive,
)

SLOTS = 8
"""Rows of a virtual lane, each half a register."""
_SHIFT_BITS = UNROLLED.bit_length() - 1
CAPACITY = Capacity(
    lanes=WARP, slots=SLOTS, chunk=CHUNK, late=UNROLLED, span=8, segments=16, sources=20
)
APART = CAPACITY._replace(span=0, segments=1)
"""A segment a piece, for jobs that are held up by dependent exons, not by the arithmetic."""
LEAD = 2 * WARP
"""Elements before column 0 of a stored row, for steps that come too early."""
TAIL = 3 * WARP + 2 * UNROLLED
"""Elements after the last column, for steps that come too late."""
WORD_LEAD = LEAD + CAPACITY.span * CHUNK
"""Elements before the word of column 0: the last segment of a piece begins late."""
WORD_TAIL = WORD_LEAD + CHUNK + 2 * UNROLLED
"""Elements after the word of the last column."""
WORDS_AROUND = WORD_LEAD + 1 + WORD_TAIL
"""Elements of a target's words beyond its symbols; column 0 is none."""
NEVER_BYTE = NEVER & 0xFF
_AT_ONCE = min(4 * UNROLLED, CHUNK)
"""Columns between two turns of the inner loop, at the end of which rows move back in registers."""
_NO_COLUMN = -(1 << 30)
_HALF = CAPACITY.segments * STAGED
_STAGE = 2 * _HALF

_SIGN_OF_LOW, _SIGN_OF_HIGH = 0x88, 0xCC
_FIRSTS_HIGH, _SECONDS_HIGH = 0x5432, 0x5476
"""A high half as a low one, under the second's low half, which is 0 where rows are staged."""
_HIGHS = 0x7632


@cuda.jit(device=True)
def place_of(row, stride):
    """Return where column 0 of a stored row is, see `pieces.stored_row`."""
    return int32(int32(LEAD) + (row >> int32(_SHIFT_BITS)) * stride + (row & int32(UNROLLED - 1)))


@cuda.jit(device=True)
def _locate(virtual_lane, segments, first_stops, stops):
    """Return what a virtual lane holds.

    `segments` is where the piece's segments begin and end; `stops` are first rows, ends and stored
    rows of stops, and the elements of a stored row. Returned are the stream row of its first slot,
    the first real one, the place of its stop or -1, its segment, and its number in the segment. A
    lane that is not used has no real row and segment -1.
    """
    begins, ends, stored, stride = stops
    row, real, place, own, number = int32(0), int32(1 << 30), int32(-1), int32(-1), int32(0)
    first = int32(0)
    for segment in range(segments[0], segments[1]):
        used = first
        for stop in range(first_stops[uint32(segment)], first_stops[uint32(segment + 1)]):
            begin, end = begins[uint32(stop)], ends[uint32(stop)]
            after = int32(used + (end - begin + int32(SLOTS - 1)) // int32(SLOTS))
            if virtual_lane >= used and virtual_lane < after:
                row = int32(end - (after - virtual_lane) * int32(SLOTS))
                real = begin
                if virtual_lane == after - 1:
                    place = place_of(stored[uint32(stop)], stride)
            used = after
        used = int32((used + int32(1)) & int32(~1))
        if virtual_lane >= first and virtual_lane < used:
            own, number = int32(segment), int32(virtual_lane - first)
        first = used
    return row, real, place, own, number


@cuda.jit(device=True)
def _selector(codes, row, real, half):
    """Return the byte that looks a row's lifted score up in a half's table word, see `permute`."""
    if row < real:
        return int32(_SIGN_OF_HIGH if half else _SIGN_OF_LOW)
    code = int32(codes[uint32(row)]) + int32(4 * half)
    return code | int32((code | int32(8)) << int32(4))


@cuda.jit(device=True)
def _step(row, selectors, state, pair, above, neighbours):
    """Move all lanes on by one column.

    `state` is the diagonal, the lane's own last rows, and those of the lane before; `pair` the
    words of two columns; `above` what is staged. `neighbours` tells what goes above the low half,
    the neighbour's high half or in a segment's first lane the staged row, and what moves a low half
    up, which the multiplier does: the other integer lanes have enough to do.
    """
    diagonal, bottom, neighbour = state
    word, late = pair
    selector, up_a_half = neighbours
    up = times_plus(bottom, up_a_half, permute(neighbour, above, selector))
    before = up
    for c in range(SLOTS):
        left = row[c]
        paired = int32(diagonal + permute(word, late, selectors[c]))
        up = max2(max2(up, left), paired)
        diagonal = left
        row[c] = up
    return before, up


@cuda.jit(device=True)
def _four_steps(rows, state, above, given, keeps, to):
    """Move all lanes on by four columns, and keep what leaves them.

    `state` is the diagonal, the lane's own last rows, the words of the last column and of the next
    four, and where the first of these is. `above` is what is staged. `keeps` tells whether the
    lane's low and high half end with a row that is kept, `to` where these columns of it go.
    Returned are the new state and places.
    """
    row, selectors, neighbours = rows
    before, bottom, late, w0, w1, w2, w3, at = state
    (words, scratch), (keeps_low, keeps_high), (to_low, to_high) = given, keeps, to
    at = uint32(at + uint32(UNROLLED))
    n0, n1, n2, n3 = load4(words, int64(at))
    last = before, bottom, shuffle_up(bottom, scratch)
    before, b0 = _step(row, selectors, last, (w0, late), above[0], neighbours)
    last = before, b0, shuffle_up(b0, scratch)
    before, b1 = _step(row, selectors, last, (w1, w0), above[1], neighbours)
    last = before, b1, shuffle_up(b1, scratch)
    before, b2 = _step(row, selectors, last, (w2, w1), above[2], neighbours)
    last = before, b2, shuffle_up(b2, scratch)
    before, b3 = _step(row, selectors, last, (w3, w2), above[3], neighbours)
    if keeps_low:
        put_four(to_low, permute(b0, b1, int32(LOWS)), permute(b2, b3, int32(LOWS)))
    if keeps_high:
        put_four(to_high, permute(b0, b1, int32(_HIGHS)), permute(b2, b3, int32(_HIGHS)))
    state = before, b3, w3, n0, n1, n2, n3, at
    return state, (moved(to_low, UNROLLED), moved(to_high, UNROLLED))


@cuda.jit(device=True)
def _eight_steps(rows, state, staged, given, keeps, to):
    """Do eight steps; `staged` is where what goes above them is."""
    stage, given = given
    above = load4(stage, int64(staged))
    state, to = _four_steps(rows, state, above, given, keeps, to)
    above = load4(stage, int64(staged + UNROLLED))
    return _four_steps(rows, state, above, given, keeps, to)


@cuda.jit(device=True)
def _advance(rows, state, staged, chunk, given, keeps, to):
    """Do a chunk of steps; `staged` is where what goes above them is."""
    for k in range(int32(0), chunk, int32(_AT_ONCE)):
        at = int32(staged + k)
        if _AT_ONCE == UNROLLED:
            stage, others = given
            state, to = _four_steps(rows, state, load4(stage, int64(at)), others, keeps, to)
        else:
            state, to = _eight_steps(rows, state, at, given, keeps, to)
            state, to = _eight_steps(rows, state, int32(at + 2 * UNROLLED), given, keeps, to)
    return state, to


@cuda.jit(device=True)
def _first_state(words, room, number, delay):
    """Return a lane's state before its first step, see `_four_steps`.

    Of the words, which lie there several times, it takes those whose shift makes four aligned.
    """
    shift = int32(number & int32(UNROLLED - 1))
    at = uint32(shift * room + shift + WORD_LEAD - number - delay)
    w0, w1, w2, w3 = load4(words, int64(at))
    return BOTH_NEVER, BOTH_NEVER, int32(0), w0, w1, w2, w3, at


@cuda.jit(device=True)
def _sweep_piece(piece, tables, data, columns, stage, scratch, scoring):
    """Sweep one piece over all columns."""
    segments, extra = piece
    first_stops, stops, of_segments, sources = tables
    codes, (words, room), cells = data
    lane = int32(cuda.threadIdx.x)
    row = cuda.local.array(SLOTS, int32)
    selectors = cuda.local.array(SLOTS, int32)
    low, real_low, place_low, own, number = _locate(int32(2 * lane), segments, first_stops, stops)
    high, real_high, place_high, _, _ = _locate(int32(2 * lane + 1), segments, first_stops, stops)
    for c in range(SLOTS):
        selectors[c] = _selector(codes, int32(low + c), real_low, 0) | int32(
            _selector(codes, int32(high + c), real_high, 1) << int32(8)
        )
        row[c] = BOTH_NEVER
    # the factor is not known to the compiler, which would shift instead
    selector = int32(_SECONDS_HIGH if number == 0 else _FIRSTS_HIGH)
    rows = row, selectors, (selector, int32(cuda.blockDim.z << 16))
    used = own >= 0
    delay = of_segments[OF_SEGMENT * own + BEHIND] if used else int32(0)
    staged = int32((own - segments[0]) * int32(STAGED)) if used else int32(0)
    state = _first_state(words, room, number, delay)
    given = stage, (words, scratch)
    to = (
        moved(cells, int64(place_low - number - delay)),
        moved(cells, int64(place_high - number - 1 - delay)),
    )
    fetches, computes = cuda.threadIdx.y == 0, cuda.threadIdx.y == cuda.blockDim.y - 1
    if first_stops[uint32(segments[0])] == first_stops[uint32(segments[1])]:
        computes = False  # folds alone have no rows
    half, ahead = int32(0), int32(lane % int32(LANES) * int32(UNROLLED))
    # where pieces wait for each other, columns go on sooner in small chunks
    chunk = int32(int32(CHUNK) // int32(cuda.blockDim.y))
    for first in range(int32(0), int32(columns + extra), chunk):
        if fetches:
            above = of_segments, sources
            column = int32(first + ahead) if ahead < chunk else int32(_NO_COLUMN)
            arrive(cells, above, segments, (column, columns), half, stage, scoring)
        # the columns that the other warp works on meanwhile lie in the other half
        cuda.syncthreads()
        here = int32(half + staged)
        half = int32(_HALF) - half
        if computes:
            own_first = int32(first - delay)
            works = own_first >= 0 and own_first < int32(columns + 2 * WARP + UNROLLED)
            keeps = works and place_low >= 0, works and place_high >= 0
            state, to = _advance(rows, state, here, chunk, given, keeps, to)


@kernel(registers=72)
def sweep_pieces(jobs, team, numbers, sources, symbols, words, cells, counters, scoring):
    """Sweep the pieces of a team's job, as long as there are any; a block is one or two warps.

    The first warp fetches what the last one works on: if there are two, while that works on what
    came before, in chunks half as long, which is faster; if there is one, there is room for more
    blocks.

    Every piece needs only pieces that were begun before it, so a block that waits always waits for
    one that runs.

    Parameters
    ----------
    jobs : int64 array, shape (J, cuda_job.FIELDS)
    team : int32 array
        The job of each block.
    numbers : int32 array
        Of each program, in the order of its pieces: the first segment of each piece and their
        number; the steps of each piece beyond its columns; the first stop of each segment and their
        number; of each stop its first row, its end and its stored row.
    sources : int32 array
        Of each job, its segments and its sources, see `piece_tables`. A row is the place of its
        column 0, 0 if it is not kept, and what a source adds stands there twice, as a pair.
    symbols : uint8 array
        Streams of base symbols, 0 to 3.
    words : int32 array
        Of each target, by column: what a pair adds, one byte a base symbol.
    cells : int16 array, all `NEVER`
        Written, of each job: the row of each stop, then the kept rows above segments. Four columns
        of a stop's row are stored together, so places are chosen for them to be aligned.
    counters : int32 array, zeros, shape (J,)
        Pieces begun of each job.
    scoring : int32 array
        See `cuda_job`.
    """
    scratch = cuda.shared.array(WARP, int32)
    begun = cuda.shared.array(1, int32)
    stage = cuda.shared.array(_STAGE, int32, alignment=FOUR_WORDS)
    own = team[cuda.blockIdx.x]
    job = jobs[own]
    columns, n_pieces, n_segments = int32(job[COLUMNS]), int32(job[PIECES]), job[SEGMENTS]
    n_stops = job[STOPS]
    first_segments = numbers[job[NUMBERS] :]
    extra = first_segments[n_pieces + 1 :]
    first_stops = extra[n_pieces:]
    begins = first_stops[n_segments + 1 :]
    stops = begins, begins[n_stops:], begins[2 * n_stops :], int32(job[STRIDE])
    of_segments = sources[job[SOURCES] :]
    tables = first_stops, stops, of_segments, of_segments[OF_SEGMENT * n_segments :]
    of_columns = words[job[WORDS] :], int32(job[WORD_ROOM])
    data = symbols[job[SYMBOLS] :], of_columns, address(cells[job[CELLS] :])
    while True:
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            begun[0] = cuda.atomic.add(counters, own, 1)
        cuda.syncthreads()
        k = begun[0]
        cuda.syncthreads()
        if k >= n_pieces:
            return
        segments = first_segments[uint32(k)], first_segments[uint32(k + 1)]
        _sweep_piece((segments, extra[uint32(k)]), tables, data, columns, stage, scratch, scoring)
