"""The state of a protein's sweep between two blocks of rows, and its copies before each block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sites.cpu.memory import most_pending, power_of_two
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.proteins.columns import ProteinColumns
from gpu_tools.splicing.proteins.rows import PHASES, RECENT, SPLITS
from gpu_tools.splicing.rows import aligned, aligned_empty


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
    """How much a table asks of a state.

    `classes` are those of introns, `maxima` the rows before entries, and `places` the latest exits.
    """

    classes: int
    maxima: int
    places: int


def sizes_of(table: SiteTable) -> StateSizes:
    """Return the sizes of a table's states."""
    classes = len(table.introns)
    lines = sum(max(len(intron.rising) - 1, 0) for intron in table.introns)
    return StateSizes(classes, (classes + lines) * SPLITS, power_of_two(most_pending(table) + 1))


def fresh_state(table: SiteTable, columns: ProteinColumns) -> ProteinState:
    """Return the state before boundary 0."""
    classes, maxima, places = sizes_of(table)
    counts = RECENT, PHASES, RECENT, maxima, places * PHASES
    rows, codon_gaps, waiting, before, exits = (
        aligned(np.full((count, columns.width), columns.none)) for count in counts
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
