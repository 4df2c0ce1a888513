"""Cases on GPUs: the GPU and the batch of each case, and its chain from GPU memory.

Cases whose scores suit 16-bit cells are swept and traced on the GPU, batch by batch; the CPU aligns
the others meanwhile.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.strips import assigned
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.dispatch import BufferPool, borrowed_pools, map_gpus
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.alignments import NO_CHAIN, Alignments, Chains
from gpu_tools.spliced.case import CaseColumns, case_columns
from gpu_tools.spliced.cpu.schedule import align_on_cpu, scores_on_cpu
from gpu_tools.spliced.exon_graph import Extent, bound_cells
from gpu_tools.spliced.gpu import launch as launches
from gpu_tools.spliced.gpu import sweep, traceback
from gpu_tools.spliced.gpu.launch import (
    BlockLimits,
    GraphTables,
    ListLaunch,
    Resident,
    case_bytes,
    lay_out_graphs,
    lay_out_jobs,
    stride_of,
)
from gpu_tools.splicing.bounds import Costs, costs_of
from gpu_tools.splicing.traceback import INTRON

_log = logging.getLogger(__name__)

_BLOCKS_PER_MULTIPROCESSOR = 28
_BLOCKS_PER_TILE, _BLOCKS_PER_TILE_APART = 2, 3
_FREE_PART = 8
"""A batch, and a case, takes at most one part in this of the free memory: batches take turns."""


class GpuOptions(NamedTuple):
    """Limits of the schedule, which tests vary.

    Fewer candidates a multiprocessor do not keep a GPU busy: what takes the time then is exons that
    depend on each other, and each part of a track is a warp tile of its own.
    """

    exons_apart: int = 16  # candidates a multiprocessor, each with its target
    batch_bytes: int = 768 << 20  # device memory of a batch
    free_bytes: int | None = None  # device memory that can be used; None: what is free


class GpuWork(NamedTuple):
    """The cases of a call as all its GPUs see them."""

    columns: CaseColumns
    scoring: SplicedScoring
    graphs: GraphTables
    apart: bool  # whether each part of a track is a warp tile of its own
    packable: NDArray[np.bool_]  # (C,) whether 16-bit cells suffice
    bytes: NDArray[np.int64]  # (C,) device memory
    options: GpuOptions


def align_on_gpus(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    done: Callable[[int], None],
    options: GpuOptions | None = None,
) -> Sequence[SplicedAlignment]:
    """Align all cases on GPUs, but for those that the CPU aligns meanwhile."""
    found = Alignments(columns)

    def take(work: GpuWork, cases: NDArray[np.int64], launch: ListLaunch) -> None:
        found.add(launch.layout.jobs, *traced_chains(launch, work.graphs, scoring))
        done(int(columns.cells[cases].sum()))

    def on_cpu(cases: list[int]) -> None:
        own = case_columns([columns.cases[k] for k in cases])
        found.others.update(zip(cases, align_on_cpu(own, scoring, threads, done), strict=True))

    consumer = _Consumer(ListLaunch.trace, take, on_cpu)
    _on_gpus(columns, scoring, ordinals, threads, consumer, options or GpuOptions())
    return found


def score_on_gpus(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    options: GpuOptions | None = None,
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)

    def take(work: GpuWork, cases: NDArray[np.int64], launch: ListLaunch) -> None:
        found = traceback.score_of(launch.best_numbers())
        np.maximum.at(scores, columns.jobs.cases[launch.layout.jobs], found)

    def on_cpu(cases: list[int]) -> None:
        own = case_columns([columns.cases[k] for k in cases])
        scores[cases] = scores_on_cpu(own, scoring, threads)

    consumer = _Consumer(lambda launch: None, take, on_cpu)
    _on_gpus(columns, scoring, ordinals, threads, consumer, options or GpuOptions())
    return scores


class _Consumer(NamedTuple):
    """What becomes of launches, and of the cases that GPUs do not take."""

    start: Callable[[ListLaunch], None]  # adds work to a launch
    take: Callable[[GpuWork, NDArray[np.int64], ListLaunch], None]  # takes its results
    on_cpu: Callable[[list[int]], None]  # aligns cases on the CPU


def _on_gpus(columns, scoring, ordinals, threads, consumer, options: GpuOptions) -> None:
    """Sweep all cases, each GPU in a thread of its own, and the CPU beside them."""
    if not scores_fit(scoring):
        _log.info("list mode: all cases on the CPU, as scores do not fit into bytes")
        consumer.on_cpu(list(range(len(columns.cells))))
        return
    left = []
    with ThreadPoolExecutor(1, "gpu-tools") as cpu, borrowed_pools(ordinals) as pools:
        # the tables lie in pinned memory, from which all GPUs copy fast
        empty = pools[0].resident.pinned
        work = prepare(columns, scoring, ordinals, threads, empty, options)

        def drive(share: NDArray[np.int64], pool: BufferPool) -> None:
            batches, others = batches_of(work, share, options.free_bytes or pool.free_bytes)
            n_left = len(others)
            _log.info(
                "list mode on a GPU: %d cases by the packed kernel, %d on the CPU",
                len(share) - n_left, n_left,
            )  # fmt: skip
            if n_left:
                left.append(cpu.submit(consumer.on_cpu, others.tolist()))
            for own, launch in _launches(work, batches, pool, consumer.start):
                consumer.take(work, own, launch)

        on_gpu = np.where(work.packable, columns.cells, 0)
        map_gpus(ordinals, drive, assigned(on_gpu, len(ordinals)), pools)
    for future in left:
        future.result()


def prepare(columns, scoring, ordinals, threads, empty, options: GpuOptions) -> GpuWork:
    """Lay out the graphs of all strands, and find out which cases fit 16-bit cells."""
    jobs, strands = columns.jobs, columns.strands
    exons = np.diff(strands.first_exons)[jobs.strands].sum()
    apart = exons <= options.exons_apart * count_multiprocessors(ordinals)
    graphs = lay_out_graphs(strands, scoring, bool(apart), threads, empty)
    packable = np.ones(len(columns.cells), dtype=np.bool_)
    fit = _cells_fit(graphs.table, jobs, strands.lengths, costs_of(scoring))
    packable[jobs.cases[~fit | (np.diff(columns.first_banned) > 0)]] = False
    sizes = case_bytes(graphs.table, jobs, columns.first_jobs)
    return GpuWork(columns, scoring, graphs, bool(apart), packable, sizes, options)


def count_multiprocessors(ordinals: Iterable[int]) -> int:
    """Return the number of multiprocessors of GPUs together."""
    if simulated():
        return len(tuple(ordinals))
    return sum(cuda.gpus[ordinal].MULTIPROCESSOR_COUNT for ordinal in ordinals)


def scores_fit(scoring: SplicedScoring) -> bool:
    """Return whether bytes hold what pairs and gaps add to a cell."""
    lifted = scoring.substitution() - scoring.gap
    in_bytes = np.abs(lifted).max() <= 127 and (lifted - scoring.gap).max() <= 127
    return bool(in_bytes) and scoring.gap <= 0


@njit(cache=True, nogil=True)
def _cells_fit(graphs, jobs, lengths, costs: Costs):
    """Return whether 16-bit cells and the other fields of the kernels suffice, per job."""
    fit = np.empty(len(jobs.lengths), dtype=np.bool_)
    for k in range(len(fit)):
        own = graphs[jobs.strands[k]]
        longest, stride = own[launches.LONGEST_TRACK], stride_of(jobs.lengths[k])
        length = lengths[jobs.strands[k]]
        extent = Extent(longest, own[launches.MOST_BONUS], own[launches.BEST_BONUS], length)
        low, high = bound_cells(extent, stride, costs)
        # cells inside a track lack a gap a row, where a row without a pair adds nothing
        high -= costs.gap * min(longest, stride)
        fit[k] = (
            own[launches.AMBIGUOUS] == 0
            and low > sweep.NEVER + 256
            and high < 2**15 - 256
            and (own[launches.N_SPANS] + own[launches.N_ABOVE]) * stride < 2**31
            and jobs.lengths[k] < traceback.COLUMNS_AT_MOST
            and own[launches.N_EXITS] <= traceback.EXITS_AT_MOST
        )
    return fit


def _launches(
    work: GpuWork, batches: list[NDArray[np.int64]], pool: BufferPool, start: Callable
) -> Iterator[tuple[NDArray[np.int64], ListLaunch]]:
    """Sweep cases batch by batch; while results of one are taken the GPU works on the next."""
    if not batches:
        return
    multiprocessors = 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT
    limits = _block_limits(work.apart, multiprocessors)
    table = sweep.scoring_table(work.scoring)
    resident = Resident.copy(work.graphs, work.columns, table, pool.resident)
    running, free_buffers = deque(), deque(pool.batches)
    for batch in batches:
        if not free_buffers:
            done = running.popleft()
            yield done
            free_buffers.append(done[1].buffers)
        layout = lay_out_jobs(work.graphs.table, work.columns, batch, limits)
        launch = ListLaunch(resident, layout, work.apart, free_buffers.popleft())
        launch.run()
        start(launch)
        running.append((batch, launch))
    yield from running


def _block_limits(apart: bool, multiprocessors: int) -> BlockLimits:
    if apart:
        return BlockLimits(_BLOCKS_PER_TILE_APART, np.inf)
    each = 2 if simulated() else _BLOCKS_PER_MULTIPROCESSOR
    return BlockLimits(_BLOCKS_PER_TILE, float(each * multiprocessors))


def batches_of(
    work: GpuWork, cases: NDArray[np.int64], free: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Cut cases into batches; return them, and the cases that the GPU cannot take."""
    most, sizes = free // _FREE_PART, work.bytes[cases]
    fits = work.packable[cases] & (sizes <= most) & (sizes > 0)  # 0: it has no candidates
    own, limit, ends = cases[fits], min(work.options.batch_bytes, most), np.cumsum(sizes[fits])
    batches, first, before = [], 0, 0
    while first < len(own):
        past = max(int(np.searchsorted(ends, before + limit, side="right")), first + 1)
        batches.append(own[first:past])
        first, before = past, ends[past - 1]
    return batches, cases[~fits]


