"""Site mode on CUDA and on the CPU gives the same answer, on a GPU or on numba's simulator."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.api import SiteCase, _finished, site_align, tables_of
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.table import CLOSED, IntronClass, SiteTable, TableJunctions
from tests import cases
from tests.sites.test_api import STOPS, changed, random_intron, random_table, random_target
from tests.sites.test_junctions import with_junctions

pytestmark = pytest.mark.cuda
LONGEST_BASE, LONGEST_TARGET = (10, 9) if simulated() else (5000, 1700)
LONGEST_INTRON = 4 if simulated() else 400
BATCH = 1 if simulated() else 8
SIZES = (4, 8)
SEEDS = range(1, 2) if simulated() else range(40)


def on_gpu(made: list[SiteCase], scoring: SplicedScoring, finish=_finished, **options) -> list:
    """Return results with `options` of the GPU's schedule; `finish` makes them of the chains."""
    from gpu_tools.sites.gpu.batches import GpuCall
    from gpu_tools.sites.gpu.schedule import SiteGpuOptions, align_on_gpus
    from gpu_tools.sites.gpu.traces import trace

    def finished(case, strand, found):
        return finish(case, strand, found, scoring, trace)

    def on_cpu(large):
        return site_align(large, scoring, device="cpu")

    call = GpuCall(made, scoring, 1, finished, lambda case, score: True, on_cpu)
    return align_on_gpus(call, (0,), SiteGpuOptions(**options))


def check(made: list[SiteCase], scoring: SplicedScoring, **options):
    """Both devices give the same, to the last symbol; return it."""
    expected = site_align(made, scoring, device="cpu")
    found = (
        on_gpu(made, scoring, **options)
        if options
        else site_align(made, scoring, device="cuda", threads=1)
    )
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


def random_introns(rng, longest: int) -> tuple[IntronClass, ...]:
    """Return classes of which some are longer than a block of rows."""
    return tuple(random_intron(rng, 0, longest, 9) for _ in range(rng.integers(1, 4)))


def varied_table(rng, length: int, share: float, longest: int = LONGEST_INTRON) -> SiteTable:
    """Return a table; sometimes a chain begins and ends anywhere, as with the shipped models."""
    table = random_table(rng, length, share, random_introns(rng, longest))
    if rng.random() < 0.5:
        anywhere = (np.where(s == CLOSED, -7, s) for s in (table.first_entry, table.last_exit))
        first, last = anywhere
        table = changed(table, first_entry=first, last_exit=last)
    return table


def coding_table(rng, length: int, share: float, longest: int = LONGEST_INTRON) -> SiteTable:
    return changed(varied_table(rng, length, max(share, 0.1), longest), stops=STOPS)


@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_batches_are_equal_to_the_last_symbol(seed, unknown):
    rng = np.random.default_rng(seed)
    made = [random_case(rng, unknown, varied_table) for _ in range(BATCH)]
    scoring = SplicedScoring(mismatch=int(rng.integers(-3, 1)), gap=int(rng.integers(-4, 1)))
    check(made, scoring)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_scorings_and_ends(seed):
    rng = np.random.default_rng(100 + seed)
    made = [random_case(rng, True, varied_table) for _ in range(BATCH)]
    scoring = cases.random_site_scoring(rng)
    for ends in ("global", "free-target")[: 1 if simulated() else 2]:
        check(made, replace(scoring, ends=ends))


def long_coding_table(rng, length: int, share: float, longest: int = LONGEST_INTRON) -> SiteTable:
    """Return a table whose chains translate and whose introns are not too short for packing."""
    table = coding_table(rng, length, share, longest)
    introns = (i._replace(min_length=max(i.min_length, 3)) for i in table.introns)
    return changed(table, introns=tuple(introns))


@pytest.mark.skipif(simulated(), reason="takes long on the simulator; one case follows")
@pytest.mark.parametrize("seed", SEEDS)
def test_chains_that_translate(seed):
    """Some with introns that are too short for the kernel, which the CPU aligns."""
    rng = np.random.default_rng(200 + seed)
    made = [random_case(rng, True, coding_table) for _ in range(BATCH)]
    scoring = SplicedScoring(ends=str(rng.choice(["global", "free-target"])))
    check(made, scoring)


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


@pytest.mark.parametrize("target", ["ACGTC", "ACNTC"], ids=["GPU", "CPU"])
def test_a_chain_over_blocks_and_strips(target):
    """Exits wait for their entries beyond a block's end, also for one of another kind."""
    scoring = SplicedScoring(matrix=np.diag([1, 1, 1, 1, 1]) - 1 + np.diag([0, 0, 0, 0, 1]))
    made = [chain_case(["AC", "G", "TC"], ["GAG", "TT"], target)]
    (result,) = check(made, scoring)
    assert result.chain == ((0, 2), (5, 6), (8, 10))


