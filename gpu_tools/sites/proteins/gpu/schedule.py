"""Which protein is swept when on which GPU, and what the CPU does meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.strips import shares
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import Buffers, map_gpus
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import map_on_threads, within_limit
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.gpu.job import twice
from gpu_tools.sites.gpu.launch import joined_once, starts_of
from gpu_tools.sites.gpu.packed_strip import NEVER_BYTE
from gpu_tools.sites.gpu.schedule import SHARE_OF_FREE_MEMORY
from gpu_tools.sites.proteins.cpu.sweep import BestSweep, ProteinSweep, trace
from gpu_tools.sites.proteins.gpu.plan import CHECKPOINTS_OF_STRAND, FRAMES, ProteinStrand
from gpu_tools.sites.proteins.gpu.strands import StrandsOnGpu, stacked
from gpu_tools.sites.proteins.gpu.strips import (
    BORDERS,
    BOUNDARIES,
    CELLS,
    CHECKPOINTS,
    ENDS,
    EXITS,
    LEAST_SCORE,
    OPERATIONS,
    POINTS,
    ROWS_AGAIN,
    TARGET,
    LaidOutProtein,
    ProteinJob,
)
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp
from gpu_tools.sites.proteins.gpu.traces import ProteinTraces
from gpu_tools.sites.proteins.limits import nothing
from gpu_tools.sites.table import made_once
from gpu_tools.splicing.proteins.target_introns import intron_points
from gpu_tools.splicing.proteins.walk import TracedProtein

# Launches of the packed kernel of proteins.

_SPARE = 8
"""An array has this part of its size to spare."""


class ProteinLaunch:
    """Jobs laid out in the memory of the current GPU; a strand is there once.

    `buffers` are arrays of an earlier launch, which is done, and its stream: to make or release
    arrays takes as long as other kernels run.
    """

    def __init__(
        self, jobs: list[ProteinJob], scoring: ProteinScoring, buffers: Buffers | None = None
    ):
        self.jobs, self._buffers = jobs, buffers or Buffers()
        strands = list({id(job.strand): job.strand for job in jobs}.values())
        self.strands = StrandsOnGpu(strands, self._buffers)
        self.stream = self._buffers.stream
        self.table = np.array([job.numbers for job in jobs], dtype=np.int64)
        sizes = [
            (job.cell_words, job.border_words, job.checkpoint_words, job.exit_words, job.ends)
            for job in jobs
        ]
        self.table[:, [CELLS, BORDERS, CHECKPOINTS, EXITS, ENDS]] = starts_of(sizes)
        cells, borders, checkpoints, exits, ends = np.sum(sizes, axis=0).tolist()
        plans, starts = self.strands.plans(scoring)
        of_strand = [self.strands.numbers[id(job.strand)] for job in jobs]
        self.table[:, [BOUNDARIES, OPERATIONS]] = starts[of_strand]
        self.inputs = [*plans, *self._columns(scoring)]
        self.cells = self._array("cells", cells, np.int32)
        self.borders = self._array("borders", borders, np.int64)
        self.checkpoints = self._array("checkpoints", checkpoints, np.int32)
        self.exits = self._array("exits", exits, np.int32)
        self.ends = self._array("ends", ends, np.int32)
        strips = self._strips()
        self.device_table = self._buffers.copy("table", self.table)
        self.strips = self._buffers.copy("strips", strips)[: len(strips)]
        self.scoring = self._buffers.copy("scoring", _weights(scoring))

    def _array(self, name: str, count: int, dtype: type):
        """Return an array of `count` elements, with some to spare for the next launch."""
        return self._buffers.array(name, count, dtype, spare=count // _SPARE)[:count]

    def _columns(self, scoring: ProteinScoring) -> list:
        """Copy to the GPU what strips read of their columns, what jobs share once.

        It is residues, scores of codons' rows with residues, with none and with what stands before
        the first column, and points of introns, three rows a protein.
        """
        targets, self.table[:, TARGET] = joined_once([job.target.codes for job in self.jobs])
        scores = scoring.lifted[scoring.codon_numbers]
        scores = np.pad(scores, ((0, 0), (0, 1)), constant_values=LEAST_SCORE).astype(np.int32)
        none = np.zeros((FRAMES, max(len(job.target) for job in self.jobs) + 1), np.int64)
        placed = list(dict.fromkeys(job.target for job in self.jobs if job.target.introns))
        rows = [intron_points(target.introns, len(target)) for target in placed]
        points, starts = stacked([none, *rows])
        start_of = dict(zip(placed, starts[1:], strict=True))
        self.table[:, POINTS] = [start_of.get(job.target, 0) for job in self.jobs]
        return [
            self._buffers.copy(f"{name} {values.shape[1:]}", values)
            for name, values in (("targets", targets), ("scores", scores), ("points", points))
        ]

    def _strips(self) -> NDArray[np.int32]:
        """Return job and strip in the order in which they begin, those that last first; then 0."""
        order = sorted(range(len(self.jobs)), key=lambda k: -self.jobs[k].steps)
        strips = [(k, strip) for k in order for strip in range(self.jobs[k].strips)]
        return np.array([*strips, (0, 0)], dtype=np.int32)

    def run(self) -> None:
        """Clear the progress of the strips, and start the kernel."""
        counter = self.strips[-1]
        device_memset(counter, 0, counter.nbytes, self.stream)
        device_memset(self.borders, NEVER_BYTE, self.borders.nbytes, self.stream)
        sweep_proteins_warp[len(self.strips) - 1, WARP, self.stream](
            self.device_table, self.strips, *self.inputs, self.cells, self.borders,
            self.checkpoints, self.exits, self.ends, self.scoring,
        )  # fmt: skip

    def best_ends(self) -> list[int]:
        """Return the best end of each job, as cells are stored."""
        ends, firsts = self.fetched(self.ends), self.table[:, ENDS]
        return np.maximum.reduceat(ends, firsts).tolist()

    def fetched(self, array) -> NDArray[np.int32]:
        """Copy an array from the GPU when what was started before is done."""
        made = array.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return made


def _weights(scoring: ProteinScoring) -> NDArray[np.int32]:
    """Return the scoring as the kernel reads it."""
    shift, extend = scoring.frameshift, scoring.gap_extend
    added = -scoring.gap_open, -extend, -scoring.stop, -shift, extend - shift
    return np.array([*map(twice, added), extend], dtype=np.int32)


BATCHES_AT_A_TIME = 3
"""Some are laid out or finished on the CPU while others are swept."""
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
    cases, options = call.cases, options or ProteinGpuOptions()
    results, jobs = [None] * len(cases), _jobs(call, options)
    # what decides it is found out here, on all threads, and stays with the jobs
    map_on_threads(call.threads, _fit, jobs)
    left = [k for k, case in enumerate(cases) if jobs[k].keys() & case.banned.keys()]
    others = set(range(len(cases))) - set(left)

    def drive(share: list[int], gpu: int) -> None:
        batches = _ProteinBatches({k: jobs[k] for k in share if k in others}, options)

        def align(_) -> None:
            with cuda.gpus[gpu]:
                buffers = Buffers()
                while batch := batches.next():
                    for k, result in _aligned({k: jobs[k] for k in batch}, call, buffers):
                        results[k] = result

        map_on_threads(batches.at_a_time, align, range(batches.at_a_time))
        left.extend(batches.left)

    map_gpus(ordinals, drive, shares([case.cells for case in cases], len(ordinals)), ordinals)
    for k, result in zip(left, on_cpu([cases[k] for k in left]), strict=True):
        results[k] = result
    return results


def _jobs(call: ProteinCall, options: ProteinGpuOptions) -> list[dict[str, ProteinJob]]:
    """Return the jobs of each case, + first."""
    placed = any(case.target.introns for case in call.cases)
    strand_of = partial(
        ProteinStrand, scoring=call.scoring, block=options.block, placed=placed,
        checkpoints=options.checkpoints,
    )  # fmt: skip
    strands = made_once(call.cases, strand_of, partial(map_on_threads, call.threads))
    targets = {id(case.target): case.target for case in call.cases}
    laid_out = {
        key: LaidOutProtein(own.codes, call.scoring, own.introns, placed)
        for key, own in targets.items()
    }
    return [
        {
            name: ProteinJob(strands[id(case.tables[name])], laid_out[id(case.target)])
            for name in "+-" if name in case.tables
        }
        for case in call.cases
    ]  # fmt: skip


class _ProteinBatches:
    """The batches of the current GPU; threads take one after the other.

    `at_a_time` batches fit into its memory. When all are taken, `left` has the cases for the CPU.
    """

    def __init__(self, jobs: dict[int, dict[str, ProteinJob]], options: ProteinGpuOptions):
        free = options.memory
        if free is None:
            free = SHARE_OF_FREE_MEMORY * cuda.current_context().get_memory_info().free
        self._jobs, self._free, self.left = jobs, free, []
        users = Counter(id(job.strand) for own in jobs.values() for job in own.values())
        self._sizes = {k: _bytes_of(own, users) for k, own in jobs.items()}
        largest = max((size for size in self._sizes.values() if size <= free), default=0)
        fit = 1 if simulated() else int(free // max(largest, 1))
        self.at_a_time = min(max(fit, 1), BATCHES_AT_A_TIME)
        self._taking = threading.Lock()
        self._batches = within_limit(
            (k for k in jobs if self._takes(k)), partial(self._share, strips=options.strips), 1.0
        )

    def next(self) -> list[int]:
        """Return the cases of the next batch, none behind the last one."""
        with self._taking:
            return next(self._batches, [])

    def _takes(self, k: int) -> bool:
        if not (self._sizes[k] <= self._free and _fit(self._jobs[k])):
            self.left.append(k)
            return False
        return True

    def _share(self, k: int, strips: int) -> float:
        """Return which share of a batch a case is."""
        own = sum(job.strips for job in self._jobs[k].values())
        return max(self._sizes[k] * self.at_a_time / self._free, own / strips)


def _fit(jobs: dict[str, ProteinJob]) -> bool:
    """Return whether the packed kernel takes a case."""
    return all(job.fits for job in jobs.values())


def _bytes_of(jobs: dict[str, ProteinJob], users: Counter[int]) -> int:
    """Return the bytes of device memory that a case needs, its part of its strands' plans included.

    `users` are the cases of each strand.
    """
    possible = [job for job in jobs.values() if job.strand.possible]
    plans = (job.strand.plan_bytes // users[id(job.strand)] for job in possible)
    return sum(job.n_bytes for job in possible) + sum(plans)


class _Chain(NamedTuple):
    """The best chain of a case: its strand, its job and that one's number, and its score."""

    strand: str
    job: ProteinJob
    number: int
    end: int  # the score as cells are stored

    @property
    def score(self) -> int:
        return self.end + self.job.bias + self.job.strand.table.last.usual

    @property
    def is_one(self) -> bool:
        """Whether it scores more than no chain."""
        table, target = self.job.strand.table, self.job.target
        return self.score > nothing(table, len(target), target.scoring)


