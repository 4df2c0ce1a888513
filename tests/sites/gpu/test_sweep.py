"""Site mode on CUDA and on the CPU gives the same answer, on a GPU or on numba's simulator."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics import WARP
from gpu_tools.sites.api import SiteCase, site_align, tables_of
from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.table import CLOSED, IntronClass, SiteTable
from tests import cases
from tests.sites.test_api import STOPS, random_table, random_target

pytestmark = pytest.mark.cuda
LONGEST_BASE, LONGEST_TARGET = (10, 9) if simulated() else (5000, 1700)
LONGEST_INTRON = 4 if simulated() else 400
BATCH = 1 if simulated() else 8
SIZES = (1, 4, 8) if simulated() else (4, 8, 16, 24)
SEEDS = range(1, 2) if simulated() else range(40)


def both(made: list[SiteCase], scoring: SplicedScoring):
    return (site_align(made, scoring, device=device) for device in ("cpu", "cuda"))


def check(made: list[SiteCase], scoring: SplicedScoring):
    """Both devices give the same, to the last symbol; return it."""
    expected, found = both(made, scoring)
    assert found == expected
    return found


def case_of(base: str, target: str, tables: dict) -> SiteCase:
    return SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), tables)


def random_case(rng, unknown: bool, table_of=random_table) -> SiteCase:
    """Return a case on one or both strands; `unknown`: with N in base and target."""
    base = cases.random_text(rng, int(rng.integers(LONGEST_BASE // 2, LONGEST_BASE)))
    target = random_target(rng, base, int(rng.integers(1, LONGEST_TARGET)))
    if not unknown:
        base, target = base.replace("N", "C"), target.replace("N", "G")
    strands = ("+", "-", "+-")[0 if simulated() else int(rng.integers(3))]
    share = 0.5 if simulated() else float(rng.choice([0.02, 0.1, 0.3]))
    return case_of(base, target, {s: table_of(rng, len(base), share) for s in strands})


def random_introns(rng) -> tuple[IntronClass, ...]:
    """Return classes of which some are longer than a block of rows."""
    return tuple(
        IntronClass(
            int(rng.integers(0, 2)), int(rng.integers(0, LONGEST_INTRON)), int(rng.integers(0, 9))
        )
        for _ in range(rng.integers(1, 4))
    )


def varied_table(rng, length: int, share: float) -> SiteTable:
    """Return a table; sometimes a chain begins and ends anywhere, as with the shipped models."""
    table = random_table(rng, length, share, random_introns(rng))
    if rng.random() < 0.5:
        anywhere = (np.where(s == CLOSED, -7, s) for s in (table.first_entry, table.last_exit))
        first, last = anywhere
        table = replace(table, first_entry=first, last_exit=last)
    return table


def coding_table(rng, length: int, share: float) -> SiteTable:
    return replace(varied_table(rng, length, max(share, 0.1)), stops=STOPS)


@pytest.fixture(params=[3] if simulated() else [3, 500])
def rows_per_block(request, monkeypatch):
    rows = request.param if simulated() else max(request.param, 40)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", rows)


def strip_of(size: int, monkeypatch) -> int:
    """Have all strips be of `size` registers a lane; return their columns."""
    from gpu_tools.sites.gpu import packed_launch as cuda_packed_launch

    monkeypatch.setattr(cuda_packed_launch, "sizes_of", lambda jobs: [size] * len(jobs))
    return 2 * WARP * size


@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_batches_are_equal_to_the_last_symbol(seed, unknown, rows_per_block):
    rng = np.random.default_rng(seed)
    made = [random_case(rng, unknown, varied_table) for _ in range(BATCH)]
    check(made, SplicedScoring(mismatch=int(rng.integers(-3, 1)), gap=int(rng.integers(-4, 1))))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_scorings_and_ends(seed):
    rng = np.random.default_rng(100 + seed)
    made = [random_case(rng, True, varied_table) for _ in range(BATCH)]
    scoring = cases.random_scoring(rng)
    for ends in ("global", "free-target")[: 1 if simulated() else 2]:
        check(made, replace(scoring, ends=ends))


@pytest.mark.skipif(simulated(), reason="takes long on the simulator; one case follows")
@pytest.mark.parametrize("seed", SEEDS)
def test_chains_that_translate(seed, rows_per_block):
    rng = np.random.default_rng(200 + seed)
    made = [random_case(rng, True, coding_table) for _ in range(BATCH)]
    check(made, SplicedScoring(ends=str(rng.choice(["global", "free-target"]))))


def chain_case(exons: list[str], introns: list[str], target: str, **more) -> SiteCase:
    """Return a case whose only sites are those of some exons; two pairs of introns' kinds."""
    base = "".join(part for pair in zip(exons, [*introns, ""], strict=True) for part in pair)
    ends = np.cumsum([len(e) + len(i) for e, i in zip(exons, [*introns, ""], strict=True)])
    starts = [0, *ends[:-1]]
    scores, kinds = np.full((4, len(base) + 1), CLOSED), np.zeros((2, len(base) + 1), np.uint8)
    scores[0, starts[0]] = scores[3, ends[-1]] = 2
    for k, (exon, start) in enumerate(zip(exons, starts, strict=True)):
        scores[1, start], scores[2, start + len(exon)] = 1, 3
        kinds[0, start], kinds[1, start + len(exon)] = max(k - 1, 0), k
    introns = tuple(IntronClass(kind, 2, 2) for kind in range(len(exons)))
    table = SiteTable(*scores, introns, *kinds, **more)
    return case_of(base, target, {"+": table})