def test_a_chain_of_more_exons_than_space_was_made_for():
    made = [chain_case(["AC", "G", "TC"], ["GAG", "TT"], "ACGTC")]
    (result,) = check(made, SplicedScoring(mismatch=-9), usual_exons=1)
    assert len(result.chain) == 3


def test_rows_that_memory_does_not_hold_are_for_the_cpu():
    made = [chain_case(["AC", "G"], ["GAG"], "ACG")]
    found = on_gpu(made, SplicedScoring(), lambda *_: "GPU", memory=10)
    assert found == site_align(made, SplicedScoring(), device="cpu")


@pytest.mark.parametrize("classes", [2, 3], ids=["shared memory", "device memory"])
def test_a_slot_that_is_used_again_forgets(classes):
    """Else the first donor would fit the last acceptor, which is of the second one's kind."""
    made = chain_case(["ACGT", "GGG", "CATC"], ["TTTT", "TTTT"], "ACGTCATC")
    table = changed(made.tables["+"], introns=made.tables["+"].introns[:classes])
    (result,) = check([replace(made, tables={"+": table})], SplicedScoring())
    assert result.chain == ((0, 4), (8, 11), (15, 19))


def test_a_chain_has_a_symbol():
    """Though it begins and ends best at one boundary; the kernel's rows cannot tell there."""
    closed, best = np.full(4, CLOSED), np.array([0, 0, 9, 0])
    table = SiteTable(best, closed, closed, best, (IntronClass(0, 1, 1),))
    made = [case_of("CCC", "A", {"+": table})]
    (result,) = check(made, SplicedScoring(mismatch=-3), registers=4)
    assert result.chain == ((1, 2),)
    assert result.score == 9 - 3


def ended_case(kind: str) -> SiteCase:
    """Return a case for a kernel whose target has unlike ends, and a poly-A tail."""
    base, target = "GATGCCACCTAAG", "CATGCCACCTGC" + "A" * 11
    anywhere, closed = np.full(len(base) + 1, 1), np.full(len(base) + 1, CLOSED)
    stops = STOPS if kind == "translates" else None
    table = SiteTable(anywhere, closed, closed, anywhere, (IntronClass(0, 3, 1),), stops=stops)
    return case_of(base, target, {"+": table})


@pytest.mark.parametrize("cost", [2] if simulated() else [1, 2, 9])
@pytest.mark.parametrize("kind", ["plain", "translates"])
def test_ends_of_the_target_that_cost_points(kind, cost):
    matrix = np.full((5, 5), -1) + 2 * np.eye(5, dtype=int)
    matrix[4] = matrix[:, 4] = -1  # else unknown symbols score, which kernels cannot
    scoring = SplicedScoring(matrix=matrix, ends="free-target", end_cost=cost)
    (result,) = check([ended_case(kind)], scoring)
    assert result.score is not None


@pytest.mark.parametrize("size", SIZES[:1] if simulated() else SIZES)
@pytest.mark.parametrize(
    ("before", "behind"),
    [(-2, "TTT")] if simulated() else [(b, t) for b in (-15, -2, 7) for t in ("", "TTT")],
)
@pytest.mark.parametrize("stops", [None, STOPS], ids=["any", "translates"])
def test_ends_of_the_target_that_cost_points_beyond_a_strip(size, before, behind, stops):
    """The aligned part begins before or behind the end of a strip, and so does the tail."""
    exon = "ATGCACGGCAACTAG"
    target = "T" * (2 * WARP * size + before) + exon + behind + "A" * 12
    anywhere, closed = np.full(len(exon) + 1, 0), np.full(len(exon) + 1, CLOSED)
    table = SiteTable(anywhere, closed, closed, anywhere, (IntronClass(0, 3, 1),), stops=stops)
    made = [case_of(exon, target, {"+": table})]
    scoring = SplicedScoring(ends="free-target", end_cost=4)
    (result,) = check(made, scoring, registers=size)
    assert result.score == len(exon) - 4 - (4 if behind else 0)


