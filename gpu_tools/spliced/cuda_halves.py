"""Strands cut in two that are swept from both ends at once, where scores alone are asked for.

Where no candidate spans a place of the base, every chain is one of the exons before it and one of
those behind it. Read from the end, with the target read from its end as well, those behind it are
a strand like any other. So both halves are swept side by side, and exons that can only follow each
other hold a GPU up half as long. A chain's score is the sum of what its halves have where they
meet in the target, and the best of these is found by `cuda_ends.join_halves`. Chains themselves
take the whole strand: which one of equals is the best is decided from its end on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gpu_tools.spliced.columns import CaseColumns, Jobs, first_of
from gpu_tools.spliced.cuda_packed import CAPACITY

WHOLE, BEFORE, BEHIND = range(3)
"""What a strand of `Strands` is: uncut, its candidates before the cut on the base, or behind it."""
CELLS_A_TICK = 3 << 18
"""Strands are cut whose longest chain takes a tick for so many nominal cells a multiprocessor."""


def halved(columns: CaseColumns, multiprocessors: int) -> CaseColumns:
    """Return the same cases with strands cut in two that would hold so many multiprocessors up.

    Both halves of a strand are strands of the same case, `BEFORE` first.
    """
    strands, jobs = columns.strands, columns.jobs
    least = int(columns.cells.sum()) // (multiprocessors * CELLS_A_TICK)
    exons = strands.first_exons, strands.starts, strands.ends
    cuts = find_cuts(*exons, strands.lengths, least, CAPACITY)
    parts = 1 + (cuts >= 0)
    if parts.max(initial=1) == 1:
        return columns
    first, owner = first_of(parts), np.repeat(np.arange(strands.count), parts)
    half = np.where(parts[owner] == 1, WHOLE, BEFORE)
    half[first[:-1][parts == 2] + 1] = BEHIND
    chosen = {name: getattr(strands, name)[owner] for name in ("addresses", "lengths", "reverse")}
    first_exons = np.sort(np.concatenate([strands.first_exons, cuts[cuts >= 0]]))
    counts = parts[jobs.programs]
    job = np.repeat(np.arange(jobs.count), counts)
    programs = first[jobs.programs][job] + np.arange(len(job)) - first_of(counts)[job]
    return columns._replace(
        strands=strands._replace(**chosen, half=half, first_exons=first_exons),
        jobs=Jobs(programs, jobs.cases[job], jobs.targets[job], jobs.lengths[job]),
        first_jobs=first_of(counts)[columns.first_jobs],
    )


@njit(cache=True, nogil=True)
def find_cuts(first_exons, starts, ends, lengths, least, capacity):
    """Return the first exon behind the place where each strand is best cut, or -1.

    Parameters
    ----------
    first_exons, starts, ends, lengths : ndarray of int64
        See `Strands`.
    least : int
        Strands whose longest chain takes no more ticks, see `pieces`, are not cut.
    capacity : Capacity

    Returns
    -------
    ndarray of int64, shape (P,)
    """
    cuts = np.full(len(first_exons) - 1, -1, dtype=np.int64)
    for k in range(len(cuts)):
        first, past = first_exons[k], first_exons[k + 1]
        # exons that follow each other take three ticks each, and one for each full chunk of lanes
        if 3 * (past - first) + lengths[k] // (capacity.slots * capacity.chunk) <= least:
            continue
        cut, ticks = _middle(starts[first:past], ends[first:past], capacity)
        if cut > 0 and ticks > least:
            cuts[k] = first + cut
    return cuts


@njit(cache=True, nogil=True)
def _middle(starts, ends, capacity):
    """Return the first exon behind the best place to cut, 0 if there is none, and the ticks.

    Exons are ordered by start. The longest chain takes of those that overlap the one that ends
    first.
    """
    before = np.full(len(starts), -1, dtype=np.int64)
    ticks, own, leaves, past = 0, 0, starts[0], starts[0]
    for k in range(len(starts)):
        if starts[k] >= past:
            before[k] = ticks + own
        if starts[k] >= leaves:
            ticks, own, leaves = ticks + own, 0, ends[k] + 1
        if ends[k] < leaves:
            lanes = (ends[k] - starts[k] + capacity.slots - 1) // capacity.slots
            own = 1 + (lanes - 1 + capacity.late + capacity.chunk - 1) // capacity.chunk
            leaves = ends[k]
        past = max(past, ends[k])
    ticks, cut = ticks + own, 0
    longest = ticks
    for k in range(1, len(starts)):
        if before[k] >= 0 and max(before[k], ticks - before[k]) < longest:
            cut, longest = k, max(before[k], ticks - before[k])
    return cut, ticks