# Chains that a GPU has traced, from its words to columns.


def traced_chains(
    launch: ListLaunch, graphs: GraphTables, scoring: SplicedScoring
) -> tuple[NDArray[np.int64], Callable[[], Chains]]:
    """Return the numbers of a launch's jobs that have a chain, and what makes their chains."""
    words, firsts = launch.chain_words()
    best, counts = launch.best_numbers().copy(), words[firsts]
    if (counts < 0).any():
        raise ValueError("no exon explains a value of a row: the sweep is wrong")
    exits = graphs.exon_of_exit, launch.layout.table[:, sweep.EXITS]
    # free ends leave the symbols before the first exon out, unless gaps score above 0
    keeps_start = scoring.ends == "global" or scoring.gap > 0

    @cache
    def chains() -> Chains:
        columns = decode(words, firsts, exits, graphs.starts, graphs.ends, keeps_start)
        score, last = traceback.score_of(best), traceback.column_of(best)
        return Chains.make(score, columns[0], last, *columns[1:])

    return np.flatnonzero(counts), chains


@njit(cache=True, nogil=True)
def decode(found, firsts, numbers, exon_starts, exon_ends, keeps_start):
    """Put what the kernel found into columns, see `Chains`."""
    exon_of_exit, first_exits = numbers
    count = len(first_exits)
    first_columns = np.zeros(count, dtype=np.int64)
    first_exons, first_runs = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    exons = np.empty(found[firsts].sum(), dtype=np.int64)
    # an exon's head has more elements than an intron and the first symbols have runs
    letters, lengths = np.empty(len(found), np.uint8), np.empty(len(found), np.int64)
    n = 0
    for job in range(count):
        own, n_exons, begin = found[firsts[job] :], found[firsts[job]], first_exons[job]
        at, first = np.empty(n_exons, dtype=np.int64), 1
        for k in range(n_exons - 1, -1, -1):  # the last exon was found first
            at[k] = first
            exons[begin + k] = exon_of_exit[first_exits[job] + own[first]]
            first += traceback.HEAD + own[first + 2]
        if n_exons and keeps_start:
            n = _add_run(letters, lengths, n, first_runs[job], traceback.INSERTION, own[at[0] + 1])
        elif n_exons:
            first_columns[job] = own[at[0] + 1]
        for k in range(n_exons):
            if k > 0:
                one, other = exons[begin + k - 1], exons[begin + k]
                right = max(exon_starts[one], exon_starts[other])
                intron = right - min(exon_ends[one], exon_ends[other])
                n = _add_run(letters, lengths, n, first_runs[job], INTRON, intron)
            for run in own[at[k] + traceback.HEAD : at[k] + traceback.HEAD + own[at[k] + 2]]:
                letter = run & ((1 << traceback.OPERATION_BITS) - 1)
                length = run >> traceback.OPERATION_BITS
                n = _add_run(letters, lengths, n, first_runs[job], letter, length)
        first_exons[job + 1], first_runs[job + 1] = begin + n_exons, n
    return first_columns, first_exons, exons, first_runs, letters[:n], lengths[:n]


@njit(nogil=True)
def _add_run(letters, lengths, n, first, letter, length):
    """Add a run behind a job's others, which begin at `first`; return the number of all runs.

    An empty run is dropped, and one of the last one's operation extends that.
    """
    if length == 0:
        return n
    if n > first and letters[n - 1] == letter:
        lengths[n - 1] += length
        return n
    letters[n], lengths[n] = letter, length
    return n + 1
