"""Which job the blocks of a launch work for.

Each block takes the next entry of a list, works for that job until no piece of it is left to begin,
and takes another one. A job has an entry for each block that it is worth.

Where many blocks share a multiprocessor, each of them is slow. That holds up a job whose pieces
wait for each other so often that its longest chain takes longer than all work together. Such jobs
have a list of their own, for blocks on *quiet* multiprocessors, where only a few of them stay: with
those a multiprocessor does nearly as much, and each is faster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numpy.typing import NDArray

from gpu_tools.batches import largest_first
from gpu_tools.device import simulated
from gpu_tools.spliced import cuda_programs as of
from gpu_tools.spliced.cuda_job import BUSY, ENTRIES, HEADER, JOBS, QUIET, QUIET_BLOCKS

BLOCKS = 28
"""Blocks of one warp that a multiprocessor has room for."""
CHUNKS_A_TICK = 13
"""Chunks that a busy multiprocessor sweeps in one tick of a chain of pieces."""
BLOCKS_AT_ONCE, BLOCKS_AT_ONCE_APART = 2, 3
"""Blocks that a job gets at most for each of its pieces that are at work at the same time."""


class Room(NamedTuple):
    """What a GPU has room for; no `multiprocessors` if all blocks that are of use are to run."""

    multiprocessors: int
    blocks: int
    at_once: int


class Team(NamedTuple):
    """The blocks of a launch.

    Attributes
    ----------
    entries : ndarray of int32
        A header, then jobs, see `cuda_job`.
    blocks : int
        Blocks to launch.
    """

    entries: NDArray[np.int32]
    blocks: int

    @property
    def n_counters(self) -> int:
        """What is counted: pieces of each job, entries of both lists, blocks on the quiet ones."""
        return int(self.entries[JOBS]) + 2 + int(self.entries[QUIET])


def make_team(table, programs, chunks, apart: bool) -> Team:
    """Return the team for jobs.

    Parameters
    ----------
    table : ndarray of int64, shape (P, cuda_programs.FIELDS)
        Of programs.
    programs, chunks : ndarray of int64, shape (J,)
        Each job's program, and the chunks that its columns come in.
    apart : bool
        Whether segments are pieces of their own.
    """
    room = _room(apart)
    entries = _entries(table, programs, chunks, room)
    everywhere = room.multiprocessors * room.blocks
    return Team(entries, everywhere if entries[QUIET] else int(entries[ENTRIES]))


def _room(apart: bool) -> Room:
    if apart:
        return Room(0, 0, BLOCKS_AT_ONCE_APART)
    if simulated():
        return Room(1, 2, BLOCKS_AT_ONCE)
    return Room(cuda.get_current_device().MULTIPROCESSOR_COUNT, BLOCKS, BLOCKS_AT_ONCE)


@njit(cache=True, nogil=True)
def _entries(table, programs, chunks, room):
    """Return the header and the entries, in each list those with the most work a block first.

    A job gets blocks for the pieces that are at work at the same time, and for some that come next;
    if pieces are filled and nothing holds it up, no more than its share of the work.
    """
    n = len(programs)
    work, ticks = np.empty(n, dtype=np.float64), np.empty(n, dtype=np.float64)
    for k in range(n):
        work[k] = table[programs[k], of.N_PIECES] * chunks[k]
        ticks[k] = table[programs[k], of.LAST_TICK] + chunks[k]
    held = ticks * CHUNKS_A_TICK * room.multiprocessors > work.sum()
    sizes = np.ceil(room.at_once * work / ticks)
    quiet = min(np.ceil(sizes[held].sum() / QUIET_BLOCKS), room.multiprocessors // 2)
    left = max(work[~held].sum(), 1.0)
    for k in range(n):
        if room.multiprocessors > 0 and not held[k]:
            share = (room.multiprocessors - quiet) * room.blocks * work[k] / left
            sizes[k] = min(sizes[k], np.ceil(share))
        sizes[k] = min(max(sizes[k], 1), table[programs[k], of.N_PIECES])
    return _listed(largest_first((work / sizes).astype(np.int64)), sizes, held, quiet)


@njit(cache=True, nogil=True)
def _listed(order, sizes, held, quiet):
    """Return the header and the entries of jobs in an order, those that are held up last."""
    entries = np.empty(HEADER + np.int64(sizes.sum()), dtype=np.int32)
    entries[QUIET], entries[ENTRIES], entries[JOBS] = quiet, len(entries) - HEADER, len(order)
    at = HEADER
    for last in (False, True):
        for k in order:
            if held[k] == last:
                entries[at : at + np.int64(sizes[k])] = k
                at += np.int64(sizes[k])
        if not last:
            entries[BUSY] = at - HEADER
    return entries
