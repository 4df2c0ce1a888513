"""Tracks that go on as one: nothing is lost, nothing is computed twice, and no result changes."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Case, SplicedScoring, spliced_align
from gpu_tools.spliced import merging
from gpu_tools.spliced.case import Preparation
from gpu_tools.spliced.cpu import sweep as cpu
from tests import cases
from tests.oracles import spliced as oracles
from tests.spliced.test_api import check_against_oracle

NEVER = 1 << 40
ENDS = ["global", "free-target"]


@pytest.fixture(autouse=True)
def always_merge(monkeypatch):
    monkeypatch.setattr(merging, "LEAST_ROWS", 1)


def programs_of(example, scoring=None):
    return Preparation(scoring or SplicedScoring())(example.case()).programs


def apart(program, monkeypatch):
    """Return a program whose tracks are not merged."""
    with monkeypatch.context() as patched:
        patched.setattr(merging, "LEAST_ROWS", NEVER)
        one_by_one = replace(program)
        assert one_by_one.runs.n_joins == 0
    return one_by_one


@pytest.fixture(params=range(40))
def program(request):
    rng = np.random.default_rng(500 + request.param)
    scoring = SplicedScoring(exon_weight=float(rng.choice([0, 1])))
    return programs_of(cases.nested_example(rng, starts=9, ends=5), scoring)[0]


def paths(program, track):
    """Yield (end, bonus, symbols) of all that a track's entry can come to along the runs."""
    runs, n_ends = program.runs, len(program.ends)
    top, added, symbols = int(np.flatnonzero(runs.top_tracks == track)[0]), 0, []
    while True:
        row, following = runs.top_rows[top], None
        borders = [*runs.top_rows[runs.top_tracks >= 0].tolist(), len(runs.codes)]
        past = min(border for border in borders if border > row)
        left = [k for k in range(len(runs.exit_rows)) if row <= runs.exit_rows[k] < past]
        for k in left:
            here = symbols + runs.codes[row : runs.exit_rows[k] + 1].tolist()
            if runs.exit_ends[k] < n_ends:
                yield runs.exit_ends[k], added + runs.exit_bonus[k], here
            else:
                assert following is None
                following = runs.exit_ends[k] - n_ends, added + runs.exit_bonus[k], here
        if following is None:
            return
        join, added, symbols = following
        (top,) = np.flatnonzero(runs.top_joins == join)


def test_every_exon_is_one_path_and_every_path_an_exon(program):
    for track in range(len(program.starts)):
        own = np.flatnonzero(program.exit_tracks == track)
        first, last = program.track_rows[track], program.exit_rows[own]
        exons = [
            (program.exit_ends[k], program.exit_bonus[k], program.codes[first : row + 1].tolist())
            for k, row in zip(own, last, strict=True)
        ]
        assert list(paths(program, track)) == exons


def test_no_row_is_swept_twice(program):
    """As many rows as there are positions with different exits to come."""
    different = set()
    for track, start in enumerate(program.starts):
        own = np.flatnonzero(program.exit_tracks == track)
        ends, bonus = program.ends[program.exit_ends[own]], program.exit_bonus[own]
        for position in range(start, ends[-1]):
            left = ends > position
            relative = tuple(bonus[left] - bonus[left][0])
            different.add((position, tuple(ends[left]), relative))
    assert len(program.runs.codes) == len(different)


def test_tracks_with_fewer_rows_left_go_on_apart(program, monkeypatch):
    rows = []
    for least in (1, 8, 20, NEVER):
        monkeypatch.setattr(merging, "LEAST_ROWS", least)
        runs = replace(program).runs
        begins = runs.top_rows[runs.top_tracks >= 0]
        saved = np.diff(program.track_rows) - np.diff([*begins, len(runs.codes)])
        assert ((saved == 0) | (saved >= least)).all()
        rows.append(len(runs.codes))
    assert rows == sorted(rows)
    assert rows[-1] == program.n_rows
    assert runs.n_joins == 0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(30))
def test_ends_and_entries_are_those_of_tracks_apart(seed, threads, monkeypatch):
    monkeypatch.setattr(cpu, "STEPS_PER_BLOCK", 64)
    rng = np.random.default_rng([seed, threads])
    scoring, n_joins = cases.random_scoring(rng), 0
    for columns in rng.integers(1, 150, 4):
        example = cases.nested_example(rng, 200, int(columns), starts=8, ends=4)
        target = example.case().target.codes
        for program in programs_of(example, scoring):
            n_joins += program.runs.n_joins
            one_by_one = apart(program, monkeypatch)
            sweeps = [cpu.sweep(p, target, scoring, threads) for p in (program, one_by_one)]
            for one, other in zip(*(sweep[:2] for sweep in sweeps), strict=True):
                assert (one[:, : columns + 1] == other[:, : columns + 1]).all()
    assert n_joins


