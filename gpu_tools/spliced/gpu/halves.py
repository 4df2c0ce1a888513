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

from gpu_tools.spliced.columns import CaseColumns, Jobs, Strands
from gpu_tools.spliced.gpu.sweep import CAPACITY

WHOLE, BEFORE, BEHIND = range(3)
"""What a strand of `Strands` is: uncut, its candidates before the cut on the base, or behind it."""
CELLS_A_TICK = 3 << 18
"""Strands are cut whose longest chain takes a tick for so many nominal cells a multiprocessor."""


def halved(columns: CaseColumns, multiprocessors: int) -> CaseColumns:
    """Return the same cases with strands cut in two that would hold so many multiprocessors up.

    Both halves of a strand are strands of the same case, `BEFORE` first.
    """
    strands = columns.strands
    least = int(columns.cells.sum()) // (multiprocessors * CELLS_A_TICK)
    exons = strands.first_exons, strands.starts, strands.ends
    cuts, n_cut = find_cuts(*exons, strands.lengths, least, CAPACITY)
    if n_cut == 0:
        return columns
    cut = _cut_strands(strands, cuts, n_cut)
    jobs, first_jobs = _cut_jobs(columns.jobs, columns.first_jobs, cuts)
    return columns._replace(strands=cut, jobs=jobs, first_jobs=first_jobs)


# compiled, as many small operations of numpy take longer when a call begins


@njit(cache=True, nogil=True)
def _cut_strands(strands, cuts, n_cut):
    """Return strands in halves, given the first exon behind each cut, -1 where there is none."""
    count = len(cuts) + n_cut
    addresses, lengths = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    reverse, half = np.empty(count, dtype=np.bool_), np.empty(count, dtype=np.int64)
    first_exons, n = np.empty(count + 1, dtype=np.int64), 0
    for k in range(len(cuts)):
        parts = 1 if cuts[k] < 0 else 2
        for part in range(parts):
            addresses[n], lengths[n] = strands.addresses[k], strands.lengths[k]
            reverse[n] = strands.reverse[k]
            half[n] = WHOLE if parts == 1 else BEHIND if part else BEFORE
            first_exons[n] = cuts[k] if part else strands.first_exons[k]
            n += 1
    first_exons[n] = strands.first_exons[len(cuts)]
    return Strands(
        addresses, lengths, reverse, half, first_exons, strands.starts, strands.ends, strands.scores
    )


@njit(cache=True, nogil=True)
def _cut_jobs(jobs, first_jobs, cuts):
    """Return jobs for halves of strands, and where each case's begin."""
    first = np.zeros(len(cuts) + 1, dtype=np.int64)
    for k in range(len(cuts)):
        first[k + 1] = first[k] + (1 if cuts[k] < 0 else 2)
    count = 0
    for program in jobs.programs:
        count += first[program + 1] - first[program]
    own, n = np.empty((4, count), dtype=np.int64), 0
    first_own = np.empty(len(first_jobs), dtype=np.int64)
    for case in range(len(first_jobs) - 1):
        first_own[case] = n
        for k in range(first_jobs[case], first_jobs[case + 1]):
            for program in range(first[jobs.programs[k]], first[jobs.programs[k] + 1]):
                own[0, n], own[1, n] = program, case
                own[2, n], own[3, n] = jobs.targets[k], jobs.lengths[k]
                n += 1
    first_own[-1] = n
    return Jobs(own[0], own[1], own[2], own[3]), first_own


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
    int
        Strands that are cut.
    """
    cuts, n_cut = np.full(len(first_exons) - 1, -1, dtype=np.int64), 0
    for k in range(len(cuts)):
        first, past = first_exons[k], first_exons[k + 1]
        # exons that follow each other take three ticks each, and one for each full chunk of lanes
        if 3 * (past - first) + lengths[k] // (capacity.slots * capacity.chunk) <= least:
            continue
        cut, ticks = _middle(starts[first:past], ends[first:past], capacity)
        if cut > 0 and ticks > least:
            cuts[k] = first + cut
            n_cut += 1
    return cuts, n_cut


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
