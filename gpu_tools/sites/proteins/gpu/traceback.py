"""The traceback of proteins on a GPU: from a job's checkpoints to its best chain.

A warp follows the chain of a job back, as `gpu_tools.sites.proteins.cpu.traceback` does. Blocks in
which the path has exons are swept again from the checkpoint before them, and their rows stored.
Where memory has checkpoints of longer parts alone, a part is swept first for the checkpoints of its
blocks. All lanes walk the same path. To find an exit each lane looks at another block or donor.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.gpu.intrinsics import rows
from gpu_tools.hardware.gpu.intrinsics.words import (
    FOUR_WORDS,
    WARP,
    address,
    any_lane,
    kernel,
    shuffle,
    sync_lanes,
)
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.strand_lists import first_from, lists_on_gpu
from gpu_tools.sites.gpu.traceback import least_of
from gpu_tools.sites.introns import KIND, LENGTH
from gpu_tools.sites.proteins import exits
from gpu_tools.sites.proteins.gpu import step
from gpu_tools.sites.proteins.gpu.strips import (
    BLOCK,
    CHECKPOINT_STRIDE,
    EVERY,
    EXITS,
    FINAL_COLUMN,
    N_BOUNDARIES,
    POINTS,
    RESIDUES,
    RING,
    SLOTS,
    STRIP_COLUMNS,
    STRIPS,
    TARGET,
)
from gpu_tools.sites.proteins.gpu.sweep import make_prepare, make_sweep_on, own_areas, parts_of
from gpu_tools.splicing.best_chains import BannedPairs
from gpu_tools.splicing.proteins import walk
from gpu_tools.splicing.proteins.rows import PHASES

JOB, STRAND, SCORE, STARTS = range(4)
"""A traced job's row of the table: its rows of the tables of jobs and of strands, the score of its
chain in cells as they are stored, and where cells of chains that begin lie in their buffer.
"""
WORK_ROWS, BLOCK_ROWS, ROW_WORDS, BLOCKS, CHECKPOINT_WORDS, MOVES = range(6)
"""Sizes of the memory of a warp, see `trace_proteins_warp`: its rows, those of a block and a kind,
words of a row, blocks of a part, words of all their checkpoints, and moves.
"""
DONE, LOST, TOO_MANY = range(3)
"""What a traceback comes to: a chain, no move that explains a cell, or too many runs or exons."""
STATE, N_RUNS, N_EXONS, FIRST_COLUMN, LAST_COLUMN, FOUND = range(6)
"""Numbers that a traceback leaves."""

_walk = cuda.jit(device=True)(walk.walk.py_func)
_add_moves = cuda.jit(device=True)(walk.add_moves.py_func)
_add_run = cuda.jit(device=True)(walk.add_run)
_entries_before = cuda.jit(device=True)(exits.entries_before)
_may_hold = cuda.jit(device=True)(exits.may_hold)
_exit_phase = cuda.jit(device=True)(exits.exit_phase)


@cuda.jit(device=True)
def _question(job, lists, tables):
    """Return the `ExitQuestion` of a strand and a protein."""
    targets, codons, scores, points, no_pairs = tables
    pairs, rows = (scores, targets[job[TARGET] :]), lists.introns.rows
    return exits.ExitQuestion(
        lists.codes, lists.acceptors, lists.donors, rows[:, KIND], rows[:, LENGTH], lists.junctions,
        lists.introns, codons, pairs, points[job[POINTS] : job[POINTS] + PHASES],
        BannedPairs(no_pairs, no_pairs),
    )  # fmt: skip


@cuda.jit(device=True)
def _keep(number, row, to):
    """Store the row before the events of a boundary."""
    rows.store_row(rows.further(to[0], int64(number) * int64(to[1])), row)


def _make_again(size: int):
    """Return device functions that sweep a part and a block again, as many strips as are needed."""
    prepare, sweep_on, resume = make_prepare(size), make_sweep_on(size), step.make_resume(size)
    cross, stride = step.make_cross(size, _keep), size * WARP

    @cuda.jit(device=True)
    def resumed(job, strip, first, area, inputs, scoring, shared):
        """Return a strip's state before a boundary, what all boundaries need, and its cells."""
        memory, scratch = shared
        parts = parts_of(job, strip, inputs, first)
        fixed = prepare(job, strip, parts, scoring, memory, scratch)
        counts = int32(job[SLOTS]), int32(job[RING])
        own = area[strip * job[CHECKPOINT_STRIDE] :]
        return resume(own, counts, parts[0], fixed), fixed, parts[3]

    @cuda.jit(device=True)
    def part_again(job, column, first, area, areas, inputs, scoring, shared):
        """Sweep a part, for the checkpoints of its blocks, up to a column."""
        length = int32(min(job[EVERY], job[N_BOUNDARIES] - first))
        for strip in range(column // STRIP_COLUMNS + 1):
            state, fixed, cells = resumed(job, strip, first, area, inputs, scoring, shared)
            limits = length, int32(job[BLOCK])
            sweep_on(job, strip, state, cells, limits, areas, scoring, fixed)
        sync_lanes()

    @cuda.jit(device=True)
    def block_again(job, column, first, past, area, records, inputs, scoring, shared):
        """Store the rows of the boundaries from `first` to before `past`, up to a column.

        `records` are the memory of the rows, one kind behind the other, and how many words a kind
        and a row of all strips have.
        """
        memory, of_kind, each = records
        lane, length = int32(cuda.threadIdx.x), int32(past - first)
        for strip in range(column // STRIP_COLUMNS + 1):
            state, fixed, _ = resumed(job, strip, first, area, inputs, scoring, shared)
            inside = address(memory[strip * stride + 4 * lane :])
            whole, gaps = rows.further(inside, of_kind), rows.further(inside, 2 * of_kind)
            one, two, three = state[1]
            rows.store_row(whole, three)
            rows.store_row(rows.further(whole, each), two)
            rows.store_row(rows.further(whole, 2 * each), one)
            to = rows.further(inside, PHASES * each), each
            for number in range(length):
                state = cross(int32(number), state, fixed, to)
                at = int64(PHASES + number) * each
                rows.store_row(rows.further(whole, at), state[1][0])
                rows.store_row(rows.further(gaps, at), state[2][1])
        sync_lanes()

    return part_again, block_again


_part_again, _block_again = _make_again(WIDE)


@cuda.jit(device=True)
def _first_with(job, ends, first, past, wanted):
    """Return the first of some parts or blocks in which a chain of a score ends."""
    for k in range(first, past):
        for strip in range(job[STRIPS]):
            if ends[(k - first) * job[STRIPS] + strip] == wanted:
                return k
    return past


@cuda.jit(device=True)
def _find_end(job, question, score, inside, places, low, past, scratch):
    """Return the boundary and the column in which the best chain ends, -1 if there is none.

    It is the first such boundary, then column.
    """
    lane, extend = int64(cuda.threadIdx.x), question[4][2]
    usual, boundaries, scores = question[2]
    last = first_from(boundaries, max(low, 1))
    for i in range(max(low, 1), past):
        points = usual
        if last < len(boundaries) and boundaries[last] == i:
            points, last = int64(scores[last]), last + 1
        found, column = int32(2**30), job[FINAL_COLUMN] + lane
        while column <= job[RESIDUES]:
            value = int64(inside[PHASES + i - low, places[column]])
            if value - extend * column + points == score:
                found = min(found, int32(column))
            column += WARP
        if any_lane(found < 2**30):
            return int64(i), int64(least_of(found, scratch))
    return int64(-1), int64(-1)


@cuda.jit(device=True)
def _last_that_may_hold(question, path, best_exits, each, places, span, length, scratch):
    """Return the last of some parts or blocks whose exits may explain a cell; else one less.

    `path` is the cell and the entries before it, `best_exits` the largest rows of exits, `each` of
    them behind the one before, `span` the first part and the one behind the last one.
    """
    (cell, entries), (first, past) = path, span
    lane, last = int64(cuda.threadIdx.x), past - 1
    while last >= first:
        k, found = last - lane, int32(WARP)
        if k >= first:
            own = best_exits[(k - first) * each :]
            best = int64(own[places[cell[1]]]), int64(own[places[max(cell[1] - 1, 0)]])
            if _may_hold(question, cell, entries, best, k * length, (k + 1) * length):
                found = int32(lane)
        if any_lane(found < WARP):
            return last - int64(least_of(found, scratch))
        last -= WARP
    return first - 1


@cuda.jit(device=True)
def _exit_in(question, path, kept, places, low, past, scratch):
    """Return the last exit of a block that explains a cell, and its phase; -1 twice if none is."""
    (cell, entries), donors = path, question.donors[0]
    first, last = int64(first_from(donors, low)), int64(first_from(donors, past)) - 1
    lane = int64(cuda.threadIdx.x)
    while last >= first:
        donor, found, phase = last - lane, int32(WARP), int32(-1)
        if donor >= first:
            phase = int32(_exit_phase(question, cell, entries, kept, places, low, donor))
            if phase >= 0:
                found = int32(lane)
        if any_lane(found < WARP):
            nearest = least_of(found, scratch)
            phase = shuffle(phase, nearest, scratch)
            return int64(donors[last - nearest]), int64(phase)
        last -= WARP
    return int64(-1), int64(-1)


_FIND_END, _WALK, _FIND_BLOCK, _FIND_EXIT = range(4)


@cuda.jit(device=True)
def _follow(trace, job, question, memory, own, again, given, found):
    """Follow the best chain of a job back; `found` are its runs, its exons and its numbers.

    `own` are the job's areas and `again` those of the blocks of one part; `memory` is that of rows,
    their cells by kind, the places of columns, and that of moves.
    """
    read, begins, _, costs, weights, usual = question
    words, kept, places, moves = memory
    inputs, scoring, shared = given
    lane, scratch, length = int64(cuda.threadIdx.x), shared[1], job[BLOCK]
    each_part, n_blocks = job[EVERY] // length, len(read.codes) // length + 1
    each = job[STRIPS] * int64(2 * WIDE * WARP)
    wanted = trace[SCORE] - question[2][0]
    part = _first_with(job, own[2], 0, (n_blocks - 1) // each_part + 1, wanted)
    block, stage, recorded, areas = part * each_part, _FIND_END, int64(-1), own
    first, past = int64(0), n_blocks
    if each_part > 1:
        past, areas = int64(0), again
    i, j, value, inside, gap = int64(len(read.codes)), job[RESIDUES], int64(0), True, False
    end, last, n_runs, n_exons = int64(0), int64(0), int64(0), int64(0)
    entries = _entries_before(read, (i, j, value, inside))
    while True:
        path = (i, j, value, inside), entries
        if stage == _FIND_BLOCK and block < first:
            if each_part == 1:
                return LOST
            span = int64(0), part
            part = _last_that_may_hold(read, path, own[3], each, places, span, job[EVERY], scratch)
            block = min((part + 1) * each_part, n_blocks) - 1
        if block < 0:
            return LOST
        if block < first or block >= past:
            part = block // each_part
            first, past = part * each_part, min((part + 1) * each_part, n_blocks)
            area = own[0][part * job[STRIPS] * job[CHECKPOINT_STRIDE] :]
            _part_again(job, j, first * length, area, again[:3], inputs, scoring, shared)
        if stage == _FIND_END:
            block = _first_with(job, areas[2], first, past, wanted)
            if block == past:
                return LOST
        if stage == _FIND_BLOCK:
            span = first, block + 1
            block = _last_that_may_hold(read, path, areas[3], each, places, span, length, scratch)
            if block < first:
                continue
            stage = _FIND_EXIT
        low = block * length
        if recorded != block:
            area = areas[0][(block - first) * job[STRIPS] * job[CHECKPOINT_STRIDE] :]
            behind = min(low + length, i + 1)
            _block_again(job, j, low, behind, area, words, inputs, scoring, shared)
            recorded = block
        if stage == _FIND_END:
            behind = min(low + length, int64(len(read.codes) + 1))
            i, j = _find_end(job, question, trace[SCORE], kept[0], places, low, behind, scratch)
            if i < 0:
                return LOST
            value, end, last, stage = int64(kept[0][PHASES + i - low, places[j]]), i, j, _WALK
        elif stage == _WALK:
            i, j, value, inside, gap, count, move = _walk(
                kept[0], kept[1], kept[2], places, low, read.codes, read.codons, read.pairs,
                read.banned, costs, weights, begins, i, j, value, inside, gap, moves,
            )  # fmt: skip
            if lane == 0:
                n_runs = _add_moves(found[0], n_runs, moves, count)
            block = i // length
            if move == walk.BEFORE:
                continue
            is_begin = move == walk.BEGIN
            if move == walk.AT_INTRON and not inside:
                is_begin = value == usual + begins[2][j]
            if is_begin:
                break
            entries, stage = _entries_before(read, (i, j, value, inside)), _FIND_EXIT
        else:
            behind = min(low + length, i + 1)
            exit, phase = _exit_in(read, path, kept, places, low, behind, scratch)
            if exit < 0:
                block, stage = block - 1, _FIND_BLOCK
                continue
            start = entries[phase][0]
            if lane == 0:
                n_exons = _add_run(found[1], n_exons, start, end)
                n_runs = _add_run(found[0], n_runs, walk.INTRON_RUN + phase, start - exit)
            j = j - (1 if phase else 0)
            row = PHASES + exit - phase - low
            value = int64((kept[1] if phase else kept[0])[row, places[j]])
            i, end, inside, gap, stage = exit - phase, exit, phase == 0, False, _WALK
            block = i // length
    if lane == 0:
        n_exons = _add_run(found[1], n_exons, i, end)
        numbers = found[2]
        numbers[N_RUNS], numbers[N_EXONS] = n_runs, n_exons
        numbers[FIRST_COLUMN], numbers[LAST_COLUMN] = j, last
        if n_runs > len(found[0]) or n_exons > len(found[1]):
            return TOO_MANY
    return DONE


@kernel()
def trace_proteins_warp(
    traces, jobs, strands, sites, codes, classes, counts, boundaries, operations, targets,
    profile_scores, points, cells, borders, checkpoints, exits, ends, exit_cells, work, work_cells,
    work_rows, sizes, codons, scores, no_pairs, starts, costs, weights, places, scoring, moves,
    runs, exons, found,
):  # fmt: skip
    """Follow the chains of traced jobs; a thread block is one warp, with memory of its own.

    That is `work`, of as many rows of all strips as `sizes` says: those of a block, one kind behind
    the other; then for the blocks of one part, unless parts are blocks, what a sweep leaves:
    largest rows of exits, checkpoints and best ends.
    """
    scratch = cuda.shared.array(WARP, int32)
    shared = cuda.shared.array(0, int32, alignment=FOUR_WORDS)
    inputs = boundaries, operations, (targets, profile_scores, points), cells, borders
    tables = targets, codons, scores, points, no_pairs
    warp, (n_rows, each) = int64(cuda.blockIdx.x), (sizes[BLOCK_ROWS], sizes[ROW_WORDS])
    row = warp * sizes[WORK_ROWS]
    kept = (
        work_rows[row : row + n_rows], work_rows[row + n_rows : row + 2 * n_rows],
        work_rows[row + 2 * n_rows : row + 3 * n_rows],
    )  # fmt: skip
    memory = work[row * each :], n_rows * each, each
    first = (row + 3 * n_rows) * each
    area = first + sizes[BLOCKS] * each
    again = (
        work[area:], work[first:], work[area + sizes[CHECKPOINT_WORDS] :], work_cells[2 * first :],
    )  # fmt: skip
    own_moves = moves[warp * sizes[MOVES] : (warp + 1) * sizes[MOVES]]
    for k in range(warp, traces.shape[0], cuda.gridDim.x):
        trace = traces[k]
        job = jobs[trace[JOB]]
        lists, _ = lists_on_gpu(strands[trace[STRAND]], sites, codes, classes, counts)
        begins = lists.first[1], lists.first[2], starts[trace[STARTS] :]
        read = _question(job, lists, tables)
        question = read, begins, lists.last, costs, weights, lists.first[0]
        own = own_areas(job, (checkpoints, exits, ends))
        own = own[0], own[1], own[2], exit_cells[2 * job[EXITS] :]
        given = inputs, scoring, (shared, scratch)
        state = _follow(
            trace, job, question, (memory, kept, places, own_moves), own, again, given,
            (runs[k], exons[k], found[k]),
        )  # fmt: skip
        if cuda.threadIdx.x == 0:
            found[k, STATE] = state
