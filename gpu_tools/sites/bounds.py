"""Bounds on the cells of site mode, and the value under which a cell belongs to no best chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.table import CLOSED, SiteTable, once_a_table
from gpu_tools.splicing.bounds import Bounds
from gpu_tools.splicing.rows import empty_score, kept_symbols


@dataclass(frozen=True)
class Limits:
    """Where the cells of a sweep lie."""

    # Cells are raised to the floor. A path from a cell at the floor ends below a chain that exists,
    # whatever it gains, so that no best chain comes through one.
    floor: int
    least: int  # no best chain has less, as S'
    bounds: Bounds  # no cell and no intermediate value leaves them


class TableLimits(NamedTuple):
    """What the limits of a table's sweeps have in common, whatever the target."""

    best_sites: int  # the best sum of sites of a part of a chain
    least: int  # the least that a best chain has, as S'
    step: int  # the largest step that sites make
    length: int  # nucleotides


def table_limits(table: SiteTable, gap: int, codes) -> TableLimits:
    """Work out what limits have in common; `codes` are the strand's nucleotides."""
    plain = table.stops is None
    least = simple_chain(table, gap) if plain else coding_chain(table, codes, gap)
    return TableLimits(best_sites(table), least, sum(table.largest_scores()), table.length)


def with_intron_points(known: TableLimits, table: SiteTable, points: int) -> TableLimits:
    """Return limits with introns that gain up to so many points by their place in the target."""
    return known._replace(best_sites=_sum_of_sites(table, points), step=known.step + points)


def limits(known: TableLimits, columns: int, scoring: SplicedScoring) -> Limits:
    """Work out the floor and the bounds of a sweep over `columns` target columns.

    From any cell a path gains at most the best pair in every column, the best sum of sites on the
    way, and a gap's score, if positive, for every symbol. With free ends the best pair counts as it
    is, not lifted: a path from the floor ends at a column with less than that column's lifting, and
    the chain that exists pays for one end that it leaves out. There a cell holds for each column
    the best pair or what lifting adds before a first exon.
    """
    gap, (best, least, step, length) = scoring.gap, known
    (low, high), cost, free = scoring.lifted_range, scoring.clip_cost, scoring.ends != "global"
    gaps = max(gap, 0) * (length + 2 * columns)
    pair, column = high + min(gap, 0) * free, max(high, -gap * free, 0)
    floor = least - cost - (columns + 1) * max(pair, 0) - best - gaps - 1
    step += max(-low, high) + abs(gap)
    lowest = floor - step - abs(gap) * columns - cost
    return Limits(floor, least, Bounds(lowest, (columns + 1) * column + best + gaps + step))


def packed_limits(known: TableLimits, columns: int, width: int, scoring: SplicedScoring) -> Limits:
    """Work out the limits of the packed kernel, which are tighter than `limits`.

    With global ends its cells are S', and only the last column is looked at. With free ends they
    are S' less the lifting of all columns before the strip. So a cell is S and what lifting adds
    within the strip, and a path from a cell at the floor gains at most the best pair, not lifted,
    in each column. The chain that exists pays for one end that it leaves out.
    """
    gap, (best, least, step, _), cost = scoring.gap, known, scoring.clip_cost
    (low, high), within = scoring.lifted_range, -scoring.gap * width
    step += max(-low, high) - gap
    pair, lifted = max(high + gap, 0), max(high, 0)
    if scoring.ends == "global":
        floor, lowest, highest = least - columns * lifted - best - 1, 0, columns * lifted
    else:
        floor = least - cost - columns * pair - best - 1
        lowest, highest = -within - cost, columns * pair + within
    return Limits(floor, least, Bounds(floor - step + lowest, highest + best + step))


def most_lifted(scoring: SplicedScoring) -> int:
    """Return the most that S' rises by in a column of the target, sites not counted.

    It is 0 if there is no such bound, because gaps score more than nothing.
    """
    return max(scoring.lifted_range[1], -scoring.gap) if scoring.gap <= 0 else 0


