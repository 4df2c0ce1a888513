"""The order of cases on a CPU and their threads.

Compiled functions align chunks of small cases, one thread a chunk, without Python's lock. A large
case is cut into strips of its target for all threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.own_files import check_memory
from gpu_tools.hardware.threads import CELLS_PER_REPORT, CaseProgress, map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced import exon_graph
from gpu_tools.spliced.alignments import NO_CHAIN, Alignments, Chains
from gpu_tools.spliced.case import (
    Case,
    CaseColumns,
    Jobs,
    Strands,
    first_of,
    graphs_of,
    result_of,
)
from gpu_tools.spliced.cpu.sweep import (
    ROWS_PER_BLOCK,
    Border,
    SweptTarget,
    Terms,
    lay_out_strip,
    run_rows,
    sweep,
    terms_of,
)
from gpu_tools.spliced.cpu.traceback import Swept, find_best_end, trace_chain
from gpu_tools.spliced.exon_graph import Extent, GraphArrays
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs
from gpu_tools.splicing.bounds import costs_of, fit_int16
from gpu_tools.splicing.recurrence import Sweep
from gpu_tools.splicing.rows import padded
from gpu_tools.splicing.traceback import lifted_scores, profile_of

# columns of the table of chains
JOB, SCORE, FIRST_COLUMN, LAST_COLUMN, N_EXONS, N_RUNS, FIELDS = range(7)


class AllCases(NamedTuple):
    """The cases of a call, see `case.CaseColumns`."""

    strands: Strands
    jobs: Jobs
    first_jobs: NDArray[np.int64]
    targets: NDArray[np.uint8]
    banned: BannedPairs
    first_banned: NDArray[np.int64]
    bonus: NDArray[np.int64]  # what each exon adds to a chain


class StrandGraph(NamedTuple):
    """A strand's exon graph; `exons` are its exons among those of all strands."""

    graph: GraphArrays
    exons: NDArray[np.int64]


@njit(cache=True, nogil=True)
def best_bonuses(strands, bonus, penalty, first, past):
    """Return `exon_graph.best_bonus` of the strands ``first`` to ``past - 1``."""
    found = np.zeros(past - first, dtype=np.int64)
    for strand in range(first, past):
        exons = slice(strands.first_exons[strand], strands.first_exons[strand + 1])
        gains = penalty < 0
        for k in range(exons.start, exons.stop):
            gains |= bonus[k] > 0
        if gains:
            order, tracks = exon_graph.lay_out(
                strands.lengths[strand], strands.starts[exons], strands.ends[exons],
                strands.reverse[strand],
            )  # fmt: skip
            ordered = exon_graph.taken(bonus, exons.start, order)
            found[strand - first] = exon_graph.best_bonus(
                tracks.commits, tracks.exon_tracks, tracks.exon_ends, ordered, len(tracks.ends),
                penalty,
            )  # fmt: skip
    return found


@njit(cache=True, nogil=True)
def find_magnitudes(jobs, extents, costs):
    """Return the largest magnitude of any value of each job's sweep, see `exon_graph.bound_cells`.

    `extents` are those of all strands, an array for each part of an `Extent`.
    """
    longest, bonus, chain, length = extents
    found = np.empty(len(jobs.strands), dtype=np.int64)
    for job in range(len(found)):
        strand, columns = jobs.strands[job], padded(jobs.lengths[job] + 1, 1, 2)
        extent = Extent(longest[strand], bonus[strand], chain[strand], length[strand])
        lowest, highest = exon_graph.bound_cells(extent, columns, costs)
        found[job] = max(abs(lowest), abs(highest))
    return found


@njit(nogil=True)
def _lay_out_strand(cases, number):
    """Return a strand with its exon graph."""
    strands = cases.strands
    exons = slice(strands.first_exons[number], strands.first_exons[number + 1])
    codes = simd.bytes_at(strands.addresses[number], strands.lengths[number])
    reverse = strands.reverse[number]
    order, tracks = exon_graph.lay_out(
        len(codes), strands.starts[exons], strands.ends[exons], reverse
    )
    symbols = np.empty(tracks.rows[-1], dtype=np.uint8)
    exon_graph.write_stream(codes, tracks, reverse, symbols)
    graph = GraphArrays(symbols, exon_graph.taken(cases.bonus, exons.start, order), tracks)
    for k in range(len(order)):
        order[k] += exons.start
    return StrandGraph(graph, order)


