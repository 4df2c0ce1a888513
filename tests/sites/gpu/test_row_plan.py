"""Row plans and steps of site mode, done by NumPy: sweeps and chains are the CPU's."""

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.sites.api import SiteCase, _finished, site_align
from gpu_tools.sites.table import CLOSED, IntronClass
from tests import cases
from tests.sites.test_api import changed, random_table, random_target

pytest.importorskip("numba_cuda")

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu import steps as gpu_steps
from gpu_tools.sites.gpu.device_sweeps import sweep_of
from gpu_tools.sites.gpu.job import DeviceRows, SiteJob, SiteStrand, SweepEnd
from gpu_tools.sites.gpu.launch import device_bytes
from gpu_tools.sites.gpu.packed_strips import packed_strips
from gpu_tools.sites.gpu.row_plan import BEGIN, NO_SYMBOL, compile_for_registers
from gpu_tools.sites.gpu.strips32 import Strips32
from gpu_tools.sites.gpu.sweep import HOT_SLOTS, NARROW, WIDE
from tests.sites.gpu.row_machine import Machine, run_rows
from tests.sites.gpu.test_sweep import coding_table, varied_table


def run_in_memory(job: SiteJob):
    """Return strips, rows and best end as the 32-bit kernel gives them."""
    rows, end = run_rows(job)
    strips = Strips32(job)
    return strips, rows, strips.end_of(np.array([end]))


def run_in_registers(job: SiteJob):
    """Return the row plan of a kernel with the row in registers, and what it stores."""
    plan, _, stored = compile_for_registers(job.sites, job.blocks)
    machine = Machine(job, plan.traceback.n_slots)
    first = job.table.first_entry

    def begin(i):
        if first[i] > -(2**62):
            machine.operate(BEGIN, -1, -1, int(first[i]))

    machine.run(plan, [-1], begin)
    return plan.traceback, machine.rows(stored)


def unpacked(word: int) -> tuple[int, int]:
    """Return the halves of a word, the lower one first."""
    low, high = np.array([word], dtype=np.int32).view(np.int16).tolist()
    return low, high


class StepMachine(Machine):
    """Rows in slots, the copies of them, and what the packed kernel does with them in a step."""

    def __init__(self, job: SiteJob, steps: gpu_steps.StepTable):
        super().__init__(job, steps.n_hot)
        self.last_exits = job.table.last_exit
        self.boundaries = {number: i for i, number in enumerate(steps.numbers.tolist())}
        n_copies = steps.traceback.n_slots - steps.first_copy
        self.copies = np.full((n_copies, self.columns), self.floor)
        self.cells[[gpu_steps.ZERO, gpu_steps.LEAST]] = [[0], [-(2**31)]]
        # nothing may be read before it is set
        self.cells[gpu_steps.LEAST + 1 : -1] = 2**40

    def step(self, n: int, what: int, bonuses: int, others: int, begins: int) -> None:
        symbols = what & 7, what >> 4 & 7
        for late, (symbol, score) in enumerate(zip(symbols, unpacked(begins), strict=True)):
            if symbol != NO_SYMBOL:
                self.advance(-1, symbol)
            boundary = self.boundaries.get(2 * n + late)
            if boundary is not None and self.last_exits[boundary] > -(2**62):
                self.find_end(-1, boundary, int(self.last_exits[boundary]))
            self.cells[-1] = np.maximum(self.cells[-1], score)
        self.set_slot_and_row(what, bonuses, others)

    def set_slot_and_row(self, what: int, bonuses: int, others: int) -> None:
        cells, (source, old, to) = self.cells, (what >> at & 127 for at in (8, 16, 24))
        (bonus, row_bonus), raising, copy = unpacked(bonuses), others & 127, others >> 8
        other = cells[source] + (cells[-1] if what & gpu_steps.FROM_ROW else 0)
        made = np.maximum(cells[old], other + bonus)
        cells[-1] = np.maximum(cells[-1], cells[raising] + row_bonus)
        assert to >= gpu_steps.NOWHERE
        cells[to] = made if to != gpu_steps.NOWHERE else 2**40
        if copy:
            self.copies[copy] = made


def run_steps(job: SiteJob):
    """Return strips, rows and best end as the packed kernel gives them."""
    steps = job.strand.steps
    machine = StepMachine(job, steps)
    for n, words in enumerate(steps.words.T.tolist()):
        machine.step(n, *words)
    copies = machine.copies
    rows = DeviceRows([copies.reshape(1, len(copies), -1, 1, 1, 1)], steps.first_copy)
    return packed_strips(job, WIDE), rows, SweepEnd(*machine.best)


