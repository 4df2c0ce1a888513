"""Many cases on the threads of a CPU: what a thread does of them without Python and its lock.

Threads take *items* until none is left: cases that follow each other and have the same strands,
whose programs are laid out once for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from gpu_tools.hardware.cpu import simd
from gpu_tools.spliced.bounds import Extent, best_bonus, bound_cells
from gpu_tools.spliced.columns import Jobs, Strands
from gpu_tools.spliced.cpu.state import Border, lay_out_stream, lay_out_strip, padded
from gpu_tools.spliced.cpu.sweep import begin_column_zero, run_steps
from gpu_tools.spliced.cpu.traceback import Graph, find_best_end, trace_chain
from gpu_tools.spliced.exon_graph import lay_out, write_stream
from gpu_tools.spliced.merging import Exits, Runs, merge
from gpu_tools.splicing.recurrence import Sweep

# columns of the table of chains
JOB, SCORE, FIRST_COLUMN, LAST_COLUMN, N_EXONS, N_RUNS, FIELDS = range(7)


class Work(NamedTuple):
    """Cases to be done.

    Attributes
    ----------
    strands, jobs, first_jobs, targets, cells
        Of all cases, see `columns.CaseColumns`.
    bonus : ndarray of int64, shape (B,)
        What each exon adds to a chain.
    least : int
        See `merging.LEAST_ROWS`.
    cases : ndarray of int64
        Those to be done; each has a candidate.
    items : ndarray of int64, shape (I + 1,)
        Where each item's cases begin in `cases`.
    order : ndarray of int64, shape (I,)
        The items in the order in which they are taken.
    taken : ndarray of int64, shape (1,)
        How many of them are.
    """

    strands: Strands
    jobs: Jobs
    first_jobs: NDArray[np.int64]
    targets: NDArray[np.uint8]
    cells: NDArray[np.int64]
    bonus: NDArray[np.int64]
    least: int
    cases: NDArray[np.int64]
    items: NDArray[np.int64]
    order: NDArray[np.int64]
    taken: NDArray[np.int64]


class Strand(NamedTuple):
    """A strand with its program.

    `exons` are the program's among those of all strands, `kept` the rows that a sweep keeps.
    """

    graph: Graph
    runs: Runs
    exons: NDArray[np.int64]
    kept: int


@njit(cache=True, nogil=True)
def find_best_bonus(strands, bonus, penalty, taken, found):
    """Write `widths.best_bonus` of strands that no other thread has taken, as long as there are."""
    strand = simd.fetch_add(taken, 0, 1)
    while strand < len(found):
        first, past = strands.first_exons[strand], strands.first_exons[strand + 1]
        found[strand], most = 0, -min(penalty, 0)
        for exon in range(first, past):
            most = max(most, bonus[exon])
        if most > 0:
            order, tracks = lay_out(
                strands.lengths[strand], strands.starts[first:past], strands.ends[first:past],
                strands.reverse[strand],
            )  # fmt: skip
            found[strand] = best_bonus(
                tracks.commits, tracks.exit_tracks, tracks.exit_ends, bonus[first:past][order],
                len(tracks.ends), penalty,
            )  # fmt: skip
        strand = simd.fetch_add(taken, 0, 1)


@njit(cache=True, nogil=True)
def find_magnitudes(jobs, extents, costs):
    """Return the largest magnitude of any value of each job's sweep, see `widths.bound_cells`.

    `extents` are those of all strands, an array for each part of an `Extent`.
    """
    longest, bonus, chain, length = extents
    found = np.empty(len(jobs.programs), dtype=np.int64)
    for job in range(len(found)):
        strand, columns = jobs.programs[job], padded(jobs.lengths[job], 1, 2)
        extent = Extent(longest[strand], bonus[strand], chain[strand], length[strand])
        lowest, highest = bound_cells(extent, columns, costs)
        found[job] = max(abs(lowest), abs(highest))
    return found


@njit(cache=True, nogil=True)
def _lay_out_strand(work, job):
    """Return the strand of a job with its program."""
    strands, number = work.strands, work.jobs.programs[job]
    first, past = strands.first_exons[number], strands.first_exons[number + 1]
    codes = simd.bytes_at(strands.addresses[number], strands.lengths[number])
    reverse = strands.reverse[number]
    order, tracks = lay_out(
        len(codes), strands.starts[first:past], strands.ends[first:past], reverse
    )
    symbols = np.empty(tracks.rows[-1], dtype=np.uint8)
    write_stream(codes, tracks.starts, tracks.rows, (reverse, reverse), symbols)
    bonus = work.bonus[first:past][order]
    runs = merge(Exits(
        symbols, tracks.starts, tracks.rows, tracks.ends, tracks.exit_ends, tracks.exit_tracks,
        bonus, tracks.by_end,
    ), work.least)  # fmt: skip
    graph = Graph(
        symbols, tracks.starts, tracks.rows, tracks.commits, tracks.ends, tracks.exit_rows,
        tracks.exit_tracks, bonus, tracks.by_end, tracks.first_by_end,
    )  # fmt: skip
    kept = len(tracks.ends) + runs.n_joins + len(tracks.starts)
    return Strand(graph, runs, first + order, kept)


@register_jitable
def _stream(strand, terms):
    graph = strand.graph
    return lay_out_stream(strand.runs, graph.track_commits, len(graph.ends), terms.weights)


@register_jitable
def _room_for(kept, target, terms):
    """Return how many cells so many rows of a sweep have."""
    return kept * (padded(len(target), 1, terms.weights.itemsize) + 1)


@njit(cache=True, nogil=True)
def _sweep(stream, kept, target, terms, room):
    """Return a sweep, and where its chain ends best; its rows, as many as `kept`, are in `room`."""
    weights = terms.weights
    width = padded(len(target), 1, weights.itemsize)
    n_tracks = len(stream.track_commits)
    n_ends = kept - n_tracks
    past_ends = n_ends * (width + 1)
    ends = room[:past_ends].reshape((n_ends, width + 1))
    entries = room[past_ends : past_ends + n_tracks * (width + 1)].reshape((n_tracks, width + 1))
    ends[:] = np.iinfo(weights.dtype).min
    sweep = Sweep(ends, entries, np.arange(n_tracks))
    border, following = _border(stream, weights), _border(stream, weights)
    begin_column_zero(stream, sweep, border, weights)
    strip = lay_out_strip(target, 1, width, terms)
    n_steps = stream.n_rows + simd.VECTOR_BYTES // weights.itemsize - 1
    run_steps(stream, strip, sweep, border, following, weights, (0, n_steps))
    sweep = Sweep(ends[: stream.n_ends], entries, sweep.entry_of_track)
    return sweep, find_best_end(sweep.ends, len(target), terms.gap, terms.free)


@njit(cache=True, nogil=True)
def _border(stream, weights):
    n_rows, n_tops = stream.n_rows, len(stream.top_rows)
    return Border(np.empty(n_rows, dtype=weights.dtype), np.empty(n_tops, dtype=weights.dtype))


@njit(cache=True, nogil=True)
def _target_of(work, job):
    first = work.jobs.targets[job]
    return work.targets[first : first + work.jobs.lengths[job]]


@njit(cache=True, nogil=True)
def _with(values, used, more):
    """Return `values` with `more` behind those that are used, in new memory if there is no room."""
    if used + len(more) > len(values):
        larger = np.empty(2 * (used + len(more)), values.dtype)
        for k in range(used):
            larger[k] = values[k]
        values = larger
    for k in range(len(more)):
        values[used + k] = more[k]
    return values


@njit(cache=True, nogil=True)
def score_items(work, terms, scores, most):
    """Write the scores of cases' best chains, until there are no items or enough is done.

    Parameters
    ----------
    work : Work
    terms : Terms
    scores : ndarray of int64, shape (C,)
        Of all cases; less than any score before.
    most : int
        Nominal cells after which no item more is taken.

    Returns
    -------
    int
        Nominal cells that are done; 0 if there was no item.
    """
    room, done = np.empty(0, dtype=terms.weights.dtype), np.int64(0)
    while done <= most:
        at = simd.fetch_add(work.taken, 0, 1)
        if at >= len(work.order):
            break
        cases = work.cases[work.items[work.order[at]] : work.items[work.order[at] + 1]]
        first, past = work.first_jobs[cases[0]], work.first_jobs[cases[0] + 1]
        for place in range(past - first):
            strand = _lay_out_strand(work, first + place)
            stream = _stream(strand, terms)
            for case in cases:
                target = _target_of(work, work.first_jobs[case] + place)
                needed = _room_for(strand.kept, target, terms)
                room = room if needed <= len(room) else np.empty(needed, room.dtype)
                _, best = _sweep(stream, strand.kept, target, terms, room)
                scores[case] = max(scores[case], best[0])
        for case in cases:
            done += work.cells[case]
    return done


@njit(cache=True, nogil=True)
def cut_items(programs, cells, most):
    """Return where each item begins, given the first program of each case, and its cells.

    An item of several cases has no more than `most` cells; last, the number of cases.
    """
    items, n, used = np.empty(len(cells) + 1, dtype=np.int64), 0, np.int64(0)
    for case in range(len(cells)):
        if case == 0 or programs[case] != programs[case - 1] or used + cells[case] > most:
            items[n], used = case, 0
            n += 1
        used += cells[case]
    items[n] = len(cells)
    return items[: n + 1]


@njit(cache=True, nogil=True)
def align_items(work, terms, lifted, most):
    """Find the best chains and alignments of cases, until there are no items or enough is done.

    Parameters
    ----------
    work : Work
    terms : Terms
    lifted : ndarray of int32
        See `traceback.pair_scores`.
    most : int
        Nominal cells after which no item more is taken.

    Returns
    -------
    cells : int
        Nominal cells that are done; 0 if there was no item.
    table : ndarray of int64, shape (N, FIELDS)
        A row a case: the job that has the chain, and how much it has in the arrays that follow.
    exons : ndarray of int64
        Numbers of exons among those of all strands, in transcript order.
    letters : ndarray of uint8
    run_lengths : ndarray of int64
    """
    room = np.empty(0, dtype=terms.weights.dtype)
    table, exons = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    letters, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64)
    n, n_exons, n_runs, done = 0, 0, 0, np.int64(0)
    while done <= most:
        at = simd.fetch_add(work.taken, 0, 1)
        if at >= len(work.order):
            break
        cases = work.cases[work.items[work.order[at]] : work.items[work.order[at] + 1]]
        first, last = work.first_jobs[cases[0]], work.first_jobs[cases[0] + 1] - 1
        strand = other = _lay_out_strand(work, first)
        stream = other_stream = _stream(strand, terms)
        if last > first:
            other = _lay_out_strand(work, last)
            other_stream = _stream(other, terms)
        for case in cases:
            job, target = work.first_jobs[case], _target_of(work, work.first_jobs[case])
            past = _room_for(strand.kept, target, terms)
            needed = past + _room_for(other.kept, target, terms)
            room = room if needed <= len(room) else np.empty(needed, room.dtype)
            sweep, best = _sweep(stream, strand.kept, target, terms, room)
            winner = strand
            if last > first:
                again, better = _sweep(other_stream, other.kept, target, terms, room[past:])
                if better[0] > best[0]:  # the first of equals: + before -
                    winner, sweep, best, job = other, again, better, job + 1
            chain, start, operations, runs = trace_chain(
                winner.graph, sweep, target, _pairs(lifted, target),
                (terms.gap, terms.penalty, terms.free), best[1], best[2],
            )  # fmt: skip
            row = job, best[0], start, best[2], len(chain), len(runs)
            table, exons = _with(table, n, row), _with(exons, n_exons, winner.exons[chain])
            letters, lengths = _with(letters, n_runs, operations), _with(lengths, n_runs, runs)
            n, n_exons, n_runs = n + FIELDS, n_exons + len(chain), n_runs + len(runs)
            done += work.cells[case]
    table = table[:n].reshape((n // FIELDS, FIELDS))
    return done, table, exons[:n_exons], letters[:n_runs], lengths[:n_runs]


@njit(cache=True, nogil=True)
def _pairs(lifted, target):
    """Return what `traceback.pair_scores` does."""
    profile = np.empty((len(lifted), len(target)), dtype=np.int32)
    for code in range(len(lifted)):
        for column in range(len(target)):
            profile[code, column] = lifted[code, target[column]]
    return lifted, profile
