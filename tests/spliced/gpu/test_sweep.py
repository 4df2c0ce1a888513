"""CUDA and CPU give the same answer, on a GPU or on numba's simulator."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gpu_tools import SplicedScoring, case_columns, spliced_align, spliced_scores
from gpu_tools.hardware.device import simulated
from tests import cases

pytest.importorskip("numba_cuda")

from gpu_tools.spliced.gpu import schedule
from gpu_tools.spliced.gpu.schedule import GpuOptions, align_on_gpus, score_on_gpus

pytestmark = pytest.mark.cuda
SIZES = {"base": 30, "count": 4, "longest": 9} if simulated() else {
    "base": 4000, "count": 120, "longest": 300,
}  # fmt: skip
LONGEST_TARGET = 14 if simulated() else 1500


TOGETHER, APART = GpuOptions(exons_apart=-1), GpuOptions(exons_apart=10**6)
layouts = pytest.mark.parametrize("options", [TOGETHER, APART], ids=["together", "apart"])


def both(examples, scoring, options=None):
    """Return what the CPU and the GPU make of examples, with options of the schedule."""
    made = [example.case(f"case{k}") for k, example in enumerate(examples)]
    cuda = align_on_gpus(case_columns(made), scoring, (0,), 2, lambda cells: None, options)
    return spliced_align(made, scoring, device="cpu"), list(cuda)


@pytest.mark.parametrize("seed", range(1 if simulated() else 100))
@pytest.mark.parametrize(
    ("n_rate", "options"), [(0.0, TOGETHER), (0.0, APART), (0.02, None)],
    ids=["together", "apart", "unknown bases"],
)  # fmt: skip
def test_random_batches_are_equal_to_the_last_symbol(seed, n_rate, options):
    rng = np.random.default_rng(seed)
    examples = [
        cases.random_example(
            rng, **SIZES, target=int(rng.integers(1, LONGEST_TARGET)), n_rate=n_rate
        )
        for _ in range(1 if simulated() else 10)
    ]
    cpu, cuda = both(examples, cases.random_scoring(rng), options)
    assert cuda == cpu


@pytest.mark.parametrize("seed", range(1 if simulated() else 40))
def test_nested_tracks(seed):
    rng = np.random.default_rng(700 + seed)
    sizes = {"base": 18, "target": 10, "starts": 6, "ends": 3} if simulated() else {
        "base": 900, "target": int(rng.integers(1, 1500)), "starts": 30, "ends": 9,
    }  # fmt: skip
    cpu, cuda = both([cases.nested_example(rng, **sizes)], cases.random_scoring(rng))
    assert cuda == cpu


@layouts
def test_exons_longer_than_a_warp_holds(options):
    """One exon is cut into spans; shorter ones leave its track at a span's end and inside."""
    from gpu_tools.spliced.gpu.sweep import CAPACITY

    longest = 2 * CAPACITY.lanes * CAPACITY.slots
    rng = np.random.default_rng(11)
    ends = (longest // 2, longest, longest + 1, 2 * longest + 9)
    example = cases.random_example(rng, 3 * longest, 5, 1, 4, n_rate=0.0)
    example.plus, example.minus = [(3, 3 + end) for end in ends] + [(2 * longest, 3 * longest)], []
    cpu, cuda = both([example], SplicedScoring(gap=0), options)
    assert cuda == cpu


@layouts
def test_many_exons_end_before_a_track(options):
    """More than one part reads, the best of them anywhere among them."""
    rng = np.random.default_rng(12)
    example = cases.random_example(rng, 30, 9, 1, 4, n_rate=0.0)
    example.plus, example.minus = [(k, k + 5) for k in range(11)] + [(18, 27)], []
    example.scores = {("+", exon): float(k * 7 % 11) for k, exon in enumerate(example.plus)}
    cpu, cuda = both([example], SplicedScoring(exon_weight=1.0, intron_penalty=1), options)
    assert cuda == cpu


TIES = {
    "the nearest end precedes": (
        cases.Example(
            "ACT" * 6 + "GT", "ACGT", [(3 * k, 3 * k + 2) for k in range(6)] + [(18, 20)]
        ), ((15, 17), (18, 20)),
    ),
    "the first end is the last": (
        cases.Example("ACT" * 6, "AC", [(3 * k, 3 * k + 2) for k in range(6)]), ((0, 2),),
    ),
    "the shortest exon": (cases.Example("GGAC", "AC", [(2, 4), (1, 4), (0, 4)]), ((2, 4),)),
    "+ before -": (cases.Example("ACGT", "ACGT", [(0, 4)], [(0, 4)]), ((0, 4),)),
}  # fmt: skip


def test_ties():
    examples, chains = zip(*TIES.values(), strict=True)
    for results in both(examples, SplicedScoring(gap=0, mismatch=0)):
        assert [(found.strand, found.chain) for found in results] == [("+", c) for c in chains]


def test_what_the_packed_kernel_takes():
    def packs(text, target_length=4, exon_length=4, **scores):
        case = cases.Example(text, "A" * target_length, [(0, exon_length)]).case()
        scoring = SplicedScoring(**scores)
        return schedule.scores_fit(scoring) and bool(prepared([case], scoring).packable.all())

    assert packs("ACGT")
    assert not packs("ACGN")  # no byte of the table words is left for an ambiguous base symbol
    assert not packs("ACGT", gap=1)
    assert packs("ACGT", match=123)
    assert not packs("ACGT", match=124)  # less two gaps it is no signed byte
    assert not packs("ACGT", target_length=12_000)  # 3 a column leave 16 bits
    assert packs("A" * 6_600, target_length=6_600)
    assert packs("ACGT", target_length=9_000, ends="free-target")
    assert not packs("A" * 6_600, 6_600, 6_600)  # and so do 2 a row beside them
    nothing_counts = {"match": 0, "mismatch": 0, "gap": 0}
    assert packs("ACGT", target_length=65_535, **nothing_counts)
    assert not packs("ACGT", target_length=65_536, **nothing_counts)  # too many for a best end


def prepared(made, scoring=None):
    """Return the work of a call on one GPU."""

    def zeros(name, count, dtype):
        return np.zeros(count, dtype=dtype)

    given = case_columns(made), scoring or SplicedScoring(), (0,), 1, zeros, GpuOptions()
    return schedule.prepare(*given)


def bytes_of_largest(examples):
    """Return the device memory that the largest of some cases takes."""
    return int(prepared([example.case() for example in examples]).bytes.max())


@pytest.mark.parametrize("batch", [2, 0], ids=["two cases a batch", "a case a batch"])
def test_batches_take_turns(batch):
    """Buffers are used again, for larger and for smaller batches."""
    few = cases.Example("ACCGT", "CG", [(0, 2), (2, 4)], [(1, 3)])
    examples = [cases.WORKED_EXAMPLE, few, few, cases.WORKED_EXAMPLE, few]
    largest = bytes_of_largest(examples)
    options = GpuOptions(batch_bytes=max(batch * largest, 1), free_bytes=largest << 20)
    cpu, cuda = both(examples, SplicedScoring(), options)
    assert cuda == cpu


def test_calls_from_several_threads():
    examples = [cases.WORKED_EXAMPLE, cases.Example("ACCGT", "CG", [(0, 2), (2, 4)])]
    made = [[example.case("case")] for example in examples]
    with ThreadPoolExecutor(len(made)) as pool:
        found = list(pool.map(lambda one: spliced_align(one, device="cuda"), made))
    assert found == [spliced_align(one, device="cpu") for one in made]


def test_a_gpu_that_gets_no_case():
    made = [cases.WORKED_EXAMPLE.case()]
    inputs = case_columns(made), SplicedScoring(), (0, 0), 2
    expected = spliced_align(made, device="cpu")
    assert list(align_on_gpus(*inputs, lambda cells: None)) == expected
    assert score_on_gpus(*inputs).tolist() == [expected[0].score]


@pytest.mark.skipif(simulated(), reason="takes days on the simulator")
def test_sets_of_the_published_shape():
    from benchmarks.case_sets import PUBLISHED, case_set, il1rapl1_like

    made, scoring = [*case_set(PUBLISHED), il1rapl1_like()], SplicedScoring()
    expected = spliced_align(made, scoring, device="cpu")
    for cases_together in (slice(None, -1), slice(-1, None)):
        assert spliced_align(made[cases_together], device="cuda") == expected[cases_together]
        scores = spliced_scores(made[cases_together], device="cuda")
        assert scores.tolist() == [result.score for result in expected[cases_together]]


def test_scores_alone():
    """Cases of the GPU and of the CPU, with one strand, two and none."""
    rng = np.random.default_rng(21)
    examples = [cases.random_example(rng, **SIZES, target=9, n_rate=n) for n in (0.0, 0.1)]
    made = [e.case(f"case{k}") for k, e in enumerate([cases.WORKED_EXAMPLE, *examples])]
    made.append(cases.Example("ACGT", "AC", []).case("none"))
    cpu, cuda = (spliced_scores(made, device=device) for device in ("cpu", "cuda"))
    assert cuda.tolist() == cpu.tolist()
    assert cuda.tolist() == [result.score for result in spliced_align(made, device="cpu")]


@pytest.mark.parametrize(
    ("base", "match", "memory"),
    [("ACCGTATGT", 1, 100), ("ACCGNATGT", 1, None), ("ACCGTATGT", 9000, None)],
    ids=["memory", "unknown base", "scores"],
)
def test_the_cpu_aligns_what_a_gpu_cannot(base, match, memory, caplog):
    caplog.set_level("INFO")
    examples = [cases.Example(base, "CCGGT", [(0, 2), (3, 5)]), cases.Example("ACGT", "AC", [])]
    scoring, options = SplicedScoring(match=match), GpuOptions(free_bytes=memory)
    cpu, cuda = both(examples, scoring, options)
    assert cuda == cpu
    columns = case_columns([example.case() for example in examples])
    scores = score_on_gpus(columns, scoring, (0,), 1, options)
    assert scores[0] == cpu[0].score
    assert caplog.text.count("on the CPU") >= 2


def test_shares_of_several_gpus():
    """The same GPU twice and the CPU, and cases that none has to look at."""
    rng = np.random.default_rng(31)
    rates = (0.0, 0.1) if simulated() else (0.0, 0.1) * 20
    examples = [cases.random_example(rng, **SIZES, target=7, n_rate=rate) for rate in rates]
    made = [example.case(f"case{k}") for k, example in enumerate([*examples, cases.WORKED_EXAMPLE])]
    made.append(cases.Example("ACGT", "AC", []).case("none"))
    scoring, columns = SplicedScoring(), case_columns(made)
    found = align_on_gpus(columns, scoring, (0, 0), 2, lambda cells: None)
    assert list(found) == spliced_align(made, scoring, device="cpu")
    assert found[-1].score is None
    assert found[1:3] == list(found)[1:3]
    scores = score_on_gpus(columns, scoring, (0, 0), 2)
    assert scores[:-1].tolist() == [result.score for result in found[:-1]]
