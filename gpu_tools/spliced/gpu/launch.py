"""A launch of list mode's kernels: the sweep of a batch of jobs, their best ends and chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.spliced.columns import CaseColumns
from gpu_tools.spliced.gpu import best_ends, sweep, traceback
from gpu_tools.spliced.gpu.graph_tables import GraphTables, write_job_inputs
from gpu_tools.spliced.gpu.layout import Layout

_THREADS = 4 if simulated() else 128


class Resident(NamedTuple):
    """What all launches of a call read, in the memory of a GPU; there once `ready` has happened."""

    numbers: object
    sources: object
    exits: object
    symbols: object
    targets: object
    scoring: object
    ready: object

    @classmethod
    def copy(
        cls,
        graphs: GraphTables,
        columns: CaseColumns,
        scoring: NDArray[np.int32],
        buffers: Buffers,
    ) -> Resident:
        """Copy graphs, targets and the scoring to the current GPU."""
        copies = [
            buffers.copy(f"resident {name}", values)
            for name, values in (
                ("numbers", graphs.numbers), ("sources", graphs.sources),
                ("exits", graphs.exits.reshape(-1, 8)), ("symbols", graphs.symbols),
                ("targets", columns.targets), ("scoring", scoring),
            )
        ]  # fmt: skip
        ready = cuda.event()
        ready.record(buffers.stream)
        return cls(*copies, ready)


class ListLaunch:
    """A batch of jobs on the current GPU: launches go to the stream of the buffers.

    Parameters
    ----------
    resident : Resident
    layout : Layout
        Jobs all of which fit 16-bit cells.
    apart : bool
        Whether the graphs were laid out with each part a warp tile.
    buffers : Buffers
        Used until the results have been taken.
    """

    def __init__(self, resident: Resident, layout: Layout, apart: bool, buffers: Buffers):
        self.resident, self.layout, self.buffers = resident, layout, buffers
        # the simulator gets by with one warp, which does the work of both
        self.warps = 2 if apart and not simulated() else 1
        self.table = buffers.copy("jobs", layout.table)
        self.cells = buffers.array("cells", layout.sizes.cells, np.int16)
        self.words = buffers.array("words", layout.sizes.words, np.int32)

    def run(self) -> None:
        """Clear what the kernels write and start the sweep and the search for best ends."""
        layout, resident, buffers = self.layout, self.resident, self.buffers
        count, stream = layout.jobs.count, buffers.stream
        buffers.filled("cells", layout.sizes.cells, np.int16, sweep.NEVER_BYTE)
        sources = buffers.array("sources", layout.sizes.sources, np.int32)
        counters = buffers.filled("counters", count, np.int32)
        block_jobs = buffers.copy("block jobs", layout.block_jobs)
        resident.ready.wait(stream)
        write_job_inputs[count, _THREADS, stream](
            self.table, resident.sources, resident.targets, resident.scoring, sources, self.words
        )
        sweep.sweep_warp_tiles[len(layout.block_jobs), (WARP, self.warps), stream](
            self.table, block_jobs, resident.numbers, sources, resident.symbols, self.words,
            self.cells, counters, resident.scoring,
        )  # fmt: skip
        self.best = buffers.filled("best", count, np.int64)
        best_ends.find_ends[count, best_ends.FINDERS, stream](
            self.table, resident.exits, self.cells, self.best, resident.scoring
        )
        self._best = buffers.fetch("best", self.best, count)

    def trace(self) -> None:
        """Start the traceback of the chains that win their cases."""
        sizes, resident, buffers = self.layout.sizes, self.resident, self.buffers
        count, stream = self.layout.jobs.count, buffers.stream
        found = buffers.array("found", sizes.found, np.int32)
        written = buffers.array("written", count, np.int32)
        workspace = buffers.array("workspace", sizes.workspace, np.int32)
        traceback.trace_chains[count, WARP, stream](
            self.table, resident.exits, resident.symbols, self.words, resident.targets,
            self.cells, self.best, workspace, written, found, resident.scoring,
        )  # fmt: skip
        used = buffers.filled("used", 1, np.int32)
        firsts = buffers.array("firsts", count, np.int32)
        self._gathered = buffers.array("gathered", sizes.found, np.int32)
        traceback.gather[count, _THREADS, stream](
            found, written, self.table, used, firsts, self._gathered
        )
        self._used = buffers.fetch("used", used, 1)
        self._firsts = buffers.fetch("firsts", firsts, count)

    def best_numbers(self) -> NDArray[np.int64]:
        """Wait for the launch and return the jobs' best ends, see `best_ends`."""
        self.buffers.stream.synchronize()
        return self._best

    def chain_words(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Wait for the traceback and return what it wrote, and where each job's part begins."""
        self.buffers.stream.synchronize()
        words = self.buffers.fetch("words", self._gathered, int(self._used[0]))
        self.buffers.stream.synchronize()
        # pinned memory takes too long to make to be given away
        return words.copy(), self._firsts.copy()
