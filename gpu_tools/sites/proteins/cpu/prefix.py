"""The first columns of a sweep alone, for no cell depends on columns to its right.

A traceback goes back, to earlier boundaries and fewer residues: of what it computes again it needs
the columns up to that of the path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.sites.proteins.cpu.state import ProteinState, StateSizes
from gpu_tools.splicing.proteins.columns import ProteinColumns
from gpu_tools.splicing.proteins.rows import PHASES, RECENT
from gpu_tools.splicing.strip import aligned_empty


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
    span = columns.span if width == whole else (0, 0)
    return ProteinColumns(
        flat, start, span, columns.none, columns.costs, columns.weights, columns.lanes,
        columns.symbols,
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
    for exit in range(taken, state.counts[0]):
        place = exit & (places - 1)
        state.exit_rows[place] = states.exit_rows[number, place]
        state.exit_kinds[place] = states.exit_kinds[number, place]
        own = slice(place * PHASES, (place + 1) * PHASES)
        gather_rows(state.exits[own], states.exits[number, own], elements)
