"""The traceback of a protein in compiled code: block by block, from the last exon to the first.

What the path needs of a block is computed again: its rows up to the boundary where the path
enters it, and up to the path's column. How the exon before an intron is found says
`gpu_tools.sites.proteins.exits`.

numba takes long to compile a function that takes many arrays. So few functions take the question.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.memory import part
from gpu_tools.sites.proteins.cpu.block import sweep_block
from gpu_tools.sites.proteins.cpu.memory import (
    columns_in,
    first_columns,
    recorded_rows,
    restored,
    work_of,
)
from gpu_tools.sites.proteins.exits import entries_before, exit_phase, may_hold
from gpu_tools.splicing.proteins.rows import PHASES, RECENT
from gpu_tools.splicing.proteins.walk import (
    AT_INTRON,
    BEFORE,
    BEGIN,
    INTRON_RUN,
    add_moves,
    add_run,
    walk,
    with_room,
)

(
    STAGE, BLOCK, BOUNDARY, COLUMN, VALUE, INSIDE, GAP, EXON_END, LAST, THERE, RUNS, EXONS, NUMBERS,
) = range(13)  # fmt: skip
"""Numbers of a path: what is looked for, in which block; the fields of a `Cell`, at first the score
of the chain; where its exon ends; the column in which the chain ends; the block whose rows are
there; and how many runs and exons there are so far."""
FIND_END, WALK, FIND_EXIT = range(3)
DONE, LOST = -1, -2
"""Stages behind the last one: the chain is found, or no move explains a cell."""


_SPACE = 64
"""Exons and runs for which there is space at first."""


@njit(nogil=True, error_model="numpy")
def follow(question, sizes, cells, numbers, path):
    """Follow the best chain back to its begin; return its runs and exons."""
    length, exits, lanes = sizes.block, question.exits, question.columns.lanes
    usual, firsts, first_scores = question.lists.first
    work, again = work_of(cells.shape[1], length), part(cells, 0, 0)
    places = work.places
    runs, exons = (
        with_room(part(work.found, 0, 0), _SPACE),
        with_room(part(work.found, 0, 0), _SPACE),
    )
    while path[STAGE] >= 0:
        if path[BLOCK] < 0:
            path[STAGE] = LOST
            break
        low, cell = path[BLOCK] * length, (path[BOUNDARY], path[COLUMN], path[VALUE], path[INSIDE])
        if path[STAGE] == FIND_EXIT:
            entries, best_exits = (
                entries_before(exits, cell), cells[sizes.rows.best_exits + path[BLOCK]]
            )  # fmt: skip
            best = _element(best_exits, cell[1], lanes), _element(best_exits, cell[1] - 1, lanes)
            if not may_hold(exits, cell, entries, best, low, low + length):
                path[BLOCK] -= 1
                continue
        if path[THERE] != path[BLOCK]:
            again = _computed(question, sizes, cells, numbers, path, work)
        inside, whole, gaps = recorded_rows(again, sizes)
        if path[STAGE] == FIND_END:
            _find_end(question, inside, places, low, low + length, path)
        elif path[STAGE] == WALK:
            walked = walk(
                inside, whole, gaps, places, low, exits.codes, exits.codons, exits.pairs,
                exits.banned, question.codon_costs, question.weights,
                (firsts, first_scores, question.start), path[BOUNDARY], path[COLUMN],
                path[VALUE], path[INSIDE] == 1, path[GAP] == 1, work.found,
            )  # fmt: skip
            runs = with_room(runs, path[RUNS] + walked[5])
            path[RUNS] = add_moves(runs, path[RUNS], work.found, walked[5])
            if _go_on(path, walked, usual, question.start, length):
                exons = with_room(exons, path[EXONS] + 1)
                path[EXONS] = add_run(exons, path[EXONS], walked[0], path[EXON_END])
        else:
            rows = inside, whole
            end, phase = _exit_in(exits, cell, entries, rows, places, low, low + length)
            if end < 0:
                path[BLOCK] -= 1
                continue
            start = entries[phase][0]
            runs, exons = with_room(runs, path[RUNS] + 1), with_room(exons, path[EXONS] + 1)
            path[EXONS] = add_run(exons, path[EXONS], start, path[EXON_END])
            path[RUNS] = add_run(runs, path[RUNS], INTRON_RUN + phase, start - end)
            row = (whole if phase else inside)[PHASES + end - phase - low]
            _leave(path, end, phase, row, places, length)
    return runs, exons


@njit(nogil=True)
def nothing_followed(path):
    """Return what `follow` returns, of nothing."""
    none = part(path, 0, 0).reshape((0, 2))
    return none, none


@njit(nogil=True)
def _element(row, column, lanes):
    """Return the element of a column of a row, that of the first one for the column before it."""
    each, column = len(row) // lanes, max(column, 0)
    return np.int64(row[column % each * lanes + column // each])


@njit(nogil=True)
def _exit_in(exits, cell, entries, rows, places, low, high):
    """Return the last exit of a block that explains a cell, and its phase; -1 twice if none does.

    The block has the boundaries `low` to ``high - 1``; see `recorded_rows` for its rows.
    """
    donors = exits.donors[0]
    last = first_from(donors, min(high, cell[0] + 1))
    for donor in range(last - 1, first_from(donors, low) - 1, -1):
        phase = exit_phase(exits, cell, entries, rows, places, low, donor)
        if phase >= 0:
            return np.int64(donors[donor]), phase
    return np.int64(-1), -1


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
def _computed(question, sizes, cells, numbers, path, work):
    """Compute the rows of the path's block, and the three before, again; return their memory.

    A path goes back: no later boundary or column is needed once the rows are there.
    """
    at, low, lists = sizes.rows, path[BLOCK] * sizes.block, question.lists
    path[THERE] = path[BLOCK]
    again = first_columns(cells, sizes, path[COLUMN], question.columns.lanes, work)
    columns = columns_in(again, sizes, question.columns, work.elements)
    state = restored(again, cells, numbers, sizes, lists, path[BLOCK], work.elements)
    record = recorded_rows(again, sizes)
    inside, whole, gaps = record
    for k in range(PHASES):
        boundary = low - PHASES + k
        for place in range(again.shape[1]):
            inside[k, place] = whole[k, place] = state.rows[boundary % RECENT, place]
            gaps[k, place] = state.codon_gaps[boundary % PHASES, place]
    high = min(low + sizes.block, path[BOUNDARY] + 1)
    ends = again[at.block_ends], again[at.block_exits]
    sweep_block(lists, columns, question.exits.codons, state, ends, record, low, high)
    return again


@njit(nogil=True)
def _find_end(question, inside, places, low, high, path):
    """Find the cell in which the best chain ends: the first such boundary, then column."""
    (usual, boundaries, scores), score = question.lists.last, path[VALUE]
    path[STAGE] = LOST
    # a chain has nucleotides, so that none ends at boundary 0
    last = first_from(boundaries, max(low, 1))
    for i in range(max(low, 1), min(high, len(question.lists.codes) + 1)):
        points = np.int64(usual)
        if last < len(boundaries) and boundaries[last] == i:
            points, last = np.int64(scores[last]), last + 1
        for column in range(question.final, len(question.start)):
            value = np.int64(inside[PHASES + i - low, places[column]])
            if value - question.weights[2] * column + points == score:
                path[STAGE], path[BOUNDARY], path[COLUMN], path[VALUE] = WALK, i, column, value
                path[INSIDE], path[GAP], path[EXON_END], path[LAST] = True, False, i, column
                return
