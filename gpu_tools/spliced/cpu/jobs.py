"""Many cases on one thread of a CPU, in compiled code that does not hold Python's lock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.spliced.bounds import Extent, best_bonus, bound_cells
from gpu_tools.spliced.columns import Jobs, Strands
from gpu_tools.spliced.cpu.state import Border, Stream, lay_out_stream, lay_out_strip
from gpu_tools.spliced.cpu.sweep import begin_column_zero, run_steps
from gpu_tools.spliced.cpu.traceback import find_best_end, trace_chain
from gpu_tools.spliced.exon_graph import GraphArrays, lay_out, taken, write_stream
from gpu_tools.splicing.exon_traceback import profile_of
from gpu_tools.splicing.recurrence import Sweep
from gpu_tools.splicing.strip import padded

# columns of the table of chains
JOB, SCORE, FIRST_COLUMN, LAST_COLUMN, N_EXONS, N_RUNS, FIELDS = range(7)


class AllCases(NamedTuple):
    """The cases of a call, see `columns.CaseColumns`; `bonus` is what each exon adds to a chain."""

    strands: Strands
    jobs: Jobs
    first_jobs: NDArray[np.int64]
    targets: NDArray[np.uint8]
    bonus: NDArray[np.int64]


class StrandGraph(NamedTuple):
    """A strand's exon graph and stream; `exons` are its exons among those of all strands."""

    graph: GraphArrays
    stream: Stream
    exons: NDArray[np.int64]


@njit(cache=True, nogil=True)
def best_bonuses(strands, bonus, penalty, first, past):
    """Return `bounds.best_bonus` of the strands ``first`` to ``past - 1``."""
    found = np.zeros(past - first, dtype=np.int64)
    for strand in range(first, past):
        exons = slice(strands.first_exons[strand], strands.first_exons[strand + 1])
        gains = penalty < 0
        for k in range(exons.start, exons.stop):
            gains |= bonus[k] > 0
        if gains:
            order, tracks = lay_out(
                strands.lengths[strand], strands.starts[exons], strands.ends[exons],
                strands.reverse[strand],
            )  # fmt: skip
            ordered = taken(bonus, exons.start, order)
            found[strand - first] = best_bonus(
                tracks.commits, tracks.exit_tracks, tracks.exit_ends, ordered, len(tracks.ends),
                penalty,
            )  # fmt: skip
    return found


@njit(cache=True, nogil=True)
def find_magnitudes(jobs, extents, costs):
    """Return the largest magnitude of any value of each job's sweep, see `bounds.bound_cells`.

    `extents` are those of all strands, an array for each part of an `Extent`.
    """
    longest, bonus, chain, length = extents
    found = np.empty(len(jobs.strands), dtype=np.int64)
    for job in range(len(found)):
        strand, columns = jobs.strands[job], padded(jobs.lengths[job], 1, 2)
        extent = Extent(longest[strand], bonus[strand], chain[strand], length[strand])
        lowest, highest = bound_cells(extent, columns, costs)
        found[job] = max(abs(lowest), abs(highest))
    return found


@njit(cache=True, nogil=True)
def _lay_out_strand(cases, number, weights):
    """Return a strand with its exon graph."""
    strands = cases.strands
    exons = slice(strands.first_exons[number], strands.first_exons[number + 1])
    codes = simd.bytes_at(strands.addresses[number], strands.lengths[number])
    reverse = strands.reverse[number]
    order, tracks = lay_out(len(codes), strands.starts[exons], strands.ends[exons], reverse)
    symbols = np.empty(tracks.rows[-1], dtype=np.uint8)
    write_stream(codes, tracks.starts, tracks.rows, (reverse, reverse), symbols)
    graph = GraphArrays(symbols, taken(cases.bonus, exons.start, order), tracks)
    for k in range(len(order)):
        order[k] += exons.start
    return StrandGraph(graph, lay_out_stream(graph, weights), order)


@njit(cache=True, nogil=True)
def _sweep(strand, target, terms, buffer):
    """Return a sweep whose rows are in the buffer, where its chain ends best, and the buffer.

    A larger buffer replaces one that is too small.
    """
    weights, stream = terms.weights, strand.stream
    width = padded(len(target), 1, weights.itemsize) + 1
    n_ends, n_tracks = len(strand.graph.tracks.ends), len(stream.track_commits)
    if (n_ends + n_tracks) * width > len(buffer):
        buffer = np.empty((n_ends + n_tracks) * width, weights.dtype)
    rows = buffer[: (n_ends + n_tracks) * width].reshape((n_ends + n_tracks, width))
    sweep = Sweep(rows[:n_ends], rows[n_ends:])
    for k in range(n_ends * width):  # numba takes long to compile `sweep.ends[:] = ...`
        buffer[k] = np.iinfo(weights.dtype).min
    border, following = _border(stream, weights), _border(stream, weights)
    begin_column_zero(stream, sweep, border, weights)
    strip = lay_out_strip(target, 1, width - 1, terms)
    n_steps = stream.n_rows + simd.VECTOR_BYTES // weights.itemsize - 1
    run_steps(stream, strip, sweep, border, following, weights, (0, n_steps))
    return sweep, find_best_end(sweep.ends, len(target), terms.gap, terms.free), buffer


