"""What kernels of site mode are told to do, done by NumPy: sweeps and chains are the CPU's."""

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.sites import cpu
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.coding_traceback import trace_coding
from gpu_tools.sites.traceback import trace
from tests import cases
from tests.test_sites import random_target

pytest.importorskip("numba_cuda")

from gpu_tools.sites import cuda, cuda_program
from gpu_tools.sites.cuda_job import End, Job, Strand
from gpu_tools.sites.cuda_packed_plan import PackedPlan
from gpu_tools.sites.cuda_program import BEGIN
from gpu_tools.sites.cuda_wide_launch import end_of, plan_wide
from tests import test_sites_cuda
from tests.row_machine import Machine, run_rows
from tests.test_sites_cuda import coding_table, varied_table


def run_wide(job: Job):
    """Return plan, rows and best end as the 32-bit kernel gives them."""
    plan = plan_wide(job)
    rows, end = run_rows(plan.row_job, job.scoring)
    return plan, rows, end_of(end, job)


def run_packed(job: Job, hot: int):
    """Return plan, rows and best end as the packed kernel gives them."""
    program = cuda_program.compile_packed(job.sites, job.blocks, hot)
    machine = Machine(job.target, job.scoring, job.limit.floor, program.kept.n_places)
    first, last = job.table.first_entry, job.table.last_exit

    def leave(i):
        if last[i] > -(2**62):
            machine.find_end(-1, i, int(last[i]))

    def begin(i):
        if first[i] > -(2**62):
            machine.operate(BEGIN, -1, -1, int(first[i]))

    machine.run(program, [-1], leave, begin)
    return PackedPlan(job, 1, program, 1), machine.rows(hot), End(*machine.best)


def check(rng, ends: str, table_of, run) -> int:
    """Compare a random case with the CPU; return the exons of its chain."""
    base = cases.random_text(rng, int(rng.integers(20, 160)))
    target = random_target(rng, base, int(rng.integers(1, 60)))
    table = table_of(rng, len(base), float(rng.choice([0.05, 0.2, 0.5])))
    scoring = SplicedScoring(gap=int(rng.integers(-3, 0)), ends=ends)
    made = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), {"+": table})
    (expected,) = site_align([made], scoring, device="cpu", threads=1)
    if not table.has_chain():
        return 0
    job = Job(Strand(made.codes("+"), table), made.target.codes, scoring)
    plan, rows, end = run(job)
    assert end.score == expected.score
    if end.score is None:
        return 0
    coding = table.stops is not None
    sweep = (cuda.coding_sweep_of if coding else cuda.site_sweep_of)(plan, rows, end)
    traced = (trace_coding if coding else trace)(
        sweep, table, job.codes, made.target.codes, scoring
    )
    assert (tuple(traced.chain), traced.cigar) == (expected.chain, expected.cigar)
    assert (traced.first_column, end.column) == (expected.target_start, expected.target_end)
    return len(traced.chain)


RUNS = {
    "packed": ("global", varied_table, lambda job: run_packed(job, 6)),
    "32 bits": ("free-target", varied_table, run_wide),
    "coding": ("global", coding_table, run_wide),
}


@pytest.mark.parametrize("kernel", RUNS)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_programs(kernel, rows, monkeypatch):
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", rows)
    monkeypatch.setattr(test_sites_cuda, "LONGEST_INTRON", 30)
    rng = np.random.default_rng(rows)
    exons = [check(rng, *RUNS[kernel]) for _ in range(60)]
    assert max(exons) > 1


@pytest.mark.parametrize("table_of", [varied_table, coding_table])
def test_memory_is_not_underestimated(table_of):
    """Batches are cut by it."""
    table = table_of(np.random.default_rng(4), 3000, 0.1)
    codes = np.random.default_rng(4).integers(0, 4, 3000).astype(np.uint8)
    job = Job(Strand(codes, table), codes[:700], SplicedScoring(ends="free-target"))
    needed = plan_wide(job).row_job.device_bytes
    assert needed <= job.device_bytes < 100 * needed