def possible(score: int, limit: Limits, target, scoring: SplicedScoring) -> int | None:
    """Return the score, or None if only a path from the floor has it: then there is no chain."""
    # of the simple chain, which aligns nothing
    unaligned = empty_score(target, scoring)
    return score if score >= limit.least + unaligned else None


def cost_behind(column: int, target, scoring: SplicedScoring) -> int:
    """Return what leaving out the target's end behind a column costs."""
    return scoring.clip_cost if column < kept_symbols(target) else 0


def simple_chain(table: SiteTable, gap: int) -> int:
    """Return the score of one exon, all its symbols and the target's left unaligned, as S'.

    It is the best of those that end at the first last exit behind their entry.
    """
    return int(_simple_chain(table.first.arrays, table.last.arrays, table.length, gap))


@njit(cache=True, nogil=True)
def _simple_chain(first, last, length, gap):
    # local names: an array read out of a tuple inside the loop costs an atomic reference count
    (first_usual, firsts, first_scores), (last_usual, lasts, last_scores) = first, last
    best, entered, next_first, next_last = CLOSED, CLOSED, 0, 0
    for i in range(length + 1):
        leave = last_usual
        if next_last < len(lasts) and lasts[next_last] == i:
            leave, next_last = np.int64(last_scores[next_last]), next_last + 1
        if leave != CLOSED and entered != CLOSED:
            best, entered = max(best, entered + leave + gap * i), CLOSED
        enter = first_usual
        if next_first < len(firsts) and firsts[next_first] == i:
            enter, next_first = np.int64(first_scores[next_first]), next_first + 1
        if enter != CLOSED:
            entered = max(entered, enter - gap * i)
    return best


def coding_chain(table: SiteTable, codes, gap: int) -> int:
    """Return the score of one exon that translates, or less than that of any chain if none does."""
    found = _coding_exon(table.first.arrays, table.last.arrays, codes, table.stops, gap)
    if found != CLOSED:
        return int(found)
    first, acceptor, donor, last, _ = table.largest_scores()
    whole = np.zeros(1, dtype=np.int64)
    costs = (table.penalty_between(k, whole, table.length) for k in range(len(table.introns)))
    penalty = max((abs(int(cost[0])) + 1 for cost in costs), default=0)
    penalty = max(penalty, int(table.junctions.penalties.max(initial=0)))
    introns = min(len(table.acceptors.boundaries), len(table.donors.boundaries))
    return min(gap, 0) * table.length - first - last - (acceptor + donor + penalty) * introns


@njit(cache=True, nogil=True)
def _coding_exon(first, last, codes, stops, gap):
    """Return the best score of exons from a first entry to the next last exit in its frame."""
    (first_usual, firsts, first_scores), (last_usual, lasts, last_scores) = first, last
    length, best, next_first, next_last = len(codes), CLOSED, len(firsts) - 1, len(lasts) - 1
    left = np.full(9, CLOSED)  # what an exon that comes by a boundary leaves with, modulo 9
    for i in range(length, -1, -1):
        leave = last_usual
        if next_last >= 0 and lasts[next_last] == i:
            leave, next_last = np.int64(last_scores[next_last]), next_last - 1
        if leave != CLOSED:
            left[i % 9] = leave + gap * i
        elif i >= 3 and stops[codes[i - 3], codes[i - 2], codes[i - 1]]:
            left[i % 9] = CLOSED
        else:
            left[i % 9] = left[(i + 3) % 9]
        enter = first_usual
        if next_first >= 0 and firsts[next_first] == i:
            enter, next_first = np.int64(first_scores[next_first]), next_first - 1
        if i + 6 > length or enter == CLOSED or left[(i + 6) % 9] == CLOSED:
            continue
        if not stops[codes[i], codes[i + 1], codes[i + 2]]:
            best = max(best, enter + left[(i + 6) % 9] - gap * i)
    return best