@pytest.mark.parametrize("seed", range(30))
def test_nested_exons_by_enumeration(seed):
    rng = np.random.default_rng(100 + seed)
    base, target = int(rng.integers(4, 25)), int(rng.integers(1, 10))
    example = cases.nested_example(rng, base, target, starts=3, ends=2)
    check_against_oracle(oracles.spliced_by_enumeration, example, cases.random_scoring(rng))


@pytest.mark.parametrize("seed", range(20))
def test_nested_exons_by_programme(seed):
    rng = np.random.default_rng(200 + seed)
    example = cases.nested_example(rng, 200, int(rng.integers(1, 120)), starts=7, ends=4)
    check_against_oracle(oracles.spliced_by_programme, example, cases.random_scoring(rng))


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(10))
def test_chains_and_alignments_are_those_of_tracks_apart(seed, ends, monkeypatch):
    """Scores that are often equal, so that ties decide."""
    rng = np.random.default_rng(300 + seed)
    weight, gap = float(rng.choice([0, 1])), int(rng.integers(-1, 1))
    scoring = SplicedScoring(1, int(rng.integers(-1, 2)), gap, exon_weight=weight, ends=ends)
    made = [cases.nested_example(rng, 80, 15).case() for _ in range(6)]
    merged = spliced_align(made, scoring, device="cpu")
    monkeypatch.setattr(merging, "LEAST_ROWS", NEVER)
    assert merged == spliced_align(made, scoring, device="cpu")


@pytest.mark.parametrize("bonus", [9000, 16000, 30000])
def test_constants_that_are_added_keep_to_the_cells_width(bonus, monkeypatch):
    example = cases.Example("ACGT" * 5, "ACGTACGTAC", [(0, 20), (8, 20)])
    for first, second in ((bonus, -bonus), (-bonus, bonus)):
        example.scores = {("+", (0, 20)): first, ("+", (8, 20)): second}
        scoring = SplicedScoring(exon_weight=1.0)
        (program,), target = programs_of(example, scoring), example.case().target.codes
        assert program.runs.n_joins == 1
        one, other = (cpu.sweep(p, target, scoring) for p in (program, apart(program, monkeypatch)))
        assert (one.ends[:, :11] == other.ends[:, :11]).all()


FREE = SplicedScoring(match=0, mismatch=0, gap=0)
TIES = {
    "the shortest of the exons that share an end": (
        cases.Example("ACGTAC", "ACG", [(0, 6), (2, 6), (4, 6)]), FREE, ((4, 6),),
    ),
    "the shortest that is as good": (
        cases.Example("ACGTAC", "ACG", [(0, 6), (2, 6), (4, 6)]),
        SplicedScoring(match=1, mismatch=0, gap=0), ((0, 6),),
    ),
    "the shortest, at the smallest column": (
        cases.Example("CAC" + "AC", "AC", [(1, 5), (3, 5)]),
        SplicedScoring(match=1, mismatch=-1, gap=0), ((3, 5),),
    ),
    "the nearest end before the longer exon": (
        cases.Example(
            "GGTTGG" + "CCAA" + "AA", "GGCCAAAA", [(0, 2), (4, 6), (6, 12), (10, 12)],
        ), SplicedScoring(), ((4, 6), (6, 12)),
    ),
    "no exon before, if that is as good": (
        cases.Example("ACGTACGT", "ACG", [(0, 2), (3, 8), (5, 8)]), FREE, ((0, 2),),
    ),
    "the first of two ends": (
        cases.Example("ACGTACGT", "ACG", [(0, 6), (2, 6), (0, 8), (2, 8)]), FREE, ((2, 6),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("tie", TIES)
def test_ties(tie):
    example, scoring, chain = TIES[tie]
    (program,) = programs_of(example, scoring)
    assert program.runs.n_joins > 0
    (result,) = spliced_align([example.case()], scoring, device="cpu")
    assert result.chain == chain


def test_tie_in_the_alignment_of_a_merged_exon():
    """Both symbols of the exon are alike: the pair comes first, then the one without a partner."""
    example = cases.Example("TAA", "A", [(0, 3), (1, 3)])
    (program,) = programs_of(example)
    assert program.runs.n_joins == 1
    (result,) = spliced_align([example.case()], device="cpu")
    assert (result.chain, result.cigar) == (((1, 3),), (("=", 1), ("D", 1)))


def test_the_demo_is_swept_once_where_its_exons_are_alike():
    from gpu_tools.exons import load_model, predict_exons
    from gpu_tools.formats.sequences.fasta import read_fasta
    from gpu_tools.model.resources import resource_path

    model = load_model("vertebrate")
    (base, *_), (target, *_) = (
        read_fasta(resource_path("demo", name)) for name in ("loci.fa.gz", "mrnas.fa.gz")
    )
    prepared = Preparation(SplicedScoring())(Case(base, target, predict_exons(base.codes, model)))
    for program in prepared.programs:
        assert len(program.runs.codes) < 0.8 * program.n_rows
