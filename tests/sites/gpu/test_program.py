"""What kernels of site mode are told to do, done by NumPy: sweeps and chains are the CPU's."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.sites.cpu.traceback import trace
from gpu_tools.sites.table import IntronClass
from tests import cases
from tests.sites.test_api import random_table, random_target

pytest.importorskip("numba_cuda")

from gpu_tools.sites.gpu import launch as cuda
from gpu_tools.sites.gpu import packed as cuda_packed
from gpu_tools.sites.gpu import program as cuda_program
from gpu_tools.sites.gpu import steps as cuda_steps
from gpu_tools.sites.gpu import sweep as cuda_skewed
from gpu_tools.sites.gpu.job import DeviceRows, End, Job, Strand
from gpu_tools.sites.gpu.launch32 import end_of, plan_wide
from gpu_tools.sites.gpu.plan import PackedPlan, SkewedPlan, plan_packed
from gpu_tools.sites.gpu.program import BEGIN, NO_SYMBOL
from tests.sites.gpu import test_sweep as test_sites_cuda
from tests.sites.gpu.row_machine import Machine, run_rows
from tests.sites.gpu.test_sweep import coding_table, varied_table


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
    return PackedPlan(job, program, (1,)), machine.rows(hot), End(*machine.best)


def unpacked(word: int) -> tuple[int, int]:
    """Return the halves of a word, the lower one first."""
    low, high = np.array([word], dtype=np.int32).view(np.int16).tolist()
    return low, high


class StepMachine(Machine):
    """Rows in places, the copies of them, and what the skewed kernel does with them in a step."""

    def __init__(self, job: Job, steps: cuda_steps.StepTable):
        super().__init__(job.target, job.scoring, job.limit.floor, steps.n_hot)
        self.last_exits = job.table.last_exit
        self.boundaries = {number: i for i, number in enumerate(steps.firsts.tolist())}
        self.copies = np.full((steps.kept.n_places - steps.first, self.columns), self.floor)
        self.cells[[cuda_steps.ZERO, cuda_steps.LEAST]] = [[0], [-(2**31)]]
        # nothing may be read before it is set
        self.cells[cuda_steps.LEAST + 1 : -1] = 2**40

    def step(self, n: int, what: int, bonuses: int, others: int, begins: int) -> None:
        symbols = what & 7, what >> 4 & 7
        for late, (symbol, score) in enumerate(zip(symbols, unpacked(begins), strict=True)):
            if symbol != NO_SYMBOL:
                self.advance(-1, symbol)
            boundary = self.boundaries.get(2 * n + late)
            if boundary is not None and self.last_exits[boundary] > -(2**62):
                self.find_end(-1, boundary, int(self.last_exits[boundary]))
            self.cells[-1] = np.maximum(self.cells[-1], score)
        self.set_place_and_row(what, bonuses, others)

    def set_place_and_row(self, what: int, bonuses: int, others: int) -> None:
        cells, (source, old, to) = self.cells, (what >> at & 127 for at in (8, 16, 24))
        (bonus, row_bonus), raising, copy = unpacked(bonuses), others & 127, others >> 8
        given = cells[source] + (cells[-1] if what & cuda_steps.FROM_ROW else 0)
        made = np.maximum(cells[old], given + bonus)
        cells[-1] = np.maximum(cells[-1], cells[raising] + row_bonus)
        assert to >= cuda_steps.NOWHERE
        cells[to] = made if to != cuda_steps.NOWHERE else 2**40
        if copy:
            self.copies[copy] = made


def run_skewed(job: Job):
    """Return plan, rows and best end as the skewed kernel gives them."""
    steps = cuda_steps.compile_skewed(job.sites, job.blocks)
    machine = StepMachine(job, steps)
    for n, words in enumerate(steps.words.T.tolist()):
        machine.step(n, *words)
    copies = machine.copies
    rows = DeviceRows(copies.reshape(1, len(copies), -1, 1, 1), steps.first)
    return SkewedPlan(job, steps, (4,)), rows, End(*machine.best)


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
    traced = trace(sweep, table, job.codes, made.target.codes, scoring)
    assert (tuple(traced.intervals), traced.cigar) == (expected.chain, expected.cigar)
    assert (traced.first_column, end.column) == (expected.target_start, expected.target_end)
    return len(traced.intervals)


RUNS = {
    "packed": ("global", varied_table, lambda job: run_packed(job, 6)),
    "skewed": ("global", varied_table, run_skewed),
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


@pytest.mark.parametrize("seed", range(8))
def test_steps_keep_the_rows_that_operations_keep(seed, monkeypatch):
    """Also where a chain may begin at a boundary at which another exon ends."""
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 5)
    rng = np.random.default_rng(seed)
    table = random_table(rng, 120, 0.5, (IntronClass(0, 3, 1), IntronClass(0, 9, 4)))
    table = replace(table, first_entry=rng.integers(-9, 60, len(table.first_entry)))
    codes = rng.integers(0, 4, 150).astype(np.uint8)
    job = Job(Strand(codes[:120], table), codes[110:], SplicedScoring())
    (plan, rows, _), (skewed, copies, _) = run_packed(job, 0), run_skewed(job)
    kept = [place for place in plan.kept.exits.tolist() if place > skewed.first_copy]
    kept += [first + k for first in plan.kept.blocks.tolist() for k in range(2 + 2)]
    assert len(kept) > 5 * len(job.blocks)
    for place in kept:
        expected = rows.row(place, job.columns).tolist()
        assert copies.row(place, job.columns).tolist() == expected


def test_bases_that_need_more_rows_than_there_are_places_go_to_other_strips():
    """Exits between entries share no row, and wait for introns of a length."""

    def planned(length, size):
        rng = np.random.default_rng(5)
        table = random_table(rng, 400, 1.0, (IntronClass(0, length, 1),))
        return plan_packed(
            Job(Strand(np.zeros(400, np.uint8), table), base, SplicedScoring()), size
        )

    size = max(cuda_skewed.HOT_PLACES)
    base = np.zeros(2 * cuda_packed.WARP * size, np.uint8)
    few, many = planned(2, size), planned(200, size)
    assert isinstance(few, SkewedPlan)
    assert few.size == size
    assert few.program.n_hot <= cuda_skewed.HOT_PLACES[size]
    assert isinstance(many, PackedPlan)
    assert many.size in cuda_packed.HOT_PLACES


@pytest.mark.parametrize("table_of", [varied_table, coding_table])
def test_memory_is_not_underestimated(table_of):
    """Batches are cut by it."""
    table = table_of(np.random.default_rng(4), 3000, 0.1)
    codes = np.random.default_rng(4).integers(0, 4, 3000).astype(np.uint8)
    job = Job(Strand(codes, table), codes[:700], SplicedScoring(ends="free-target"))
    needed = plan_wide(job).row_job.device_bytes
    assert needed <= job.device_bytes < 100 * needed
