"""Many cases on the threads of a CPU: the results do not depend on who does which case."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import ScoringError, SplicedScoring, case_columns, spliced_align, spliced_scores
from gpu_tools.spliced.alignments import NO_CHAIN
from gpu_tools.spliced.cpu import schedule
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


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)
@pytest.mark.parametrize("seed", range(4))
def test_many_cases_by_programme(seed, scoring):
    rng = np.random.default_rng([7000, seed])
    sizes = schedule.WorkSizes(
        chunks_per_thread=int(rng.choice([1, 16, 1000])),
        cells_per_chunk=int(rng.choice([0, 5000, 1 << 28])),
    )
    examples, made = random_cases(rng)
    columns, reported = case_columns(made), []
    found = schedule.align_on_cpu(columns, scoring, 3, reported.append, sizes)
    scores = schedule.scores_on_cpu(columns, scoring, 3, sizes)
    scores = np.ma.array(scores, mask=scores == NO_CHAIN)
    assert len(found) == len(scores) == len(made)
    assert sum(reported) == sum(case.cells for case in made)
    for example, case, result, score in zip(examples, made, found, scores.tolist(), strict=True):
        best = cases.best_by_strand(example, scoring, oracles.spliced_by_programme)
        cases.check_best(example, scoring, result, best)
        assert result.score == score
        assert (result.target, result.cells) == (case.target.name, case.cells)


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)
@pytest.mark.parametrize("seed", range(3))
def test_neither_threads_nor_strips_change_anything(seed, scoring):
    rng = np.random.default_rng([7100, seed])
    _, made = random_cases(rng)
    alone = spliced_align(made, scoring, device="cpu", threads=1)
    columns = case_columns(made)
    sizes = schedule.WorkSizes(16, 10_000, 3000, 8, rows_per_block=64)
    assert 0 < (columns.cells > sizes.cells_for_strips).sum() < len(made)
    for threads in (2, 40):
        found = schedule.align_on_cpu(columns, scoring, threads, lambda cells: None, sizes)
        assert list(found) == alone
        scores = schedule.scores_on_cpu(columns, scoring, threads, sizes)
        expected = [NO_CHAIN if result.score is None else result.score for result in alone]
        assert scores.tolist() == expected


def test_a_case_that_could_overflow_is_refused_before_any_is_done():
    small, large = (cases.Example("ACGT" * n, "ACGT" * n, [(0, 4 * n)]).case() for n in (1, 100))
    scoring, reported = SplicedScoring(match=10_000_000), []
    assert spliced_scores([small], scoring, device="cpu").tolist() == [40_000_000]
    for threads in (1, 3):
        with pytest.raises(ScoringError, match="could arise for these lengths"):
            spliced_align([small, large], scoring, threads=threads, device="cpu",
                          progress=reported.append)  # fmt: skip
    assert not reported


def test_what_progress_raises_is_raised_and_ends_the_call():
    _, made = random_cases(np.random.default_rng(7500))

    def stop(cells):
        raise KeyboardInterrupt

    for threads in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            spliced_align(made, device="cpu", threads=threads, progress=stop)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_moves_within_a_large_case(threads, monkeypatch):
    monkeypatch.setattr(schedule, "CELLS_PER_REPORT", 100)
    sizes = schedule.WorkSizes(columns_per_strip=10, cells_for_strips=0, rows_per_block=20)
    example = cases.Example("ACGTTGCA" * 30, "ACGTTGCA" * 8, [(0, 200), (20, 100)])
    columns, reported = case_columns([example.case()]), []
    schedule.align_on_cpu(columns, SplicedScoring(), threads, reported.append, sizes)
    assert sum(reported) == columns.cells[0]
    assert len(reported) > 5


def test_without_cases_or_candidates():
    assert spliced_align([], device="cpu") == []
    assert len(spliced_scores([], device="cpu")) == 0
    none = cases.Example("ACGT", "AC", []).case()
    assert spliced_scores([none], device="cpu", threads=2).tolist() == [None]
    (result,) = spliced_align([none], device="cpu", threads=2)
    assert (result.score, result.chain, result.cells) == (None, (), 0)
