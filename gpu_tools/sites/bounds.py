"""Bounds on the cells of site mode, and the value under which a cell belongs to no best chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.splicing.bounds import Bounds
from gpu_tools.splicing.recurrence import empty_chain


@dataclass(frozen=True)
class Limits:
    """Where the cells of a sweep lie.

    Attributes
    ----------
    floor : int
        Cells are raised to it. A path from a cell at the floor ends below a chain that exists,
        whatever it gains, so that no best chain comes through one.
    least : int
        No best chain has less, as S'.
    bounds : Bounds
        No cell and no intermediate value leaves them.
    """

    floor: int
    least: int
    bounds: Bounds


class TableLimits(NamedTuple):
    """What the limits of a table's sweeps have in common, whatever the target.

    The best sum of sites of a part of a chain, the least that a best chain has, as S', the largest
    step that sites make, and the table's length.
    """

    best_sites: int
    least: int
    step: int
    length: int


def table_limits(table: SiteTable, gap: int, codes) -> TableLimits:
    """Work out what limits have in common; `codes` are the strand's nucleotides."""
    plain = table.stops is None
    least = simple_chain(table, gap) if plain else coding_chain(table, codes, gap)
    return TableLimits(best_sites(table), least, sum(table.largest_scores()), table.length)


def limits(known: TableLimits, columns: int, scoring: SplicedScoring) -> Limits:
    """Work out the floor and the bounds of a sweep over `columns` target columns.

    From any cell a path gains at most the best pair in every column, the best sum of sites on the
    way, and a gap's score, if positive, for every symbol.
    """
    gap, (best, least, step, length) = scoring.gap, known
    lifted = scoring.substitution() - gap
    pairs = (columns + 1) * max(int(lifted.max()), 0)
    gain = pairs + best + max(gap, 0) * (length + 2 * columns)
    floor = least - gain - 1
    step += int(np.abs(lifted).max()) + abs(gap)
    start = max(empty_chain(column, gap, scoring.ends != "global") for column in (0, columns))
    lowest = floor - step - abs(gap) * columns
    return Limits(floor, least, Bounds(lowest, start + gain + step + abs(gap) * columns))


def possible(score: int, limit: Limits, columns: int, scoring: SplicedScoring) -> int | None:
    """Return the score, or None if only a path from the floor has it: then there is no chain."""
    unaligned = scoring.gap * columns if scoring.ends == "global" else 0
    return score if score >= limit.least + unaligned else None


def simple_chain(table: SiteTable, gap: int) -> int:
    """Return the score of one exon, all its symbols and the target's left unaligned, as S'."""
    entries = np.flatnonzero(table.first_entry != CLOSED)
    exits = np.flatnonzero(table.last_exit != CLOSED)
    following = np.searchsorted(exits, entries, side="right")
    entries, following = entries[following < len(exits)], following[following < len(exits)]
    ends = exits[following]
    values = table.first_entry[entries] + table.last_exit[ends] + gap * (ends - entries)
    return int(values.max())


def coding_chain(table: SiteTable, codes, gap: int) -> int:
    """Return the score of one exon that translates, or less than that of any chain if none does."""
    found = _coding_exon(table.first_entry, table.last_exit, codes, table.stops, gap)
    if found != CLOSED:
        return int(found)
    first, acceptor, donor, last, _ = table.largest_scores()
    whole = np.zeros(1, dtype=np.int64)
    costs = (intron.penalty_between(whole, table.length) for intron in table.introns)
    penalty = max((abs(int(cost[0])) + 1 for cost in costs), default=0)
    introns = min(int((scores != CLOSED).sum()) for scores in table.scores[1:3])
    return min(gap, 0) * table.length - first - last - (acceptor + donor + penalty) * introns


@njit(cache=True, nogil=True)
def _coding_exon(first_entry, last_exit, codes, stops, gap):
    """Return the best score of exons from a first entry to the next last exit in its frame."""
    best = CLOSED
    for start in range(len(codes) - 5):
        if first_entry[start] == CLOSED or stops[codes[start], codes[start + 1], codes[start + 2]]:
            continue
        for end in range(start + 6, len(codes) + 1, 3):
            if last_exit[end] != CLOSED:
                best = max(best, first_entry[start] + last_exit[end] + gap * (end - start))
                break
            if stops[codes[end - 3], codes[end - 2], codes[end - 1]]:
                break
    return best


def best_sites(table: SiteTable) -> int:
    """Return the largest sum of sites less intron penalties of a part of a chain, at least 0."""
    least = min((intron.penalty for intron in table.introns), default=0)
    shortest = min((intron.min_length for intron in table.introns), default=0)
    return int(_best_sites(*table.scores, max(shortest, 0), least))


@njit(cache=True, nogil=True)
def _best_sites(first_entry, inner_entry, inner_exit, last_exit, shortest, penalty):
    left = np.zeros(len(first_entry), dtype=np.int64)
    inside, outside, best = 0, 0, 0
    for i in range(len(first_entry)):
        if inner_exit[i] != CLOSED:
            left[i] = max(inside + inner_exit[i] - penalty, 0)
        if last_exit[i] != CLOSED:
            best = max(best, inside + last_exit[i])
        if i >= shortest:
            outside = max(outside, left[i - shortest])
        if inner_entry[i] != CLOSED:
            inside = max(inside, outside + inner_entry[i])
        if first_entry[i] != CLOSED:
            inside = max(inside, first_entry[i])
        best = max(best, inside, outside)
    return best
