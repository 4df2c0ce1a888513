"""The traceback in compiled code: from block to block, from the last exon to the first one.

What the path needs of a block is computed again: its rows up to the boundary where the path enters
it, and up to the path's column. Where only checkpoints are known, the blocks between two of them
are swept first.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.loops import first_from
from gpu_tools.sites.proteins.cpu.checkpoints import has_checkpoint, resume
from gpu_tools.sites.proteins.cpu.introns import exit_in, may_hold
from gpu_tools.sites.proteins.cpu.prefix import (
    begin,
    prefix_columns,
    prefix_width,
    restore,
    state_in,
    states_in,
)
from gpu_tools.sites.proteins.cpu.question import StoredBlocks
from gpu_tools.sites.proteins.cpu.sweep import sweep_block, sweep_protein_blocks
from gpu_tools.splicing.proteins.rows import PHASES, RECENT
from gpu_tools.splicing.proteins.walk import BEFORE, INTRON_RUN, add_moves, add_run, walk

STAGE, BLOCK, BOUNDARY, COLUMN, VALUE, INSIDE, GAP, EXON_END, LAST, RUNS, EXONS, NUMBERS = range(12)
"""Numbers of a path: what is looked for, in which block; the fields of a `Cell`; where its exon
ends; the column in which the chain ends; and how many runs and exons there are so far."""
FIND_BLOCK, FIND_END, WALK, FIND_EXIT = range(4)
DONE, LOST = -1, -2
"""Results of `follow`."""


@njit(cache=True, nogil=True, error_model="numpy")
def follow(question, stored, checkpoints, memory, path, runs, exons):
    """Follow the best chain back to its begin, or to where a checkpoint is needed.

    Parameters
    ----------
    question : ProteinQuestion
    stored : StoredBlocks
        Of all blocks, or of none.
    checkpoints : Checkpoints or None
        None if all blocks are stored: then what sweeps between checkpoints need not be compiled.
    memory : TraceMemory
    path : ndarray of int64, shape (NUMBERS,)
        Where to begin, and where the path has come to.
    runs : ndarray of int64, shape (R, 2)
        Letters, as numbers, and lengths so far, from the last one on.
    exons : ndarray of int64, shape (E, 2)
        Exons so far, from the last one on.

    Returns
    -------
    int
        `DONE`; `LOST` if nothing explains a cell; or the part before which a state is needed.
    runs, exons : ndarray
        As above, perhaps with more space.
    """
    length = stored.length
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
                question.pairs, question.codon_costs, question.weights, path[BOUNDARY],
                path[COLUMN], path[VALUE], path[INSIDE] == 1, path[GAP] == 1, memory.found,
            )  # fmt: skip
            runs, path[RUNS] = add_moves(runs, path[RUNS], memory.found, walked[5])
            if _go_on(path, walked, question.lists.first, question.start, length):
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
def _go_on(path, walked, firsts, start, length):
    """Note where the walk through a block has come to; return whether the chain begins there."""
    i, j, value, inside, gap, _, move = walked
    path[BOUNDARY], path[COLUMN], path[VALUE], path[INSIDE], path[GAP] = i, j, value, inside, gap
    path[BLOCK] = i // length
    begins = move != BEFORE and not inside and value == _begun(firsts, i) + start[j]
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
    if part > 0:
        resume(state, checkpoints, part, lists, question.codons, columns)
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
        lists, columns, question.codons, state, states, ends, (none, none, none), blocks
    )
    return StoredBlocks(low // length, length, states, ends)


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
    sweep_block(question.lists, columns, question.codons, state, ends, record, low, high)


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


@njit(nogil=True)
def _begun(firsts, boundary):
    """Return the points of a chain that begins at a boundary."""
    usual, boundaries, scores = firsts
    first = first_from(boundaries, boundary)
    if first < len(boundaries) and boundaries[first] == boundary:
        return np.int64(scores[first])
    return np.int64(usual)
