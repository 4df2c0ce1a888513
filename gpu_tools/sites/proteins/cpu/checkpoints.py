"""Checkpoints that a GPU wrote, and the state of a sweep that goes on from one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.loops import first_from
from gpu_tools.splicing.proteins.rows import PHASES, RECENT


class Checkpoints(NamedTuple):
    """Some checkpoints of a strand, one behind the other.

    Attributes
    ----------
    cells : ndarray of int16
        All rows. A checkpoint begins with the latest rows of H, then those of chains that leave a
        codon out, each the latest first.
    first, count : int
        Number of the first checkpoint, from 1, and how many there are.
    sizes : tuple of (int, int)
        Cells of a checkpoint and of a row.
    columns : ndarray of int64
        Where columns lie in a row, -1 for those that it lacks.
    bias : int
        What is added to cells.
    waiting, before : ndarray of int64
        The rows of `ProteinState.waiting` and of `ProteinState.before`, -1 for those that are not
        stored.
    exits : int
        The first row of exits, those of exit e at place e modulo the places of `ProteinState`,
        without the points of the site.
    every : int
        Boundaries from checkpoint to checkpoint.
    """

    cells: NDArray[np.int16]
    first: int
    count: int
    sizes: tuple[int, int]
    columns: NDArray[np.int64]
    bias: int
    waiting: NDArray[np.int64]
    before: NDArray[np.int64]
    exits: int
    every: int


@njit(nogil=True)
def has_checkpoint(checkpoints, part):
    """Tell whether the state before a part is known."""
    return part == 0 or 0 <= part - checkpoints.first < checkpoints.count


@njit(nogil=True)
def resume(state, checkpoints, part, lists, codons, columns):
    """Fill in the state before the first boundary of a part, which is not the first part.

    `codons` are numbers of words of three nucleotides; the state is that before boundary 0.
    """
    boundary, first = part * checkpoints.every, part - checkpoints.first
    for back in range(1, 1 + PHASES):
        _read(state.rows, (boundary - back) % RECENT, checkpoints, first, back - 1, 0, columns)
        frame, row = (boundary + 1 - back) % PHASES, PHASES + back - 1
        # the kernel is ahead of the boundary: what the codon costs is added again
        cost = _codon_cost(lists.codes, codons, columns, boundary) if back == 1 else 0
        _read(state.codon_gaps, frame, checkpoints, first, row, cost, columns)
    _wait(state, lists.kinds, lists.acceptors, len(lists.codes), boundary)
    for k in np.flatnonzero(state.waits):
        _read(state.waiting, k, checkpoints, first, checkpoints.waiting[k], 0, columns)
    for k in range(len(checkpoints.before)):
        _read(state.before, k, checkpoints, first, checkpoints.before[k], 0, columns)
    taken = _pend(state, lists.lengths, lists.donors, boundary)
    for exit in range(taken, state.counts[0]):
        place, points = exit & (len(state.exit_rows) - 1), np.int64(lists.donors[1][exit])
        for row in range(PHASES * place, PHASES * (place + 1)):
            source = checkpoints.exits + row
            _read(state.exits, row, checkpoints, first, source, points, columns)


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
    for exit in range(taken, state.counts[0]):
        place = exit & (len(state.exit_rows) - 1)
        state.exit_rows[place], state.exit_kinds[place] = boundaries[exit], kinds[exit]
    return taken
