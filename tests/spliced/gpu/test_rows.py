"""Listed candidates with free ends or readings on CUDA, real or simulated: what the CPU gives."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Case, DeviceError, ExonSet, Sequence, SplicedScoring, spliced_align
from gpu_tools.hardware.device import simulated
from tests import cases
from tests.spliced.cpu.test_reading import coding_text, exons_between_codons

pytestmark = pytest.mark.cuda
READINGS = ("complete", "incomplete")
on_gpu = pytest.mark.skipif(simulated(), reason="takes long on the simulator; small cases follow")


def check(made, scoring, **options):
    """Both devices give the same, to the last symbol; return it."""
    expected, found = (
        spliced_align(made, scoring, device=device, **options) for device in ("cpu", "cuda")
    )
    assert found == expected
    return found


def coding_case(rng, length: int) -> Case:
    """Return a case of many exons on text with many start and stop codons."""
    base = coding_text(rng, length)
    starts = rng.integers(0, length - 1, 60)
    exons = [(int(s), int(min(s + n, length))) for s, n in zip(starts, rng.integers(1, 300, 60))]  # noqa: B905
    exons += list(exons_between_codons(base))[:200]
    target = "".join(base[s:e] for s, e in sorted(exons)[::20])[: int(rng.integers(1, 700))]
    scores = rng.integers(-3, 4, len(exons)).astype(float)
    made = ExonSet.from_intervals(exons, "+-"[int(rng.integers(2))], scores)
    return Case(Sequence.from_text("b", base), Sequence.from_text("t", target or "A"), made)


@on_gpu
@pytest.mark.parametrize("seed", range(20))
def test_free_ends(seed):
    rng = np.random.default_rng(seed)
    made = [
        cases.random_example(
            rng, base=int(rng.integers(50, 3000)), target=int(rng.integers(1, 900)),
            count=int(rng.integers(1, 60)), longest=400,
        ).case()
        for _ in range(8)
    ]  # fmt: skip
    check(made, replace(cases.random_scoring(rng), ends="free"))


@on_gpu
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(10))
def test_chains_that_translate(seed, reading):
    rng = np.random.default_rng([seed, READINGS.index(reading)])
    made = [coding_case(rng, int(rng.integers(300, 2500))) for _ in range(8)]
    found = check(made, cases.random_scoring(rng), reading=reading)
    assert any(result.n_chain > 1 for result in found)


@on_gpu
def test_several_batches(monkeypatch):
    monkeypatch.setattr("gpu_tools.spliced.gpu.rows.BYTES_PER_BATCH", 1 << 20)
    rng, told = np.random.default_rng(5), []
    made = [coding_case(rng, 1500) for _ in range(20)]
    found = check(made, SplicedScoring(ends="free"), progress=told.append)
    assert sum(told) == 2 * sum(result.cells for result in found)


@on_gpu
@pytest.mark.parametrize("reading", ["any", "complete", "incomplete"])
def test_demo(reading):
    from gpu_tools.exons.providers.builtin import Builtin
    from gpu_tools.formats.fasta import read_fasta
    from gpu_tools.model.resources import resource_path

    bases, targets = (
        read_fasta(resource_path("demo", name)) for name in ("loci.fa.gz", "mrnas.fa.gz")
    )
    exons = [Builtin().exons(base.codes) for base in bases]
    pairs = zip(bases, exons, strict=True)
    made = [Case(base, target, own) for base, own in pairs for target in targets[:3]]
    check(made, SplicedScoring(ends="free" if reading == "any" else "global"), reading=reading)


def test_parts_of_two_candidates():
    """Rows at ends and entries come back, also those that were in shared memory."""
    base, target = Sequence.from_text("b", "CCAGGTTA"), Sequence.from_text("t", "AGTT")
    made = Case(base, target, ExonSet.from_intervals([(0, 4), (5, 8)]))
    (found,) = check([made], SplicedScoring(ends="free"))
    assert (found.score, found.chain) == (4, ((2, 4), (5, 7)))


def test_the_first_of_equal_ends():
    """Where gaps are free the score stays as high, in the same lane and in the next ones."""
    base, target = Sequence.from_text("b", "CAGT"), Sequence.from_text("t", "AGCCC")
    made = Case(base, target, ExonSet.from_intervals([(0, 4)]))
    (found,) = check([made], SplicedScoring(gap=0, ends="free"))
    assert (found.score, found.chain, found.target_end) == (2, ((1, 3),), 2)


def test_a_chain_that_translates():
    base, target = Sequence.from_text("b", "ATGAGGTAA"), Sequence.from_text("t", "ATGTAA")
    made = Case(base, target, ExonSet.from_intervals([(0, 3), (6, 9)]))
    (found,) = check([made], SplicedScoring(), reading="complete")
    assert (found.score, found.chain) == (6, ((0, 3), (6, 9)))


def test_no_candidates_and_no_way_to_read_them(monkeypatch):
    monkeypatch.setattr("gpu_tools.spliced.gpu.rows.MADE_AHEAD", 1)
    base, target = Sequence.from_text("b", "CCAGGTT"), Sequence.from_text("t", "AG")
    none = Case(base, target, ExonSet.from_intervals([]))
    unread = Case(base, target, ExonSet.from_intervals([(0, 2)]))
    check([none], SplicedScoring(ends="free"))
    found = check([none, unread], SplicedScoring(), reading="complete")
    assert [result.score for result in found] == [None, None]


def test_too_large_for_the_gpu(monkeypatch):
    monkeypatch.setattr("gpu_tools.spliced.gpu.rows.memory_for", lambda room: 1000)
    made = cases.random_example(np.random.default_rng(1), 40, 30, 5, 20).case()
    with pytest.raises(DeviceError, match="case 1 needs 0 MB of GPU memory"):
        spliced_align([made], SplicedScoring(ends="free"), device="cuda")
