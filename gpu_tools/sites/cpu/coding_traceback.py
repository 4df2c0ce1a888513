"""From a sweep of chains that translate to the best chain; ties as in `sites.traceback`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.coding import CodingSweep
from gpu_tools.sites.cpu.traceback import Exon, SiteTrace, Steps, followed
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.splicing.codons import FRAMES, completes, split_class
from gpu_tools.splicing.traceback import ROWS_BETWEEN_CHECKPOINTS, entered_at, previous_row


class _Reading(NamedTuple):
    """Frame of an exon, whether it is the chain's last one, and the stop codons."""

    frame: int
    last: bool
    stops: NDArray[np.bool_]


def trace_coding(
    sweep: CodingSweep, table: SiteTable, codes: NDArray[np.uint8], target, scoring: SplicedScoring
) -> SiteTrace:
    """Recover the best chain that translates, and its alignment.

    Parameters
    ----------
    sweep : CodingSweep
        With a score.
    table : SiteTable
    codes : ndarray of uint8, shape (m,)
        The strand's bases in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Returns
    -------
    SiteTrace
    """
    return followed(sweep, codes, target, scoring, _FramedSteps(table, codes, sweep.end))


class _FramedSteps(Steps):
    """Exons that translate: their frame is known from the one behind.

    Parameters
    ----------
    table : SiteTable
    codes : ndarray of uint8, shape (m,)
    end : int
        Boundary at which the chain ends.
    """

    tracks = FRAMES

    def __init__(self, table: SiteTable, codes: NDArray[np.uint8], end: int):
        super().__init__(table)
        self.codes, self.frame, self.last = codes, end % FRAMES, True

    def search(self, *where):
        """Look for an exon's entry in a block, see `_search`."""
        return _search(*where, _Reading(self.frame, self.last, self.table.stops))

    def chosen(self, exon: Exon, rows: NDArray[np.int64], explains: NDArray[np.bool_]):
        """Return the nearest exit in whose frame the codon across the intron is no stop."""
        for k in np.flatnonzero(explains.any(axis=1))[::-1]:
            end = int(rows[k])
            frame = (end - (exon.start - self.frame)) % FRAMES
            if explains[k, frame] and self._joins(end, exon.start):
                self.frame, self.last = frame, False
                return k, frame
        return None

    def _joins(self, end: int, start: int) -> bool:
        """Return whether the codon that an intron splits is no stop."""
        split = (start - self.frame) % FRAMES
        if split > end:
            return False
        before = split_class(self.codes, end, split)
        return bool(completes(self.codes, self.table.stops, before, start))


@njit(cache=True, nogil=True)
def _search(rows, gain, kept, span, inner, firsts, value, reading):
    """Go back from boundary end - `span[0]` to `span[1]`, or to the entry that explains `value`.

    As in `gpu_tools.sites.cpu.traceback`, but an entry must leave room for the codon that it
    completes, and in the chain's last exon for another one.
    """
    left, low = span
    base, columns, profile, gap = rows.base, len(rows.target), rows.profile, np.int32(rows.gap)
    boundaries, entries = inner
    empty, first_entry = firsts
    end, n_kept, k = len(base), 0, len(boundaries) - 1
    more = FRAMES if reading.last else 0
    following = np.empty_like(gain)
    while end - left >= low:
        here = end - left
        split = (here - reading.frame) % FRAMES
        column, first, entry = -1, False, 0
        whole = split == 0 and left >= FRAMES + (1 if reading.last else 0)
        if whole and reading.stops[base[here], base[here + 1], base[here + 2]]:
            break
        if split == 0 and left >= FRAMES + more and first_entry[here] != CLOSED:
            column = entered_at(empty, gain, 0, value - first_entry[here])
            first = column >= 0
            entry = empty[column] + first_entry[here] if first else 0
        if k >= 0 and boundaries[k] == here:
            needed = 1 if split == 0 else FRAMES - split + more
            if left >= needed:
                other = entered_at(entries[FRAMES * k + split], gain, 0, value)
                if other >= 0 and (column < 0 or other < column):
                    column, first = other, False
                    entry = np.int64(entries[FRAMES * k + split, other])
            k -= 1
        if column >= 0:
            return left, column, entry, first
        if here == 0:
            break
        if left % ROWS_BETWEEN_CHECKPOINTS == 0:
            kept[n_kept] = gain
            n_kept += 1
        previous_row(profile[base[here - 1]], columns, gap, gain, 0, following)
        gain[:] = following
        left += 1
    return left, -1, 0, False
