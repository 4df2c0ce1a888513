"""Memory of a protein's sweep and of its traceback: states, checkpoints, first columns."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.memory import SiteLists, most_pending, power_of_two
from gpu_tools.sites.introns import Introns
from gpu_tools.sites.table import SiteTable, once_a_table
from gpu_tools.splicing.proteins.rows import (
    PHASES,
    RECENT,
    SPLITS,
    ProteinColumns,
)
from gpu_tools.splicing.rows import aligned_empty, aligned_full

# The state of a protein's sweep between two blocks of rows, and its copies before each block.


class ProteinState(NamedTuple):
    """The rows that a sweep goes on from.

    `rows` are the latest rows of H, `codon_gaps` those of chains that leave a codon out, one for
    each frame; `waiting` rows that join H where a split codon ends, `waits` whether there are any.
    `before` are the maxima over the exits before an entry, `SPLITS` rows an intron class, then the
    far rows of `gpu_tools.sites.introns`. `exits` are the rows of the latest exits, one a phase,
    exit e at place e modulo the number of places, a power of two; `exit_rows`
    their boundaries, `exit_kinds` their kinds, and `counts` how many there were, then how many of
    them each intron class has taken.
    """

    rows: NDArray
    codon_gaps: NDArray
    waiting: NDArray
    waits: NDArray[np.bool_]
    before: NDArray
    exits: NDArray
    exit_rows: NDArray[np.int64]
    exit_kinds: NDArray[np.uint8]
    counts: NDArray[np.int64]


class StateSizes(NamedTuple):
    """The sizes of a table's states.

    `classes` are those of introns, `maxima` the rows before entries, and `places` the latest exits;
    `kept` are the donors of junctions.
    """

    classes: int
    maxima: int
    places: int
    kept: int


@once_a_table
def sizes_of(table: SiteTable) -> StateSizes:
    """Return the sizes of a table's states."""
    classes = len(table.introns)
    lines = sum(max(len(intron.rising) - 1, 0) for intron in table.introns)
    places, kept = power_of_two(most_pending(table) + 1), len(table.junction_arrays.donors)
    return StateSizes(classes, (classes + lines) * SPLITS, places, kept)


def fresh_state(table: SiteTable, columns: ProteinColumns) -> ProteinState:
    """Return the state before boundary 0."""
    classes, maxima, places, _ = sizes_of(table)
    ends = np.cumsum((RECENT, PHASES, RECENT, maxima, places * PHASES))
    cells = aligned_full((ends[-1], columns.width), columns.none)
    rows, codon_gaps, waiting, before, exits = (
        cells[first:end] for first, end in pairwise((0, *ends))
    )
    return ProteinState(
        rows, codon_gaps, waiting, np.zeros(RECENT, bool), before, exits,
        np.zeros(places, np.int64), np.zeros(places, np.uint8), np.zeros(1 + classes, np.int64),
    )  # fmt: skip


def states_of(state: ProteinState, count: int) -> ProteinState:
    """Return so many states like one, not filled in, each of its arrays one behind the other."""

    def unfilled(part: NDArray) -> NDArray:
        if part.ndim == 1:
            return np.zeros((count, *part.shape), part.dtype)
        rows = aligned_empty((count * len(part), part.shape[1]), part.dtype)
        return rows.reshape(count, *part.shape)

    return ProteinState(*map(unfilled, state))


# The first columns of a sweep alone, for no cell depends on columns to its right.
#
# A traceback goes back, to earlier boundaries and fewer residues: of what it computes again it
# needs the columns up to that of the path.


class StateMemory(NamedTuple):
    """Memory of some states whose rows have any width; `cells` holds all their rows.

    The other arrays have an axis for the state in front, see `ProteinState`.
    """

    cells: NDArray
    waits: NDArray[np.bool_]
    exit_rows: NDArray[np.int64]
    exit_kinds: NDArray[np.uint8]
    counts: NDArray[np.int64]