@pytest.mark.parametrize("target", ["ACGTC", "ACNTC"], ids=["packed", "32 bits"])
def test_a_chain_over_blocks_and_strips(target, monkeypatch):
    """Exits wait for their entries beyond a block's end, also for one of another kind."""
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 2)
    scoring = SplicedScoring(matrix=np.diag([1, 1, 1, 1, 1]) - 1 + np.diag([0, 0, 0, 0, 1]))
    (result,) = check([chain_case(["AC", "G", "TC"], ["GAG", "TT"], target)], scoring)
    assert result.chain == ((0, 2), (5, 6), (8, 10))


@pytest.mark.parametrize("classes", [2, 3], ids=["shared memory", "device memory"])
def test_a_place_that_is_used_again_forgets(classes):
    """Else the first donor would fit the last acceptor, which is of the second one's kind."""
    made = chain_case(["ACGT", "GGG", "CATC"], ["TTTT", "TTTT"], "ACGTCATC")
    table = replace(made.tables["+"], introns=made.tables["+"].introns[:classes])
    (result,) = check([replace(made, tables={"+": table})], SplicedScoring())
    assert result.chain == ((0, 4), (8, 11), (15, 19))


def test_a_chain_has_a_symbol(monkeypatch):
    """Though it begins and ends best at one boundary; the kernel's rows cannot tell there."""
    strip_of(4, monkeypatch)
    closed, best = np.full(4, CLOSED), np.array([0, 0, 9, 0])
    table = SiteTable(best, closed, closed, best, (IntronClass(0, 1, 1),))
    (result,) = check([case_of("CCC", "A", {"+": table})], SplicedScoring(mismatch=-3))
    assert result.chain == ((1, 2),)
    assert result.score == 9 - 3


def test_a_chain_that_translates(monkeypatch):
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 4)
    made = chain_case(["ATGA", "CCTAA"], ["GG"], "ATGCTAA", stops=STOPS)
    (result,) = check([made], SplicedScoring())
    assert result.chain == ((0, 4), (6, 11))
    assert result.phases == (0, 2)


@pytest.mark.parametrize("size", SIZES)
def test_an_exon_is_entered_where_a_strip_ends(size, monkeypatch):
    """Its first base pairs with the next strip's first symbol: a value that comes over alone."""
    columns = strip_of(size, monkeypatch)
    exon = cases.random_text(np.random.default_rng(size), columns - 1).replace("N", "C")
    (result,) = check([chain_case([exon, "GTCA"], ["GAG"], exon + "GTCA")], SplicedScoring())
    assert result.score == columns - 1 + 4 + (2 + 3 + 1 - 2 + 2)