@once_a_table
def best_sites(table: SiteTable) -> int:
    """Return the largest sum of sites less intron penalties of a part of a chain, at least 0."""
    return _sum_of_sites(table, 0)


def _sum_of_sites(table: SiteTable, points: int) -> int:
    """Return the same where each intron has some points."""
    least = min((intron.penalty for intron in table.introns), default=0)
    shortest = min((intron.min_length for intron in table.introns), default=0)
    lists = tuple(each.arrays for each in table.lists)
    junctions = table.junction_arrays
    junctions = junctions._replace(penalties=junctions.penalties - points)
    return int(_best_sites(lists, junctions, table.length, max(shortest, 0), least - points))


@njit(nogil=True)
def _first_usual(usual, listed, i, past, step):
    """Return the first boundary from `i` on, or back, with the usual score; `past` without one."""
    k = 0 if step > 0 else len(listed) - 1
    while i != past and 0 <= k < len(listed) and listed[k] == i:
        i, k = i + step, k + step
    return i if usual != CLOSED else past


@njit(nogil=True)
def _at(boundaries, k):
    """Return a listed boundary, a very high one behind the last."""
    return np.int64(boundaries[k]) if k < len(boundaries) else np.int64(2**62)


@njit(cache=True, nogil=True)
def _best_sites(lists, junctions, length, shortest, penalty):
    (first_usual, firsts, first_scores), (_, acceptors, acceptor_scores) = lists[:2]
    (_, donors, donor_scores), (last_usual, lasts, last_scores) = lists[2:]
    kept_donors, joined, of_joined, joined_penalties = junctions
    left, kept = np.zeros(len(donors), np.int64), np.zeros(len(kept_donors), np.int64)
    next_kept, next_joined = 0, 0
    first, acceptor, donor, last, taken = 0, 0, 0, 0, 0
    # a part may also begin within an intron, whose penalty it then pays, or gains
    gained = max(-penalty, 0)
    inside, outside, best = 0, gained, gained
    # what is inside only rises: a usual score counts at one boundary
    open_first = _first_usual(first_usual, firsts, 0, length + 1, 1)
    open_last = _first_usual(last_usual, lasts, length, -1, -1)
    next_first, next_acceptor = _at(firsts, 0), _at(acceptors, 0)
    next_donor, next_last, i = _at(donors, 0), _at(lasts, 0), 0
    while i <= length:
        if next_donor == i:
            left[donor] = max(inside + donor_scores[donor] - penalty, gained)
            if next_kept < len(kept_donors) and kept_donors[next_kept] == i:
                kept[next_kept] = max(inside + donor_scores[donor], 0)
                next_kept += 1
            donor, next_donor = donor + 1, _at(donors, donor + 1)
        if i == open_last:
            best = max(best, inside + last_usual)
        if next_last == i:
            best = max(best, inside + np.int64(last_scores[last]))
            last, next_last = last + 1, _at(lasts, last + 1)
        if next_acceptor == i:
            while taken < donor and donors[taken] + shortest <= i:
                outside, taken = max(outside, left[taken]), taken + 1
            while next_joined < len(joined) and joined[next_joined] == i:
                # a part may also begin within this intron
                through = kept[of_joined[next_joined]] - joined_penalties[next_joined]
                inside = max(inside, through + acceptor_scores[acceptor])
                next_joined += 1
            inside = max(inside, outside + acceptor_scores[acceptor])
            acceptor, next_acceptor = acceptor + 1, _at(acceptors, acceptor + 1)
        if i == open_first:
            inside = max(inside, first_usual)
        if next_first == i:
            inside = max(inside, np.int64(first_scores[first]))
            first, next_first = first + 1, _at(firsts, first + 1)
        # on to the next boundary at which something happens
        here, i = i, min(min(next_donor, next_acceptor), min(next_first, next_last))
        if here < open_first < i:
            i = open_first
        if here < open_last < i:
            i = open_last
    while taken < donor and donors[taken] + shortest <= length:
        outside, taken = max(outside, left[taken]), taken + 1
    return max(best, inside, outside)
