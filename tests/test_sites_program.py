"""What kernels of site mode are told to do, done by NumPy: sweeps and chains are the CPU's."""

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.scoring import N_SYMBOLS
from gpu_tools.sequences import OTHER
from gpu_tools.sites import cpu
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.coding import possible
from gpu_tools.sites.coding_traceback import trace_coding
from gpu_tools.sites.table import IntronClass
from gpu_tools.sites.traceback import trace
from gpu_tools.spliced.core import empty_chain
from tests import cases
from tests.test_sites import random_table, random_target

pytest.importorskip("numba_cuda")

from gpu_tools.sites import (
    cuda,
    cuda_coding,
    cuda_packed,
    cuda_program,
    cuda_skewed,
    cuda_steps,
)
from gpu_tools.sites.cuda_job import DeviceRows, End, Job, Strand
from gpu_tools.sites.cuda_packed_plan import PackedPlan, SkewedPlan, plan_packed
from gpu_tools.sites.cuda_program import (
    ADVANCE,
    BEGIN,
    CLEAR,
    FINAL,
    LAST,
    NO_SYMBOL,
    PUT,
    RAISE,
    SPECIAL,
)
from gpu_tools.sites.cuda_wide_launch import plan_wide
from tests import test_sites_cuda
from tests.test_sites_cuda import coding_table, varied_table


class Machine:
    """Rows in places, and a kernel's operations on them; -1 is a row like any other."""

    def __init__(self, job: Job, tracks: list[int], start: int, n_places: int):
        self.job, self.tracks, self.gap = job, tracks, job.scoring.gap
        self.floor = job.limit.floor
        self.cells = np.full((n_places + 1, job.columns), self.floor, dtype=np.int64)
        free = job.scoring.ends != "global"
        self.empty = [empty_chain(column, self.gap, free) for column in range(job.columns)]
        if start >= 0:
            self.cells[start] = self.empty
        self.symbols = np.append(OTHER, job.target)
        self.lifted = job.scoring.substitution()[:N_SYMBOLS] - self.gap
        self.first = 0 if free else job.columns - 1
        self.best = (-(2**62), 0, 0)

    def advance(self, place: int, symbol: int) -> None:
        row = self.cells[place]
        paired = np.append(self.floor, row[:-1]) + self.lifted[symbol, self.symbols]
        raised = np.maximum(np.maximum(paired, row + self.gap), self.floor)
        self.cells[place] = np.maximum.accumulate(raised)

    def find_end(self, place: int, boundary: int, bonus: int) -> None:
        scores = self.cells[place] + self.gap * np.arange(self.job.columns) + bonus
        column = self.first + int(scores[self.first :].argmax())
        if scores[column] > self.best[0]:
            self.best = int(scores[column]), boundary, column

    def operate(self, kind: int, to: int, source: int, bonus: int) -> None:
        cells = self.cells
        if kind == PUT:
            cells[to] = cells[source] + bonus
        elif kind == RAISE:
            cells[to] = np.maximum(cells[to], cells[source] + bonus)
        elif kind == BEGIN:
            cells[to] = np.maximum(cells[to], np.add(self.empty, bonus))
        elif kind == CLEAR:
            cells[to] = self.floor
        elif kind == FINAL:
            self.find_end(to, source, bonus)
        else:
            assert kind == ADVANCE
            self.advance(to, source)

    def run(self, program, at_boundary=lambda i: None, behind_boundary=lambda i: None) -> None:
        operations = iter(program.operations.tolist())
        for i, info in enumerate(program.boundaries.tolist()):
            if info % SPECIAL != NO_SYMBOL:
                for track in self.tracks:
                    self.advance(track, info % SPECIAL)
            at_boundary(i)
            more = info & SPECIAL
            while more:
                code, *rest = next(operations)
                self.operate(code % LAST, *rest)
                more = not code & LAST
            behind_boundary(i)
        assert next(operations, None) is None

    def rows(self, first: int) -> DeviceRows:
        kept = self.cells[first:-1]
        return DeviceRows(kept.reshape(1, len(kept), -1, 1, 1), first)