@pytest.mark.skipif(simulated(), reason="takes long on the simulator")
@pytest.mark.parametrize("size", SIZES)
def test_every_width_of_the_packed_kernel(size, monkeypatch):
    """Targets shorter than a strip, as long as one, longer, and of several strips."""
    columns, rng = strip_of(size, monkeypatch), np.random.default_rng(size)
    base = cases.random_text(rng, 3000).replace("N", "C")
    lengths = columns - 2, columns - 1, columns, 2 * columns + 3
    targets = [random_target(rng, base, n).replace("N", "G") for n in lengths]
    # bases of fewer boundaries than lanes, of as many, and of one more than a group of steps
    for length in (7, WARP - 1, 2 * WARP, len(base)):
        table = varied_table(rng, length, 0.2)
        made = [case_of(base[:length], target, {"+": table}) for target in targets]
        check(made, SplicedScoring())


def test_narrow_strips_are_for_long_bases():
    from gpu_tools.sites.gpu.job import Job, Strand
    from gpu_tools.sites.gpu.plan import sizes_of
    from gpu_tools.sites.gpu.sweep import HOT_PLACES

    def jobs_of(length, count):
        table = random_table(np.random.default_rng(1), length, 0.5)
        strand = Strand(np.zeros(length, np.uint8), table)
        columns = 2 * WARP * max(SIZES)
        return [Job(strand, np.zeros(columns - 1, np.uint8), SplicedScoring())] * count

    fastest, slowest = min(HOT_PLACES), max(HOT_PLACES)
    assert sizes_of(jobs_of(2000, 1)) == [fastest]
    assert sizes_of(jobs_of(20, 50) + jobs_of(2000, 1)) == [slowest] * 50 + [fastest]
    assert fastest not in sizes_of(jobs_of(2000, 20_000))


def test_every_kernel_has_its_share_of_the_blocks():
    from gpu_tools.sites.gpu import plan
    from gpu_tools.sites.gpu.job import Job, Strand

    table = random_table(np.random.default_rng(1), 500, 0.5)
    job = Job(Strand(np.zeros(500, np.uint8), table), np.zeros(20, np.uint8), SplicedScoring())
    narrow, wide = min(SIZES), max(SIZES)
    few, many = plan.plan_packed(job, narrow), plan.plan_packed(job, wide)
    fewer, strips = 2_000 if simulated() else 10_000, 40_000 * many.strips
    (first, blocks), last = plan.shared_out([few] * fewer + [many] * 40_000)
    assert (first, last) == (plan.kernel_of(narrow), (plan.kernel_of(wide), strips))
    work = fewer * few.strips * plan.NANOSECONDS_A_ROW[narrow]
    share = work / (work + strips * plan.NANOSECONDS_A_ROW[wide])
    assert 0 <= blocks - share * plan.strips_at_once() < 1
    assert plan.shared_out([few]) == [(plan.kernel_of(narrow), few.strips)]


def test_nothing_is_cleared_between_kernels(monkeypatch):
    """The default stream would have each wait for those before."""
    from gpu_tools.sites.gpu import packed_launch as launch
    from gpu_tools.sites.gpu.job import Job, Strand

    log, clear, sweep_of = [], launch.device_memset, launch.sweep_of
    monkeypatch.setattr(launch, "sizes_of", lambda jobs: (SIZES[0], SIZES[-1]))
    monkeypatch.setattr(launch, "device_memset", lambda *what: log.append("clear") or clear(*what))
    monkeypatch.setattr(launch, "sweep_of", lambda own: log.append("sweep") or sweep_of(own))
    table = random_table(np.random.default_rng(1), 6, 0.5)
    job = Job(Strand(np.zeros(6, np.uint8), table), np.zeros(2, np.uint8), SplicedScoring())
    launch.PackedLaunch([job, job], SplicedScoring()).run()
    assert log == ["clear"] * 4 + ["sweep"] * 2


