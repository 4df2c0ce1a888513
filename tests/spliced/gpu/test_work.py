"""How the cases of a call are laid out for GPUs, dealt out and cut into batches."""

import ctypes
import errno
from itertools import chain, count, pairwise

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from gpu_tools import SplicedScoring, case_columns
from gpu_tools.hardware.cpu import native_threads
from gpu_tools.hardware.cpu.native_threads import Helpers
from gpu_tools.spliced.columns import jobs_of
from gpu_tools.spliced.gpu import batches as cuda_batches
from gpu_tools.spliced.gpu import halves as cuda_halves
from gpu_tools.spliced.gpu.halves import find_cuts
from gpu_tools.spliced.gpu.layout import lay_out
from gpu_tools.spliced.gpu.programs import N_EXITS, Layout, Programs
from gpu_tools.spliced.gpu.shared import lent_arena
from gpu_tools.spliced.gpu.sweep import CAPACITY
from tests import cases


@pytest.mark.parametrize("seed", range(30))
def test_batches_are_small_at_both_ends_and_split_no_case(seed):
    rng = np.random.default_rng(seed)
    count, most, small = int(rng.integers(1, 60)), 400, 100
    numbers = rng.permutation(count)
    of_case = [rng.integers(1, 300, rng.integers(0, 3)).tolist() for _ in range(count)]
    case_of_job = np.repeat(numbers, [len(sizes) for sizes in of_case])
    sizes = np.array([*chain(*of_case)], dtype=np.int64)
    ends, largest = cuda_batches.split(numbers, case_of_job, sizes, most, small)
    whole = [sum(own) for own in of_case]
    assert largest[1] == max(whole)
    assert whole[largest[0]] == max(whole)
    assert ends[0, -1] == count
    assert ends[1, -1] == len(sizes)
    left, batches = sum(whole), list(pairwise([0, *ends[0].tolist()]))
    for number, (first, past) in enumerate(batches):
        taken = sum(whole[first:past])
        limit = min(max(left // 2, small) if number else small, most)
        assert taken == ends[2, number]
        assert taken <= limit or taken == max(whole[first:past])
        if number + 1 < len(batches):
            assert taken + whole[past] > limit
        left -= taken
    jobs = [0, *ends[1].tolist()]
    for (first, past), own in zip(batches, pairwise(jobs), strict=True):
        assert own[1] - own[0] == sum(len(sizes) for sizes in of_case[first:past])


def test_a_batch_takes_its_part_of_the_memory():
    """Of what is free and what buffers have already, or the most that any batch may take."""
    cases, sizes = np.arange(6), np.array([9, 9, 9, 9, 9, 9])
    for free, kept, most, expected in (
        (60, 20, 99, 2),
        (80, 0, 99, 2),
        (80, 80, 99, 4),
        (80, 80, 10, 1),
    ):
        memory = np.array([free, 1000]), kept, (4, most, most)
        ends, _ = cuda_batches._split_for(memory, cases, cases, sizes)
        assert ends[0, 0] == expected


def test_no_cases_are_one_batch_of_nothing():
    ends, largest = cuda_batches.split(*[np.zeros(0, np.int64)] * 3, 400, 100)
    assert ends.tolist() == [[0], [0], [0]]
    assert largest == (0, 0)


def finish(layout):
    """Have this thread lay programs out."""
    helpers = Helpers()
    helpers.give(layout.task)
    helpers.finish()


class HostBuffers:
    """Buffers of a launch in memory that is not pinned."""

    def __init__(self):
        self.made = {}

    def pinned(self, name, count, dtype):
        self.made[name] = np.full(count, -1, dtype=dtype)
        return self.made[name]


@pytest.mark.parametrize("seed", range(10))
def test_launches_are_laid_out_together_as_alone(seed):
    rng = np.random.default_rng(seed)
    made = [cases.random_example(rng, 90, 9, 20, 60, n_rate=0.0).case() for _ in range(12)]
    columns = case_columns(made)
    layout = Layout(columns.strands, SplicedScoring(), False)
    finish(layout)
    jobs, given = columns.jobs, (layout.programs.table, (32, 2, 50.0))
    past = sorted({*rng.integers(1, jobs.count, 3).tolist(), jobs.count})

    def laid_out(some, past):
        rooms = [HostBuffers() for _ in past]
        return lay_out(given[0], some, past, given[1]).put_into(rooms), rooms

    together, rooms = laid_out(jobs, past)
    draft = lay_out(given[0], jobs, past, given[1])
    assert [laid.takes for laid in draft.put_into([HostBuffers()])] == [together[0].takes]
    for (first, end), laid, room in zip(pairwise([0, *past]), together, rooms, strict=True):
        (alone,), _ = laid_out(jobs.take(slice(first, end)), [end - first])
        for ours, theirs in zip(
            (*laid.jobs, laid.table, laid.team), (*alone.jobs, alone.table, alone.team), strict=True
        ):
            assert ours.tolist() == theirs.tolist()
        assert (laid.takes, laid.joins) == (alone.takes, alone.joins)
        assert laid.table.base is room.made["jobs"]
        assert laid.team is room.made["team"]


@pytest.mark.parametrize("alone", [None, 0, 3])
@pytest.mark.parametrize("n", range(9))
def test_groups_are_batches_in_their_order_that_buffers_are_free_for(n, alone):
    """The first two come together, and so do the others that find buffers before one is done."""
    nothing = slice(0, 0)
    batches = [cuda_batches.Batch(nothing, nothing, k == alone) for k in range(n)]
    groups = list(cuda_batches.in_groups(batches, 5))
    assert [*chain(*groups)] == batches
    singles = alone is not None and alone < n
    together = [min(n, 2)] * (n > 0) + [min(n, 5) - 2] * (n > 2) + [1] * max(n - 5, 0)
    assert [len(group) for group in groups] == ([1] * n if singles else together)


def test_jobs_of_some_cases():
    few = cases.Example("ACCGT", "CG", [(0, 2), (2, 4)], [(1, 3)])
    none = cases.Example("ACGT", "AC", [])
    columns = case_columns([e.case() for e in (few, none, cases.WORKED_EXAMPLE)])
    jobs = jobs_of(columns.jobs, columns.first_jobs, np.array([2, 1, 0]))
    assert [column.tolist() for column in jobs] == [
        [2, 0, 1], [2, 0, 0], [4, 0, 0], [5, 2, 2],
    ]  # fmt: skip


def test_each_call_has_an_arena_of_its_own():
    with lent_arena() as one, lent_arena() as other:
        assert one is not other
    with lent_arena() as again:
        assert again in (one, other)


@pytest.mark.parametrize("seed", range(40))
def test_strands_are_cut_where_no_candidate_is_and_halves_take_as_long(seed):
    rng = np.random.default_rng(seed)
    count, length = int(rng.integers(1, 12)), int(rng.integers(20, 120))
    exons = sorted(set(cases.random_exons(rng, count, length, 15)))
    starts, ends = np.array(exons, dtype=np.int64).T
    first, lengths = np.array([0, len(exons)]), np.array([length])
    (cut,), n_cut = find_cuts(first, starts, ends, lengths, 0, CAPACITY)

    def hops(own):
        """Return how many exons can follow each other, at most."""
        best = [0] * len(own)
        for k, (start, _) in enumerate(own):
            best[k] = 1 + max((best[i] for i in range(k) if own[i][1] <= start), default=0)
        return max(best, default=0)

    # an exon of up to 15 rows takes two ticks, whatever its length
    places = [k for k in range(1, len(exons)) if max(e for _, e in exons[:k]) <= exons[k][0]]
    costs = {k: max(hops(exons[:k]), hops(exons[k:])) for k in places}
    assert (cut >= 0) == bool(places) == n_cut
    assert cut < 0 or costs[cut] == min(costs.values())
    assert find_cuts(first, starts, ends, lengths, 2 * hops(exons), CAPACITY)[0] == [-1]
    if places:
        assert find_cuts(first, starts, ends, lengths, 2 * hops(exons) - 1, CAPACITY)[0] == [cut]


@pytest.mark.parametrize("seed", range(10))
def test_jobs_of_halves(seed, monkeypatch):
    """Each strand's candidates are there once, and its jobs have all halves, those before first."""
    monkeypatch.setattr(cuda_halves, "CELLS_A_TICK", 1 << 40)  # all that can be cut are
    rng = np.random.default_rng(seed)
    some = [cases.random_example(rng, 60, 3, 9, 20) for _ in range(8)]
    columns = case_columns([e.case() for e in [*some, cases.Example("ACGT", "AC", []), some[0]]])
    halves = cuda_halves.halved(columns, 1)
    old, new, expected = columns.strands, halves.strands, []
    cuts, n_cut = find_cuts(old.first_exons, old.starts, old.ends, old.lengths, 0, CAPACITY)
    owners = [k for k in range(old.count) for _ in range(1 + (cuts[k] >= 0))]
    assert new.count == old.count + n_cut > old.count
    for name in ("addresses", "lengths", "reverse"):
        assert getattr(new, name).tolist() == getattr(old, name)[owners].tolist()
    firsts = [*old.first_exons.tolist(), *(cut for cut in cuts.tolist() if cut >= 0)]
    assert new.first_exons.tolist() == sorted(firsts)
    for k, kind in enumerate(new.half):
        whole = owners.count(owners[k]) == 1
        assert (kind == cuda_halves.WHOLE) == whole
        assert whole or (kind == cuda_halves.BEHIND) == (k > 0 and owners[k - 1] == owners[k])
    for case in range(len(columns.cells)):
        for job in range(*columns.first_jobs[case : case + 2]):
            program, _, target, length = (int(column[job]) for column in columns.jobs)
            own = [k for k, owner in enumerate(owners) if owner == program]
            expected += [(case, k, target, length) for k in own]
    jobs = halves.jobs
    parts = (jobs.cases, jobs.programs, jobs.targets, jobs.lengths)
    assert [*zip(*(part.tolist() for part in parts), strict=True)] == expected
    counts = np.bincount(jobs.cases, minlength=len(columns.cells))
    assert np.diff(halves.first_jobs).tolist() == counts.tolist()


@pytest.mark.parametrize("helpers", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("apart", [False, True])
def test_programs_are_the_same_whoever_lays_them_out(helpers, apart):
    rng = np.random.default_rng(5)
    made = [cases.random_example(rng, 4000, 60, 60, 300, n_rate=0.0).case() for _ in range(6)]
    strands, scoring = case_columns(made).strands, SplicedScoring(exon_weight=2.0)

    def new(name, count, dtype):
        return np.zeros(count, dtype=dtype)

    layout, alone = (Layout(strands, scoring, apart, new) for _ in range(2))
    others = Helpers()
    others.begin(helpers)
    others.give(layout.task)
    others.finish()
    finish(alone)
    layout.check()
    alone.check()
    for name, ours, theirs in zip(Programs._fields, layout.programs, alone.programs, strict=True):
        assert (ours == theirs).all(), name


@pytest.mark.parametrize("allowed", [0, 1, 2, 4])
def test_programs_are_laid_out_if_few_threads_can_begin(allowed, monkeypatch):
    """The system refuses the others, the first of all or those that threads begin."""
    given, create = [ctypes.c_void_p] * 4, native_threads._LIBRARY.pthread_create
    create.argtypes = given
    asked = count()

    @ctypes.CFUNCTYPE(ctypes.c_int, *given)
    def begin_few(*own):
        return create(*own) if next(asked) < allowed else errno.EAGAIN

    monkeypatch.setattr(native_threads._LIBRARY, "pthread_create", begin_few)
    layout = Layout(case_columns([cases.WORKED_EXAMPLE.case()]).strands, SplicedScoring(), False)
    others = Helpers()
    others.begin(6)
    others.give(layout.task)
    others.finish()
    assert layout.programs.table[:, N_EXITS].tolist() == [5]
    assert next(asked) >= min(allowed + 1, 6)


def test_programs_that_are_not_done_are_not_given_away():
    layout = Layout(case_columns([cases.WORKED_EXAMPLE.case()]).strands, SplicedScoring(), False)
    with pytest.raises(RuntimeError, match="unfinished"):
        layout.check()
