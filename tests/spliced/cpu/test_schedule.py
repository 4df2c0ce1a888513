"""Many cases on the threads of a CPU: what they share changes nothing, whoever does what."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from gpu_tools import (
    ScoringError,
    SplicedScoring,
    case_columns,
    spliced_align,
    spliced_align_many,
    spliced_scores,
)
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.prefetch import helped
from gpu_tools.spliced import bounds as widths
from gpu_tools.spliced.case import Preparation
from gpu_tools.spliced.cpu import jobs as cpu_jobs
from gpu_tools.spliced.cpu import schedule
from gpu_tools.spliced.cpu import sweep as cpu
from gpu_tools.spliced.cpu.state import padded, terms_of
from gpu_tools.splicing.bounds import narrowest
from tests import cases
from tests.oracles import spliced as oracles

MATRIX = np.array([[5, -4, 1, -4, -2], [-4, 5, -4, 2, -2], [0, -4, 5, -4, -2], [-4, 1, -4, 5, -2],
                   [-1, -1, -1, -1, -1]])  # fmt: skip
SCORINGS = {
    "plain": SplicedScoring(),
    "bonus, free target": SplicedScoring(2, -3, -4, None, 1.0, 3, "free-target"),
    "matrix": SplicedScoring(matrix=MATRIX, gap=-3, exon_weight=2.0),
    "some need 32 bits": SplicedScoring(match=300, mismatch=-200, gap=-250, intron_penalty=100),
    "all need 32 bits": SplicedScoring(matrix=9_000 * MATRIX, gap=-40_000),
}


def random_cases(rng, count=24):
    """Return examples and cases; several targets to a base, not always one after the other."""
    examples, made = [], []
    while len(made) < count:
        example = cases.random_example(
            rng, base=int(rng.integers(20, 250)), target=int(rng.integers(1, 90)),
            count=int(rng.integers(1, 9)), longest=40,
        )  # fmt: skip
        if rng.random() < 0.2:
            example = replace(example, plus=[])
        examples.append(example)
        made.append(example.case(f"case{len(made)}"))
        while rng.random() < 0.6:
            earlier = int(rng.integers(max(len(made) - 4, 0), len(made)))
            target = cases.random_text(rng, int(rng.integers(1, 90)))
            examples.append(replace(examples[earlier], target=target))
            own = examples[-1].case(f"case{len(made)}")
            shared = made[earlier]
            made.append(replace(shared, target=own.target))
    return examples, made


def best_by_oracle(example, scoring):
    """Return score and strand of the best chain, None where there is no candidate."""
    best = (None, None)
    for strand in "+-":
        base, exons = example.strand_view(strand)
        if exons:
            bonus = example.bonus(strand, scoring.exon_weight, transcript=True)
            terms = cases.oracle_scoring(scoring)
            score = oracles.spliced_by_programme(base, example.target, exons, terms, bonus)
            if best[0] is None or score > best[0]:
                best = score, strand
    return best


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)
@pytest.mark.parametrize("seed", range(4))
def test_many_cases_by_programme(seed, scoring, monkeypatch):
    rng = np.random.default_rng([7000, seed])
    monkeypatch.setattr(schedule, "ITEMS_A_THREAD", int(rng.choice([1, 16, 1000])))
    monkeypatch.setattr(schedule, "CELLS_A_TURN", int(rng.choice([0, 5000, 1 << 28])))
    examples, made = random_cases(rng)
    told = []
    found = spliced_align_many(made, scoring, device="cpu", threads=3, progress=told.append)
    scores = spliced_scores(made, scoring, device="cpu", threads=3)
    assert len(found) == len(scores) == len(made)
    assert sum(told) == sum(case.cells for case in made)
    for example, case, result, score in zip(examples, made, found, scores.tolist(), strict=True):
        assert (result.score, result.strand) == best_by_oracle(example, scoring)
        assert result.score == score
        assert (result.target, result.cells) == (case.target.name, case.cells)
        if result.chain:
            terms = cases.oracle_scoring(scoring)
            bonus = example.bonus(result.strand, scoring.exon_weight)
            assert score == oracles.rescore(example.base, example.target, result, terms, bonus)


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)
@pytest.mark.parametrize("seed", range(3))
def test_neither_threads_nor_strips_change_anything(seed, scoring, monkeypatch):
    rng = np.random.default_rng([7100, seed])
    _, made = random_cases(rng)
    alone = spliced_align(made, scoring, device="cpu", threads=1)
    monkeypatch.setattr(schedule, "CELLS_A_TURN", 3000)
    monkeypatch.setattr(schedule, "COLUMNS_PER_STRIP", 16)
    monkeypatch.setattr(schedule, "CELLS_FOR_STRIPS", 10_000)
    monkeypatch.setattr(cpu, "STEPS_PER_BLOCK", 64)
    columns = case_columns(made)
    assert 0 < (schedule._strips(columns, 40) > 1).sum() < len(made)
    for threads in (2, 40):
        assert spliced_align(made, scoring, device="cpu", threads=threads) == alone
        scores = spliced_scores(columns, scoring, device="cpu", threads=threads)
        assert scores.tolist() == [result.score for result in alone]


@pytest.mark.parametrize(
    ("jobs", "length", "threads", "expected"),
    [
        (1, 900, 1, 0),  # one thread has nothing to share
        (1, 900, 3, 2),
        (1, 900, 5, 3),
        (2, 900, 5, 2),  # of either strand
        (2, 900, 3, 1),
        (1, 40, 5, 2),  # no more columns
        (1, 5, 5, 1),
    ],
)
def test_a_strip_is_a_threads_share(jobs, length, threads, expected, monkeypatch):
    monkeypatch.setattr(schedule, "COLUMNS_PER_STRIP", 16)
    monkeypatch.setattr(schedule, "CELLS_FOR_STRIPS", 500)
    columns = SimpleNamespace(
        cells=np.array([100, 600, 200, 100]),
        first_jobs=np.cumsum([0, 1, jobs, 2, 1]),
        cases=[SimpleNamespace(target="A" * length)] * 4,
    )
    assert schedule._strips(columns, threads).tolist() == [0, expected, 0, 0]
    monkeypatch.setattr(schedule, "CELLS_FOR_STRIPS", 600)
    assert not schedule._strips(columns, threads).any()


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("matrix", [None, MATRIX], ids=["equality", "matrix"])
def test_rows_of_a_strip_begin_at_cache_lines(matrix, dtype):
    terms, target = terms_of(SplicedScoring(matrix=matrix), np.dtype(dtype)), np.arange(90) % 5
    strips = [
        cpu._make_strip(target.astype(np.uint8), 1, padded(length, 1, dtype().itemsize), terms)
        for length in range(1, 400, 40)
    ]
    for strip in strips:
        for vectors in (strip.row, strip.target, strip.edge):
            assert vectors.ctypes.data % simd.VECTOR_BYTES == 0
        assert not strip.row.any()
        assert not strip.edge.any()


def test_one_thread_can_do_all_strips_one_after_the_other(monkeypatch):
    monkeypatch.setattr(cpu, "STEPS_PER_BLOCK", 64)
    rng = np.random.default_rng(7200)
    example = cases.random_example(rng, base=900, target=300, count=30, longest=90)
    target, scoring = example.case().target.codes, SplicedScoring()
    program = Preparation(scoring)(example.case()).programs[0]
    swept, tasks = cpu.begin_sweep(program, target, scoring, 3)
    assert len(tasks) == 3
    for task in tasks:
        task()
    whole = cpu.sweep(program, target, scoring)
    for one, other in zip(swept[:2], whole[:2], strict=True):
        assert (one[:, : len(target) + 1] == other[:, : len(target) + 1]).all()


def test_work_is_shared_and_latecomers_are_not_waited_for():
    blocked, done = threading.Event(), []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(blocked.wait)
        with helped(pool, 2, lambda: done.append("helper")):
            done.append("own")
        assert done == ["own"]
        blocked.set()
    with ThreadPoolExecutor(2) as pool, helped(pool, 2, meet := threading.Barrier(3).wait):
        meet()


def test_what_a_helper_raises_is_raised():
    def fail():
        raise ValueError("wrong")

    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match="wrong"),
        helped(pool, 1, fail),
    ):
        pool.submit(int).result()


@pytest.mark.parametrize("seed", range(20))
def test_items_are_cases_of_the_same_strands_with_no_more_cells_than_asked_for(seed):
    rng = np.random.default_rng([7300, seed])
    programs = np.repeat(rng.permutation(9), rng.integers(0, 6, 9))
    cells, most = rng.integers(1, 100, len(programs)), int(rng.integers(1, 250))
    items = cpu_jobs.cut_items(programs, cells, most)
    assert (items[0], items[-1]) == (0, len(programs))
    assert (np.diff(items) > 0).all()
    for first, past in pairwise(items.tolist()):
        assert len(set(programs[first:past])) == 1
        assert past - first == 1 or cells[first:past].sum() <= most
        if past < len(programs) and programs[past] == programs[first]:
            assert cells[first : past + 1].sum() > most


@pytest.mark.parametrize("seed", range(20))
def test_cells_of_a_case_are_as_wide_as_its_wider_sweep_asks_for(seed):
    rng = np.random.default_rng([7400, seed])
    match = int(rng.integers(50, 1500))
    scoring = SplicedScoring(
        match, -match, gap=-match // 2, exon_weight=float(rng.integers(0, 500)),
        intron_penalty=int(rng.integers(-50, 50)), ends=str(rng.choice(["global", "free-target"])),
    )  # fmt: skip
    _, made = random_cases(rng)
    columns, prepare = case_columns(made), Preparation(scoring)
    fits = schedule._fit_int16(
        columns, scoring, scoring.exon_bonus(columns.strands.scores), lambda _, work: work()
    )
    for case, fit in zip(made, fits.tolist(), strict=True):
        width = padded(len(case.target), 1, 2)
        bounds = [widths.bounds(p, width, scoring) for p in prepare(case).programs]
        assert fit == all(narrowest(b, scoring) == np.int16 for b in bounds)


def test_a_case_that_could_overflow_is_refused_before_any_is_done():
    small, large = (cases.Example("ACGT" * n, "ACGT" * n, [(0, 4 * n)]).case() for n in (1, 100))
    scoring, told = SplicedScoring(match=10_000_000), []
    assert spliced_scores([small], scoring, device="cpu").tolist() == [40_000_000]
    for threads in (1, 3):
        with pytest.raises(ScoringError, match="could arise for these lengths"):
            spliced_align([small, large], scoring, threads=threads, device="cpu",
                          progress=told.append)  # fmt: skip
    assert not told


def test_what_progress_raises_is_raised_and_ends_the_call(monkeypatch):
    monkeypatch.setattr(schedule, "CELLS_A_TURN", 0)
    _, made = random_cases(np.random.default_rng(7500))

    def stop(cells):
        raise KeyboardInterrupt

    for threads in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            spliced_align(made, device="cpu", threads=threads, progress=stop)


def test_strips_do_not_wait_for_one_whose_thread_was_interrupted(monkeypatch):
    """It was before its case had begun; the case begins after that."""
    monkeypatch.setattr(cpu, "STEPS_PER_BLOCK", 64)
    rng, concluded = np.random.default_rng(7600), []
    case = cases.random_example(rng, base=900, target=300, count=30, longest=90).case()
    prepare = Preparation(SplicedScoring())
    large = schedule._LargeCase(case, prepare, 3, lambda *given: concluded.append(given))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(large.begun, "result", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            large.follow(0)
    large.begin()
    others = [threading.Thread(target=large.follow, args=(k,), daemon=True) for k in (1, 2)]
    for other in others:
        other.start()
    for other in others:
        other.join(15)
    assert not any(other.is_alive() for other in others)
    assert not concluded


def test_without_cases_or_candidates():
    assert spliced_align([], device="cpu") == []
    assert len(spliced_scores([], device="cpu")) == 0
    none = cases.Example("ACGT", "AC", []).case()
    assert spliced_scores([none], device="cpu", threads=2).tolist() == [None]
    (result,) = spliced_align([none], device="cpu", threads=2)
    assert (result.score, result.chain, result.cells) == (None, (), 0)