def test_which_kernel_takes_what():
    from gpu_tools.sites.gpu.job import Job, Strand

    table = random_table(np.random.default_rng(1), 50, 0.5)
    base = np.zeros(50, dtype=np.uint8)

    def packs(target="A" * 40, table=table, **scores):
        codes = Sequence.from_text("t", target).codes
        return Job(Strand(base, table), codes, SplicedScoring(**scores)).fits_packed

    assert packs()
    assert packs("A" * 39 + "N")
    assert not packs(ends="free-target")
    assert not packs(table=replace(table, stops=STOPS))
    assert not packs(gap=1)
    assert packs(match=125)
    assert not packs(match=126)  # lifted by the gap it is no signed byte
    assert not packs("A" * 12_000)  # 3 a column leave 16 bits


@pytest.mark.parametrize("seed", SEEDS[:10])
@pytest.mark.parametrize("size", SIZES[1:] if simulated() else SIZES)
def test_random_batches_of_one_width(size, seed, rows_per_block, monkeypatch):
    """Also many operations at one boundary, and more rows than shared memory has places."""
    strip_of(size, monkeypatch)
    rng = np.random.default_rng(300 + seed)
    made = [random_case(rng, seed % 2 == 1, varied_table) for _ in range(BATCH)]
    check(made, SplicedScoring(mismatch=int(rng.integers(-3, 1)), gap=int(rng.integers(-4, 0))))


def test_nothing_to_align():
    """No chain on a strand, no chain at all, no case."""
    closed = np.full(7, CLOSED)
    none = SiteTable(closed, closed, closed, closed, (IntronClass(0, 1, 1),))
    some = random_table(np.random.default_rng(2), 6, 1.0)
    made = [case_of("ACGTAC", "CG", tables) for tables in ({"+": none}, {"+": none, "-": some})]
    found = check(made[:1] if simulated() else made, SplicedScoring())
    assert found[0].score is None
    assert site_align([], device="cuda") == []


def test_chains_that_cannot_translate():
    table = coding_table(np.random.default_rng(3), 3, 1.0)
    assert check([case_of("TAA", "CG", {"+": table})], SplicedScoring())[0].score is None


@pytest.mark.skipif(simulated(), reason="takes hours on the simulator")
def test_more_than_one_batch(monkeypatch):
    monkeypatch.setattr("gpu_tools.sites.gpu.schedule.BYTES_PER_BATCH", 1 << 20)
    rng = np.random.default_rng(3)
    check([random_case(rng, k % 2 == 1, varied_table) for k in range(12)], SplicedScoring())


@pytest.mark.skipif(simulated(), reason="takes days on the simulator")
@pytest.mark.parametrize("reading", ["any", "complete", "incomplete"])
@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
def test_demo(ends, reading):
    from gpu_tools.formats.sequences.fasta import read_fasta
    from gpu_tools.model.resources import resource_path

    model = load_sites("vertebrate")
    bases, targets = (
        read_fasta(resource_path("demo", name)) for name in ("loci.fa.gz", "mrnas.fa.gz")
    )
    count = 4 if reading == "any" else 1
    made = []
    for k, base in enumerate(bases):
        tables = tables_of(base, model, "+-", ends, reading)
        made += [SiteCase(base, targets[(k + n) % len(targets)], tables) for n in range(count)]
    check(made, SplicedScoring(ends=ends))


def test_the_kernels_do_the_work(monkeypatch):
    from gpu_tools.sites.gpu import schedule as cuda_schedule

    swept = []
    original = cuda_schedule.Sweeps
    monkeypatch.setattr(
        cuda_schedule, "Sweeps", lambda *given: swept.append(given) or original(*given)
    )
    table = random_table(np.random.default_rng(2), 6, 1.0)
    site_align([case_of("ACGTAC", "CG", {"+": table})], device="cuda")
    assert len(swept) == 1
