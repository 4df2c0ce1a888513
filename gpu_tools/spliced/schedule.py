"""Which case is worked on when on a CPU, and by how many threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock, Semaphore

import numpy as np
from numpy.typing import NDArray

from gpu_tools.ahead import helped
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cpu, cpu_jobs, merging
from gpu_tools.spliced.alignments import NO_CHAIN, Alignments, Chains, FoundChains
from gpu_tools.spliced.case import Preparation, PreparedCase, finish
from gpu_tools.spliced.columns import CaseColumns, first_of
from gpu_tools.spliced.cpu_jobs import Work
from gpu_tools.spliced.cpu_state import Terms, padded, terms_of
from gpu_tools.spliced.traceback import Swept, lifted_scores
from gpu_tools.spliced.widths import Extent, bound_cells, fit_int16

COLUMNS_PER_STRIPE = 512
"""Fewer target columns than this are not worth a thread of their own."""
CELLS_FOR_STRIPES = 1 << 27
"""Fewer nominal cells than this are not worth several threads: a core does them in some 6 ms."""
CELLS_A_TURN = 1 << 28
"""After so many nominal cells a thread tells what it has done."""
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
        cpu_jobs.score_items(work, terms, scores)

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

    A large case that is more than half a thread's share of the work is cut into stripes of its
    target, which are tasks of their own. What is left is done by items, see `cpu_jobs`.

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
    bonus = scoring.exon_bonus(columns.strands.scores)
    with ThreadPoolExecutor(max(threads - 1, 1), "spliced") as pool:

        def together(parts: int, work: Callable[[], None]) -> None:
            with helped(pool, min(threads, parts) - 1, work):
                work()

        narrow = _fit_int16(columns, scoring, bonus, together)
        stripes = _stripes(columns, threads)
        large, there = stripes > 1, np.diff(columns.first_jobs) > 0
        tasks, prepare = deque(), Preparation(scoring)
        for k in np.flatnonzero(large & there).tolist():
            prepared = prepare(columns.cases[k])
            tasks += _large_case(prepared, scoring, int(stripes[k]), partial(conclude, k))
        most = int(columns.cells.sum()) // (ITEMS_A_THREAD * threads)
        queues = [
            (_work(columns, bonus, cases, most), terms_of(scoring, np.dtype(dtype)))
            for dtype, chosen in ((np.int32, ~narrow), (np.int16, narrow))
            if len(cases := np.flatnonzero(chosen & there & ~large))
        ]
        parts = len(tasks) + sum(len(work.order) for work, _ in queues)
        together(max(parts, 1), lambda: _do(tasks, queues, take))


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
    chain, taken = np.empty(strands.count, dtype=np.int64), np.zeros(1, dtype=np.int64)
    together(1 + strands.count // STRANDS_A_THREAD, lambda: cpu_jobs.find_best_bonus(
        strands, bonus, penalty, taken, chain,
    ))  # fmt: skip
    fits = np.ones(len(columns.cells), dtype=np.bool_)
    if jobs.count:
        first = strands.first_exons[:-1]
        longest = np.maximum.reduceat(strands.ends - strands.starts, first)
        extent = (longest, np.maximum.reduceat(np.abs(bonus), first), chain, strands.lengths)
        own = Extent(*(values[jobs.programs] for values in extent))
        bound = bound_cells(own, padded(jobs.lengths, 1, 2), scoring)
        fits[jobs.cases[~fit_int16(np.abs(bound).max(axis=0))]] = False
    return fits


def _stripes(columns: CaseColumns, threads: int) -> NDArray[np.int64]:
    """Return how many stripes each case is cut into."""
    lengths = np.array([len(case.target) for case in columns.cases], dtype=np.int64)
    share = columns.cells.sum() / threads
    alone = columns.cells > max(share / 2, CELLS_FOR_STRIPES)
    return np.where(alone, np.clip(lengths // COLUMNS_PER_STRIPE, 1, threads), 1)


def _large_case(
    prepared: PreparedCase, scoring: SplicedScoring, stripes: int, conclude: Callable
) -> list[Callable[[], None]]:
    """Return the tasks of a large case; that which ends last concludes it."""
    target = prepared.case.target.codes
    begun = [cpu.begin_sweep(program, target, scoring, stripes) for program in prepared.programs]
    tasks = [task for _, own in begun for task in own]
    others = Semaphore(len(tasks) - 1)

    def run(task: Callable[[], None]) -> None:
        task()
        if not others.acquire(blocking=False):
            pairs = zip(prepared.programs, begun, strict=True)
            conclude(prepared, [Swept(p, sweep, target, scoring) for p, (sweep, _) in pairs])

    return [partial(run, task) for task in tasks]


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
