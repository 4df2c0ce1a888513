"""Which case is worked on when on a CPU, and by how many threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import chain
from threading import Lock, Semaphore

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.wavefront import ALL_DONE
from gpu_tools.hardware.prefetch import helped
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced import merging
from gpu_tools.spliced.alignments import NO_CHAIN, Alignments, Chains, FoundChains
from gpu_tools.spliced.case import Case, Preparation, PreparedCase, finish
from gpu_tools.spliced.columns import CaseColumns, first_of
from gpu_tools.spliced.cpu import jobs as cpu_jobs
from gpu_tools.spliced.cpu import sweep as cpu
from gpu_tools.spliced.cpu.jobs import Work
from gpu_tools.spliced.cpu.state import Terms, terms_of
from gpu_tools.spliced.cpu.traceback import Swept
from gpu_tools.splicing.bounds import costs_of, fit_int16
from gpu_tools.splicing.traceback import lifted_scores

COLUMNS_PER_STRIP = 512
"""Fewer target columns than this are not worth a thread of their own."""
CELLS_FOR_STRIPS = 1 << 31
"""Fewer nominal cells than this are not worth several threads.

A core does them in some 90 ms. Strips do more work in all, and their code is loaded besides that
of items, for which a process that does the demo takes some 0.2 s.
"""
CELLS_A_TURN = 1 << 28
"""After so many nominal cells, some 10 ms, a thread is back in Python and tells what is done."""
ITEMS_A_THREAD = 16
"""Cases of a base are done by one thread if it has so many times as much to do."""

STRANDS_A_THREAD = 32
"""Bounds of fewer strands are not worth a thread of their own."""


def align_on_cpu(
    columns: CaseColumns, scoring: SplicedScoring, threads: int, done: Callable[[int], None]
) -> Alignments:
    """Align all cases on the CPU.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    threads : int
    done : callable
        Told the nominal cells of cases that are done, by one thread at a time.

    Returns
    -------
    Alignments
    """
    found, lifted, telling = Alignments(columns), lifted_scores(scoring), Lock()

    def tell(cells: int) -> None:
        with telling:
            done(cells)

    def conclude(k: int, prepared: PreparedCase, swept: list[Swept]) -> None:
        found.others[k] = finish(prepared, swept)
        tell(prepared.cells)

    def take(work: Work, terms: Terms) -> None:
        while (turn := cpu_jobs.align_items(work, terms, lifted, CELLS_A_TURN))[0]:
            chains = _chains(*turn[1:])
            found.add(columns.jobs.take(turn[1][:, cpu_jobs.JOB]), FoundChains.all_of(chains))
            tell(turn[0])

    _run(columns, scoring, threads, take, conclude)
    return found


def _chains(table, exons, letters, lengths) -> Chains:
    return Chains(
        table[:, cpu_jobs.SCORE], table[:, cpu_jobs.FIRST_COLUMN], table[:, cpu_jobs.LAST_COLUMN],
        first_of(table[:, cpu_jobs.N_EXONS]), exons, first_of(table[:, cpu_jobs.N_RUNS]), letters,
        lengths,
    )  # fmt: skip


def scores_on_cpu(columns: CaseColumns, scoring: SplicedScoring, threads: int) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)

    def conclude(k: int, prepared: PreparedCase, swept: list[Swept]) -> None:
        scores[k] = max(sweep.score for sweep in swept)

    def take(work: Work, terms: Terms) -> None:
        while cpu_jobs.score_items(work, terms, scores, CELLS_A_TURN):
            pass  # between two turns the call can be interrupted

    _run(columns, scoring, threads, take, conclude)
    return scores


def _run(
    columns: CaseColumns,
    scoring: SplicedScoring,
    threads: int,
    take: Callable[[Work, Terms], None],
    conclude: Callable[[int, PreparedCase, list[Swept]], None],
) -> None:
    """Have threads do all cases that have a candidate.

    A large case that is more than a thread's share of the work is cut into strips of its target,
    which are tasks of their own. What is left is done by items, see `cpu_jobs`.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    threads : int
    take : callable
        Does items until there are none left.
    conclude : callable
        Given a large case's number, and what its sweeps have come to.
    """
    pool, bonus = _pool(threads), scoring.exon_bonus(columns.strands.scores)
    narrow = _fit_int16(columns, scoring, bonus, partial(_together, pool, threads))
    strips, there = _strips(columns, threads), np.diff(columns.first_jobs) > 0
    tasks = _strip_tasks(columns, scoring, strips, conclude)
    most = int(columns.cells.sum()) // (ITEMS_A_THREAD * threads)
    queues = [
        (_work(columns, bonus, cases, most), terms_of(scoring, np.dtype(dtype)))
        for dtype, chosen in ((np.int32, ~narrow), (np.int16, narrow))
        if len(cases := np.flatnonzero(chosen & there & (strips == 0)))
    ]
    parts = len(tasks) + sum(len(work.order) for work, _ in queues)
    _together(pool, threads, parts, lambda: _do(tasks, queues, take))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return threads beside the one that asks, which are kept: each takes some 0.1 ms to start."""
    return ThreadPoolExecutor(max(threads - 1, 1), "spliced")


# a forked process has the pools, but not their threads
os.register_at_fork(after_in_child=_pool.cache_clear)


def _together(pool: ThreadPoolExecutor, threads: int, parts: int, work: Callable[[], None]) -> None:
    """Have no more threads than there are parts of some work do it."""
    with helped(pool, max(min(threads, parts), 1) - 1, work):
        work()