def check(rng, ends: str, table_of, run, rows_per_block: int) -> int:
    """Compare a random case with the CPU; return the exons of its chain."""
    base = cases.random_text(rng, int(rng.integers(20, 160)))
    target = random_target(rng, base, int(rng.integers(1, 60)))
    table = table_of(rng, len(base), float(rng.choice([0.05, 0.2, 0.5])), 30)
    scoring = SplicedScoring(gap=int(rng.integers(-3, 0)), ends=ends)
    made = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), {"+": table})
    (expected,) = site_align([made], scoring, device="cpu", threads=1)
    if not table.has_chain():
        return 0
    strand = SiteStrand(made.codes("+"), table, scoring, rows_per_block)
    job = SiteJob(strand, made.target.codes)
    if run is run_steps and not job.fits_packed:
        return 0
    strips, rows, end = run(job)
    assert end.score == expected.score
    if end.score is None:
        return 0
    assert _finished(made, "+", sweep_of(strips, rows, end), scoring) == expected
    return len(expected.chain)


RUNS = {
    "packed": ("global", varied_table, run_steps),
    "32 bits": ("free-target", varied_table, run_in_memory),
    "coding": ("global", coding_table, run_in_memory),
}


@pytest.mark.parametrize("kernel", RUNS)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_row_plans(kernel, rows):
    rng = np.random.default_rng(rows)
    exons = [check(rng, *RUNS[kernel], rows) for _ in range(60)]
    assert max(exons) > 1


def table_with_shared_slots(rng, length: int, share: float, longest: int):
    """Return a table with few entries: exits share slots across borders of the other kind."""
    introns = IntronClass(0, 1, 1), IntronClass(1, 1, 2, ((0, 3), (2, 6)))
    table = random_table(rng, length, 0.4, introns)
    entries = np.where(rng.random(length + 1) < 0.1, table.inner_entry, CLOSED)
    return changed(table, inner_entry=entries)


@pytest.mark.parametrize(("ends", "run"), [("global", run_steps), ("free-target", run_in_memory)])
def test_borders_of_a_class_leave_groups_of_others_alone(ends, run):
    rng = np.random.default_rng(7)
    exons = [check(rng, ends, table_with_shared_slots, run, 40) for _ in range(40)]
    assert max(exons) > 1


@pytest.mark.parametrize("seed", range(8))
def test_steps_store_the_rows_that_operations_store(seed):
    """Also where a chain may begin at a boundary at which another exon ends."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, 120, 0.5, (IntronClass(0, 3, 1), IntronClass(0, 9, 4)))
    table = changed(table, first_entry=rng.integers(-9, 60, len(table.first_entry)))
    codes = rng.integers(0, 4, 150).astype(np.uint8)
    job = SiteJob(SiteStrand(codes[:120], table, SplicedScoring(), 5), codes[110:])
    (traceback, rows), (strips, copies, _) = run_in_registers(job), run_steps(job)
    stored = [slot for slot in traceback.exits.tolist() if slot > strips.first_slot]
    stored += [first + k for first in traceback.blocks.tolist() for k in range(2 + 2)]
    assert len(stored) > 5 * len(job.blocks)
    for slot in stored:
        expected = rows.row(slot, job.columns).tolist()
        assert copies.row(slot, job.columns).tolist() == expected


def job_with_pending_exits(length: int) -> SiteJob:
    """Return a job whose exits share no slot, and wait for introns of a length."""
    rng = np.random.default_rng(5)
    table = random_table(rng, 400, 1.0, (IntronClass(0, length, 1),))
    target = np.zeros(2 * WARP * WIDE, np.uint8)
    return SiteJob(SiteStrand(np.zeros(400, np.uint8), table, SplicedScoring()), target)


def test_base_sequences_that_need_many_slots_have_narrow_strips_or_32_bits():
    few, more = job_with_pending_exits(2), job_with_pending_exits(60)
    assert packed_strips(few, WIDE).sizes == (WIDE, NARROW)
    assert packed_strips(few, NARROW).sizes == (NARROW,) * 3
    assert packed_strips(more, WIDE).sizes == (NARROW,) * 3
    assert HOT_SLOTS[WIDE] < more.strand.steps.n_hot <= HOT_SLOTS[NARROW]
    assert more.fits_packed
    assert not job_with_pending_exits(200).fits_packed


@pytest.mark.parametrize("kernel", RUNS)
def test_memory_is_not_underestimated(kernel):
    """Batches are cut by it."""
    ends, table_of, run = RUNS[kernel]
    table = table_of(np.random.default_rng(4), 3000, 0.01, 30)
    codes = np.random.default_rng(4).integers(0, 4, 3000).astype(np.uint8)
    job = SiteJob(SiteStrand(codes, table, SplicedScoring(ends=ends)), codes[:700])
    assert job.fits_packed == (run is run_steps)
    n_slots = job.strand.steps.traceback.n_slots if job.fits_packed else 0
    n_slots = n_slots or job.strand.row_plan.traceback.n_slots
    cells = n_slots * len(codes[:700]) * (2 if job.fits_packed else 4)
    assert cells < device_bytes(job, packs=True) < 10 * cells
