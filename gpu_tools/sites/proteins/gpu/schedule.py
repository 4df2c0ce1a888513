"""Which protein is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import within_limit
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.gpu.batches import (
    BATCHES_AT_A_TIME,
    GpuBatch,
    GpuCall,
    Leave,
    align_in_batches,
)
from gpu_tools.sites.gpu.job import twice
from gpu_tools.sites.gpu.job_table import LOWEST_SCORE
from gpu_tools.sites.gpu.launch import StripLaunch, strips_in_order
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.strand_lists import USUAL_FIRST, USUAL_LAST, starts_of
from gpu_tools.sites.proteins.cpu.sweep import BestSweep
from gpu_tools.sites.proteins.gpu.step import SLOTS_AT, hot_slots
from gpu_tools.sites.proteins.gpu.strands import CHECKPOINTS_OF_STRAND, StrandsOnGpu
from gpu_tools.sites.proteins.gpu.strips import (
    BIAS,
    BORDERS,
    BOUNDARIES,
    CELLS,
    CHECKPOINTS,
    ENDS,
    EXITS,
    HOT,
    LEAST_SCORE,
    N_BOUNDARIES,
    OPERATIONS,
    RESIDUES,
    ROWS_AGAIN,
    STRIPS,
    ProteinJobs,
)
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp
from gpu_tools.sites.proteins.gpu.traceback import trace_proteins_warp
from gpu_tools.sites.proteins.gpu.traces import ProteinTraces, bytes_of_traces, most_bytes

# Launches of the packed kernel of proteins.


class ProteinLaunch(StripLaunch):
    """Jobs for the packed kernel of proteins, given their numbers among all of a call."""

    def __init__(self, jobs: ProteinJobs, numbers: NDArray, buffers: Buffers | None = None):
        super().__init__(buffers)
        self.scoring, self.table, sizes = jobs.scoring, jobs.table[numbers], jobs.sizes[numbers]
        self.table[:, HOT] = hot = hot_slots(int(jobs.table[:, STRIPS].sum()))
        self.shared_bytes = 4 * (SLOTS_AT + hot * WIDE * WARP)
        strands, self.strand_of = np.unique(jobs.strand[numbers], return_inverse=True)
        self.strands = StrandsOnGpu(jobs.strands, strands.tolist(), self)
        self.usual = self.strands.table[:, [USUAL_FIRST, USUAL_LAST]]
        self.table[:, [BOUNDARIES, OPERATIONS]] = self.strands.starts[self.strand_of]
        self.table[:, [CELLS, BORDERS, CHECKPOINTS, EXITS, ENDS]] = starts_of(sizes)
        cells, borders, checkpoints, exits, ends = sizes.sum(axis=0).tolist()
        self.cells, self.checkpoints = (
            self.array("cells", cells), self.array("checkpoints", checkpoints),
        )  # fmt: skip
        self.borders = self.array("borders", borders, np.int64)
        self.exits, self.ends = self.array("exits", exits), self.array("ends", ends)
        # scores of codons' rows with residues, with none and with what stands before them all
        scores = self.scoring.lifted[self.scoring.codon_numbers].astype(np.int32)
        scores = np.pad(scores, ((0, 0), (0, 1)), constant_values=LEAST_SCORE)
        self.device_table, self.strips, self.weights, *columns = self.copies("jobs", [
            self.table, strips_in_order(self.table[:, N_BOUNDARIES], self.table[:, STRIPS]),
            _weights(jobs.scoring), jobs.residues, scores, jobs.points,
        ])  # fmt: skip
        self.inputs = [*self.strands.plans, *columns]

    def _start(self) -> None:
        sweep_proteins_warp[self.n_strips, WARP, self.stream, self.shared_bytes](
            self.device_table, self.strips, *self.inputs, self.cells, self.borders,
            self.checkpoints, self.exits, self.ends, self.weights,
        )  # fmt: skip

    def best_scores(self) -> NDArray[np.int64]:
        """Return the scores of the jobs' best chains once the kernel is done, and note the cells.

        A score is `LOWEST_SCORE` if no chain has more than one without nucleotides. `best` are the
        scores as cells are stored.
        """
        table, (usual, last) = self.table, self.usual[self.strand_of].T
        ends = np.maximum.reduceat(self.buffers.fetched(self.ends), table[:, ENDS])
        left_out = [self.scoring.all_left_out(count) for count in table[:, RESIDUES].tolist()]
        self.best, least = ends + last, usual + last - left_out
        self.scores = self.best + table[:, BIAS]
        return np.where(self.scores > least, self.scores, LOWEST_SCORE)


def _weights(scoring: ProteinScoring) -> NDArray[np.int32]:
    """Return the scoring as the kernel reads it."""
    shift, extend = scoring.frameshift, scoring.gap_extend
    added = -scoring.gap_open, -extend, -scoring.stop, -shift, extend - shift
    return np.array([*map(twice, added), extend], dtype=np.int32)


STRIPS_OF_BATCH = 512
"""Strips of a batch, about half as many as an H200 sweeps at a time."""


class ProteinGpuOptions(NamedTuple):
    """Sizes that results do not depend on."""

    block: int = ROWS_AGAIN  # boundaries of a block that a traceback computes again
    checkpoints: int = CHECKPOINTS_OF_STRAND  # at most
    memory: int | None = None  # bytes of GPU memory for batches, by default most of what is free
    strips: int = STRIPS_OF_BATCH  # about the strips of a batch


def align_on_gpus(
    call: GpuCall, ordinals: tuple[int, ...], options: ProteinGpuOptions | None = None
) -> list:
    """Align all cases: sweeps and chains on GPUs, alignments on the CPU.

    Strands with banned pairs are left to the CPU.
    """
    options, cases = options or ProteinGpuOptions(), call.cases
    own = [k for k, case in enumerate(cases) if case.tables and not case.banned]
    if not own:
        return call.on_cpu(cases)
    jobs = ProteinJobs(
        [cases[k] for k in own], call.scoring, call.threads, options.block, options.checkpoints
    )
    number, sizes = {k: n for n, k in enumerate(own)}, jobs.of_cases(np.add, jobs.bytes)
    strips = jobs.of_cases(np.add, jobs.table[:, STRIPS]) / options.strips
    fit = jobs.of_cases(np.logical_and, jobs.fits)

    def batches_of(share: list[int], free: float, leave: Leave) -> tuple[Iterator[GpuBatch], int]:
        free -= BATCHES_AT_A_TIME * most_bytes() if options.memory is None else 0
        taken = [number[k] for k in share if k in number]
        taken = [n for n in taken if fit[n] and sizes[n] <= free]
        leave(sorted(set(share) - {own[n] for n in taken}))
        at_a_time = int(min(free // sizes[taken].max(initial=1), BATCHES_AT_A_TIME))
        parts = np.maximum(sizes * at_a_time / free, strips)
        batches = list(within_limit(taken, parts.__getitem__, 1.0))
        needed = [int(sizes[own].sum()) + bytes_of_traces(jobs, own) for own in batches]
        each = (_batch(jobs, each, own, max(needed)) for each in batches)
        return each, min(at_a_time, len(batches))

    return align_in_batches(call, ordinals, batches_of, [trace_proteins_warp], options.memory)


def _batch(jobs: ProteinJobs, cases: list[int], own: list[int], n_bytes: int) -> GpuBatch:
    """Return a batch of some cases of all jobs; `own` are the numbers of those in the call."""
    numbers = np.concatenate([np.arange(*jobs.first[k : k + 2]) for k in cases])
    names = [name for k in cases for name in jobs.cases[k].strands]

    def lay_out(buffers: Buffers) -> list[tuple[NDArray, ProteinLaunch]]:
        return [(np.arange(len(numbers)), ProteinLaunch(jobs, numbers, buffers))]

    def follow(launch: ProteinLaunch, chosen: NDArray, traced: NDArray) -> list[BestSweep | None]:
        chains, wanted = {}, chosen[traced]
        if len(wanted):
            chains = dict(zip(wanted.tolist(), ProteinTraces(launch, wanted).run(), strict=True))

        def best(k: int) -> BestSweep | None:
            if k in chains and chains[k] is None:
                return None
            codes, score = jobs.strands.codes(int(jobs.strand[numbers[k]])), int(launch.scores[k])
            return BestSweep(codes, score, partial(chains.get, k))

        return [best(k) for k in chosen.tolist()]

    case = np.repeat(np.arange(len(cases)), np.diff(jobs.first)[cases])
    return GpuBatch([own[k] for k in cases], case, names, n_bytes, lay_out, follow)
