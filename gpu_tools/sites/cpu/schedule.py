"""Which case of site mode is swept when on a CPU, and by how many threads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock

from gpu_tools.hardware.progress import CELLS_PER_REPORT, CaseProgress
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.sweep import SweptStrand, strand_of, sweep

_log = logging.getLogger(__name__)

COLUMNS_PER_STRIP = 256
"""A strip of a large case has at least so many target columns."""


def align_on_cpu(
    cases: list, scoring: SplicedScoring, threads: int, finish: Callable,
    done: Callable[[int], None] | None = None,
) -> list:  # fmt: skip
    """Align all cases: large ones one after the other on all threads, the others side by side.

    Parameters
    ----------
    cases : list of SiteCase
        Checked cases.
    scoring : SplicedScoring
    threads : int
    finish : callable
        Makes a case's result of the case, the strand of its best chain, and that strand's sweep;
        of the case and twice None if it has no chain.
    done : callable, optional
        Called with the number of nominal cells that are done since its last call.

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    results, share = [None] * len(cases), sum(case.cells for case in cases) / (2 * threads)
    strands = SweptStrands(scoring.gap)

    def align(k: int, threads: int) -> None:
        tally = CaseProgress(cases[k].cells, done or (lambda cells: None), CELLS_PER_REPORT)
        results[k] = finish(cases[k], *_best_strand(cases[k], strands, scoring, threads, tally))
        tally.finish()

    large = [k for k, case in enumerate(cases) if case.cells > share]
    _log.info(
        "site mode on the CPU: cases by a thread each: %d, large cases by all %d threads: %d",
        len(cases) - len(large), threads, len(large),
    )  # fmt: skip
    for k in large:
        align(k, threads)
    others = sorted(set(range(len(cases))) - set(large))
    map_on_threads(threads, lambda k: align(k, 1), others)
    return results


class SweptStrands:
    """The strands of some cases: what cases with the same table have in common is made once.

    Parameters
    ----------
    gap : int
        Gap score.
    """

    def __init__(self, gap: int):
        self.gap, self.known, self.lock = gap, {}, Lock()

    def of(self, case, name: str) -> SweptStrand:
        """Return a strand of a case."""
        table = case.tables[name]
        with self.lock:
            if id(table) not in self.known:
                self.known[id(table)] = strand_of(case.codes(name), table, self.gap)
            return self.known[id(table)]


def _best_strand(
    case, strands: SweptStrands, scoring: SplicedScoring, threads: int, tally: CaseProgress
) -> tuple:  # fmt: skip
    """Return the strand of a case's best chain and that strand's sweep, twice None without one."""
    names = [s for s in "+-" if s in case.tables and case.tables[s].has_chain()]
    share = threads // max(len(names), 1)

    def swept(name: str):
        strand, target = strands.of(case, name), case.target.codes
        strips = max(min(share, len(target) // COLUMNS_PER_STRIP), 1)
        strips = strips if strand.table.stops is None else 1
        return sweep(strand, target, scoring, strips, tally.add, CELLS_PER_REPORT // 4)

    sweeps = zip(names, map_on_threads(threads, swept, names), strict=True)
    found = [(name, each) for name, each in sweeps if each.score is not None]
    # the first of equals: + before -
    return max(found, key=lambda pair: pair[1].score, default=(None, None))
