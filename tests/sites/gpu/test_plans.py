"""What is compiled of a table for a GPU, done by NumPy: ends are the CPU's, stored rows right."""

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.table import CLOSED, IntronClass
from tests import cases
from tests.sites.test_api import STOPS, changed, random_table, random_target
from tests.sites.test_junctions import with_junctions

pytest.importorskip("numba_cuda")

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.job import PackedStrips
from gpu_tools.sites.gpu.packed_strip import HOT_SLOTS, NARROW, WIDE
from gpu_tools.sites.gpu.schedule import device_bytes
from tests.sites.gpu.row_machine import Job, rows_by_definition, run_codons, run_steps, stored_rows
from tests.sites.gpu.test_sweep import long_coding_table, varied_table


def random_job(rng, ends: str, table_of) -> tuple[SiteCase, Job | None]:
    """Return a random case of one strand, and its job if it has a chain."""
    base = cases.random_text(rng, int(rng.integers(20, 160)))
    target = cases.with_tail(rng, random_target(rng, base, int(rng.integers(1, 60))))
    table = table_of(rng, len(base), float(rng.choice([0.05, 0.2, 0.5])), 30)
    cost = int(rng.choice([0, 1, 4, 30]))
    scoring = SplicedScoring(gap=int(rng.integers(-3, 0)), ends=ends, end_cost=cost)
    made = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), {"+": table})
    if not table.has_chain():
        return made, None
    return made, Job(made.codes("+"), table, scoring, made.target.codes)


def check_ends(rng, ends: str, table_of, run) -> int:
    """Compare a random case's best end with the CPU's; return the exons of its chain."""
    made, job = random_job(rng, ends, table_of)
    if job is None or not job.fits:
        return 0
    (expected,) = site_align([made], job.scoring, device="cpu", threads=1)
    score, end, column = run(job)[1]
    assert job.possible(score) == expected.score
    if expected.score is None:
        return 0
    assert (end, column) == (expected.chain[-1][1], expected.target_end)
    return len(expected.chain)


RUNS = {
    "packed": ("global", varied_table, run_steps),
    "packed, free ends": ("free-target", varied_table, run_steps),
    "coding": ("global", long_coding_table, run_codons),
    "coding, free ends": ("free-target", long_coding_table, run_codons),
}


def with_junctions_of(table_of):
    """Return a function that makes tables with junctions, none shorter than packing allows."""

    def made(rng, *arguments):
        return with_junctions(rng, table_of(rng, *arguments), 6, 3)

    return made


@pytest.mark.parametrize("kernel", RUNS)
def test_best_ends_with_junctions(kernel):
    rng = np.random.default_rng(9)
    ends, table_of, run = RUNS[kernel]
    exons = [check_ends(rng, ends, with_junctions_of(table_of), run) for _ in range(40)]
    assert max(exons) > 1


@pytest.mark.parametrize("kernel", RUNS)
@pytest.mark.parametrize("seed", [1, 3, 40])
def test_best_ends(kernel, seed):
    rng = np.random.default_rng(seed)
    exons = [check_ends(rng, *RUNS[kernel]) for _ in range(60)]
    assert max(exons) > 1


def table_with_shared_slots(rng, length: int, share: float, longest: int):
    """Return a table with few entries: exits share slots across borders of the other kind."""
    introns = IntronClass(0, 1, 1), IntronClass(1, 1, 2, ((0, 3), (2, 6)))
    table = random_table(rng, length, 0.4, introns)
    entries = np.where(rng.random(length + 1) < 0.1, table.inner_entry, CLOSED)
    return changed(table, inner_entry=entries)


@pytest.mark.parametrize(("ends", "run"), [("global", run_steps), ("free-target", run_steps)])
def test_borders_of_a_class_leave_groups_of_others_alone(ends, run):
    rng = np.random.default_rng(7)
    exons = [check_ends(rng, ends, table_with_shared_slots, run) for _ in range(40)]
    assert max(exons) > 1


