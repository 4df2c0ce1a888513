"""Which case of site mode is swept when on a CPU, and by how many threads."""

from __future__ import annotations

from collections.abc import Callable

from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.sweep import sweep

COLUMNS_PER_STRIP = 256
"""A strip of a large case has at least so many target columns."""


def align_on_cpu(cases: list, scoring: SplicedScoring, threads: int, finish: Callable) -> list:
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

    Returns
    -------
    list
        The results, in the order of `cases`.
    """
    results, share = [None] * len(cases), sum(case.cells for case in cases) / (2 * threads)

    def align(k: int, threads: int) -> None:
        results[k] = finish(cases[k], *_best_strand(cases[k], scoring, threads))

    large = [k for k, case in enumerate(cases) if case.cells > share]
    for k in large:
        align(k, threads)
    others = sorted(set(range(len(cases))) - set(large))
    map_on_threads(threads, lambda k: align(k, 1), others)
    return results


def _best_strand(case, scoring: SplicedScoring, threads: int) -> tuple:
    """Return the strand of a case's best chain and that strand's sweep, twice None without one."""
    strands = [s for s in "+-" if s in case.tables and case.tables[s].has_chain()]
    share = threads // max(len(strands), 1)

    def swept(strand: str):
        table, codes, target = case.tables[strand], case.codes(strand), case.target.codes
        strips = max(min(share, len(target) // COLUMNS_PER_STRIP), 1)
        return sweep(codes, table, target, scoring, strips if table.stops is None else 1)

    sweeps = zip(strands, map_on_threads(threads, swept, strands), strict=True)
    found = [(strand, each) for strand, each in sweeps if each.score is not None]
    # the first of equals: + before -
    return max(found, key=lambda pair: pair[1].score, default=(None, None))
