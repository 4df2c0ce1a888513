"""Memory of a protein's sweep and of its traceback: states, and first columns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.memory import SiteLists, SweepBuffers, most_pending, power_of_two
from gpu_tools.sites.proteins.exits import ExitQuestion
from gpu_tools.sites.table import SiteTable, once_a_table
from gpu_tools.splicing.proteins.rows import (
    PHASES,
    RECENT,
    SPLITS,
    ProteinColumns,
)
from gpu_tools.splicing.rows import padded

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


def carved(
    buffers: SweepBuffers, shapes: Iterable[tuple[tuple[int, ...], type | np.dtype]]
) -> tuple[list[NDArray], NDArray[np.uint8]]:
    """Return arrays of some shapes and types, not filled in, and the memory that they lie in.

    Each begins at a cache line.
    """
    shapes = [(shape, np.dtype(dtype)) for shape, dtype in shapes]
    sizes = (prod(shape) * dtype.itemsize for shape, dtype in shapes)
    *starts, end = accumulate((padded(size, 1, 1) for size in sizes), initial=0)
    buffer = buffers.take(end)
    arrays = [
        np.ndarray(shape, dtype, buffer, start)
        for (shape, dtype), start in zip(shapes, starts, strict=True)
    ]
    return arrays, buffer


def sweep_memory(
    table: SiteTable, columns: ProteinColumns, blocks: int, buffers: SweepBuffers
) -> tuple[ProteinState, tuple[ProteinState, NDArray, NDArray], NDArray[np.uint8]]:
    """Return the state before boundary 0, the parts of `StoredBlocks`, and the memory of all.

    States before blocks are not filled in.
    """
    classes, maxima, places, kept = sizes_of(table)
    width, dtype = columns.width, columns.none.dtype

    def state(*count: int) -> list[tuple]:
        rows = (RECENT, PHASES, RECENT, maxima, places * PHASES)
        recent, gaps, waiting, before, exits = (((*count, n, width), dtype) for n in rows)
        return [
            recent, gaps, waiting, ((*count, RECENT), np.bool_), before, exits,
            ((*count, places), np.int64), ((*count, places), np.uint8),
            ((*count, 1 + classes), np.int64),
        ]  # fmt: skip

    own = ((blocks, 2, width), dtype), ((PHASES * kept, width), dtype)
    (*states, ends, kept), buffer = carved(buffers, [*state(), *state(blocks), *own])
    first, saved = ProteinState(*states[: len(states) // 2]), states[len(states) // 2 :]
    for part in first:
        part.fill(columns.none if part.ndim == 2 else 0)
    ends.fill(columns.none)
    return first, (ProteinState(*saved), ends, kept), buffer


# The first columns of a sweep alone, for no cell depends on columns to its right.
#
# A traceback goes back, to earlier boundaries and fewer residues: of what it computes again it
# needs the columns up to that of the path.


class StateMemory(NamedTuple):
    """Memory of a state whose rows have any width; `cells` holds them all, see `ProteinState`."""

    cells: NDArray
    waits: NDArray[np.bool_]
    exit_rows: NDArray[np.int64]
    exit_kinds: NDArray[np.uint8]
    counts: NDArray[np.int64]


@njit(nogil=True)
def state_in(memory, maxima, width):
    """Return the state in memory, with rows of some width and `maxima` before entries.

    It is not filled in.
    """
    cells, places = memory.cells, len(memory.exit_rows)
    gaps = RECENT * width
    waiting = gaps + PHASES * width
    before = waiting + RECENT * width
    exits = before + maxima * width
    end = exits + places * PHASES * width
    return ProteinState(
        cells[:gaps].reshape((RECENT, width)), cells[gaps:waiting].reshape((PHASES, width)),
        cells[waiting:before].reshape((RECENT, width)), memory.waits,
        cells[before:exits].reshape((maxima, width)),
        cells[exits:end].reshape((places * PHASES, width)),
        memory.exit_rows, memory.exit_kinds, memory.counts,
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
    """A strand and a protein, and the score of their best chain, less the cells' bias.

    `codon_costs` are those of `ProteinScoring.codon_gaps`, `weights` gap open, frameshift, gap
    extend. `start` are the cells of a chain that begins, its points left out, by column; `final`
    the first column in which a chain may end; `score` that of the best chain, and `maxima` the rows
    of `ProteinState.before`.
    """

    lists: SiteLists
    columns: ProteinColumns
    exits: ExitQuestion
    codon_costs: NDArray[np.int64]
    weights: NDArray[np.int64]
    start: NDArray[np.int64]
    final: int
    score: int
    maxima: int


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

    `states` have an axis for the block in front. `length` are the boundaries of a block. `kept` are
    the rows of exits at the donors of junctions, one a phase.
    """

    length: int
    states: ProteinState
    ends: NDArray
    kept: NDArray


class TraceMemory(NamedTuple):
    """Memory of a traceback.

    `cells` are for a protein's first columns and the largest ends of a block, `elements` where the
    columns lie in all of them, and `state` for a state. `rows` are those of a block and the three
    before, see `sweep_protein_blocks`, and `block` its number and the elements of its rows;
    `places` are the elements of columns in them. `found` is for the moves in a block, and `kept`
    for rows at donors of junctions.
    """

    cells: NDArray
    elements: NDArray[np.int64]
    state: StateMemory
    rows: NDArray
    block: NDArray[np.int64]
    places: NDArray[np.int64]
    found: NDArray[np.int64]
    kept: NDArray


def trace_memory(
    columns: ProteinColumns, sizes: StateSizes, block: int, buffers: SweepBuffers
) -> tuple[TraceMemory, NDArray[np.uint8]]:
    """Return memory for blocks of so many boundaries, and the memory that it lies in."""
    width, dtype = columns.width, columns.none.dtype
    state = 2 * RECENT + PHASES + sizes.maxima + PHASES * sizes.places
    (cells, state, rows, kept, elements, places, found, *numbers), buffer = carved(buffers, [
        ((len(columns.profile) + (3 + PHASES) * width,), dtype), ((state * width,), dtype),
        ((3 * (PHASES + block) * width,), dtype), ((PHASES * sizes.kept * width,), dtype),
        ((width,), np.int64), ((width,), np.int64), ((2 * (PHASES + block + width), 2), np.int64),
        ((RECENT,), np.bool_), ((sizes.places,), np.int64), ((sizes.places,), np.uint8),
        ((1 + sizes.classes,), np.int64),
    ])  # fmt: skip
    memory = TraceMemory(
        cells, elements, StateMemory(state, *numbers), rows, np.array([-1, 0]), places, found, kept
    )
    return memory, buffer
