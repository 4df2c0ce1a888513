"""Memory of a protein's sweep, and the first columns of it alone, for a traceback.

No cell depends on columns to its right. A traceback goes back, to earlier boundaries and fewer
residues: of what it computes again it needs the columns up to that of the path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.scoring import N_CODONS
from gpu_tools.sites.cpu.memory import ChainRows, SiteLists, gather_rows, part, restore
from gpu_tools.sites.proteins.exits import ExitQuestion
from gpu_tools.splicing.proteins.rows import PHASES, RECENT, SPLITS, ProteinColumns


class ProteinState(NamedTuple):
    """The rows that a sweep goes on from, parts of its memory.

    `rows` are the latest rows of H, `codon_gaps` those of chains that leave a codon out, one for
    each frame; `waiting` rows that join H where a split codon ends, `waits` whether there are any.
    `before` are the maxima over the exits before an entry, `SPLITS` rows an intron class, then the
    far rows of `gpu_tools.sites.introns`. `exits` are the rows of the latest exits, one a phase,
    exit e at place e modulo the number of places, a power of two; `exit_rows` their boundaries,
    `exit_kinds` their kinds, and `counts` how many there were, then how many of them each intron
    class has taken. `kept` are the rows of exits at the donors of junctions, one a phase.
    """

    rows: NDArray
    codon_gaps: NDArray
    waiting: NDArray
    waits: NDArray[np.int64]
    before: NDArray
    exits: NDArray
    exit_rows: NDArray[np.int64]
    exit_kinds: NDArray[np.int64]
    counts: NDArray[np.int64]
    kept: NDArray


@njit(nogil=True)
def state_in(cells, numbers, sizes):
    """Return the state in memory of a sweep."""
    at, marks = sizes.rows, sizes.numbers
    return ProteinState(
        part(cells, at.rows, at.waiting), part(cells, at.gaps, at.before),
        part(cells, at.waiting, at.gaps), part(numbers, marks.waits, marks.exit_rows),
        part(cells, at.before, at.step), part(cells, at.exits, at.kept),
        part(numbers, marks.exit_rows, marks.exit_rows + sizes.places),
        part(numbers, marks.exit_kinds, marks.exit_kinds + sizes.places),
        part(numbers, marks.counts, marks.waits), part(cells, at.kept, at.stored),
    )  # fmt: skip


_RECORDED = 3
"""Rows of each boundary of a block that is computed again."""
_OF_COLUMNS = N_CODONS + 1 + PHASES
"""Rows of `ProteinColumns`."""


def _rows_again(block: int, state: int) -> int:
    """Return the rows of a traceback: a state, columns, a block and the boundaries before it."""
    return state + _OF_COLUMNS + _RECORDED * (PHASES + block)


PROTEIN_ROWS = ChainRows(
    PHASES, rows=RECENT, splits=SPLITS, waiting=RECENT, gaps=PHASES, ends=1, again=_rows_again
)


class ProteinQuestion(NamedTuple):
    """What a traceback reads of a strand and a protein.

    `codon_costs` are those of `ProteinScoring.codon_gaps`, `weights` gap open, frameshift, gap
    extend. `start` are the cells of a chain that begins, its points left out, by column; `final`
    is the first column in which a chain may end.
    """

    lists: SiteLists
    columns: ProteinColumns
    exits: ExitQuestion
    codon_costs: NDArray[np.int64]
    weights: NDArray[np.int64]
    start: NDArray[np.int64]
    final: int


class ProteinWork(NamedTuple):
    """What a traceback works in.

    `elements` are those of the first columns in all of them, `places` the elements of columns in
    the first ones, and `found` is for the moves in a block.
    """

    elements: NDArray[np.int64]
    places: NDArray[np.int64]
    found: NDArray[np.int64]


@njit(nogil=True)
def work_of(width, block):
    """Return what a traceback of rows of some width works in."""
    moves = 2 * (PHASES + block + width)
    return ProteinWork(
        np.empty(width, np.int64), np.empty(width, np.int64),
        np.empty(2 * moves, np.int64).reshape((moves, 2)),
    )  # fmt: skip


@njit(nogil=True)
def first_columns(cells, sizes, column, lanes, work):
    """Return memory for the columns up to one of them, in whole vectors; fill in where they lie."""
    whole, rows = cells.shape[1], sizes.rows
    each, of_whole = column // lanes + 1, whole // lanes
    width, count = each * lanes, rows.end - rows.again
    for k in range(width):
        place = k % each * lanes + k // each
        work.places[k] = place
        work.elements[place] = k % of_whole * lanes + k // of_whole
    flat = part(cells, rows.again, rows.end).reshape(count * whole)
    return part(flat, 0, count * width).reshape((count, width))


@njit(nogil=True)
def columns_in(again, sizes, columns, elements):
    """Return the first columns of a protein, in memory of a traceback.

    Ends of chains are looked for in all columns or in none.
    """
    whole, width, first = len(columns.start), again.shape[1], sizes.rows.stored
    n_codons, start = len(columns.profile) // whole, first + N_CODONS
    profile = columns.profile.reshape((n_codons, whole))
    gather_rows(again, first, profile, 0, n_codons, elements)
    gather_rows(again, start, columns.start.reshape((1, whole)), 0, 1, elements)
    gather_rows(again, start + 1, columns.points, 0, PHASES, elements)
    span = columns.span if width == whole else (0, 0)
    flat = part(again, first, first + n_codons).reshape(n_codons * width)
    return ProteinColumns(
        flat, again[start], span, columns.none, columns.costs, columns.weights, columns.lanes,
        columns.symbols, part(again, start + 1, start + 1 + PHASES), columns.bans,
    )  # fmt: skip


@njit(nogil=True)
def recorded_rows(again, sizes):
    """Return what a traceback reads of a block: rows inside exons, of whole exons, and of gaps.

    The first ones are those of the boundaries before the block.
    """
    first, count = sizes.rows.stored + _OF_COLUMNS, PHASES + sizes.block
    return (
        part(again, first, first + count), part(again, first + count, first + 2 * count),
        part(again, first + 2 * count, first + 3 * count),
    )  # fmt: skip


@njit(nogil=True)
def restored(again, cells, numbers, sizes, lists, block, elements):
    """Return the state before a block, first columns.

    Of rows at donors of junctions these are the ones of donors before the block, of junctions to
    boundaries in it.
    """
    restore(again, cells, numbers, sizes, lists.donors, lists.lengths, block, elements)
    donors, acceptors, kept, _ = lists.junctions
    low, first = block * sizes.block, sizes.rows.kept
    for k in range(first_from(acceptors, low), first_from(acceptors, low + sizes.block)):
        if donors[kept[k]] < low:
            row = first + PHASES * kept[k]
            gather_rows(again, row, cells, row, PHASES, elements)
    return state_in(again, numbers, sizes)