def run_wide(job: Job):
    """Return plan, rows and best end as the 32-bit kernel gives them."""
    plan = plan_wide(job)
    coding = job.table.stops is not None
    places = (cuda_coding.coding_places if coding else cuda_program.places_in_memory)(job.sites)
    tracks = [places.row + k for k in range(plan.tracks)]
    machine = Machine(job, tracks, places.start, plan.program.kept.n_places)
    machine.run(plan.program)
    score, end, column = machine.best
    if coding:
        score = possible(score, job.limit, len(job.target), job.scoring)
    return plan, machine.rows(0), End(score, end, column)


def run_packed(job: Job, hot: int):
    """Return plan, rows and best end as the packed kernel gives them."""
    program = cuda_program.compile_packed(job.sites, job.blocks, hot)
    machine = Machine(job, [-1], -1, program.kept.n_places)
    first, last = job.table.first_entry, job.table.last_exit

    def leave(i):
        if last[i] > -(2**62):
            machine.find_end(-1, i, int(last[i]))

    def begin(i):
        if first[i] > -(2**62):
            machine.operate(BEGIN, -1, -1, int(first[i]))

    machine.run(program, leave, begin)
    return PackedPlan(job, 1, program, 1), machine.rows(hot), End(*machine.best)


def unpacked(word: int) -> tuple[int, int]:
    """Return the halves of a word, the lower one first."""
    low, high = np.array([word], dtype=np.int32).view(np.int16).tolist()
    return low, high


def run_skewed(job: Job):
    """Return plan, rows and best end as the skewed kernel gives them."""
    steps = cuda_steps.compile_skewed(job.sites, job.blocks)
    machine = Machine(job, [-1], -1, steps.n_hot)
    cells, first = machine.cells, {step: i for i, step in enumerate(steps.firsts.tolist())}
    copies = np.full((steps.kept.n_places - steps.first, job.columns), job.limit.floor)
    cells[[cuda_steps.ZERO, cuda_steps.LEAST]] = [[0], [-(2**31)]]
    # nothing may be read before it is set
    cells[cuda_steps.LEAST + 1 : -1] = 2**40

    def operate(what, bonuses, others):
        source, old, to = (what >> at & 127 for at in (8, 16, 24))
        (bonus, row_bonus), raising, copy = unpacked(bonuses), others & 127, others >> 8
        given = cells[-1] if what & cuda_steps.FROM_ROW else cells[source]
        made = np.maximum(cells[old], given + bonus)
        cells[-1] = np.maximum(cells[-1], cells[raising] + row_bonus)
        assert to >= cuda_steps.NOWHERE
        cells[to] = made if to != cuda_steps.NOWHERE else 2**40
        if copy:
            copies[copy] = made

    for n, (what, bonuses, others, begins) in enumerate(steps.words.T.tolist()):
        symbols = what & 7, what >> 4 & 7
        for late, (symbol, score) in enumerate(zip(symbols, unpacked(begins), strict=True)):
            if symbol != NO_SYMBOL:
                machine.advance(-1, symbol)
            boundary = first.get(2 * n + late)
            if boundary is not None and job.table.last_exit[boundary] > -(2**62):
                machine.find_end(-1, boundary, int(job.table.last_exit[boundary]))
            if late:
                operate(what, bonuses, others)
            cells[-1] = np.maximum(cells[-1], score)
    rows = DeviceRows(copies.reshape(1, len(copies), -1, 1, 1), steps.first)
    return SkewedPlan(job, 4, steps, 1), rows, End(*machine.best)


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


def test_bases_that_need_more_rows_than_there_are_places_go_to_other_strips():
    """Exits between entries share no row, and wait for introns of a length."""

    def planned(length, size):
        rng = np.random.default_rng(5)
        table = random_table(rng, 400, 1.0, (IntronClass(0, length, 1),))
        return plan_packed(
            Job(Strand(np.zeros(400, np.uint8), table), base, SplicedScoring()), size
        )

    base, size = np.zeros(20, np.uint8), max(cuda_skewed.HOT_PLACES)
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
    plan = plan_wide(job)
    words = plan.strips * (plan.strip_words + 2 * plan.advances) + plan.program.operations.size
    assert 4 * words <= job.device_bytes < 100 * words