def table_of_alike_classes(rng, length: int, share: float, longest: int):
    """Return a table two of whose intron classes share their maxima, and differ in length."""
    lines = ((0, 3), (2, 6))
    introns = IntronClass(0, 3, 5, lines), IntronClass(0, 9, 1, lines), IntronClass(1, 4, 2)
    return random_table(rng, length, 0.3, introns)


@pytest.mark.parametrize(("run", "more"), [(run_steps, {}), (run_codons, {"stops": STOPS})])
def test_classes_whose_penalties_rise_alike(run, more):
    rng = np.random.default_rng(8)

    def table_of(*arguments):
        return changed(table_of_alike_classes(*arguments), **more)

    exons = [check_ends(rng, "free-target", table_of, run) for _ in range(40)]
    assert max(exons) > 1


def stored_of(job: Job):
    """Return which stored rows are of sites of kind 0."""
    kinds = np.append(job.table.donors.kinds, job.table.acceptors.kinds)
    return np.repeat(kinds, job.table.tracks) == 0


@pytest.mark.parametrize(("run", "more"), [(run_steps, {}), (run_codons, {"stops": STOPS})])
@pytest.mark.parametrize("ends", ["global", "free-target"])
@pytest.mark.parametrize("seed", range(8))
def test_stored_rows(seed, ends, run, more):
    """Also where a chain may begin at a boundary at which another exon ends."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, 120, 0.5, (IntronClass(0, 3, 1), IntronClass(0, 9, 4)))
    table = changed(table, first_entry=rng.integers(-9, 60, len(table.first_entry)), **more)
    codes = rng.integers(0, 4, 150).astype(np.uint8)
    scoring = SplicedScoring(ends=ends, end_cost=seed // 4 * 5)
    job = Job(codes[:120], table, scoring, codes[110:])
    assert job.fits
    copies, rows = run(job)[0], rows_by_definition(job)
    # exons that translate and that nothing enters are left out by the kernel
    floor = job.floor if run is run_steps else job.least
    taken = [row for row in range(len(rows)) if rows[row].max() > floor and stored_of(job)[row]]
    assert len(taken) > 30
    assert (np.maximum(copies[taken], floor) == np.maximum(rows[taken], floor)).all()


def job_with_pending_exits(length: int) -> Job:
    """Return a job whose exits share no slot, and wait for introns of a length."""
    rng = np.random.default_rng(5)
    table = random_table(rng, 400, 1.0, (IntronClass(0, length, 1),))
    target = np.zeros(2 * WARP * WIDE, np.uint8)
    return Job(np.zeros(400, np.uint8), table, SplicedScoring(), target)


def test_base_sequences_that_need_many_slots_have_narrow_strips_or_none():
    few, more = job_with_pending_exits(2), job_with_pending_exits(60)

    def cut(job: Job, size: int) -> tuple[int, int, int]:
        strips = PackedStrips.cut(job.jobs, size)
        return int(strips.strips[0]), int(strips.size[0]), int(strips.last_size[0])

    assert cut(few, WIDE) == (2, WIDE, NARROW)
    assert cut(few, NARROW) == cut(more, WIDE) == (3, NARROW, NARROW)
    assert HOT_SLOTS[WIDE] < more.strand.compiled.n_slots <= HOT_SLOTS[NARROW]
    assert more.fits
    assert not job_with_pending_exits(200).fits


@pytest.mark.parametrize("kernel", RUNS)
def test_memory_is_not_underestimated(monkeypatch, kernel):
    """Batches are cut by it."""
    monkeypatch.setattr("gpu_tools.sites.gpu.job._most_at_a_time", lambda: 1)  # without a GPU
    ends, table_of, _ = RUNS[kernel]
    table = table_of(np.random.default_rng(4), 3000, 0.1, 30)
    codes = np.random.default_rng(4).integers(0, 4, 3000).astype(np.uint8)
    job = Job(codes, table, SplicedScoring(ends=ends), codes[:700])
    assert job.fits
    cells = stored_rows(job) * len(codes[:700]) * 2
    assert cells < device_bytes(job.jobs)[0] < 10 * cells
