"""Which case is worked on when, and by what."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cpu
from gpu_tools.spliced.case import Case, Preparation, PreparedCase, finish
from gpu_tools.spliced.traceback import Swept

T = TypeVar("T")
COLUMNS_PER_STRIPE = 512
"""Fewer target columns than this are not worth a thread of their own."""
CELLS_FOR_STRIPES = 1 << 27
"""Fewer nominal cells than this are not worth several threads: a core does them in some 6 ms."""


def on_cpu(
    cases: list[Case],
    scoring: SplicedScoring,
    threads: int,
    done: Callable[[int], None],
    conclude: Callable[[PreparedCase, list[Swept]], T] = finish,
) -> list[T]:
    """Sweep all cases on the CPU, and conclude each.

    A large case that is more than half a thread's share of the work is spread over all threads, by
    stripes of its target; the others run side by side.

    Parameters
    ----------
    cases : list of Case
        Checked cases.
    scoring : SplicedScoring
    threads : int
    done : callable
        Told the nominal cells of cases that are done.
    conclude : callable
        Makes the result of a prepared case and its sweeps: by default chain and alignment.

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    prepare = Preparation(scoring)

    def work(k: int, stripes: int) -> T:
        prepared = prepare(cases[k])
        return conclude(prepared, _swept(prepared, scoring, stripes))

    cells = [case.cells for case in cases]
    alone = max(sum(cells) / (2 * threads), CELLS_FOR_STRIPES)
    results: dict[int, T] = {}
    for k in (k for k, n in enumerate(cells) if n > alone):
        results[k] = work(k, threads)
        done(cells[k])
    rest = [k for k in range(len(cases)) if k not in results]
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(work, k, 1): k for k in rest}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            done(cells[futures[future]])
    return [results[k] for k in range(len(cases))]


def _swept(prepared: PreparedCase, scoring: SplicedScoring, threads: int) -> list[Swept]:
    target = prepared.case.target.codes
    stripes = max(min(threads, len(target) // COLUMNS_PER_STRIPE), 1)
    return [
        Swept(program, cpu.sweep(program, target, scoring, stripes), target, scoring)
        for program in prepared.programs
    ]


def best_score(prepared: PreparedCase, swept: list[Swept]) -> int | None:
    """Return the score of a case's best chain, None where it has no candidate."""
    return max((sweep.score for sweep in swept), default=None)
