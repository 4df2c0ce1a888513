"""Best ends of chains and their traceback on a GPU, from the rows that the packed sweep stored.

The traceback follows `gpu_tools.spliced.cpu.traceback`, with the same ties. For the exons that end
where the chain's exon ends, rows of gains W are computed backwards from that cell, and the shortest
exon that explains its value is entered at its smallest column. One warp traces one chain.

    W(r, c) = max(W(r-1, c+1) + w - gap, W(r-1, c) + gap, W(r, c+1)), W(0, c) = 0

Rows of W are computed in strips. A strip ends where a candidate begins, so that only its last row
is compared. Then the operations are read off from the exon's entry to its end.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32, uint64

from gpu_tools.hardware.gpu.intrinsics.words import (
    WARP,
    any_lane,
    kernel,
    permute,
    shuffle,
    shuffle_up,
    sync_lanes,
    times_plus,
)
from gpu_tools.spliced.gpu import sweep
from gpu_tools.spliced.gpu.sweep import UNROLLED, WORD_LEAD, empty_chain, offset_of

FINDERS = WARP if WARP < 32 else 256
"""Threads that look for one job's best end."""

# columns of the table of exits, which are exons ordered by end, then start: the stored row of the
# exon's last row, its score, its nucleotides, the stream row of its last nucleotide, the stored row
# above its track, the exits that may precede it, and the range of the exits with its end
ROW, BONUS, LENGTH, LAST_ROW, ENTRY, COMMITTED, FIRST, PAST = range(8)

# a best end is one number, so that threads can agree on it: score, the exits before its end, and
# its column, the last two reversed; the largest is the one that ties prefer
_COLUMN_BITS, _EXIT_BITS = 16, 22
_BIAS = 1 << 24
_LAST_COLUMN, _LAST_EXIT = (1 << _COLUMN_BITS) - 1, (1 << _EXIT_BITS) - 1
COLUMNS_AT_MOST, EXITS_AT_MOST = 1 << _COLUMN_BITS, 1 << _EXIT_BITS
"""Limits of the columns and exits of a job."""


def score_of(best):
    """Return the scores in the numbers of best ends."""
    return (best >> (_COLUMN_BITS + _EXIT_BITS)) - _BIAS


def exit_of(best):
    """Return the first of the exits with the end, in the numbers of best ends."""
    return _LAST_EXIT - ((best >> _COLUMN_BITS) & _LAST_EXIT)


def column_of(best):
    """Return the columns in the numbers of best ends."""
    return _LAST_COLUMN - (best & _LAST_COLUMN)