@njit(nogil=True)
def _sweep(strand, target, banned, terms, buffer):
    """Return a sweep whose rows are in the buffer, where its chain ends best, and the buffer.

    A larger buffer replaces one that is too small.
    """
    weights, graph = terms.weights, strand.graph
    width = padded(len(target) + 1, 1, weights.itemsize)
    n_ends, n_tracks = len(graph.tracks.ends), len(graph.tracks.starts)
    of_ends, past = n_ends * width, (n_ends + n_tracks) * width
    if past > len(buffer):
        buffer = np.empty(past, weights.dtype)
    sweep = Sweep(
        buffer[:of_ends].reshape((1, n_ends, width)),
        buffer[of_ends:past].reshape((1, n_tracks, width)),
    )
    for k in range(of_ends):  # numba takes long to compile `sweep.ends[:] = ...`
        buffer[k] = np.iinfo(weights.dtype).min
    border = Border(
        np.full(len(graph.codes), np.iinfo(weights.dtype).min, weights.dtype),
        np.full(n_tracks, np.iinfo(weights.dtype).min, weights.dtype),
    )
    of_target = SweptTarget(target, terms.lifted, banned)
    run_rows(
        graph, lay_out_strip(target, np.int64(0), width, terms), sweep.ends[0], sweep.entries[0],
        border, border, of_target, weights, (np.int64(0), len(graph.codes)), None,
    )  # fmt: skip
    return sweep, find_best_end(sweep.ends, len(target), terms.gap, terms.free), buffer


@njit(nogil=True)
def _strands_of(cases, case, strands, numbers):
    """Lay out the strands of a case, unless they are those of the case before."""
    for job in range(cases.first_jobs[case], cases.first_jobs[case + 1]):
        k, number = job - cases.first_jobs[case], cases.jobs.strands[job]
        if numbers[k] != number:
            strand = _lay_out_strand(cases, number)
            if k < len(strands):
                strands[k] = strand
            else:
                strands.append(strand)
            numbers[k] = number
    return strands


@njit(nogil=True)
def _target_of(cases, job):
    first = cases.jobs.targets[job]
    own = cases.first_banned[job], cases.first_banned[job + 1]
    banned = BannedPairs(cases.banned.rows[own[0] : own[1]], cases.banned.columns[own[0] : own[1]])
    return cases.targets[first : first + cases.jobs.lengths[job]], banned


@njit(nogil=True)
def _extended(values, used, more):
    """Return `values` with `more` behind the used ones, in larger memory where that is needed."""
    if used + len(more) > len(values):
        larger = np.empty(2 * (used + len(more)), values.dtype)
        simd.copy(values[:used], larger)
        values = larger
    simd.copy(more, values[used:])
    return values


@njit(cache=True, nogil=True)
def align_cases(cases, terms, lifted, numbers, with_chains):
    """Find the scores of some cases, and with chains also the best ones and their alignments."""
    dtype, laid = terms.weights.dtype, np.full(2, -1)
    buffer, other_buffer = np.empty(0, dtype), np.empty(0, dtype)
    strands = [_lay_out_strand(cases, np.int64(0)) for _ in range(0)]
    costs = terms.gap, terms.penalty, terms.free
    table, exons = np.empty((len(numbers), FIELDS), dtype=np.int64), np.empty(0, dtype=np.int64)
    letters, lengths = np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64)
    # numba compiles functions again for literal numbers
    n_exons, n_runs = np.int64(0), np.int64(0)
    for row in range(len(numbers)):
        job, past = cases.first_jobs[numbers[row]], cases.first_jobs[numbers[row] + 1]
        strands = _strands_of(cases, numbers[row], strands, laid)
        (target, banned), winner = _target_of(cases, job), strands[0]
        sweep, best, buffer = _sweep(winner, target, banned, terms, buffer)
        if past - job > 1:
            _, more = _target_of(cases, job + 1)
            other, better, other_buffer = _sweep(strands[1], target, more, terms, other_buffer)
            if better[0] > best[0]:  # the first of equals: + before -
                winner, sweep, best, banned, job = strands[1], other, better, more, job + 1
        table[row, JOB], table[row, SCORE] = job, best[0]
        if not with_chains:
            continue
        chain, start, operations, runs = trace_chain(
            winner.graph, sweep, target, (lifted, profile_of(lifted, target)), costs, *best[1:],
            banned,
        )  # fmt: skip
        found = job, best[0], start, best[2], len(chain), len(runs)
        for field in range(FIELDS):
            table[row, field] = found[field]
        exons = _extended(exons, n_exons, exon_graph.taken(winner.exons, 0, chain))
        letters, lengths = _extended(letters, n_runs, operations), _extended(lengths, n_runs, runs)
        n_exons, n_runs = n_exons + len(chain), n_runs + len(runs)
    return table, exons[:n_exons], letters[:n_runs], lengths[:n_runs]


