"""How the cases of a call are laid out for GPUs and cut into batches."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from gpu_tools import SplicedScoring, case_columns
from gpu_tools.spliced.gpu.launch import case_bytes, lay_out_graphs
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
    sizes = case_bytes(graphs.table, columns.jobs, columns.first_jobs)
    return GpuWork(columns, PLAIN, graphs, False, everywhere, sizes, options)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("part", [0.0, 1.5, 4.0, 1e9])
def test_batches_cover_all_cases_and_stay_within_their_limit(seed, part):
    columns = columns_of(np.random.default_rng(seed), 15)
    graphs = graphs_of(columns)
    sizes = case_bytes(graphs.table, columns.jobs, columns.first_jobs)
    options, free = GpuOptions(batch_bytes=int(part * sizes.max())), 1 << 40
    order = np.random.default_rng(seed).permutation(15)
    batches, left = batches_of(work_of(columns, graphs, options), order, free)
    assert not len(left)
    assert np.concatenate(batches).tolist() == order.tolist()
    taken = [sizes[own].sum() for own in batches]
    assert all(
        len(own) == 1 or size <= options.batch_bytes
        for own, size in zip(batches, taken, strict=True)
    )
    for (_, size), (own, _) in pairwise(zip(batches, taken, strict=True)):
        assert size + sizes[own[0]] > options.batch_bytes


def test_a_case_that_takes_more_than_its_part_of_the_memory_is_left():
    columns = columns_of(np.random.default_rng(1), 3)
    graphs = graphs_of(columns)
    sizes = case_bytes(graphs.table, columns.jobs, columns.first_jobs)
    batches, left = batches_of(
        work_of(columns, graphs, GpuOptions()), np.arange(3), 8 * int(sizes.max()) - 1
    )
    assert left.tolist() == [int(sizes.argmax())]
    assert sum(map(len, batches)) == 2