@kernel()
def find_ends(jobs, exits, cells, best, scoring):
    """Raise the number of each job's best end; a block looks at one job."""
    number = cuda.blockIdx.x
    job = jobs[number]
    table, rows = exits[job[sweep.EXITS] :], cells[job[sweep.CELLS] :]
    stride = int32(job[sweep.STRIDE])
    last = int32(job[sweep.COLUMNS] - 1)
    first = int32(0) if scoring[sweep.FREE] else last
    columns = int64(last - first + 1)
    most = int64(0)
    for k in range(cuda.threadIdx.x, job[sweep.N_EXITS] * columns, cuda.blockDim.x):
        exon, column = int64(k // columns), int32(first + k % columns)
        place = offset_of(table[exon, ROW], stride)
        bonus, gaps = table[exon, BONUS], column + table[exon, LENGTH]
        score = int64(int32(rows[place + column]) + bonus + scoring[sweep.GAP] * gaps)
        before = int64(_LAST_EXIT - table[exon, FIRST])
        key = ((score + _BIAS) << _EXIT_BITS | before) << _COLUMN_BITS
        most = max(most, key | int64(_LAST_COLUMN - column))
    cuda.atomic.max(best, number, most)


# A warp holds a strip: a lane owns neighbouring rows, and the columns pass from right to left, each
# lane one column behind the lane before. The move that led to a cell takes two bits, those of the
# rows of a lane 16.

SLOTS = 8
"""Rows of a lane."""
STRIP = WARP * SLOTS
"""Rows of a strip at most."""
NEVER = -(1 << 29)
_SIGNED_BYTE, _NOTHING = 0x8880, 0x4444


@cuda.jit(device=True)
def sweep_strip(texts, borders, moves, strip, gap, lane, scratch):
    """Compute a strip of rows of W; return the lanes that it takes.

    `strip` holds where the strip's first base symbol and the word of the last column's right
    neighbour are, its rows and steps, where the row before is in `borders`, or -1 if it is all
    zeros, and where the last row goes. Of each two steps a lane writes one word of `moves`.
    """
    symbols, words, _ = texts
    first_symbol, first_word, n_rows, steps, source, target = strip
    used = int32((n_rows + int32(SLOTS - 1)) // int32(SLOTS))
    spare, behind = int32(used * int32(SLOTS) - n_rows), int32(used - 1)
    row = cuda.local.array(SLOTS, int32)
    selectors = cuda.local.array(SLOTS, int32)
    gaps = cuda.local.array(SLOTS, int32)
    for i in range(SLOTS):
        # rows that the first lane lacks come first and do nothing
        number = int32(lane * int32(SLOTS) + i - spare)
        real = number >= 0 and number < n_rows
        code = int32(symbols[uint32(first_symbol - number)]) if real else int32(0)
        selectors[i] = int32(_SIGNED_BYTE + code * int32(0x1111)) if real else int32(_NOTHING)
        gaps[i] = gap if real else int32(0)
        row[i] = int32(NEVER)
    # the factor is not known to the compiler, which would shift instead: see `_step`
    costs = selectors, gaps, int32(cuda.blockDim.z + 1)
    diagonal, at, out = int32(NEVER), uint32(first_word + lane), uint32(lane * move_words(steps))
    word = words[at]
    for first in range(int32(0), steps, int32(WARP)):
        arriving = borders[uint32(source + first + lane)] if source >= 0 else int32(0)
        for k in range(int32(0), int32(WARP), int32(2)):
            at, even = uint32(at - uint32(2)), word
            odd, word = words[at + uint64(1)], words[at]
            below = _below(row, arriving, k, lane, scratch)
            early = _step(row, costs, diagonal, below, even)
            diagonal, column = below, int32(first + k - behind)
            if lane == behind and column >= 0:
                borders[uint32(target + column)] = row[SLOTS - 1]
            below = _below(row, arriving, int32(k + 1), lane, scratch)
            late = _step(row, costs, diagonal, below, odd)
            diagonal, column = below, int32(column + 1)
            if lane == behind and column >= 0:
                borders[uint32(target + column)] = row[SLOTS - 1]
            if lane < used:
                moves[out] = int32(early | int32(late << int32(16)))
            out = uint32(out + uint32(1))
    sync_lanes()
    return used


@cuda.jit(device=True)
def _below(row, arriving, k, lane, scratch):
    """Return the last row of the lane before, for the first lane what has arrived."""
    below, top = shuffle_up(row[SLOTS - 1], scratch), shuffle(arriving, k, scratch)
    return top if lane == 0 else below


@cuda.jit(device=True)
def _step(row, costs, diagonal, below, word):
    """Move a lane's rows on by one column; return two bits of each, the first row's the highest.

    The upper tells that the cell is not as good without a partner of the base symbol, the lower
    that it is not as good as the pair. Bits are put together by products, as the other integer
    lanes have more to do.
    """
    selectors, gaps, two = costs
    up, bits = below, int32(0)
    for i in range(SLOTS):
        paired = int32(diagonal + permute(word, int32(0), selectors[i]))
        dropped = int32(up + gaps[i])
        diagonal = row[i]
        up = max(max(paired, diagonal), dropped)
        row[i] = up
        bits = times_plus(bits, two, min(int32(up - dropped), int32(1)))
        bits = times_plus(bits, two, min(int32(up - paired), int32(1)))
    return bits


@cuda.jit(device=True)
def move_words(steps):
    """Return the words that a lane writes in so many steps."""
    return int32((steps + int32(WARP - 1)) // int32(WARP) * int32(WARP // 2))


@cuda.jit(device=True)
def move_of(moves, steps, lanes, slot, column):
    """Return the two bits of a row's cell, `column` columns before the last."""
    lane = int32(slot >> 3)
    step = int32(column + lane)
    word = moves[int64(lanes + lane) * move_words(steps) + (step >> 1)]
    shift = int32(((step & int32(1)) << 4) + ((~slot & int32(SLOTS - 1)) << 1))
    return int32((word >> shift) & int32(3))


HEAD = 3
"""Elements before the runs of an exon: its number by end, the column it is entered at, its runs."""
EQUAL, UNEQUAL, INSERTION, DELETION = range(4)
"""Operations, as `gpu_tools.splicing.traceback` numbers them."""
OPERATION_BITS = 3
_FAR = 1 << 30

_score = cuda.jit(device=True)(score_of)
_column = cuda.jit(device=True)(column_of)
_exit = cuda.jit(device=True)(exit_of)


@cuda.jit(device=True)
def _cell(rows, stored, column):
    """Return a stored row's cell; `rows` are a job's cells and the elements of a row."""
    cells, stride = rows
    return int32(cells[offset_of(stored, stride) + column])


@cuda.jit(device=True)
def _largest(value, lane, scratch):
    distance = int32(WARP // 2)
    while distance > 0:
        value = max(value, shuffle(value, int32(lane ^ distance), scratch))
        distance >>= int32(1)
    return value


@cuda.jit(device=True)
def _first_at_least(row, wanted, past, lane, scratch):
    """Return the first column before `past` at which a rising row is not below `wanted`."""
    low, high = int32(0), past
    while low < high:
        step = int32((high - low + int32(WARP - 1)) // int32(WARP))
        probe = int32(low + lane * step)
        below = probe < high and int32(row[probe]) < wanted
        reached = probe < high and not below
        low = _largest(int32(probe + 1) if below else low, lane, scratch)
        high = int32(-_largest(int32(-probe) if reached else int32(-high), lane, scratch))
    return high


@cuda.jit(device=True)
def _left_with(exon, rows, column, gap):
    """Return the value of an exon at a column where it ends, its bonus added; see `sweep`."""
    return int32(_cell(rows, exon[ROW], column) + exon[BONUS] + gap * exon[LENGTH])


@cuda.jit(device=True)
def _value_at(table, rows, group, end, lane, scratch):
    """Return the largest value of the exons of a group; `end` is the column, and the gap score."""
    value, column, gap = int32(NEVER), end[0], end[1]
    for k in range(group[0] + lane, group[1], WARP):
        value = max(value, _left_with(table[k], rows, column, gap))
    return _largest(int32(value), lane, scratch)


@cuda.jit(device=True)
def _first_column(table, rows, group, end, most, lane, scratch):
    """Return the first column at which any exon of a group could have been entered."""
    column, value = end
    cells, stride = rows
    first = column
    for k in range(group[0], group[1]):
        wanted = int32(value - table[k, BONUS] - table[k, LENGTH] * most)
        entry = cells[offset_of(table[k, ENTRY], stride) :]
        first = _first_at_least(entry, wanted, first, lane, scratch)
    return first


@cuda.jit(device=True)
def _entered_at(entry, gains, columns, missing, lane, scratch):
    """Return the smallest column at which an exon's entry and W give what is missing, or -1."""
    first, last = columns
    for start in range(first, int32(last + 1), int32(WARP)):
        column = int32(start + lane)
        hit = column <= last and int32(entry[column]) + gains[last - column] == missing
        if any_lane(hit):
            return int32(-_largest(int32(-column) if hit else int32(-_FAR), lane, scratch))
    return int32(-1)


@cuda.jit(device=True)
def _find_exon(table, rows, texts, workspace, end, scoring, lane, scratch):
    """Return the exon that ends with a value, the column it is entered at, strips and steps.

    `end` is the group of exits with that end, and the column. Of each strip the rows and lanes
    before it, and the moves of its cells, are left in the workspace.
    """
    strips, borders, moves, stride = workspace
    group, column = end
    cells, stride_of_rows = rows
    gap = scoring[sweep.GAP]
    value = _value_at(table, rows, group, (column, gap), lane, scratch)
    first = _first_column(table, rows, group, (column, value), scoring[sweep.MOST], lane, scratch)
    last_row, first_word = table[group[0], LAST_ROW], int32(WORD_LEAD + column + 1)
    steps = int32(column - first + int32(WARP))
    n_strips, swept, lanes, target = int32(0), int32(0), int32(0), int32(0)
    for k in range(group[1] - 1, group[0] - 1, -1):
        while swept < table[k, LENGTH]:
            n_rows = min(int32(table[k, LENGTH] - swept), int32(STRIP))
            source = target if n_strips > 0 else int32(-1)
            target = int32(stride - target)
            if lane == 0:
                strips[uint32(2 * n_strips)], strips[uint32(2 * n_strips + 1)] = swept, lanes
            strip = int32(last_row - swept), first_word, n_rows, steps, source, target
            own = moves[int64(lanes) * move_words(steps) :]
            lanes += sweep_strip(texts, borders, own, strip, gap, lane, scratch)
            swept += n_rows
            n_strips += int32(1)
        missing, columns = int32(value - table[k, BONUS]), (first, column)
        entry = cells[offset_of(table[k, ENTRY], stride_of_rows) :]
        entered = _entered_at(entry, borders[target:], columns, missing, lane, scratch)
        if entered >= 0:
            return int32(k), entered, n_strips, steps
    return int32(-1), int32(-1), n_strips, steps


@cuda.jit(device=True)
def _walk(found, texts, workspace, exon, end_column, strips_and_steps):
    """Write the runs of operations from an exon's entry to its end; return their number.

    `exon` is where its last base symbol is, its length, and the column it is entered at.
    """
    symbols, _, target = texts
    strips, _, moves, _ = workspace
    last_row, left, column = exon
    strip, steps = strips_and_steps
    rows_before, spare, lanes = left, int32(0), int32(0)
    runs, length, current = uint32(0), int32(0), int32(-1)
    while left > 0:
        if left <= rows_before:
            strip -= int32(1)
            past, rows_before = rows_before, strips[uint32(2 * strip)]
            lanes = strips[uint32(2 * strip + 1)]
            spare = int32((rows_before - past) & int32(SLOTS - 1))
        slot = int32(left - 1 - rows_before + spare)
        move = move_of(moves, steps, lanes, slot, int32(end_column - column))
        paired, dropped = move & 1 == 0, move & 3 == 1
        operation = int32(DELETION) if dropped else int32(INSERTION)
        if paired:
            same = symbols[uint32(last_row - left + 1)] == target[uint32(column)]
            operation = int32(EQUAL) if same else int32(UNEQUAL)
        left -= int32(1) if paired or dropped else int32(0)
        column += int32(0) if dropped else int32(1)
        if operation != current and length > 0:
            found[runs] = int32(length << OPERATION_BITS) | current
            runs, length = uint32(runs + 1), int32(0)
        current = operation
        length += int32(1)
    if length > 0 and (current != INSERTION or column == end_column):
        found[runs] = int32(length << OPERATION_BITS) | current
        runs, length = uint32(runs + 1), int32(0)
    if column < end_column:
        length += int32(end_column - column)
        found[runs] = int32(length << OPERATION_BITS) | int32(INSERTION)
        runs = uint32(runs + 1)
    return int32(runs)


@cuda.jit(device=True)
def _exit_before(table, rows, committed, end, wanted, lane, scratch):
    """Return the last of the committed exits with the wanted value, or -1; see `_value_at`."""
    column, gap = end
    for start in range(committed, int32(0), int32(-WARP)):
        k = int32(start - 1 - lane)
        hit = k >= 0 and _left_with(table[k], rows, column, gap) == wanted
        if any_lane(hit):
            return _largest(k if hit else int32(-1), lane, scratch)
    return int32(-1)


@cuda.jit(device=True)
def _beaten(best, number, job):
    """Return whether another strand has a better chain, or an equal one and comes first."""
    ours = _score(best[number])
    for rival in range(job[sweep.FIRST_RIVAL], job[sweep.PAST_RIVALS]):
        theirs = _score(best[rival])
        if theirs > ours or (theirs == ours and rival < number):
            return True
    return False


@kernel()
def trace_chains(
    jobs, exits, symbols, words, targets, cells, best, workspace, written, found, scoring
):
    """Trace the best chain of each job back to its start, one warp a job."""
    scratch = cuda.shared.array(WARP, int32)
    lane, number = int32(cuda.threadIdx.x), int64(cuda.blockIdx.x)
    job = jobs[number]
    table, out = exits[job[sweep.EXITS] :], found[job[sweep.FOUND] :]
    rows = cells[job[sweep.CELLS] :], int32(job[sweep.STRIDE])
    texts = (
        symbols[job[sweep.SYMBOLS] :],
        words[job[sweep.WORDS] + UNROLLED * job[sweep.WORD_STRIDE] :],
        targets[job[sweep.TARGET] :],
    )
    stride = int32(job[sweep.COLUMNS] + 2 * WARP)
    workspace = (
        workspace[job[sweep.STRIPS] :],
        workspace[job[sweep.BORDERS] :],
        workspace[job[sweep.MOVES] :],
        stride,
    )
    column, chain, n = int32(_column(best[number])), int32(0), int32(1)
    end = int32(_exit(best[number]))
    if _beaten(best, number, job):
        end = int32(-1)
    while end >= 0:
        group = table[end, FIRST], table[end, PAST]
        exon, entered, n_strips, steps = _find_exon(
            table, rows, texts, workspace, (group, column), scoring, lane, scratch
        )
        if exon < 0:
            chain = int32(-1)
            break
        sync_lanes()
        runs = int32(0)
        if lane == 0:
            walked = table[exon, LAST_ROW], table[exon, LENGTH], entered
            runs = _walk(out[n + HEAD :], texts, workspace, walked, column, (n_strips, steps))
            out[n], out[n + 1], out[n + 2] = exon, entered, runs
        n += int32(HEAD) + shuffle(runs, int32(0), scratch)
        chain, column = int32(chain + 1), entered
        before = _cell(rows, table[exon, ENTRY], column)
        end = int32(-1)
        if before != empty_chain(column, scoring[sweep.GAP], scoring[sweep.FREE] != 0):
            wanted, committed = int32(before + scoring[sweep.PENALTY]), table[exon, COMMITTED]
            at = column, scoring[sweep.GAP]
            end = _exit_before(table, rows, committed, at, wanted, lane, scratch)
            if end < 0:
                chain = int32(-1)
    if lane == 0:
        out[0], written[number] = chain, n


@kernel()
def gather(found, written, jobs, used, firsts, gathered):
    """Put the chains of all jobs next to each other, in any order; a thread block a job.

    Where the part of each job begins is written to `firsts`, and how much there is of all parts to
    ``used[0]``, which was 0.
    """
    begin = cuda.shared.array(1, int32)
    number, n = cuda.blockIdx.x, written[cuda.blockIdx.x]
    if cuda.threadIdx.x == 0:
        begin[0] = cuda.atomic.add(used, 0, n)
        firsts[number] = begin[0]
    cuda.syncthreads()
    first, source = int64(begin[0]), jobs[number, sweep.FOUND]
    for k in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        gathered[first + k] = found[source + k]
