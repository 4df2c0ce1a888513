"""What the kernel is told for listed candidates with free ends or readings, done by NumPy."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools.spliced.cpu.free_ends import FreeEnds
from gpu_tools.spliced.cpu.reading_traceback import Reading
from tests import cases
from tests.spliced.cpu.test_reading import coding_example

pytest.importorskip("numba_cuda")

from gpu_tools.spliced.gpu import rows as cuda_rows
from tests.sites.gpu.row_machine import run_rows


def random_case(rng, coding: bool):
    if coding:
        return coding_example(rng).case()
    sizes = {"base": int(rng.integers(1, 60)), "target": int(rng.integers(1, 30))}
    return cases.random_example(rng, **sizes, count=int(rng.integers(1, 9)), longest=20).case()


def compare(mode, case) -> int:
    """Compare sweeps and result with the CPU's; return the exons of the chain."""
    prepared = cuda_rows.JobMaker(mode)(0, case)
    expected = [mode.sweep(prepared.case, program) for program in prepared.case.programs]
    sweeps = [
        cuda_rows.sweep_of(compiled, *run_rows(job, mode.scoring))
        for compiled, job in zip(prepared.compiled, prepared.jobs, strict=True)
    ]
    columns = len(case.target) + 1
    for sweep, same in zip(sweeps, expected, strict=True):
        for name in ("entries", "exits" if isinstance(mode, Reading) else "ends"):
            found, known = (getattr(each, name)[:, :columns] for each in (sweep, same))
            np.testing.assert_array_equal(found, known)
    results = [mode.conclude(prepared.case, each) for each in (sweeps, expected)]
    assert results[0] == results[1]
    return results[0].n_chain


MODES = {
    "free": lambda scoring: FreeEnds(replace(scoring, ends="free")),
    "complete": lambda scoring: Reading(scoring, True),
    "incomplete": lambda scoring: Reading(scoring, False),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_programs(seed, mode):
    rng = np.random.default_rng([seed, list(MODES).index(mode)])
    exons = [
        compare(MODES[mode](cases.random_scoring(rng)), random_case(rng, mode != "free"))
        for _ in range(40)
    ]
    assert max(exons) > 1


def test_targets_of_a_base_share_its_program():
    mode = FreeEnds(cases.random_scoring(np.random.default_rng(1)))
    maker, case = cuda_rows.JobMaker(mode), random_case(np.random.default_rng(2), False)
    first, second = (maker(k, case).jobs for k in range(2))
    assert first
    assert all(a.program is b.program for a, b in zip(first, second, strict=True))
