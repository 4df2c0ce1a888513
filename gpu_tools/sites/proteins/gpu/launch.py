"""Launches of the packed kernel of proteins: jobs laid out on a GPU, swept, and what comes back."""

from __future__ import annotations

import threading

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.gpu.launch import on_device, starts_of, together
from gpu_tools.sites.gpu.packed_strips import twice
from gpu_tools.sites.gpu.strips import NEVER_BYTE
from gpu_tools.sites.proteins.gpu.job_table import (
    BORDERS,
    BOUNDARIES,
    CELLS,
    CHECKPOINTS,
    COLUMNS,
    ENDS,
    OPERATIONS,
)
from gpu_tools.sites.proteins.gpu.strips import ProteinJob
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp


class ProteinLaunch:
    """Jobs laid out in the memory of the current GPU, with a stream of their own.

    Parameters
    ----------
    jobs : list of ProteinJob
        The plan of a strand is copied to the GPU once.
    scoring : ProteinScoring
    """

    def __init__(self, jobs: list[ProteinJob], scoring: ProteinScoring):
        self.jobs, self._fetching, self.stream = jobs, threading.Lock(), cuda.stream()
        self.table = np.array([job.numbers for job in jobs], dtype=np.int64)
        sizes = [(job.cell_words, job.border_words, job.checkpoint_words, job.ends) for job in jobs]
        self.table[:, [CELLS, BORDERS, CHECKPOINTS, ENDS]] = starts_of(sizes)
        cells, borders, checkpoints, ends = np.sum(sizes, axis=0).tolist()
        self.inputs = [*self._plans(), self._columns()]
        self.cells = cuda.device_array(cells, dtype=np.int32)
        self.borders = cuda.device_array(borders, dtype=np.int64)
        self.checkpoints = cuda.device_array(max(checkpoints, 1), dtype=np.int32)
        self.ends = cuda.device_array(ends, dtype=np.int32)
        self.device_table, self.strips, self.scoring = (
            cuda.to_device(each, self.stream)
            for each in (self.table, self._strips(), _weights(scoring))
        )

    def _plans(self) -> list:
        """Copy plans to the GPU, and write into the table where each job's begins."""
        strands = list({id(job.strand): job.strand for job in self.jobs}.values())
        parts = [[part.ravel() for part in strand.plan] for strand in strands]
        starts = starts_of([[len(part) for part in own] for own in parts])
        start_of = dict(zip(map(id, strands), starts, strict=True))
        self.table[:, [BOUNDARIES, OPERATIONS]] = [start_of[id(job.strand)] for job in self.jobs]
        return [on_device(own, self.stream) for own in zip(*parts, strict=True)]

    def _columns(self):
        """Copy what strips read of their columns to the GPU, what jobs share once."""
        words = [job.column_words() for job in self.jobs]
        there, self.table[:, COLUMNS] = together(words, self.stream)
        return there

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