@njit(cache=True, nogil=True)
def _border(stream, weights):
    n_rows, n_tracks = stream.n_rows, len(stream.track_commits)
    return Border(np.empty(n_rows, dtype=weights.dtype), np.empty(n_tracks, dtype=weights.dtype))


@njit(nogil=True)
def _strands_of(cases, case, terms, strands, numbers):
    """Lay out the strands of a case, unless they are those of the case before."""
    for job in range(cases.first_jobs[case], cases.first_jobs[case + 1]):
        k, number = job - cases.first_jobs[case], cases.jobs.strands[job]
        if numbers[k] != number:
            strand = _lay_out_strand(cases, number, terms.weights)
            if k < len(strands):
                strands[k] = strand
            else:
                strands.append(strand)
            numbers[k] = number
    return strands


@njit(nogil=True)
def _target_of(cases, job):
    first = cases.jobs.targets[job]
    return cases.targets[first : first + cases.jobs.lengths[job]]


@njit(nogil=True)
def _extended(values, used, more):
    """Return `values` with `more` behind those that are used, in larger memory if need be."""
    if used + len(more) > len(values):
        larger = np.empty(2 * (used + len(more)), values.dtype)
        simd.copy(values[:used], larger)
        values = larger
    simd.copy(more, values[used:])
    return values


@njit(cache=True, nogil=True)
def score_cases(cases, terms, numbers, scores):
    """Write the scores of some cases' best chains.

    Parameters
    ----------
    cases : AllCases
    terms : Terms
    numbers : ndarray of int64
        Cases with candidates; the strands of neighbours are laid out once if they are the same.
    scores : ndarray of int64, shape (C,)
        Of all cases; less than any score before.
    """
    buffer, laid = np.empty(0, terms.weights.dtype), np.full(2, -1)
    strands = [_lay_out_strand(cases, np.int64(0), terms.weights) for _ in range(0)]
    for case in numbers:
        strands = _strands_of(cases, case, terms, strands, laid)
        first = cases.first_jobs[case]
        for job in range(first, cases.first_jobs[case + 1]):
            target = _target_of(cases, job)
            _, best, buffer = _sweep(strands[job - first], target, terms, buffer)
            scores[case] = max(scores[case], best[0])


@njit(cache=True, nogil=True)
def align_cases(cases, terms, lifted, numbers):
    """Find the best chains and alignments of some cases.

    Parameters
    ----------
    cases : AllCases
    terms : Terms
    lifted : ndarray of int32
        See `traceback.pair_scores`.
    numbers : ndarray of int64
        As for `score_cases`.

    Returns
    -------
    table : ndarray of int64, shape (N, FIELDS)
        A row a case: the job that has the chain, and how much it has in the arrays that follow.
    exons : ndarray of int64
        Numbers of exons among those of all strands, in transcript order.
    letters : ndarray of uint8
    run_lengths : ndarray of int64
    """
    dtype, laid = terms.weights.dtype, np.full(2, -1)
    buffer, other_buffer = np.empty(0, dtype), np.empty(0, dtype)
    strands = [_lay_out_strand(cases, np.int64(0), terms.weights) for _ in range(0)]
    costs = terms.gap, terms.penalty, terms.free
    table, exons = np.empty((len(numbers), FIELDS), dtype=np.int64), np.empty(0, dtype=np.int64)
    letters, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64)
    # numba compiles functions again for literal numbers
    n_exons, n_runs = np.int64(0), np.int64(0)
    for row in range(len(numbers)):
        job, past = cases.first_jobs[numbers[row]], cases.first_jobs[numbers[row] + 1]
        strands = _strands_of(cases, numbers[row], terms, strands, laid)
        target, winner = _target_of(cases, job), strands[0]
        sweep, best, buffer = _sweep(strands[0], target, terms, buffer)
        if past - job > 1:
            other, better, other_buffer = _sweep(strands[1], target, terms, other_buffer)
            if better[0] > best[0]:  # the first of equals: + before -
                winner, sweep, best, job = strands[1], other, better, job + 1
        chain, start, operations, runs = trace_chain(
            winner.graph, sweep, target, (lifted, profile_of(lifted, target)), costs, *best[1:]
        )
        found = job, best[0], start, best[2], len(chain), len(runs)
        for field in range(FIELDS):
            table[row, field] = found[field]
        exons = _extended(exons, n_exons, taken(winner.exons, 0, chain))
        letters, lengths = _extended(letters, n_runs, operations), _extended(lengths, n_runs, runs)
        n_exons, n_runs = n_exons + len(chain), n_runs + len(runs)
    return table, exons[:n_exons], letters[:n_runs], lengths[:n_runs]