_log = logging.getLogger(__name__)

STRANDS_A_TASK = 256
"""Strands whose bounds are one task for a thread."""


class WorkSizes(NamedTuple):
    """How work is cut for several threads."""

    columns_per_strip: int = 512  # fewest target columns of a strip of a large case
    cells_for_strips: int = 1 << 31  # fewest cells of a large case: a core does them in 90 ms
    cells_per_chunk: int = 1 << 28  # most cells of a chunk, 10 ms: calls are interrupted between
    chunks_per_thread: int = 8  # fewest chunks, so that threads end at about the same time
    rows_per_block: int = ROWS_PER_BLOCK  # see `sweep.sweep`


SIZES = WorkSizes()


def align_on_cpu(
    columns: CaseColumns,
    scoring: SplicedScoring,
    threads: int,
    done: Callable[[int], None],
    sizes: WorkSizes = SIZES,
) -> Alignments:
    """Align all cases on the CPU."""
    found, lifted = Alignments(columns), lifted_scores(scoring)

    def conclude(k: int, swept: list[Swept]) -> None:
        best = max(swept, key=lambda each: each.best.score)  # the first of equals: + before -
        cells = int(columns.cells[k])
        found.others[k] = result_of(columns.cases[k], cells, **best.result_fields())

    def align(cases: AllCases, terms: Terms, numbers: NDArray[np.int64]) -> None:
        table, exons, letters, lengths = align_cases(cases, terms, lifted, numbers, True)
        chains = Chains.make(
            table[:, SCORE], table[:, FIRST_COLUMN], table[:, LAST_COLUMN],
            first_of(table[:, N_EXONS]), exons, first_of(table[:, N_RUNS]), letters, lengths,
        )  # fmt: skip
        found.add(table[:, JOB], np.arange(len(table)), lambda: chains)
        done(int(columns.cells[numbers].sum()))

    _run(columns, scoring, threads, sizes, align, conclude, done)
    return found


def scores_on_cpu(
    columns: CaseColumns, scoring: SplicedScoring, threads: int, sizes: WorkSizes = SIZES
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)

    def conclude(k: int, swept: list[Swept]) -> None:
        scores[k] = max(sweep.best.score for sweep in swept)

    def score(cases: AllCases, terms: Terms, numbers: NDArray[np.int64]) -> None:
        table, *_ = align_cases(cases, terms, lifted_scores(scoring), numbers, False)
        scores[numbers] = table[:, SCORE]

    _run(columns, scoring, threads, sizes, score, conclude)
    return scores


def check_rows(columns: CaseColumns) -> None:
    """Raise `InputError` if the rows of a case cannot fit into memory.

    A row of target length, of two bytes a cell or more, is held for each place where candidates of
    a strand end.
    """
    strands, jobs = columns.strands, columns.jobs
    if not jobs.count:
        return
    owners = np.repeat(np.arange(strands.count), np.diff(strands.first_exons))
    ends = np.unique(np.stack([owners, strands.ends]), axis=1)
    rows = np.bincount(ends[0], minlength=strands.count)[jobs.strands]
    largest = int(np.argmax(rows * jobs.lengths))
    case = columns.cases[jobs.cases[largest]]
    what = f"{rows[largest]:,} ends of candidates times {jobs.lengths[largest]:,} symbols"
    try:
        check_memory(2 * int(rows[largest]) * int(jobs.lengths[largest]), what)
    except InputError as error:
        raise error.located(record=f"{case.base.name} with {case.target.name}") from None


