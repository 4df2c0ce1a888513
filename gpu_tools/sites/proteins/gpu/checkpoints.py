"""Checkpoints of the kernel of proteins: all rows before a boundary, from which a CPU goes on."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.rows import further, load_row, store_row
from gpu_tools.hardware.gpu.intrinsics.words import WARP, address
from gpu_tools.sites.cpu.state import first_from
from gpu_tools.sites.gpu.packed_columns import WIDE
from gpu_tools.sites.proteins.columns import ProteinColumns
from gpu_tools.sites.proteins.cpu.state import RECENT, SPLITS, ProteinState, fresh_state
from gpu_tools.sites.proteins.gpu.operations import make_slot_place
from gpu_tools.sites.proteins.gpu.plan import BEFORE, FRAMES, WAITING, WAITS, ProteinStrand
from gpu_tools.splicing.strip import aligned, by_lane


def rows_of_checkpoint(n_slots: int, ring: int) -> int:
    """Return the rows of a checkpoint: three of each kind, slots, and those of exits."""
    return 2 * FRAMES + n_slots + FRAMES * ring


def make_save(size: int):
    """Return the device function that writes a checkpoint."""
    load, stride, slot_place = load_row(size), size * WARP, make_slot_place(size)

    @cuda.jit(device=True)
    def save(area, rows, gaps, counts, lane, places):
        """Write a checkpoint to an area; `counts` are slots, and exits whose rows there are."""
        n_slots, ring = counts
        first = address(area[4 * lane :])
        for k in range(FRAMES):
            row = rows[0] if k == 0 else (rows[1] if k == 1 else rows[2])
            store_row(further(first, int64(k * stride)), row)
            gap = gaps[0] if k == 0 else (gaps[1] if k == 1 else gaps[2])
            store_row(further(first, int64((FRAMES + k) * stride)), gap)
        for slot in range(n_slots):
            to = further(first, int64(2 * FRAMES + slot) * int64(stride))
            store_row(to, load(slot_place(int32(slot), places)))
        for k in range(FRAMES * ring):
            source = further(places[2], int64(k) * int64(stride))
            to = further(first, int64(2 * FRAMES + n_slots + k) * int64(stride))
            store_row(to, load(source))

    return save


def columns_of_rows(words: NDArray[np.int32]) -> NDArray[np.int16]:
    """Return rows of packed words, shape (rows, WIDE * WARP), column by column."""
    quads = words.reshape(len(words), WIDE // 4, WARP, 4)
    halves = np.ascontiguousarray(quads).view(np.int16).reshape(*quads.shape, 2)
    # row, lane, half, quad, word
    return halves.transpose(0, 2, 4, 1, 3).reshape(len(words), 2 * WIDE * WARP)


def state_of(
    rows: NDArray[np.integer], boundary: int, strand: ProteinStrand, columns: ProteinColumns
) -> ProteinState:
    """Return the state before a boundary, from the rows of a checkpoint there.

    Parameters
    ----------
    rows : ndarray of int, shape (rows, columns)
        Cells, column by column.
    boundary : int
        A multiple of `RECENT` and `FRAMES`.
    strand : ProteinStrand
    columns : ProteinColumns
    """
    state, n_slots = fresh_state(strand.table, columns), strand.n_slots
    wide = np.full((len(rows), columns.width), columns.none)
    shared = min(columns.width, rows.shape[1])
    wide[:, :shared] = rows[:, :shared]
    wide = by_lane(wide, columns.lanes, wide.dtype)
    slots, exits = wide[2 * FRAMES : 2 * FRAMES + n_slots], wide[2 * FRAMES + n_slots :]
    for back in range(1, 1 + FRAMES):
        state.rows[(boundary - back) % RECENT] = wide[back - 1]
        state.codon_gaps[(boundary + 1 - back) % FRAMES] = wide[FRAMES + back - 1]
    # the kernel is ahead of the boundary: what the codon costs is added again
    state.codon_gaps[boundary % FRAMES] += _codon_cost(boundary, strand)
    _wait(state, slots, boundary, strand)
    state.before[_places(strand)] = slots[BEFORE : BEFORE + strand.n_maxima]
    _pend(state, exits, boundary, strand)
    return ProteinState(*(aligned(part) if part.ndim == 2 else part for part in state))


def _codon_cost(boundary: int, strand: ProteinStrand) -> int:
    """Return what it costs to leave out the codon that ends at a boundary."""
    codon = strand.scoring.codons[tuple(strand.codes[boundary - FRAMES : boundary])]
    return int(strand.scoring.codon_gaps[codon])


def _places(strand: ProteinStrand) -> NDArray[np.int64]:
    """Return which rows of `ProteinState.before` the slots of maxima are."""
    most = (SPLITS - 1) // 2
    own = [0, *range(1, 1 + strand.symbols), *range(1 + most, 1 + most + strand.symbols)]
    groups = strand.n_maxima // strand.splits
    return (np.arange(groups)[:, None] * SPLITS + np.array(own)).ravel()


def _wait(state: ProteinState, slots: NDArray, boundary: int, strand: ProteinStrand) -> None:
    """Fill in the rows that wait for a boundary from `boundary` on."""
    listed = strand.table.acceptors.open_between(max(boundary - 2, 0), boundary).tolist()
    kinds = strand.table.acceptors.kinds_between(max(boundary - 2, 0), boundary)
    for acceptor in listed:
        entered = kinds[acceptor - max(boundary - 2, 0)] in strand.lists.kinds
        for end in range(max(acceptor + 1, boundary), min(acceptor + 2, len(strand.codes)) + 1):
            if entered:
                state.waiting[end % WAITS] = slots[WAITING + end % WAITS]
                state.waits[end % WAITS] = True


def _pend(state: ProteinState, exits: NDArray, boundary: int, strand: ProteinStrand) -> None:
    """Fill in the exits that some class of introns has not taken, and how many it has."""
    boundaries, scores, kinds = strand.lists.donors
    state.counts[0] = first_from(boundaries, boundary)
    for k, length in enumerate(strand.lists.lengths):
        state.counts[1 + k] = first_from(boundaries, boundary - length)
    for exit in range(int(state.counts.min()), int(state.counts[0])):
        place = exit & (len(state.exit_rows) - 1)
        own = slice(FRAMES * place, FRAMES * (place + 1))
        state.exits[own] = exits[own] + state.exits.dtype.type(scores[exit])
        state.exit_rows[place], state.exit_kinds[place] = boundaries[exit], kinds[exit]