def state_memory(sizes: StateSizes, columns: ProteinColumns, count: int) -> StateMemory:
    """Return memory for so many states."""
    rows = 2 * RECENT + PHASES + sizes.maxima + PHASES * sizes.places
    cells = aligned_empty((1, count * rows * columns.width), columns.none.dtype)[0]
    return StateMemory(
        cells, np.zeros((count, RECENT), bool), np.zeros((count, sizes.places), np.int64),
        np.zeros((count, sizes.places), np.uint8), np.zeros((count, 1 + sizes.classes), np.int64),
    )  # fmt: skip


@njit(nogil=True)
def states_in(memory, count, maxima, width):
    """Return so many states with rows of some width, and `maxima` before entries; not filled in."""
    cells, places = memory.cells, memory.exit_rows.shape[1]
    gaps = count * RECENT * width
    waiting = gaps + count * PHASES * width
    before = waiting + count * RECENT * width
    exits = before + count * maxima * width
    end = exits + count * places * PHASES * width
    return ProteinState(
        cells[:gaps].reshape((count, RECENT, width)),
        cells[gaps:waiting].reshape((count, PHASES, width)),
        cells[waiting:before].reshape((count, RECENT, width)),
        memory.waits[:count],
        cells[before:exits].reshape((count, maxima, width)),
        cells[exits:end].reshape((count, places * PHASES, width)),
        memory.exit_rows[:count], memory.exit_kinds[:count], memory.counts[:count],
    )  # fmt: skip


