"""The packed sweep on a GPU: exons stay in the lanes, the target streams past them.

A *piece* is a run of base symbols without an exon end inside: from a track's start or an exon's
end to the next end, at most `LONGEST` rows. One warp holds a piece, two int16 rows a register:
virtual lane v (two a lane) owns neighbouring rows and works on target column s - v in step s. The
row above the piece streams in at the top, column by column, and its last row streams out at the
bottom, so that everything that is special about an exon happens outside of the inner loop, and
pieces that depend on each other run one behind the other instead of one after the other.

Rows that a piece lacks lie at its top and do nothing: gap 0 and no pair better than the cell above.
"""

from __future__ import annotations

from numba import cuda, int16, int32

from gpu_tools.ptx import (
    WARP,
    add2,
    load_acquire,
    max2,
    permute,
    shuffle,
    shuffle_up,
    store_release,
    sync_warp,
)
from gpu_tools.spliced import core

SLOTS = (1, 2, 3, 4, 6, 8)
"""Registers of rows a lane that the kernel is compiled for; each holds two rows."""
LONGEST = 2 * WARP * SLOTS[-1]
"""Rows of the longest piece."""
LEAD = 2 * WARP
"""Neutral words before column 0 and after the last column of a target's table words."""
NEVER = -32_640
"""Stands for minus infinity; a lifted score may be added without wrapping around."""
_BOTH_NEVER = int32((NEVER & 0xFFFF) | (NEVER << 16))

# columns of the job table
COLUMNS, PIECES, TRACKS, EXONS, STRIDE, NUMBERS, SYMBOLS, WORDS, CELLS, FLAGS = range(10)
# where a piece of the scoring lies
GAP, PENALTY, FREE = range(3)

_SIGN_OF_LOW, _SIGN_OF_HIGH = 0x88, 0xCC
_NEIGHBOURS_HIGH_THEN_OWN_LOW = 0x5432

empty_chain = cuda.jit(device=True)(core.empty_chain)


@cuda.jit(device=True)
def _selector(codes, row, length, half):
    """Return the byte that looks a row's lifted score up in a half's table word, see `permute`."""
    if row < 0 or row >= length:
        return int32(_SIGN_OF_HIGH if half else _SIGN_OF_LOW)
    code = int32(codes[row]) + int32(4 * half)
    return code | ((code | int32(8)) << int32(4))


@cuda.jit(device=True)
def _wait(flags, index, needed):
    """Return the progress at `index` once it is at least `needed`."""
    progress = load_acquire(flags, index)
    while progress < needed:
        progress = load_acquire(flags, index)
    return progress


@cuda.jit(device=True)
def _arriving_entry(task, track, column, ready):
    """Compute and store 32 columns of a track's entry; return a lane's and what is ready."""
    numbers, cells, flags, job, scoring = task
    lane = int32(cuda.threadIdx.x)
    stride, n_pieces = job[STRIDE], job[PIECES]
    entries = job[CELLS] + n_pieces * stride
    entries_done = job[FLAGS] + 1 + n_pieces
    track_commits = job[NUMBERS] + 3 * n_pieces
    commit_pieces = track_commits + job[TRACKS]
    commit_bonus = commit_pieces + job[EXONS]
    first = numbers[track_commits + track - 1] if track > 0 else int32(0)
    last = numbers[track_commits + track]
    needed = int32(column + WARP)
    if ready < needed:
        ready = int32(1 << 30)
        if track > 0:
            ready = _wait(flags, entries_done + track - 1, needed)
        for commit in range(first, last):
            piece = numbers[commit_pieces + commit]
            ready = min(ready, _wait(flags, job[FLAGS] + 1 + piece, needed))
    at = column + lane
    if track > 0:
        value = int32(cells[entries + (track - 1) * stride + at])
    else:
        value = int32(empty_chain(int32(at), scoring[GAP], scoring[FREE] != 0))
    for commit in range(first, last):
        row = job[CELLS] + numbers[commit_pieces + commit] * stride
        chained = int32(cells[row + at]) + numbers[commit_bonus + commit] - scoring[PENALTY]
        value = max(value, chained)
    cells[entries + track * stride + at] = int16(value)
    sync_warp()
    if lane == 0:
        store_release(flags, entries_done + track, needed)
    return value, ready


@cuda.jit(device=True)
def _arriving(task, piece, track, column, ready):
    """Return a lane's value of the row above a piece at `column` + lane, and what is ready."""
    _numbers, cells, flags, job, _scoring = task
    if track >= 0:
        return _arriving_entry(task, track, column, ready)
    needed = int32(column + WARP)
    if ready < needed:
        ready = _wait(flags, job[FLAGS] + piece, needed)
    at = job[CELLS] + (piece - 1) * job[STRIDE] + column + int32(cuda.threadIdx.x)
    return int32(cells[at]), ready