@pytest.mark.parametrize(
    ("length", "codon"), [(2, "ATC"), (3, "ACC"), (3, "ATC")],
    ids=["CPU", "phase 2", "of T"],
)  # fmt: skip
def test_a_chain_that_translates(length, codon):
    """An intron splits its second codon behind the first nucleotide, or behind the second one."""
    first = 1 if codon == "ACC" else 2
    exons = ["ATG" + codon[:first], codon[first:] + "TAA"]
    made = chain_case(exons, ["G" * length], "ATG" + codon + "TAA", stops=STOPS)
    introns = tuple(i._replace(min_length=length) for i in made.tables["+"].introns)
    table = changed(made.tables["+"], introns=introns)
    (result,) = check([replace(made, tables={"+": table})], SplicedScoring())
    assert result.chain == ((0, 3 + first), (3 + first + length, 9 + length))
    assert result.phases == (0, 3 - first)


@pytest.mark.parametrize("every", [2] if simulated() else [None, 100])
@pytest.mark.parametrize("ends", ["global", "free-target"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_chains_that_translate_in_packed_cells(seed, ends, every):
    """Ends wherever they score most; several kinds of intron; rows stored at once, or windows."""
    rng = np.random.default_rng(500 + seed)
    made = [random_case(rng, seed % 2 == 1, long_coding_table) for _ in range(BATCH)]
    scoring = SplicedScoring(
        mismatch=int(rng.integers(-3, 1)), gap=int(rng.integers(-4, 0)), ends=ends,
        end_cost=int(rng.choice([0, 1, 5, 40])),
    )  # fmt: skip
    check(made, scoring, registers=SIZES[seed // 2 % 2], every=every)


def coding_case_of_three_exons() -> SiteCase:
    """Return a case whose chain goes from one end to the other, and that packs."""
    exons = ["ATGAC", "CGGTG", "GTTAA"]
    made = chain_case(exons, ["GAGAGAGAG", "TTTTTTT"], "".join(exons), stops=STOPS)
    introns = tuple(i._replace(min_length=5) for i in made.tables["+"].introns)
    return replace(made, tables={"+": changed(made.tables["+"], introns=introns)})


def test_a_chain_that_translates_is_followed_in_longer_and_longer_windows():
    (result,) = check([coding_case_of_three_exons()], SplicedScoring(mismatch=-9), every=1)
    assert result.chain == ((0, 5), (14, 19), (26, 31))


@pytest.mark.parametrize("coding", [False, True], ids=["plain", "translates"])
def test_windows_begin_near_the_chain(coding, monkeypatch):
    from gpu_tools.sites.gpu.job import PackedStrips

    exons, starts = ["ATGAC", "CGGTG", "GTTAA"], []
    made = chain_case(exons, ["GAGAGAGAG", "TTTTTTT"], "".join(exons), stops=STOPS)
    own, before = made.tables["+"], 20 * WARP
    base = Sequence("b", np.concatenate([np.zeros(before, np.uint8), made.base.codes]))
    scores = {
        name: np.append(np.full(before, CLOSED), getattr(own, name))
        for name in ("first_entry", "inner_entry", "inner_exit", "last_exit")
    }
    kinds = {
        name: np.append(np.zeros(before, np.uint8), getattr(own, name))
        for name in ("entry_kind", "exit_kind")
    }
    introns = tuple(i._replace(min_length=5) for i in own.introns)
    table = changed(own, **scores, **kinds, introns=introns, stops=STOPS if coding else None)
    windows = PackedStrips.windows

    def noted(self, *arguments):
        made = windows(self, *arguments)
        starts.extend(made.first_step)
        return made

    monkeypatch.setattr(PackedStrips, "windows", noted)
    case = replace(made, base=base, tables={"+": table})
    (result,) = check([case], SplicedScoring(mismatch=-9), every=1)
    assert len(result.chain) == 3
    assert min(starts) > 0


def test_windows_that_memory_does_not_hold_are_for_the_cpu(monkeypatch):
    from gpu_tools.sites.gpu.codon_strips import CodonStrips

    of_windows = property(lambda strips: np.where(strips.every > 0, 0, 10**9 * strips.end_step))
    monkeypatch.setattr(CodonStrips, "bytes", of_windows)
    made, scoring = [coding_case_of_three_exons()], SplicedScoring(mismatch=-9)
    found = on_gpu(made, scoring, lambda *_: "GPU", every=3, memory=10**9)
    assert found == site_align(made, scoring, device="cpu")


def joined_case(target: str, introns: tuple[int, int], stops=None) -> SiteCase:
    """Return a case of three exons whose introns are junctions; two of these share a donor."""
    exons = ["ATGAC", "CGGTG", "GTTAA"]
    between = ["G" * introns[0], "C" * introns[1]]
    made = chain_case(exons, between, target, stops=stops)
    donors, acceptors = (
        (5, 5, 10 + introns[0]),
        (5 + introns[0], 10 + sum(introns), 10 + sum(introns)),
    )
    junctions = TableJunctions.of(donors, acceptors, (-1, -2, 4))
    table = changed(made.tables["+"], introns=(IntronClass(9, 3, 2),), junctions=junctions)
    return replace(made, tables={"+": table})


@pytest.mark.parametrize(
    ("target", "introns", "coding", "every"),
    [
        ("ATGACCGGTGGTTAA", (4, 3), False, None),
        ("ATGACCGNTGGTTAA", (1, 2), False, None),
        ("ATGACCGGTGGTTAA", (4, 3), True, None),
        ("ATGACCGGTGGTTAA", (4, 3), True, 1),
        ("ATGACCGGTGGTTAA", (1, 2), True, None),
    ],
    ids=["plain", "CPU", "translates", "translates, windows", "translates, CPU"],
)
def test_junctions(target, introns, coding, every):
    matrix = np.full((5, 5), -9) + 10 * np.eye(5, dtype=int)
    made = [joined_case(target, introns, STOPS if coding else None)]
    (result,) = check(made, SplicedScoring(matrix=matrix), registers=4, every=every)
    assert len(result.chain) == 3


@pytest.mark.parametrize("coding", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_junctions(seed, coding):
    rng = np.random.default_rng(700 + seed)

    def table_of(*arguments) -> SiteTable:
        return with_junctions(
            rng, (long_coding_table if coding else varied_table)(*arguments), 5, 3
        )

    made = [random_case(rng, seed % 2 == 1, table_of) for _ in range(BATCH)]
    for ends in ("global", "free-target")[seed % 2 : None if not simulated() else seed % 2 + 1]:
        check(made, SplicedScoring(ends=ends, end_cost=int(rng.choice([0, 1, 5, 40]))))


@pytest.mark.skipif(simulated(), reason="takes long on the simulator")
@pytest.mark.parametrize("size", SIZES)
def test_a_split_codon_over_strips(size):
    """The codon that an intron splits pairs with symbols of two strips."""
    columns, rng = 2 * WARP * size, np.random.default_rng(size)
    codons = rng.choice(["ACC", "GCA", "CTG", "AAC", "GGT"], columns // 3 + 3)
    exon = "ATG" + "".join(codons[: columns // 3 - 1])
    exons = [exon + "T", "CA" + "".join(codons[columns // 3 - 1 :]) + "TAA"]
    made = chain_case(exons, ["GAGAG"], "".join(exons), stops=STOPS)
    introns = tuple(i._replace(min_length=4) for i in made.tables["+"].introns)
    table = changed(made.tables["+"], introns=introns)
    (result,) = check([replace(made, tables={"+": table})], SplicedScoring(), registers=size)
    assert result.chain[0] == (0, len(exons[0]))
    assert result.score == sum(map(len, exons)) + 2 + 2 + 3 + 1 - 2


@pytest.mark.parametrize("size", SIZES[:1] if simulated() else SIZES)
def test_an_exon_is_entered_where_a_strip_ends(size):
    """Its first symbol pairs with the next strip's first one: a value that comes over alone."""
    columns = 2 * WARP * size
    exon = cases.random_text(np.random.default_rng(size), columns - 1).replace("N", "C")
    made = [chain_case([exon, "GTCA"], ["GAG"], exon + "GTCA")]
    (result,) = check(made, SplicedScoring(), registers=size)
    assert result.score == columns - 1 + 4 + (2 + 3 + 1 - 2 + 2)


@pytest.mark.skipif(simulated(), reason="takes long on the simulator")
@pytest.mark.parametrize("size", SIZES)
def test_both_widths_of_the_packed_kernel(size):
    """Targets shorter than a strip, as long as one, longer, and of several strips."""
    columns, rng = 2 * WARP * size, np.random.default_rng(size)
    base = cases.random_text(rng, 3000).replace("N", "C")
    lengths = columns - 2, columns - 1, columns, 2 * columns + 3
    targets = [random_target(rng, base, n).replace("N", "G") for n in lengths]
    # bases of fewer boundaries than lanes, of as many, and of one more than a group of steps
    for length in (7, WARP - 1, 2 * WARP, len(base)):
        table = varied_table(rng, length, 0.2)
        made = [case_of(base[:length], target, {"+": table}) for target in targets]
        made += [case_of(base[:length], t[:-12] + "A" * 12, {"+": table}) for t in targets]
        check(made, SplicedScoring(), registers=size)
        for cost in (0, 5, 600):
            check(made, SplicedScoring(ends="free-target", end_cost=cost), registers=size)


@pytest.mark.skipif(not simulated(), reason="how many strips a GPU holds decides")
def test_narrow_strips_are_for_long_bases():
    from gpu_tools.sites.gpu.job import SiteJobs, SiteStrand, sizes_of
    from gpu_tools.sites.gpu.packed_strip import NARROW, WIDE

    def strand(length):
        table = random_table(np.random.default_rng(1), length, 0.5)
        return SiteStrand(np.zeros(length, np.uint8), table, SplicedScoring())

    strands, target = [strand(20), strand(2000)], np.zeros(2 * WARP * WIDE - 1, np.uint8)

    def sizes(short, long):
        numbers = [0] * short + [1] * long
        of_targets = [0] * len(numbers)
        return sizes_of(SiteJobs.of(strands, [target], numbers, of_targets, SplicedScoring()))

    assert sizes(0, 1).tolist() == [NARROW]
    assert sizes(50, 1).tolist() == [WIDE] * 50 + [NARROW]
    assert NARROW not in sizes(0, 20_000)


def test_what_the_kernels_take():
    from tests.sites.gpu.row_machine import Job

    introns = IntronClass(0, 2, 1), IntronClass(1, 3, 2)
    table = random_table(np.random.default_rng(1), 50, 0.5, introns)
    base = np.zeros(50, dtype=np.uint8)

    def packs(target="A" * 40, table=table, **scores):
        codes = Sequence.from_text("t", target).codes
        return Job(base, table, SplicedScoring(**scores), codes).fits

    assert packs()
    assert packs("A" * 39 + "N")
    assert packs(ends="free-target")
    assert not packs(table=changed(table, stops=STOPS))  # introns of two nucleotides
    longer = tuple(intron._replace(min_length=3) for intron in introns)
    assert packs(table=changed(table, stops=STOPS, introns=longer))
    assert packs("A" * 12_000, changed(table, stops=STOPS, introns=longer), ends="free-target")
    assert not packs(gap=1)
    assert packs(match=125)
    assert not packs(match=126)  # lifted by the gap it is no signed byte
    assert not packs("A" * 12_000)  # 3 a column leave 16 bits
    assert packs("A" * 12_000, ends="free-target")  # 1 a column does not


@pytest.mark.parametrize("every", [None, WARP])
@pytest.mark.parametrize("seed", SEEDS[:20])
@pytest.mark.parametrize("size", SIZES)
def test_random_batches_of_one_width(size, seed, every):
    """Many operations at one boundary, more rows than slots; all rows stored, or windows."""
    rng = np.random.default_rng(300 + seed)
    made = [random_case(rng, seed % 2 == 1, varied_table) for _ in range(BATCH)]
    ends, cost = ("global", "free-target")[seed // 2 % 2], int(rng.choice([0, 1, 5, 40]))
    scoring = SplicedScoring(
        mismatch=int(rng.integers(-3, 1)), gap=int(rng.integers(-4, 0)), ends=ends, end_cost=cost
    )
    check(made, scoring, registers=size, every=every)


def test_what_the_kernels_do_not_take_is_for_the_cpu(monkeypatch):
    from gpu_tools.sites.gpu import schedule

    told: list[str] = []
    monkeypatch.setattr(schedule._log, "info", lambda text, *parts: told.append(text % parts))
    plain = random_table(np.random.default_rng(2), 6, 1.0)
    short = random_table(np.random.default_rng(2), 6, 1.0, (IntronClass(0, 2, 1),))
    tables = [plain, changed(short, stops=STOPS)]
    made = [case_of("ACGTAC", "CG", {"+": table}) for table in tables]
    expected = site_align(made, SplicedScoring(), device="cpu")
    assert on_gpu(made, SplicedScoring(), lambda *_: "GPU") == ["GPU", expected[1]]
    assert told == ["site mode: 1 cases on a GPU, 1 on the CPU"]


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
def test_more_than_one_batch():
    rng = np.random.default_rng(3)
    made = [random_case(rng, k % 2 == 1, varied_table) for k in range(12)]
    check(made, SplicedScoring(), bytes_per_batch=1 << 20)


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


def test_the_kernels_do_the_work():
    from gpu_tools.sites.gpu.traces import DeviceChain

    table = random_table(np.random.default_rng(2), 6, 1.0)
    made = [case_of("ACGTAC", "CG", {"+": table})]
    (chain,) = on_gpu(made, SplicedScoring(), lambda case, strand, found, *_: found)
    assert isinstance(chain, DeviceChain)