def _do(tasks: deque[Callable[[], None]], queues: list[tuple[Work, Terms]], take) -> None:
    """Do tasks and items that no other thread has taken."""
    try:
        while True:
            try:
                task = tasks.popleft()
            except IndexError:
                break
            task()
        for work, terms in queues:
            take(work, terms)
    except BaseException:
        # the other threads end as well
        tasks.clear()
        for work, _ in queues:
            work.taken[0] = len(work.order)
        raise


def _fit_int16(columns: CaseColumns, scoring, bonus, together) -> NDArray[np.bool_]:
    """Tell of each case whether 16 bits hold every value of its sweeps."""
    strands, jobs, penalty = columns.strands, columns.jobs, scoring.intron_penalty
    bonuses, taken = np.empty(strands.count, dtype=np.int64), np.zeros(1, dtype=np.int64)
    together(1 + strands.count // STRANDS_A_THREAD, lambda: cpu_jobs.find_best_bonus(
        strands, bonus, penalty, taken, bonuses,
    ))  # fmt: skip
    fits = np.ones(len(columns.cells), dtype=np.bool_)
    if jobs.count:
        first = strands.first_exons[:-1]
        longest = np.maximum.reduceat(strands.ends - strands.starts, first)
        extents = longest, np.maximum.reduceat(np.abs(bonus), first), bonuses, strands.lengths
        magnitudes = cpu_jobs.find_magnitudes(jobs, extents, costs_of(scoring))
        fits[jobs.cases[~fit_int16(magnitudes)]] = False
    return fits


def _strips(columns: CaseColumns, threads: int) -> NDArray[np.int64]:
    """Return how many strips the sweeps of each case are cut into; 0 for what items are made of.

    As many as make a strip a thread's share: each has all the work that rows begin and end with.
    """
    cells, share = columns.cells, -(-int(columns.cells.sum()) // threads)
    strips = np.zeros(len(cells), dtype=np.int64)
    for k in np.flatnonzero(cells > max(share, CELLS_FOR_STRIPS)):
        jobs = columns.first_jobs[k + 1] - columns.first_jobs[k]
        wide = len(columns.cases[k].target) // COLUMNS_PER_STRIP
        strips[k] = max(min(-(-cells[k] // (share * jobs)), wide), 1)
    return strips


def _strip_tasks(
    columns: CaseColumns, scoring: SplicedScoring, strips: NDArray[np.int64], conclude: Callable
) -> deque[Callable[[], None]]:
    """Return the tasks of cases that have strips, first those that begin a case."""
    prepare, begins, follows = Preparation(scoring), [], []
    for k in np.flatnonzero(strips).tolist():
        large = _LargeCase(columns.cases[k], prepare, int(strips[k]), partial(conclude, k))
        count = int(strips[k] * (columns.first_jobs[k + 1] - columns.first_jobs[k]))
        begins.append(large.begin)
        follows += [partial(large.follow, number) for number in range(count)]
    return deque(begins + follows)


class _LargeCase:
    """A case in strips, which threads do in their order once one has begun the sweeps."""

    def __init__(self, case: Case, prepare: Preparation, strips: int, conclude: Callable):
        self.case, self.prepare, self.strips, self.conclude = case, prepare, strips, conclude
        self.begun: Future = Future()

    def begin(self) -> None:
        """Make room for the sweeps."""
        try:
            prepared, target = self.prepare(self.case), self.case.target.codes
            scoring = self.prepare.scoring
            sweeps, tasks = zip(*(
                cpu.begin_sweep(program, target, scoring, self.strips)
                for program in prepared.programs
            ), strict=True)  # fmt: skip
            self.prepared, self.sweeps, tasks = prepared, sweeps, [*chain(*tasks)]
            self.others = Semaphore(len(tasks) - 1)
            self.begun.set_result(tasks)
        except BaseException as error:
            self.begun.set_exception(error)
            raise

    def follow(self, number: int) -> None:
        """Do a strip; after the last one, conclude the case."""
        try:
            tasks = self.begun.result()
        except BaseException:
            # if this was an interruption, those of other threads wait for this strip
            self.begun.add_done_callback(partial(_leave_out, number))
            raise
        tasks[number]()
        if not self.others.acquire(blocking=False):
            target, scoring = self.case.target.codes, self.prepare.scoring
            pairs = zip(self.prepared.programs, self.sweeps, strict=True)
            self.conclude(self.prepared, [Swept(p, s, target, scoring) for p, s in pairs])


def _leave_out(number: int, begun: Future) -> None:
    """Have nobody wait for a strip, once its case has begun."""
    if begun.exception() is None:
        begun.result()[number](ALL_DONE)


def _work(columns: CaseColumns, bonus, cases: NDArray[np.int64], most: int) -> Work:
    """Return what there is to do of some cases, large items first."""
    cells = columns.cells[cases]
    programs = columns.jobs.programs[columns.first_jobs[cases]]
    items = cpu_jobs.cut_items(programs, cells, most)
    order = np.argsort(-np.add.reduceat(cells, items[:-1]), kind="stable")
    return Work(
        columns.strands, columns.jobs, columns.first_jobs, columns.targets, columns.cells, bonus,
        merging.LEAST_ROWS, cases, items, order, np.zeros(1, dtype=np.int64),
    )  # fmt: skip