def _aligned(
    jobs: dict[int, dict[str, ProteinJob]], call: ProteinCall, buffers: Buffers
) -> Iterator:
    """Sweep the jobs of a batch of cases on the current GPU; yield numbers and results."""
    all_jobs = [job for own in jobs.values() for job in own.values()]
    launch = ProteinLaunch(all_jobs, call.scoring, buffers)
    launch.run()
    chains = dict(zip(jobs, _best_chains(jobs, launch.best_ends()), strict=True))
    traced = {
        k: one for k, one in chains.items() if one and call.is_traced(call.cases[k], one.score)
    }
    found = {}
    if traced:
        ends = [(one.number, one.end + one.job.strand.table.last.usual) for one in traced.values()]
        traces = ProteinTraces(launch, ends, call.scoring).run(buffers)
        found = dict(zip(traced, traces, strict=True))

    def finished(k: int):
        chain, case = chains[k], call.cases[k]
        best = chain and BestSweep(
            chain.strand, chain.job.strand.codes, chain.score,
            lambda: found[k] or _traced_again(chain.job),
        )  # fmt: skip
        return call.finish(case, best)

    yield from zip(jobs, map_on_threads(call.threads, finished, jobs), strict=True)


def _best_chains(
    jobs: dict[int, dict[str, ProteinJob]], ends: list[int]
) -> Iterator[_Chain | None]:
    """Yield the best chain of each case, the first of equals, + before -."""
    swept = enumerate(ends)
    for own in jobs.values():
        chains = [_Chain(strand, job, *next(swept)) for strand, job in own.items()]
        scored = [chain for chain in chains if chain.is_one]
        yield max(scored, key=lambda chain: chain.score, default=None)


def _traced_again(job: ProteinJob) -> TracedProtein:
    """Return the best chain of a job, swept by the CPU."""
    strand, target = job.strand, job.target
    sweep = ProteinSweep(
        strand.codes, target.codes, strand.table, strand.scoring, strand.lists, target.introns
    )
    return trace(sweep.run(lambda cells: None))
