"""How the cases of a call are laid out for GPUs and cut into batches."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from gpu_tools import SplicedScoring, case_columns
from gpu_tools.spliced.gpu import sweep
from gpu_tools.spliced.gpu.launch import (
    BlockLimits,
    GraphTables,
    lay_out_graphs,
    lay_out_jobs,
    sizes_of,
)
from gpu_tools.spliced.gpu.schedule import GpuOptions, GpuWork, batches_of
from tests import cases


def zeros(name, count, dtype):
    return np.zeros(count, dtype=dtype)


def columns_of(rng, count):
    made = [cases.random_example(rng, 90, 9, 20, 60, n_rate=0.0) for _ in range(count)]
    return case_columns([example.case() for example in made])


PLAIN = SplicedScoring()


def graphs_of(columns, apart=False, threads=1, scoring=PLAIN):
    return lay_out_graphs(columns.strands, scoring, apart, threads, zeros)


def work_of(columns, graphs, options):
    everywhere = np.ones(len(columns.cells), bool)
    return GpuWork(columns, PLAIN, graphs, False, everywhere, options)


@pytest.mark.parametrize("threads", [2, 7, 40])
@pytest.mark.parametrize("apart", [False, True])
def test_graphs_are_the_same_on_any_number_of_threads(threads, apart):
    columns = columns_of(np.random.default_rng(5), 200)
    scoring = SplicedScoring(exon_weight=2.0)
    ours, theirs = (graphs_of(columns, apart, count, scoring) for count in (threads, 1))
    for name, one, other in zip(GraphTables._fields, ours, theirs, strict=True):
        assert (one == other).all(), name


@pytest.mark.parametrize("seed", range(10))
def test_jobs_lie_side_by_side_in_the_buffers(seed):
    columns = columns_of(np.random.default_rng(seed), 12)
    graphs = graphs_of(columns)
    layout = lay_out_jobs(graphs.table, columns.jobs, BlockLimits(2, 50.0))
    sizes = sizes_of(graphs.table, columns.jobs)
    for column, size in (
        (sweep.CELLS, sizes.cells), (sweep.SOURCES, sizes.sources),
        (sweep.WORDS, sizes.words), (sweep.FOUND, sizes.found),
    ):  # fmt: skip
        begins = layout.table[:, column].tolist()
        assert begins == [0, *np.cumsum(size)[:-1].tolist()]
    for job, size in zip(layout.table, sizes.workspace, strict=True):
        assert job[sweep.STRIPS] < job[sweep.BORDERS] < job[sweep.MOVES]
        assert job[sweep.MOVES] < job[sweep.STRIPS] + size
    assert layout.sizes.bytes == sizes.bytes.sum()
    for job, (first, past) in enumerate(layout.table[:, sweep.FIRST_RIVAL : sweep.PAST_RIVALS + 1]):
        own = columns.jobs.cases == columns.jobs.cases[job]
        assert np.flatnonzero(own).tolist() == list(range(first, past))


@pytest.mark.parametrize("together", [1.0, 20.0, np.inf])
def test_each_job_has_at_least_one_thread_block_and_no_more_than_warp_tiles(together):
    columns = columns_of(np.random.default_rng(3), 12)
    graphs = graphs_of(columns, apart=True)
    layout = lay_out_jobs(graphs.table, columns.jobs, BlockLimits(3, together))
    blocks = np.bincount(layout.block_jobs, minlength=columns.jobs.count)
    assert (blocks >= 1).all()
    assert (blocks <= layout.table[:, sweep.TILES]).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("part", [0.0, 1.5, 4.0, 1e9])
def test_batches_cover_all_cases_and_stay_within_their_limit(seed, part):
    columns = columns_of(np.random.default_rng(seed), 15)
    graphs = graphs_of(columns)
    sizes = np.bincount(columns.jobs.cases, sizes_of(graphs.table, columns.jobs).bytes, 15)
    options, free = GpuOptions(batch_bytes=int(part * sizes.max())), 1 << 40
    order = np.random.default_rng(seed).permutation(15)
    batches = list(batches_of(work_of(columns, graphs, options), order, free))
    assert np.concatenate([own for own, _ in batches]).tolist() == order.tolist()
    taken = [sizes[own].sum() for own, _ in batches]
    assert all(
        len(own) == 1 or size <= options.batch_bytes
        for (own, _), size in zip(batches, taken, strict=True)
    )
    for (_, size), (own, _) in pairwise(zip([own for own, _ in batches], taken, strict=True)):
        assert size + sizes[own[0]] > options.batch_bytes
    assert not any(alone for _, alone in batches)


def test_a_case_that_takes_more_than_its_part_of_the_memory_is_alone():
    columns = columns_of(np.random.default_rng(1), 3)
    graphs = graphs_of(columns)
    sizes = np.bincount(columns.jobs.cases, sizes_of(graphs.table, columns.jobs).bytes, 3)
    work = work_of(columns, graphs, GpuOptions())
    batches = list(batches_of(work, np.arange(3), int(sizes.max())))
    assert [(own.tolist(), alone) for own, alone in batches] == [([k], True) for k in range(3)]
