"""Which protein is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import BufferPool, Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import map_on_threads, within_limit
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.gpu.batches import (
    BATCHES_AT_A_TIME,
    SHARE_OF_FREE_MEMORY,
    Batches,
    Leave,
    align_in_batches,
)
from gpu_tools.sites.gpu.job import twice
from gpu_tools.sites.gpu.launch import StripLaunch
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.strand_lists import USUAL_LAST, starts_of
from gpu_tools.sites.proteins.cpu.sweep import BestSweep, ProteinSweep, trace
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
    ROWS_AGAIN,
    STRIPS,
    ProteinJobs,
)
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp
from gpu_tools.sites.proteins.gpu.traces import ProteinTraces, bytes_of_traces, most_bytes
from gpu_tools.sites.proteins.limits import nothing
from gpu_tools.splicing.proteins.walk import TracedProtein

# Launches of the packed kernel of proteins.


class ProteinLaunch(StripLaunch):
    """Jobs for the packed kernel of proteins, given their numbers among all of a call."""

    def __init__(self, jobs: ProteinJobs, numbers: NDArray, buffers: Buffers | None = None):
        super().__init__(buffers)
        self.scoring, self.table, sizes = jobs.scoring, jobs.table[numbers], jobs.sizes[numbers]
        self.table[:, HOT] = hot = hot_slots(int(jobs.table[:, STRIPS].sum()))
        self.shared_bytes = 4 * (SLOTS_AT + hot * WIDE * WARP)
        strands, self.strand_of = np.unique(jobs.strand[numbers], return_inverse=True)
        self.strands = StrandsOnGpu(jobs.strands, strands.tolist(), jobs.scoring, self)
        self.table[:, [BOUNDARIES, OPERATIONS]] = self.strands.starts[self.strand_of]
        self.table[:, [CELLS, BORDERS, CHECKPOINTS, EXITS, ENDS]] = starts_of(sizes)
        self.inputs = [*self.strands.plans, *self._columns(jobs)]
        cells, borders, checkpoints, exits, ends = sizes.sum(axis=0).tolist()
        self.cells, self.checkpoints = (
            self.array("cells", cells), self.array("checkpoints", checkpoints),
        )  # fmt: skip
        self.borders = self.array("borders", borders, np.int64)
        self.exits, self.ends = self.array("exits", exits), self.array("ends", ends)
        self.device_table = self.copy("table", self.table)
        self.weights = self.copy("scoring", _weights(jobs.scoring))
        self.order(self.table[:, N_BOUNDARIES], self.table[:, STRIPS])

    def _columns(self, jobs: ProteinJobs) -> list:
        """Copy to the GPU what strips read of their columns.

        It is residues, scores of codons' rows with residues, with none and with what stands before
        the first column, and points of introns.
        """
        scores = self.scoring.lifted[self.scoring.codon_numbers]
        scores = np.pad(scores, ((0, 0), (0, 1)), constant_values=LEAST_SCORE).astype(np.int32)
        named = ("targets", jobs.residues), ("scores", scores), ("points", jobs.points)
        return [self.copy(name, values) for name, values in named]

    def _start(self) -> None:
        sweep_proteins_warp[self.n_strips, WARP, self.stream, self.shared_bytes](
            self.device_table, self.strips, *self.inputs, self.cells, self.borders,
            self.checkpoints, self.exits, self.ends, self.weights,
        )  # fmt: skip

    def best_ends(self) -> NDArray[np.int32]:
        """Return the best end of each job, as cells are stored."""
        return np.maximum.reduceat(self.buffers.fetched(self.ends), self.table[:, ENDS])


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


class ProteinCall(NamedTuple):
    """What all batches of a call have in common.

    `finish` makes the result of a case from the case and its best chain, a `BestSweep` or None;
    `is_traced` returns whether it traces the chain of a case with a score.
    """

    cases: list
    scoring: ProteinScoring
    threads: int
    finish: Callable
    is_traced: Callable


def align_on_gpus(
    call: ProteinCall,
    ordinals: tuple[int, ...],
    on_cpu: Callable[[list], list],
    options: ProteinGpuOptions | None = None,
) -> list:
    """Align all cases: sweeps and chains on GPUs, alignments on the CPU.

    Strands with banned pairs are left to the CPU.
    """
    options, cases = options or ProteinGpuOptions(), call.cases
    own = [k for k, case in enumerate(cases) if case.tables and not case.banned]
    if not own:
        return on_cpu(cases)
    jobs = ProteinJobs(
        [cases[k] for k in own], call.scoring, call.threads, options.block, options.checkpoints
    )
    number, sizes = {k: n for n, k in enumerate(own)}, jobs.of_cases(np.add, jobs.bytes)
    strips = jobs.of_cases(np.add, jobs.table[:, STRIPS]) / options.strips
    fit = jobs.of_cases(np.logical_and, jobs.fits)

    def batches_of(share: list[int], pool: BufferPool, leave: Leave) -> Batches:
        free = options.memory
        if free is None:
            free = SHARE_OF_FREE_MEMORY * pool.free_bytes - BATCHES_AT_A_TIME * most_bytes()
        taken = [number[k] for k in share if k in number]
        taken = [n for n in taken if fit[n] and sizes[n] <= free]
        leave(sorted(set(share) - {own[n] for n in taken}))
        at_a_time = int(min(free // sizes[taken].max(initial=1), BATCHES_AT_A_TIME))
        parts = np.maximum(sizes * at_a_time / free, strips)
        batches = list(within_limit(taken, parts.__getitem__, 1.0))
        needed = [int(sizes[own].sum()) + bytes_of_traces(jobs, own) for own in batches]
        each = ((own, max(needed)) for own in batches)
        return Batches(each, min(at_a_time, len(batches)))

    def align(batch: list[int], buffers: Buffers, leave: Leave) -> Iterator:
        results = _aligned(jobs, batch, call, buffers)
        return zip((own[n] for n in batch), results, strict=True)

    return align_in_batches(cases, ordinals, batches_of, align, on_cpu)


def _aligned(
    jobs: ProteinJobs, batch: list[int], call: ProteinCall, buffers: Buffers
) -> list[ProteinAlignment]:
    """Sweep the jobs of a batch of cases on the current GPU, and return the results."""
    cases = [jobs.cases[k] for k in batch]
    spans = [range(*jobs.first[k : k + 2].tolist()) for k in batch]
    numbers = np.concatenate(spans)
    launch = ProteinLaunch(jobs, numbers, buffers)
    launch.run()
    ends = launch.best_ends() + launch.strands.table[launch.strand_of, USUAL_LAST]
    scores = (ends + launch.table[:, BIAS]).tolist()
    best = _best_jobs(cases, scores, call.scoring)
    chosen = [
        k for k, job in enumerate(best)
        if job is not None and call.is_traced(cases[k], scores[job])
    ]  # fmt: skip
    found = {}
    if chosen:
        traced = [best[k] for k in chosen]
        traces = ProteinTraces(launch, traced, ends[traced]).run()
        found = dict(zip(chosen, traces, strict=True))

    def finished(k: int) -> ProteinAlignment:
        case, job = cases[k], best[k]
        if job is None:
            return call.finish(case, None)
        strand = case.strands[numbers[job] - spans[k][0]]
        codes = jobs.strands.codes(int(jobs.strand[numbers[job]]))
        again = partial(_traced_again, case, strand, codes, call.scoring)
        return call.finish(case, BestSweep(strand, codes, scores[job], lambda: found[k] or again()))

    return map_on_threads(call.threads, finished, range(len(cases)))


def _best_jobs(cases: list, scores: list[int], scoring: ProteinScoring) -> list[int | None]:
    """Return the job of each case whose chain is best, the first of equals, + before -."""
    best, first = [], 0
    for case in cases:
        own = range(first, first + len(case.tables))
        first = own.stop
        least = [nothing(case.tables[each], len(case.target), scoring) for each in case.strands]
        scored = [job for job, low in zip(own, least, strict=True) if scores[job] > low]
        best.append(max(scored, key=scores.__getitem__, default=None))
    return best


def _traced_again(case, strand: str, codes: NDArray[np.uint8], scoring) -> TracedProtein:
    """Return the best chain of a strand of a case, swept by the CPU."""
    target, table = case.target, case.tables[strand]
    sweep = ProteinSweep(codes, target.codes, table, scoring, introns=target.introns)
    return trace(sweep.run(lambda cells: None))