def _make_run(slots):
    """Return the device function that sweeps a piece with `slots` registers of rows a lane."""

    @cuda.jit(device=True)
    def run(task, piece, codes, words, scratch):
        numbers, cells, flags, job, scoring = task
        lane = int32(cuda.threadIdx.x)
        columns, stride = int32(job[COLUMNS]), job[STRIDE]
        length = numbers[job[NUMBERS] + piece]
        track = numbers[job[NUMBERS] + 2 * job[PIECES] + piece]
        used = int32((length + slots - 1) // slots)
        row = cuda.local.array(slots, int32)
        selectors = cuda.local.array(slots, int32)
        gaps = cuda.local.array(slots, int32)
        gap = scoring[GAP] & int32(0xFFFF)
        for c in range(slots):
            low = int32(2 * slots * lane + c - (used * slots - length))
            high = int32(low + slots)
            selectors[c] = _selector(codes, low, length, 0) | (
                _selector(codes, high, length, 1) << int32(8)
            )
            gaps[c] = (gap if low >= 0 else int32(0)) | (
                (gap << int32(16)) if high >= 0 else int32(0)
            )
            row[c] = _BOTH_NEVER
        lag = int32(used - 1)
        source, shift = lag >> int32(1), (lag & int32(1)) << int32(4)
        before, bottom, word = _BOTH_NEVER, _BOTH_NEVER, int32(0)
        arriving, leaving, ready = int32(0), int32(0), int32(0)
        at_word = int32(LEAD - 2 * lane)
        out = job[CELLS] + piece * stride + lane
        for step in range(columns + lag):
            phase = int32(step) & int32(WARP - 1)
            if phase == 0 and step < columns:
                arriving, ready = _arriving(task, piece, track, int32(step), ready)
            top = shuffle(arriving, phase, scratch)
            up = shuffle_up(bottom, scratch)
            if lane == 0:
                up = top << int32(16)
            up = permute(up, bottom, int32(_NEIGHBOURS_HIGH_THEN_OWN_LOW))
            diagonal, before = before, up
            late = word
            word = words[at_word + int32(step)]
            for c in range(slots):
                left = row[c]
                paired = add2(diagonal, permute(word, late, selectors[c]))
                up = max2(add2(up, gaps[c]), max2(paired, left))
                diagonal = left
                row[c] = up
            bottom = up
            column = int32(step) - lag
            value = shuffle(bottom, source, scratch) >> shift
            phase = column & int32(WARP - 1)
            if phase == lane:
                leaving = value
            if column >= 0 and (phase == WARP - 1 or column == columns - 1):
                cells[out + column - phase] = int16(leaving)
                sync_warp()
                if lane == 0:
                    store_release(flags, job[FLAGS] + 1 + piece, int32(column - phase + WARP))

    return run


_run_1, _run_2, _run_3, _run_4, _run_6, _run_8 = (_make_run(slots) for slots in SLOTS)


@cuda.jit
def sweep_pieces(jobs, team, numbers, symbols, words, cells, flags, scoring):
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
        track's first) of each piece; exons committed before each track; then by exon end the piece
        that holds the exon's last row, and the exon's bonus.
    symbols : uint8 array
        Streams of base symbols, 0 to 3.
    words : int32 array
        Of each target, by column: four lifted scores, one byte a base symbol.
    cells : int16 array
        Written, of each job: the last row of each piece, then the entry of each track.
    flags : int32 array, zeros
        Of each job: pieces begun, then columns done of each piece and of each track's entry.
    scoring : int32 array, shape (3,)
        Gap, intron penalty, free ends.
    """
    scratch = cuda.shared.array(WARP, int32)
    job = jobs[team[cuda.blockIdx.x]]
    task = (numbers, cells, flags, job, scoring)
    lane = int32(cuda.threadIdx.x)
    own = words[job[WORDS] :]
    while True:
        begun = int32(0)
        if lane == 0:
            begun = int32(cuda.atomic.add(flags, job[FLAGS], 1))
        piece = shuffle(begun, int32(0), scratch)
        if piece >= job[PIECES]:
            return
        length = numbers[job[NUMBERS] + piece]
        codes = symbols[job[SYMBOLS] + numbers[job[NUMBERS] + job[PIECES] + piece] :]
        if length <= 2 * WARP * 1:
            _run_1(task, piece, codes, own, scratch)
        elif length <= 2 * WARP * 2:
            _run_2(task, piece, codes, own, scratch)
        elif length <= 2 * WARP * 3:
            _run_3(task, piece, codes, own, scratch)
        elif length <= 2 * WARP * 4:
            _run_4(task, piece, codes, own, scratch)
        elif length <= 2 * WARP * 6:
            _run_6(task, piece, codes, own, scratch)
        else:
            _run_8(task, piece, codes, own, scratch)
