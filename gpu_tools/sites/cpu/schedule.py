"""Which strand of a case of site mode is swept when on a CPU, and by how many threads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock

from gpu_tools.hardware.threads import CELLS_PER_REPORT, CaseProgress, map_on_threads
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.memory import SweepBuffers
from gpu_tools.sites.cpu.sweep import SweptStrand, strand_of, sweep

_log = logging.getLogger(__name__)

COLUMNS_PER_STRIP = 256
"""A strip of a large case has at least so many target columns."""


def align_on_cpu(
    cases: list, scoring: SplicedScoring, threads: int, finish: Callable,
    done: Callable[[int], None] | None = None,
) -> list:  # fmt: skip
    """Align all cases: large ones one after the other on all threads, the others strand by strand.

    A case is large if one strand of it is more than a thread's share of all cases. Of the others
    each thread sweeps strands, of the largest first, so that all threads end at about one time.
    """
    strands = SweptStrands(scoring)
    swept = [SweptCase(case, strands, finish, done or (lambda cells: None)) for case in cases]
    share = sum(case.cells for case in cases) / threads
    ordered = sorted(swept, key=lambda each: each.strand_cells, reverse=True)
    large = [each for each in ordered if each.strand_cells > share]
    _log.info(
        "site mode on the CPU: cases by a thread a strand: %d, large cases by all %d threads: %d",
        len(cases) - len(large), threads, len(large),
    )  # fmt: skip
    for each in large:
        own = threads // max(len(each.names), 1)
        map_on_threads(threads, each.sweep, each.names, [own] * len(each.names))
    jobs = [(each, name) for each in ordered[len(large) :] for name in each.names]
    map_on_threads(threads, lambda job: job[0].sweep(job[1], 1), jobs)
    return [each.result for each in swept]


class SweptStrands:
    """The strands of some cases: what cases with the same table have in common is made once.

    Parameters
    ----------
    scoring : SplicedScoring
    """

    def __init__(self, scoring: SplicedScoring):
        self.scoring, self.known, self.buffers = scoring, {}, SweepBuffers()

    def of(self, case, name: str) -> SweptStrand:
        """Return a strand of a case; only threads that need the same one wait for each other."""
        table = case.tables[name]
        own = self.known.setdefault(id(table), [Lock(), None])
        with own[0]:
            if own[1] is None:
                own[1] = strand_of(case.codes(name), table, self.scoring.gap)
            return own[1]


class SweptCase:
    """A case whose strands any threads sweep; the thread of the last one makes the result.

    Parameters
    ----------
    case : SiteCase
    strands : SweptStrands
    finish, done : callable
        As for `align_on_cpu`.
    """

    def __init__(self, case, strands: SweptStrands, finish: Callable, done: Callable[[int], None]):
        self.case, self.strands, self.finish = case, strands, finish
        self.names = [s for s in "+-" if s in case.tables and case.tables[s].has_chain()]
        self.tally = CaseProgress(case.cells, done, CELLS_PER_REPORT)
        self.sweeps, self.lock, self.result = {}, Lock(), None
        if not self.names:
            self._conclude()

    @property
    def strand_cells(self) -> int:
        """Nominal cells of one strand."""
        return self.case.cells // max(len(self.case.tables), 1)

    def sweep(self, name: str, threads: int) -> None:
        """Sweep a strand on some threads; make the result if it is the last one."""
        strand, target = self.strands.of(self.case, name), self.case.target.codes
        strips = max(min(threads, len(target) // COLUMNS_PER_STRIP), 1)
        strips = strips if strand.table.stops is None else 1
        found = sweep(
            strand, target, self.strands.scoring, strips, self.tally.add, CELLS_PER_REPORT // 4,
            self.strands.buffers,
        )  # fmt: skip
        with self.lock:
            self.sweeps[name] = found
            is_last = len(self.sweeps) == len(self.names)
        if is_last:
            self._conclude()

    def _conclude(self) -> None:
        found = [(name, self.sweeps[name]) for name in self.names]
        found = [(name, each) for name, each in found if each.score is not None]
        # the first of equals: + before -
        best = max(found, key=lambda pair: pair[1].score, default=(None, None))
        self.result = self.finish(self.case, *best)
        while self.sweeps:
            self.strands.buffers.give(self.sweeps.popitem()[1].buffer)
        self.tally.finish()