@njit(nogil=True)
def prefix_width(column, lanes):
    """Return the elements of rows, in whole vectors, that hold the columns up to one of them."""
    return (column // lanes + 1) * lanes


@njit(nogil=True)
def find_elements(elements, width, source_width, lanes):
    """Fill in for each element of rows of some width where its column lies in wider rows."""
    each, of_source = width // lanes, source_width // lanes
    for lane in range(lanes):
        for k in range(each):
            column = lane * each + k
            elements[k * lanes + lane] = column % of_source * lanes + column // of_source


@njit(nogil=True)
def gather_rows(to, source, elements):
    """Fill rows with the first columns of wider ones."""
    for row in range(len(to)):
        for k in range(to.shape[1]):
            to[row, k] = source[row, elements[k]]


@njit(nogil=True)
def prefix_columns(columns, width, cells, elements):
    """Return the first columns of a protein, as many as a width holds, in memory for cells.

    Ends of chains are looked for in all columns or in none.
    """
    whole = len(columns.start)
    codons = len(columns.profile) // whole
    find_elements(elements, width, whole, columns.lanes)
    flat, start = cells[: codons * width], cells[codons * whole : codons * whole + width]
    profile = columns.profile.reshape((codons, whole))
    gather_rows(flat.reshape((codons, width)), profile, elements)
    gather_rows(start.reshape((1, width)), columns.start.reshape((1, whole)), elements)
    first = (codons + 1) * whole
    points = cells[first : first + PHASES * width].reshape((PHASES, width))
    gather_rows(points, columns.points, elements)
    span = columns.span if width == whole else (0, 0)
    return ProteinColumns(
        flat, start, span, columns.none, columns.costs, columns.weights, columns.lanes,
        columns.symbols, points, columns.bans,
    )  # fmt: skip


@njit(nogil=True)
def state_in(memory, maxima, width):
    """Return the one state in memory, with rows of some width, not filled in."""
    states = states_in(memory, 1, maxima, width)
    return ProteinState(
        states.rows[0], states.codon_gaps[0], states.waiting[0], states.waits[0], states.before[0],
        states.exits[0], states.exit_rows[0], states.exit_kinds[0], states.counts[0],
    )  # fmt: skip


@njit(nogil=True)
def begin(state, none):
    """Fill in the state before boundary 0."""
    for rows in (state.rows, state.codon_gaps, state.waiting, state.before):
        flat = rows.reshape(rows.size)
        for k in range(len(flat)):
            flat[k] = none
    for k in range(len(state.waits)):
        state.waits[k] = False
    for k in range(len(state.counts)):
        state.counts[k] = 0


@njit(nogil=True)
def restore(state, states, number, elements, lanes):
    """Fill in the first columns of a stored state, and the exits that some class lacks."""
    find_elements(elements, state.rows.shape[1], states.rows.shape[2], lanes)
    gather_rows(state.rows, states.rows[number], elements)
    gather_rows(state.codon_gaps, states.codon_gaps[number], elements)
    gather_rows(state.waiting, states.waiting[number], elements)
    gather_rows(state.before, states.before[number], elements)
    simd.copy(states.waits[number], state.waits)
    simd.copy(states.counts[number], state.counts)
    taken, places = state.counts[0], len(state.exit_rows)
    for k in range(1, len(state.counts)):
        taken = min(taken, state.counts[k])
    for donor in range(taken, state.counts[0]):
        place = donor & (places - 1)
        state.exit_rows[place] = states.exit_rows[number, place]
        state.exit_kinds[place] = states.exit_kinds[number, place]
        own = slice(place * PHASES, (place + 1) * PHASES)
        gather_rows(state.exits[own], states.exits[number, own], elements)


# What a traceback reads of a strand and a protein, and the memory that it works in.


class ProteinQuestion(NamedTuple):
    """A strand and a protein, and the score of their best chain.

    `pairs` are lifted scores by number of a codon and residue, `codon_costs` those of
    `ProteinScoring.codon_gaps`, `weights` gap open, frameshift, gap extend, `introns` the
    table's. `start` is H' of a chain that begins, its points left
    out, by column; `final` the first column in which a chain may end; `score` that of the best
    chain, `maxima` the rows of `ProteinState.before`, and `points` those of `target_introns`.
    """

    lists: SiteLists
    columns: ProteinColumns
    codons: NDArray[np.uint8]
    pairs: NDArray[np.int64]
    codon_costs: NDArray[np.int64]
    weights: NDArray[np.int64]
    introns: Introns
    start: NDArray[np.int64]
    final: int
    score: int
    maxima: int
    points: NDArray[np.int64]


@njit(nogil=True)
def prefix_kept(junctions, stored, memory, width, low, high):
    """Return rows at donors of junctions, first columns; filled in as a block needs them.

    These are rows of donors before the boundary `low`, of junctions to boundaries up to `high`.
    """
    donors, acceptors, numbers, _ = junctions
    kept = memory.kept[: PHASES * len(donors) * width].reshape((PHASES * len(donors), width))
    for k in range(first_from(acceptors, low), first_from(acceptors, high)):
        if donors[numbers[k]] < low:
            own = slice(PHASES * numbers[k], PHASES * (numbers[k] + 1))
            gather_rows(kept[own], stored.kept[own], memory.elements)
    return kept


class StoredBlocks(NamedTuple):
    """States before some blocks, and the largest ends and exits of each, laid out as columns are.

    `states` have an axis for the block in front. `first` is the number of the first of them, and
    `length` are the boundaries of a block. `kept` are the rows of exits at the donors of junctions,
    one a phase.
    """

    first: int
    length: int
    states: ProteinState
    ends: NDArray
    kept: NDArray


class TraceMemory(NamedTuple):
    """Memory of a traceback.

    `cells` are for a protein's first columns and the largest ends of a block, `elements` where the
    columns lie in all of them, and `state` for a state. `rows` are those of a block and the three
    before, see `sweep_protein_blocks`, and `block` its number and the elements of its rows;
    `places` are the elements of columns in them. `states` and `ends` are for the blocks between two
    checkpoints, `found` for the moves in a block, and `kept` for rows at donors of junctions,
    `kept_again` for those of the states.
    """

    cells: NDArray
    elements: NDArray[np.int64]
    state: StateMemory
    rows: NDArray
    block: NDArray[np.int64]
    places: NDArray[np.int64]
    states: StateMemory
    ends: NDArray
    found: NDArray[np.int64]
    kept: NDArray
    kept_again: NDArray


def trace_memory(
    columns: ProteinColumns, sizes: StateSizes, block: int, blocks: int
) -> TraceMemory:
    """Return memory for blocks of so many boundaries, and for `blocks` states."""
    width, dtype = columns.width, columns.none.dtype

    def cells(count: int) -> NDArray:
        return aligned_empty((1, count), dtype)[0]

    return TraceMemory(
        cells(len(columns.profile) + (3 + PHASES) * width), np.empty(width, np.int64),
        state_memory(sizes, columns, 1), cells(3 * (PHASES + block) * width), np.array([-1, 0]),
        np.empty(width, np.int64), state_memory(sizes, columns, blocks), cells(2 * blocks * width),
        np.empty((2 * (PHASES + block + width), 2), np.int64),
        cells(PHASES * sizes.kept * width), cells(bool(blocks) * PHASES * sizes.kept * width),
    )  # fmt: skip


def no_blocks(columns: ProteinColumns, sizes: StateSizes, length: int) -> StoredBlocks:
    """Return what is stored of a strand before any block, of so many boundaries, is swept."""
    waits, exit_rows, exit_kinds, counts = state_memory(sizes, columns, 0)[1:]
    rows, gaps, waiting, before, exits, ends = (
        np.empty((0, count, columns.width), columns.none.dtype)
        for count in (RECENT, PHASES, RECENT, sizes.maxima, PHASES * sizes.places, 2)
    )
    states = ProteinState(rows, gaps, waiting, waits, before, exits, exit_rows, exit_kinds, counts)
    return StoredBlocks(0, length, states, ends, np.empty((0, columns.width), ends.dtype))


# Checkpoints that a GPU wrote, and the state of a sweep that goes on from one.


class Checkpoints(NamedTuple):
    """Some checkpoints of a strand, one behind the other."""

    # All rows. A checkpoint begins with the latest rows of H, then those of chains that leave a
    # codon out, each the latest first.
    cells: NDArray[np.int16]
    first: int  # number of the first checkpoint, from 1
    count: int
    sizes: tuple[int, int]  # cells of a checkpoint and of a row
    columns: NDArray[np.int64]  # where columns lie in a row, -1 for those that it lacks
    bias: int  # what is added to cells
    # the rows of `ProteinState.waiting` and of `ProteinState.before`, -1 if they are not stored
    waiting: NDArray[np.int64]
    before: NDArray[np.int64]
    kept: NDArray[np.int64]  # the first row of each donor of junctions, without the site's points
    # the first row of exits, those of exit e at place e modulo the places of `ProteinState`,
    # without the points of the site
    exits: int
    every: int  # boundaries from checkpoint to checkpoint


@njit(nogil=True)
def has_checkpoint(checkpoints, part):
    """Return whether the state before a part is known."""
    return part == 0 or 0 <= part - checkpoints.first < checkpoints.count


@njit(nogil=True)
def resume(state, kept, checkpoints, part, lists, codons, columns):
    """Fill in the state before the first boundary of a part, which is not the first part.

    `codons` are numbers of words of three nucleotides; the state is that before boundary 0. `kept`
    are rows at donors of junctions, of which those are filled in that the part may need.
    """
    boundary, first = part * checkpoints.every, part - checkpoints.first
    for back in range(1, 1 + PHASES):
        _read(state.rows, (boundary - back) % RECENT, checkpoints, first, back - 1, 0, columns)
        frame, row = (boundary + 1 - back) % PHASES, PHASES + back - 1
        # the kernel is ahead of the boundary: what the codon costs is added again
        cost = _codon_cost(lists.codes, codons, columns, boundary) if back == 1 else 0
        _read(state.codon_gaps, frame, checkpoints, first, row, cost, columns)
    _wait(state, lists.kinds, lists.acceptors, len(lists.codes), boundary)
    _wait_for_junctions(state, lists.junctions, len(lists.codes), boundary)
    for k in np.flatnonzero(state.waits):
        _read(state.waiting, k, checkpoints, first, checkpoints.waiting[k], 0, columns)
    for k in range(len(checkpoints.before)):
        _read(state.before, k, checkpoints, first, checkpoints.before[k], 0, columns)
    taken = _pend(state, lists.lengths, lists.donors, boundary)
    for donor in range(taken, state.counts[0]):
        place, points = donor & (len(state.exit_rows) - 1), np.int64(lists.donors[1][donor])
        for row in range(PHASES * place, PHASES * (place + 1)):
            source = checkpoints.exits + row
            _read(state.exits, row, checkpoints, first, source, points, columns)

    _read_kept(kept, checkpoints, first, lists, boundary, len(state.exit_rows), columns)


@njit(nogil=True)
def _read_kept(kept, checkpoints, first, lists, boundary, places, columns):
    """Fill in the rows at donors of junctions that go on behind a boundary."""
    (donors, acceptors, numbers, _), (boundaries, points, _) = lists.junctions, lists.donors
    for k in range(first_from(acceptors, boundary), len(acceptors)):
        number = numbers[k]
        if donors[number] >= boundary:
            continue
        exit = first_from(boundaries, donors[number])
        source = checkpoints.kept[number]
        if donors[number] == boundary - 1:  # the kernel keeps rows at the next boundary
            source = checkpoints.exits + PHASES * (exit & (places - 1))
        for phase in range(PHASES):
            row, bonus = PHASES * number + phase, np.int64(points[exit])
            _read(kept, row, checkpoints, first, source + phase, bonus, columns)


@njit(nogil=True)
def _wait_for_junctions(state, junctions, length, boundary):
    """Note which rows behind introns of their own penalties wait for a boundary."""
    donors, acceptors, numbers, _ = junctions
    first = first_from(acceptors, boundary - RECENT + 2)
    for k in range(first, first_from(acceptors, boundary)):
        for phase in range(1, PHASES):
            end = np.int64(acceptors[k]) + PHASES - phase
            if boundary <= end <= length and donors[numbers[k]] >= phase:
                state.waits[end % RECENT] = True


@njit(nogil=True)
def _read(rows, to, checkpoints, number, row, bonus, columns):
    """Fill in a row from one of a checkpoint, if it is stored."""
    if row < 0:
        return
    lanes, cells = columns.lanes, checkpoints.cells
    first = number * checkpoints.sizes[0] + row * checkpoints.sizes[1]
    added, each = checkpoints.bias + bonus, rows.shape[1] // lanes
    for lane in range(lanes):
        for k in range(each):
            place = checkpoints.columns[lane * each + k]
            if place >= 0:
                rows[to, k * lanes + lane] = cells[first + place] + added


@njit(nogil=True)
def _codon_cost(codes, codons, columns, boundary):
    """Return what it costs to leave out the codon that ends at a boundary."""
    codon = codons[codes[boundary - 3], codes[boundary - 2], codes[boundary - 1]]
    return np.int64(columns.costs[codon])


@njit(nogil=True)
def _wait(state, kinds, acceptors, length, boundary):
    """Note which rows wait for a boundary from `boundary` on."""
    boundaries, _, entry_kinds = acceptors
    first = first_from(boundaries, boundary - RECENT + 2)
    for acceptor in range(first, first_from(boundaries, boundary)):
        entered = np.int64(boundaries[acceptor])
        for end in range(max(entered + 1, boundary), min(entered + 2, length) + 1):
            for kind in kinds:
                if kind == entry_kinds[acceptor]:
                    state.waits[end % RECENT] = True


@njit(nogil=True)
def _pend(state, lengths, donors, boundary):
    """Note which exits some class of introns has not taken; return the first of them."""
    boundaries, _, kinds = donors
    taken = state.counts[0] = first_from(boundaries, boundary)
    for k in range(len(lengths)):
        state.counts[1 + k] = first_from(boundaries, boundary - lengths[k])
        taken = min(taken, state.counts[1 + k])
    for donor in range(taken, state.counts[0]):
        place = donor & (len(state.exit_rows) - 1)
        state.exit_rows[place], state.exit_kinds[place] = boundaries[donor], kinds[donor]
    return taken
