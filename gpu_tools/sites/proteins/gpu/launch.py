"""Launches of the packed kernel of proteins: jobs laid out on a GPU, swept, and what comes back."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.buffer_pool import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.gpu.job import twice
from gpu_tools.sites.gpu.launch import joined_once, on_device, starts_of
from gpu_tools.sites.gpu.packed_strip import NEVER_BYTE
from gpu_tools.sites.proteins.gpu.job_table import (
    BORDERS,
    BOUNDARIES,
    CELLS,
    CHECKPOINTS,
    COLUMNS,
    ENDS,
    OPERATIONS,
)
from gpu_tools.sites.proteins.gpu.plan import ProteinPlan
from gpu_tools.sites.proteins.gpu.strips import ProteinJob
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp

_SPARE = 8
"""An array has this part of its size to spare."""


class ProteinLaunch:
    """Jobs laid out in the memory of the current GPU.

    Parameters
    ----------
    jobs : list of ProteinJob
        The plan of a strand is copied to the GPU once.
    scoring : ProteinScoring
    buffers : Buffers, optional
        Arrays of an earlier launch, which is done, and its stream. To make or release arrays takes
        as long as other kernels run.
    """

    def __init__(
        self, jobs: list[ProteinJob], scoring: ProteinScoring, buffers: Buffers | None = None
    ):
        self.jobs, self._fetching, self._buffers = jobs, threading.Lock(), buffers or Buffers()
        self.stream = self._buffers.stream
        self.table = np.array([job.numbers for job in jobs], dtype=np.int64)
        sizes = [(job.cell_words, job.border_words, job.checkpoint_words, job.ends) for job in jobs]
        self.table[:, [CELLS, BORDERS, CHECKPOINTS, ENDS]] = starts_of(sizes)
        cells, borders, checkpoints, ends = np.sum(sizes, axis=0).tolist()
        self.inputs = [*self._plans(), self._columns()]
        self.cells = self._array("cells", cells, np.int32)
        self.borders = self._array("borders", borders, np.int64)
        self.checkpoints = self._array("checkpoints", max(checkpoints, 1), np.int32)
        self.ends = self._array("ends", ends, np.int32)
        strips = self._strips()
        self.device_table = self._buffers.copy("table", self.table)
        self.strips = self._buffers.copy("strips", strips)[: len(strips)]
        self.scoring = self._buffers.copy("scoring", _weights(scoring))

    def _array(self, name: str, count: int, dtype: type):
        """Return an array of so many elements; the next launch may need somewhat more."""
        return self._buffers.array(name, count, dtype, spare=count // _SPARE)[:count]

    def _plans(self) -> list:
        """Copy plans to the GPU, and write into the table where each job's begins."""
        strands = list({id(job.strand): job.strand for job in self.jobs}.values())
        parts = [[part.ravel() for part in strand.plan] for strand in strands]
        starts = starts_of([[len(part) for part in own] for own in parts])
        start_of = dict(zip(map(id, strands), starts, strict=True))
        self.table[:, [BOUNDARIES, OPERATIONS]] = [start_of[id(job.strand)] for job in self.jobs]
        return [
            on_device(own, self.stream, partial(self._array, name))
            for name, own in zip(ProteinPlan._fields, zip(*parts, strict=True), strict=True)
        ]

    def _columns(self):
        """Copy what strips read of their columns to the GPU, what jobs share once."""
        words = [job.column_words() for job in self.jobs]
        joined, self.table[:, COLUMNS] = joined_once(words)
        return self._buffers.copy("columns", joined)

    def _strips(self) -> NDArray[np.int32]:
        """Return job and strip in the order in which they begin, those that last first; then 0."""
        order = sorted(range(len(self.jobs)), key=lambda k: -self.jobs[k].steps)
        strips = [(k, strip) for k in order for strip in range(self.jobs[k].strips)]
        return np.array([*strips, (0, 0)], dtype=np.int32)

    def run(self) -> None:
        """Clear what tells how far the strips are, and start the kernel."""
        counter = self.strips[-1]
        device_memset(counter, 0, counter.nbytes, self.stream)
        for words in (self.borders, self.ends):
            device_memset(words, NEVER_BYTE, words.nbytes, self.stream)
        sweep_proteins_warp[len(self.strips) - 1, WARP, self.stream](
            self.device_table, self.strips, *self.inputs, self.cells, self.borders,
            self.checkpoints, self.ends, self.scoring,
        )  # fmt: skip

    def best_ends(self) -> list[NDArray[np.int64]]:
        """Return for each job the best end of each part between checkpoints, in points."""
        ends, made = self._fetched(self.ends).astype(np.int64), []
        for job, first in zip(self.jobs, self.table[:, ENDS].tolist(), strict=True):
            own = ends[first : first + job.ends].reshape(-1, job.strips).max(axis=1)
            made.append(own + job.bias + job.strand.table.last.usual)
        return made

    def checkpoints_of(self, k: int, first: int, past: int) -> NDArray[np.int32]:
        """Return the words of some of a job's checkpoints, a row each; they count from 1."""
        words = self.jobs[k].checkpoint_words_each
        begin = int(self.table[k, CHECKPOINTS])
        own = self.checkpoints[begin + (first - 1) * words : begin + (past - 1) * words]
        with self._fetching:
            return self._fetched(own).reshape(-1, words)

    def _fetched(self, array) -> NDArray[np.int32]:
        """Copy an array from the GPU when what was started before is done."""
        made = array.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return made


def _weights(scoring: ProteinScoring) -> NDArray[np.int32]:
    """Return the scoring as the kernel reads it."""
    shift, extend = scoring.frameshift, scoring.gap_extend
    added = -scoring.gap_open, -extend, -scoring.stop, -shift, extend - shift
    return np.array([*map(twice, added), extend], dtype=np.int32)
