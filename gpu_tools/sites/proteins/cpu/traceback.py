"""The traceback of a protein in compiled code: block by block, from the last exon to the first.

What the path needs of a block is computed again: its rows up to the boundary where the path
enters it, and up to the path's column. Where only checkpoints are known, the blocks between two
of them are swept first. Of introns before a cell the shortest is taken that explains the cell's
value, and of introns of one length the one that splits the codon behind fewer nucleotides.

numba takes long to compile a function that takes many arrays. So few functions take the question.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.sites.introns import joins, penalty_of
from gpu_tools.sites.proteins.cpu.block import sweep_block, sweep_protein_blocks
from gpu_tools.sites.proteins.cpu.memory import (
    StoredBlocks,
    begin,
    has_checkpoint,
    prefix_columns,
    prefix_kept,
    prefix_width,
    restore,
    resume,
    state_in,
    states_in,
)
from gpu_tools.splicing.best_chains import is_banned
from gpu_tools.splicing.proteins.rows import PHASES, RECENT
from gpu_tools.splicing.proteins.walk import (
    AT_INTRON,
    BEFORE,
    BEGIN,
    INTRON_RUN,
    add_moves,
    add_run,
    walk,
)

_NO_SCORE = -(2**62)


@njit(nogil=True)
def _entry(boundaries, cell, phase):
    """Return the entry of an intron of some phase before a cell, and its acceptor, -1 if none.

    `boundaries` are those of the acceptors.
    """
    boundary, column, _, inside = cell
    start = boundary - (PHASES - phase) % PHASES
    acceptor = first_from(boundaries, start)
    open_ = start >= 0 and acceptor < len(boundaries) and boundaries[acceptor] == start
    if not open_ or column < (phase > 0) or (phase == 0 and inside):
        return start, np.int64(-1)
    return start, acceptor


@njit(nogil=True)
def _split_pair(words, column, phase, start, one, two):
    """Return the score of the codon that an intron of some phase splits, 0 if it splits none.

    `words` are the codes of the strand, the numbers of codons and the scores of pairs; `one` and
    `two` the second last and the last nucleotide before the exit.
    """
    codes, codons, pairs = words
    if phase == 1:
        return pairs[codons[two, codes[start], codes[start + 1]], column - 1]
    if phase == 2:
        return pairs[codons[one, two, codes[start]], column - 1]
    return np.int64(0)


@njit(nogil=True, error_model="numpy")
def may_hold(question, cell, best_exits, low, length):
    """Return whether a block's best exits, column by column, may explain a cell.

    The block begins with boundary `low`; its last exits have the least penalties.
    """
    width, lanes, lists = len(best_exits), question.columns.lanes, question.lists
    boundaries, scores, kinds = lists.acceptors
    words = lists.codes, question.codons, question.pairs
    for phase in range(PHASES):
        start, acceptor = _entry(boundaries, cell, phase)
        if acceptor < 0 or low > start:
            continue
        column = cell[1] - (phase > 0)
        place = column % (width // lanes) * lanes + column // (width // lanes)
        points = np.int64(scores[acceptor]) + question.points[phase, cell[1]]
        points += _most_split_pair(words, cell[1], phase, start)
        for k in range(len(lists.kinds)):
            end = min(low + length - 1, start - lists.lengths[k])
            if lists.kinds[k] != kinds[acceptor] or end < low:
                continue
            if best_exits[place] - penalty_of(question.introns, k, end, start) + points >= cell[2]:
                return True
        donors, joined, numbers, penalties = lists.junctions
        for k in range(first_from(joined, start), first_from(joined, start + 1)):
            inside = low <= donors[numbers[k]] < low + length
            if inside and best_exits[place] - penalties[k] + points >= cell[2]:
                return True
    return False


@njit(nogil=True)
def _most_split_pair(words, column, phase, start):
    """Return the largest score of a split codon, whatever the nucleotides before the exit."""
    most = np.int64(_NO_SCORE)
    for one in range(N_SYMBOLS if phase == 2 else 1):
        for two in range(N_SYMBOLS if phase else 1):
            most = max(most, _split_pair(words, column, phase, start, one, two))
    return most


@njit(nogil=True)
def exit_in(question, cell, inside, whole, places, low, high):
    """Return the last exit of a block that explains a cell, and its phase; -1 twice if none does.

    The block has the boundaries `low` to ``high - 1``; see `TraceMemory` for its rows.
    """
    lists = question.lists
    boundaries, scores, kinds = lists.donors
    entries, points, entry_kinds = lists.acceptors
    codes, words = lists.codes, (lists.codes, question.codons, question.pairs)
    starts, acceptors = np.empty(PHASES, np.int64), np.empty(PHASES, np.int64)
    for phase in range(PHASES):
        starts[phase], acceptors[phase] = _entry(entries, cell, phase)
    donors, joined, numbers, penalties = lists.junctions
    junctions = first_from(joined, starts.min()), first_from(joined, starts.max() + 1)
    last = first_from(boundaries, min(high, cell[0] + 1))
    for donor in range(last - 1, first_from(boundaries, low) - 1, -1):
        end = np.int64(boundaries[donor])
        one = np.int64(codes[end - 2]) if end >= 2 else 0
        two = np.int64(codes[end - 1]) if end >= 1 else 0
        for phase in range(PHASES):
            start, acceptor = starts[phase], acceptors[phase]
            if acceptor < 0 or end < phase:
                continue
            column = cell[1] - (phase > 0)
            if phase and is_banned(question.columns.bans.pairs, end - phase, column):
                continue
            row = PHASES + end - phase - low
            value = np.int64((whole if phase else inside)[row, places[column]]) + scores[donor]
            value += points[acceptor] + question.points[phase, cell[1]]
            value += _split_pair(words, cell[1], phase, start, one, two)
            alike, surplus = kinds[donor] == entry_kinds[acceptor], value - cell[2]
            if alike and joins(question.introns, kinds[donor], surplus, end, start):
                return end, phase
            for k in range(junctions[0], junctions[1]):
                is_own = joined[k] == start and donors[numbers[k]] == end
                if is_own and penalties[k] == surplus:
                    return end, phase
    return np.int64(-1), np.int64(-1)


STAGE, BLOCK, BOUNDARY, COLUMN, VALUE, INSIDE, GAP, EXON_END, LAST, RUNS, EXONS, NUMBERS = range(12)
"""Numbers of a path: what is looked for, in which block; the fields of a `Cell`; where its exon
ends; the column in which the chain ends; and how many runs and exons there are so far."""
FIND_BLOCK, FIND_END, WALK, FIND_EXIT = range(4)
DONE, LOST = -1, -2
"""Results of `follow`."""


@njit(cache=True, nogil=True, error_model="numpy")
def follow(question, stored, checkpoints, memory, path, runs, exons):
    """Follow the best chain back to its begin, or to where a checkpoint is needed."""
    length = stored.length
    usual, firsts, first_scores = question.lists.first
    while path[STAGE] >= 0:
        known = 0 <= path[BLOCK] - stored.first < len(stored.ends)
        if checkpoints is None:
            if not known:
                return LOST, runs, exons
        else:
            part = path[BLOCK] * length // checkpoints.every
            if not known:
                if path[BLOCK] < 0 or not has_checkpoint(checkpoints, part):
                    return part if part >= 0 else LOST, runs, exons
                stored = _sweep_part(question, checkpoints, length, memory, part, path[COLUMN])
            if path[STAGE] == FIND_BLOCK:
                _find_block(question, stored.ends, stored.first, path)
                continue
        low, cell = path[BLOCK] * length, (path[BOUNDARY], path[COLUMN], path[VALUE], path[INSIDE])
        if path[STAGE] == FIND_EXIT:
            best_exits = stored.ends[path[BLOCK] - stored.first, 1]
            if not may_hold(question, cell, best_exits, low, length):
                path[BLOCK] -= 1
                continue
        if memory.block[0] != path[BLOCK]:
            _compute_rows(
                question, stored, memory, low, min(low + length, path[BOUNDARY] + 1), path
            )
        inside, whole, gaps = _rows(memory)
        if path[STAGE] == FIND_END:
            _find_end(question, inside, memory.places, low, low + length, path)
        elif path[STAGE] == WALK:
            walked = walk(
                inside, whole, gaps, memory.places, low, question.lists.codes, question.codons,
                question.pairs, question.columns.bans.pairs, question.codon_costs, question.weights,
                (firsts, first_scores, question.start), path[BOUNDARY], path[COLUMN],
                path[VALUE], path[INSIDE] == 1, path[GAP] == 1, memory.found,
            )  # fmt: skip
            runs, path[RUNS] = add_moves(runs, path[RUNS], memory.found, walked[5])
            if _go_on(path, walked, usual, question.start, length):
                exons, path[EXONS] = add_run(exons, path[EXONS], walked[0], path[EXON_END])
        else:
            end, phase = exit_in(question, cell, inside, whole, memory.places, low, low + length)
            if end < 0:
                path[BLOCK] -= 1
                continue
            start = path[BOUNDARY] - (PHASES - phase) % PHASES
            exons, path[EXONS] = add_run(exons, path[EXONS], start, path[EXON_END])
            runs, path[RUNS] = add_run(runs, path[RUNS], INTRON_RUN + phase, start - end)
            row = (whole if phase else inside)[PHASES + end - phase - low]
            _leave(path, end, phase, row, memory.places, length)
    return path[STAGE], runs, exons


@njit(nogil=True)
def _go_on(path, walked, usual, start, length):
    """Note where the walk through a block has come to; return whether the chain begins there.

    `usual` are the points of a chain that begins without a start codon.
    """
    i, j, value, inside, gap, _, move = walked
    path[BOUNDARY], path[COLUMN], path[VALUE], path[INSIDE], path[GAP] = i, j, value, inside, gap
    path[BLOCK] = i // length
    begins = move == BEGIN
    if move == AT_INTRON and not inside:
        begins = value == usual + start[j]
    if move != BEFORE:
        path[STAGE] = DONE if begins else FIND_EXIT
    return begins


@njit(nogil=True)
def _leave(path, end, phase, row, places, length):
    """Go on with the exon before an intron; `row` is that which the exit leaves."""
    path[STAGE], path[BLOCK], path[BOUNDARY] = WALK, (end - phase) // length, end - phase
    path[COLUMN] -= phase > 0
    path[VALUE] = row[places[path[COLUMN]]]
    path[INSIDE], path[GAP], path[EXON_END] = phase == 0, False, end


@njit(nogil=True)
def _sweep_part(question, checkpoints, length, memory, part, column):
    """Sweep the columns up to one between two checkpoints; return the states before its blocks."""
    lists = question.lists
    width, maxima = prefix_width(column, question.columns.lanes), question.maxima
    columns = prefix_columns(question.columns, width, memory.cells, memory.elements)
    state = state_in(memory.state, maxima, width)
    begin(state, columns.none)
    rows = PHASES * len(lists.junctions.donors)
    kept = memory.kept_again[: rows * width].reshape((rows, width))
    if part > 0:
        resume(state, kept, checkpoints, part, lists, question.codons, columns)
    low, high = part * checkpoints.every, min((part + 1) * checkpoints.every, len(lists.codes) + 1)
    blocks = np.empty((-(-(high - low) // length), 2), np.int64)
    for k in range(len(blocks)):
        blocks[k, 0] = low + k * length
        blocks[k, 1] = min(low + (k + 1) * length, high)
    states = states_in(memory.states, len(blocks), maxima, width)
    ends = memory.ends[: 2 * len(blocks) * width].reshape((len(blocks), 2, width))
    for k in range(len(ends)):
        for place in range(width):
            ends[k, 0, place] = ends[k, 1, place] = columns.none
    none = memory.rows[:0].reshape((0, width))
    sweep_protein_blocks(
        lists, columns, question.codons, state, states, kept, ends, (none, none, none), blocks
    )
    return StoredBlocks(low // length, length, states, ends, kept)


@njit(nogil=True)
def _rows(memory):
    """Return the rows of the block in memory."""
    width = memory.block[1]
    count = len(memory.rows) // (3 * width)
    every = count * width
    return (
        memory.rows[:every].reshape((count, width)),
        memory.rows[every : 2 * every].reshape((count, width)),
        memory.rows[2 * every : 3 * every].reshape((count, width)),
    )  # fmt: skip


@njit(nogil=True)
def _compute_rows(question, stored, memory, low, high, path):
    """Compute the rows `low` to ``high - 1`` of the path's block, and the three before, again.

    A path goes back: no later boundary or column is needed once the rows are there.
    """
    lanes, maxima = question.columns.lanes, question.maxima
    memory.block[0], memory.block[1] = path[BLOCK], prefix_width(path[COLUMN], lanes)
    width, each = memory.block[1], memory.block[1] // lanes
    columns = prefix_columns(question.columns, width, memory.cells, memory.elements)
    state = state_in(memory.state, maxima, width)
    restore(state, stored.states, path[BLOCK] - stored.first, memory.elements, lanes)
    for column in range(width):
        memory.places[column] = column % each * lanes + column // each
    record = _rows(memory)
    inside, whole, gaps = record
    for k in range(PHASES):
        boundary = low - PHASES + k
        for place in range(width):
            inside[k, place] = whole[k, place] = state.rows[boundary % RECENT, place]
            gaps[k, place] = state.codon_gaps[boundary % PHASES, place]
    ends = memory.cells[len(memory.cells) - 2 * width :].reshape((2, width))
    kept = prefix_kept(question.lists.junctions, stored, memory, width, low, high)
    sweep_block(question.lists, columns, question.codons, state, kept, ends, record, low, high)


@njit(nogil=True)
def _find_block(question, ends, first, path):
    """Find the first block in which the best chain ends."""
    width, lanes = ends.shape[2], question.columns.lanes
    extend, usual = question.weights[2], question.lists.last[0]
    path[STAGE] = LOST
    for k in range(len(ends) - 1, -1, -1):
        for column in range(question.final, len(question.start)):
            place = column % (width // lanes) * lanes + column // (width // lanes)
            if ends[k, 0, place] - extend * column + usual == question.score:
                path[STAGE], path[BLOCK] = FIND_END, first + k


@njit(nogil=True)
def _find_end(question, inside, places, low, high, path):
    """Find the cell in which the best chain ends: the first such boundary, then column."""
    usual, boundaries, scores = question.lists.last
    path[STAGE] = LOST
    # a chain has nucleotides, so that none ends at boundary 0
    last = first_from(boundaries, max(low, 1))
    for i in range(max(low, 1), min(high, len(question.lists.codes) + 1)):
        points = np.int64(usual)
        if last < len(boundaries) and boundaries[last] == i:
            points, last = np.int64(scores[last]), last + 1
        for column in range(question.final, len(question.start)):
            value = np.int64(inside[PHASES + i - low, places[column]])
            if value - question.weights[2] * column + points == question.score:
                path[STAGE], path[BOUNDARY], path[COLUMN], path[VALUE] = WALK, i, column, value
                path[INSIDE], path[GAP], path[EXON_END], path[LAST] = True, False, i, column
                return