def _run(
    columns: CaseColumns,
    scoring: SplicedScoring,
    threads: int,
    sizes: WorkSizes,
    align: Callable[[AllCases, Terms, NDArray[np.int64]], None],
    conclude: Callable[[int, list[Swept]], None],
    report: Callable[[int], None] = lambda cells: None,
) -> None:
    """Have threads align all cases that have a candidate.

    Cases that are large, and more than a thread's share of the work, come first: one after the
    other, each cut into strips of its target for all threads. The others are aligned side by side,
    in chunks. `conclude` is called with a large case's number and its sweeps, `report` with the
    nominal cells of a part of it.
    """
    check_rows(columns)
    bonus = scoring.exon_bonus(columns.strands.scores)
    narrow = cases_fit_int16(columns, scoring, bonus, threads)
    large = _large_cases(columns, threads, sizes)
    for k in np.flatnonzero(large).tolist():
        tally = CaseProgress(int(columns.cells[k]), report, CELLS_PER_REPORT)
        conclude(k, _sweep_large(columns.cases[k], scoring, threads, sizes, tally))
        tally.finish()
    cases = AllCases(
        columns.strands, columns.jobs, columns.first_jobs, columns.targets, columns.banned,
        columns.first_banned, bonus,
    )  # fmt: skip
    small = ~large & (np.diff(columns.first_jobs) > 0)
    _log.info(
        "list mode on the CPU: cases in cells of 16 bits: %d, of 32 bits: %d, large ones in strips "
        "of their targets: %d; threads: %d",
        (small & narrow).sum(), (small & ~narrow).sum(), large.sum(), threads,
    )  # fmt: skip
    tasks = []
    for dtype, chosen in ((np.int16, small & narrow), (np.int32, small & ~narrow)):
        if chosen.any():
            terms = terms_of(scoring, np.dtype(dtype))
            chunks = cut_chunks(np.flatnonzero(chosen), columns.cells, threads, sizes)
            tasks += [(int(columns.cells[chunk].sum()), terms, chunk) for chunk in chunks]
    _log.debug("%d chunks of cases, those with the most cells first", len(tasks))
    tasks.sort(key=lambda task: -task[0])  # those that take long should not be the last to begin
    map_on_threads(threads, lambda task: align(cases, *task[1:]), tasks)


def cases_fit_int16(columns: CaseColumns, scoring, bonus, threads: int) -> NDArray[np.bool_]:
    """Return whether 16-bit cells suffice, per case."""
    strands, jobs, fits = columns.strands, columns.jobs, np.ones(len(columns.cells), dtype=bool)
    if not jobs.count:
        return fits
    bounds = [*range(0, strands.count, STRANDS_A_TASK), strands.count]
    chains = map_on_threads(threads, lambda first, past: best_bonuses(
        strands, bonus, scoring.intron_penalty, first, past
    ), bounds[:-1], bounds[1:])  # fmt: skip
    first = strands.first_exons[:-1]
    longest = np.maximum.reduceat(strands.ends - strands.starts, first)
    largest = np.maximum.reduceat(np.abs(bonus), first)
    extents = longest, largest, np.concatenate(chains), strands.lengths
    magnitudes = find_magnitudes(jobs, extents, costs_of(scoring))
    fits[jobs.cases[~fit_int16(magnitudes)]] = False
    return fits


def _large_cases(columns: CaseColumns, threads: int, sizes: WorkSizes) -> NDArray[np.bool_]:
    """Return which cases are large and more than a thread's share of the work.

    One thread alone takes all large cases: it reports progress within them.
    """
    share = -(-int(columns.cells.sum()) // threads) if threads > 1 else 0
    return columns.cells > max(share, sizes.cells_for_strips)


def _sweep_large(
    case: Case, scoring: SplicedScoring, threads: int, sizes: WorkSizes, tally: CaseProgress
) -> list[Swept]:
    """Sweep the strands of a case side by side, each in strips of its target."""
    graphs, target = graphs_of(case, scoring), case.target.codes
    strips = max(min(threads // len(graphs), len(target) // sizes.columns_per_strip), 1)
    cells = case.cells // len(graphs)

    def swept(graph) -> Swept:
        banned = case.banned.get("-" if graph.reverse else "+", NO_PAIRS)
        rows = sweep(
            graph, target, scoring, strips, sizes.rows_per_block,
            lambda part: tally.add(int(part * cells)), banned,
        )  # fmt: skip
        return Swept(graph, rows, target, scoring, banned)

    return map_on_threads(threads, swept, graphs)


def cut_chunks(
    cases: NDArray[np.int64], cells: NDArray[np.int64], threads: int, sizes: WorkSizes
) -> list[NDArray[np.int64]]:
    """Cut cases, one or more, into chunks of about the same nominal cells, in their order."""
    past = np.cumsum(cells[cases])
    share = past[-1] // (sizes.chunks_per_thread * threads)
    most = max(min(share, sizes.cells_per_chunk), 1)
    return np.split(cases, np.flatnonzero(np.diff(past // most)) + 1)
