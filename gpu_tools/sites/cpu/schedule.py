"""Which strand of a case is swept when, and by how many threads, for cDNAs and proteins.

Threads work on *strips* of columns, which follow each other: a strip hands its last column to the
next one. Many blocks of rows are one call of a compiled function, which holds no lock of Python.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.threads import (
    CELLS_PER_REPORT,
    CaseProgress,
    blocks_of,
    map_on_threads,
)
from gpu_tools.sites.cpu.memory import SweepBuffers
from gpu_tools.sites.table import SiteTable, made_once

_log = logging.getLogger(__name__)

CELLS_PER_CALL = CELLS_PER_REPORT // 4
"""A compiled call computes about so many cells: some hundredths of a second of one core."""
AGAIN = -1
"""Stands for a strip where blocks are computed again."""


def sweep_strips(
    sweep_blocks: Callable, inputs, path: NDArray[np.int64], columns: int,
    done: Callable[[int], None] | None = None,
) -> None:  # fmt: skip
    """Sweep all strips of a strand, a thread each; `inputs` are what compiled code takes.

    It also takes a task: a strip, and the first and past the last of its blocks.
    """
    sizes, memory, boundaries = inputs.sizes, inputs.memory, inputs.boundaries
    per_call = max(CELLS_PER_CALL // (sizes.block * columns), 1)
    strips = len(memory.cells)

    def strip(k: int) -> None:
        try:
            for first, past in blocks_of(sizes.blocks, per_call):
                sweep_blocks(*inputs, (k, first, past), path)
                if done and k + 1 == strips:
                    last = min(past * sizes.block, boundaries)
                    done((last - max(first * sizes.block, 1)) * columns)
        finally:  # also lets the other strips end if this one failed
            memory.done[k + 1] = sizes.blocks

    map_on_threads(strips, strip, range(strips))


class Sweeps(NamedTuple):
    """How cases of a kind are swept.

    `strand_of` returns what sweeps of a strand have in common from its nucleotides and its table,
    None if it has no chain, and `most_strips` by how many threads one of a case may be swept.
    `sweep` takes a strand, the case, the strand's name, threads, what to call with cells that are
    done, and memory: it returns a sweep with its `score`, None without a chain, and the `buffer`
    that it leaves. `finish` makes the result of a case from the case, and the best strand's name
    and sweep, or None.
    """

    strand_of: Callable[[NDArray[np.uint8], SiteTable], Any]
    most_strips: Callable[[Any, Any], int]
    sweep: Callable
    finish: Callable


class _Reused(threading.local):
    """Memory that a thread's calls have left: fresh memory takes longer than the work in it."""

    def __init__(self):
        self.buffers = SweepBuffers()


_reused = _Reused()


def align_on_cpu(
    cases: list, sweeps: Sweeps, threads: int, done: Callable[[int], None] | None = None
) -> list:
    """Align all cases: large ones one after the other on all threads, the others strand by strand.

    A case is large if one strand of it is more than a thread's share of all cases, and several
    threads may sweep it. Of the others each thread sweeps strands, of the largest first, so that
    all threads end at about one time.
    """
    spread = partial(map_on_threads, threads)
    strands = made_once(cases, sweeps.strand_of, spread)
    buffers = _reused.buffers if threads == 1 else SweepBuffers()
    swept = [SweptCase(case, strands, sweeps, done or (lambda cells: None), buffers)
             for case in cases]  # fmt: skip
    share = sum(case.cells for case in cases) / threads
    ordered = sorted(swept, key=lambda each: each.strand_cells, reverse=True)
    large = [each for each in ordered if each.strand_cells > share and each.most_strips > 1]
    _log.info(
        "site mode on the CPU: cases by a thread a strand: %d, large cases by all %d threads: %d",
        len(cases) - len(large), threads, len(large),
    )  # fmt: skip
    for each in large:
        own = max(threads // len(each.strands), 1)
        map_on_threads(threads, each.sweep, each.strands, [own] * len(each.strands))
    jobs = [(each, name) for each in ordered if each not in large for name in each.strands]
    map_on_threads(threads, lambda job: job[0].sweep(job[1], 1), jobs)
    return [each.result for each in swept]


class SweptCase:
    """A case whose strands any threads sweep; the thread of the last one makes the result."""

    def __init__(
        self, case, strands: dict[int, Any], sweeps: Sweeps, done: Callable[[int], None],
        buffers: SweepBuffers,
    ):  # fmt: skip
        self.case, self.sweeps, self.buffers = case, sweeps, buffers
        self.strands = {
            s: strands[id(case.tables[s])]
            for s in case.strands
            if strands[id(case.tables[s])] is not None
        }
        self.tally = CaseProgress(case.cells, done, CELLS_PER_REPORT)
        self.found, self.lock, self.result = {}, Lock(), None
        if not self.strands:
            self._conclude()

    @property
    def strand_cells(self) -> int:
        """Nominal cells of one strand."""
        return self.case.cells // max(len(self.case.tables), 1)

    @property
    def most_strips(self) -> int:
        """By how many threads a strand may be swept."""
        own = (self.sweeps.most_strips(self.case, each) for each in self.strands.values())
        return max(own, default=1)

    def sweep(self, name: str, threads: int) -> None:
        """Sweep a strand on some threads; make the result if it is the last one."""
        strand = self.strands[name]
        strips = min(threads, self.sweeps.most_strips(self.case, strand))
        found = self.sweeps.sweep(strand, self.case, name, strips, self.tally.add, self.buffers)
        with self.lock:
            self.found[name] = found
            is_last = len(self.found) == len(self.strands)
        if is_last:
            self._conclude()

    def _conclude(self) -> None:
        found = [(name, self.found[name]) for name in self.strands]
        found = [(name, each) for name, each in found if each.score is not None]
        # the first of equals: + before -
        best = max(found, key=lambda pair: pair[1].score, default=(None, None))
        self.result = self.sweeps.finish(self.case, *best)
        while self.found:
            self.buffers.give(self.found.popitem()[1].buffer)
        self.tally.finish()
