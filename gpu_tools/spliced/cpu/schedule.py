"""Which case is aligned when on a CPU, and by how many threads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.memory import check_memory
from gpu_tools.hardware.progress import CELLS_PER_REPORT, CaseProgress
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.alignments import NO_CHAIN, Alignments, Chains, FoundChains
from gpu_tools.spliced.case import Case, Preparation, PreparedCase, finish
from gpu_tools.spliced.columns import CaseColumns, first_of
from gpu_tools.spliced.cpu import jobs as cpu_jobs
from gpu_tools.spliced.cpu.jobs import AllCases
from gpu_tools.spliced.cpu.state import Terms, terms_of
from gpu_tools.spliced.cpu.sweep import STEPS_PER_BLOCK, sweep
from gpu_tools.spliced.cpu.traceback import Swept
from gpu_tools.splicing.bounds import costs_of, fit_int16
from gpu_tools.splicing.exon_traceback import lifted_scores

_log = logging.getLogger(__name__)

STRANDS_A_TASK = 256
"""Strands whose bounds are one task for a thread."""


class WorkSizes(NamedTuple):
    """How work is cut for several threads.

    Attributes
    ----------
    columns_per_strip : int
        A strip of a large case has at least so many target columns.
    cells_for_strips : int
        A case of fewer nominal cells is not cut into strips: a core does them in some 90 ms.
    cells_per_chunk : int
        A chunk of cases has at most about so many nominal cells, some 10 ms: between two chunks a
        call can be interrupted.
    chunks_per_thread : int
        As many chunks as this or more for each thread, so that all threads end at about the same
        time.
    steps_per_block : int
        See `gpu_tools.spliced.cpu.sweep.sweep`.
    """

    columns_per_strip: int = 512
    cells_for_strips: int = 1 << 31
    cells_per_chunk: int = 1 << 28
    chunks_per_thread: int = 8
    steps_per_block: int = STEPS_PER_BLOCK


SIZES = WorkSizes()


def align_on_cpu(
    columns: CaseColumns,
    scoring: SplicedScoring,
    threads: int,
    done: Callable[[int], None],
    sizes: WorkSizes = SIZES,
) -> Alignments:
    """Align all cases on the CPU.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    threads : int
    done : callable
        Called with the nominal cells of cases that are done, by one thread at a time.
    sizes : WorkSizes

    Returns
    -------
    Alignments
    """
    found, lifted, reporting = Alignments(columns), lifted_scores(scoring), Lock()

    def report(cells: int) -> None:
        with reporting:
            done(cells)

    def conclude(k: int, prepared: PreparedCase, swept: list[Swept]) -> None:
        found.others[k] = finish(prepared, swept)

    def align(cases: AllCases, terms: Terms, numbers: NDArray[np.int64]) -> None:
        table, *parts = cpu_jobs.align_cases(cases, terms, lifted, numbers)
        found.add(columns.jobs.take(table[:, cpu_jobs.JOB]), _chains(table, *parts))
        report(int(columns.cells[numbers].sum()))

    _run(columns, scoring, threads, sizes, align, conclude, report)
    return found


def _chains(table, exons, letters, lengths) -> FoundChains:
    return FoundChains.all_of(Chains(
        table[:, cpu_jobs.SCORE], table[:, cpu_jobs.FIRST_COLUMN], table[:, cpu_jobs.LAST_COLUMN],
        first_of(table[:, cpu_jobs.N_EXONS]), exons, first_of(table[:, cpu_jobs.N_RUNS]), letters,
        lengths,
    ))  # fmt: skip


def scores_on_cpu(
    columns: CaseColumns, scoring: SplicedScoring, threads: int, sizes: WorkSizes = SIZES
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)

    def conclude(k: int, prepared: PreparedCase, swept: list[Swept]) -> None:
        scores[k] = max(sweep.score for sweep in swept)

    def score(cases: AllCases, terms: Terms, numbers: NDArray[np.int64]) -> None:
        cpu_jobs.score_cases(cases, terms, numbers, scores)

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
    conclude: Callable[[int, PreparedCase, list[Swept]], None],
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
    narrow = _fit_int16(columns, scoring, bonus, threads)
    large = _large_cases(columns, threads, sizes)
    prepare = Preparation(scoring)
    for k in np.flatnonzero(large).tolist():
        tally = CaseProgress(int(columns.cells[k]), report, CELLS_PER_REPORT)
        conclude(k, *_sweep_large(columns.cases[k], prepare, threads, sizes, tally))
        tally.finish()
    cases = AllCases(columns.strands, columns.jobs, columns.first_jobs, columns.targets, bonus)
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


def _fit_int16(columns: CaseColumns, scoring, bonus, threads: int) -> NDArray[np.bool_]:
    """Tell of each case whether 16 bits hold every value of its sweeps."""
    strands, jobs, fits = columns.strands, columns.jobs, np.ones(len(columns.cells), dtype=bool)
    if not jobs.count:
        return fits
    bounds = [*range(0, strands.count, STRANDS_A_TASK), strands.count]
    chains = map_on_threads(threads, lambda first, past: cpu_jobs.best_bonuses(
        strands, bonus, scoring.intron_penalty, first, past
    ), bounds[:-1], bounds[1:])  # fmt: skip
    first = strands.first_exons[:-1]
    longest = np.maximum.reduceat(strands.ends - strands.starts, first)
    largest = np.maximum.reduceat(np.abs(bonus), first)
    extents = longest, largest, np.concatenate(chains), strands.lengths
    magnitudes = cpu_jobs.find_magnitudes(jobs, extents, costs_of(scoring))
    fits[jobs.cases[~fit_int16(magnitudes)]] = False
    return fits


def _large_cases(columns: CaseColumns, threads: int, sizes: WorkSizes) -> NDArray[np.bool_]:
    """Tell of each case whether it is large, and more than a thread's share of the work.

    A thread alone has nothing to share: it sweeps all large cases so, and reports on the way.
    """
    share = -(-int(columns.cells.sum()) // threads) if threads > 1 else 0
    return columns.cells > max(share, sizes.cells_for_strips)


def _sweep_large(
    case: Case, prepare: Preparation, threads: int, sizes: WorkSizes, tally: CaseProgress
) -> tuple[PreparedCase, list[Swept]]:
    """Sweep the strands of a case side by side, each in strips of its target."""
    prepared, target, scoring = prepare(case), case.target.codes, prepare.scoring
    share = threads // len(prepared.graphs)
    strips = max(min(share, len(target) // sizes.columns_per_strip), 1)
    cells = prepared.cells // len(prepared.graphs)

    def swept(graph) -> Swept:
        rows = sweep(
            graph, target, scoring, strips, sizes.steps_per_block,
            lambda part: tally.add(int(part * cells)),
        )  # fmt: skip
        return Swept(graph, rows, target, scoring)

    return prepared, map_on_threads(threads, swept, prepared.graphs)


def cut_chunks(
    cases: NDArray[np.int64], cells: NDArray[np.int64], threads: int, sizes: WorkSizes
) -> list[NDArray[np.int64]]:
    """Cut cases, one or more, into chunks of about the same nominal cells, in their order."""
    past = np.cumsum(cells[cases])
    share = past[-1] // (sizes.chunks_per_thread * threads)
    most = max(min(share, sizes.cells_per_chunk), 1)
    return np.split(cases, np.flatnonzero(np.diff(past // most)) + 1)
