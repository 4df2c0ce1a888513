"""Work shared among threads and GPUs, prefetch, and progress within a case."""

import itertools
import random
import threading
import time
from itertools import pairwise
from threading import Event, current_thread, main_thread
from time import sleep

import numpy as np
import pytest

from gpu_tools.hardware import threads
from gpu_tools.hardware.cpu.strips import assigned, run_strips
from gpu_tools.hardware.threads import (
    CaseProgress,
    blocks_of,
    map_on_threads,
    prefetch,
    watched,
    within_limit,
)


@pytest.mark.parametrize("seed", range(5))
def test_groups_within_a_limit(seed):
    sizes = random.Random(seed).choices(range(1, 12), k=30)
    groups = list(within_limit(iter(sizes), lambda size: size, 10))
    assert list(itertools.chain(*groups)) == sizes
    assert all(sum(group) <= 10 or len(group) == 1 for group in groups)
    assert all(sum(one) + other[0] > 10 for one, other in itertools.pairwise(groups))


@pytest.mark.parametrize("seed", range(20))
def test_each_case_goes_to_the_gpu_with_the_least_work(seed):
    rng = np.random.default_rng(seed)
    cells, count = rng.permutation(100)[: rng.integers(0, 30)], int(rng.integers(1, 5))
    expected, loads = [[] for _ in range(count)], [0] * count
    for k in sorted(range(len(cells)), key=lambda k: -cells[k]):
        least = loads.index(min(loads))
        expected[least].append(k)
        loads[least] += int(cells[k])
    assert [own.tolist() for own in assigned(cells, count)] == expected


def test_a_few_are_made_before_they_are_asked_for():
    made = threading.Semaphore(0)

    def items():
        for k in range(10):
            made.release()
            yield k

    following = prefetch(items(), 3)
    for _ in range(3):
        assert made.acquire(timeout=10)
    assert not made.acquire(timeout=0.1)
    assert next(following) == 0


def test_what_a_function_counts_is_reported_while_it_works(monkeypatch):
    monkeypatch.setattr(threads, "SECONDS_PER_LOOK", 0.01)
    seen, reported = Event(), []

    def work(counter):
        counter[0] = 7
        assert seen.wait(60)
        return "result"

    def done(cells):
        reported.append(cells)
        if sum(reported) == 7:
            seen.set()

    assert watched(work, done) == "result"
    assert sum(reported) == 7


@pytest.mark.parametrize("error", [ValueError, TimeoutError])
def test_what_a_function_raises_is_raised(error):
    def fails(counter):
        raise error("x")

    with pytest.raises(error, match="x"):
        watched(fails, print)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_results_come_in_order(count):
    assert map_on_threads(count, lambda a, b: a - b, range(20), range(20, 40)) == [-20] * 20
    assert map_on_threads(count, abs, []) == []
    threads = map_on_threads(count, lambda _: current_thread(), "ab")
    assert threads == [main_thread()] * 2 if count == 1 else main_thread() not in threads


def test_items_are_made_when_a_thread_takes_them():
    made, done = [], []

    def items():
        for k in range(20):
            made.append(k)
            assert len(made) <= len(done) + 3
            yield k

    map_on_threads(3, done.append, items())
    assert made == sorted(done)


@pytest.mark.parametrize("count", [1, 2])
def test_calls_end_where_one_fails(count):
    begun, failed = [], Event()

    def call(n: int) -> None:
        begun.append(n)
        if n == 1:
            failed.set()
            raise ZeroDivisionError
        if count > 1:
            failed.wait()
            sleep(0.1)

    with pytest.raises(ZeroDivisionError):
        map_on_threads(count, call, range(9))
    assert len(begun) < 9


@pytest.mark.parametrize("count", [1, 3, 50])
def test_items_and_errors_come_in_order_and_none_for_one_who_left(count):
    made = []

    def items():
        for k in range(100):
            made.append(k)
            yield k
        raise ValueError("broken")

    following = prefetch(items(), count)
    assert [next(following) for _ in range(100)] == list(range(100))
    with pytest.raises(ValueError, match="broken"):
        next(following)
    made.clear()
    following = prefetch(items(), count)
    next(following)
    following.close()
    assert len(made) <= count + 2


def test_cells_are_reported_some_at_a_time_and_all_in_the_end():
    reported = []
    tally = CaseProgress(100, reported.append, least=30)
    for cells in (10, 25, 29, 5):
        tally.add(cells)
    assert reported == [35, 34]
    tally.finish()
    assert reported == [35, 34, 31]
    tally.add(99)  # more cells than there are
    tally.finish()
    assert sum(reported) == 100


# Strips that follow each other on threads.


@pytest.mark.parametrize(("n_steps", "size"), [(1, 1), (10, 4), (12, 4), (3, 9)])
def test_blocks_cover_all_steps(n_steps, size):
    blocks = blocks_of(n_steps, size)
    assert [blocks[0][0], blocks[-1][1]] == [0, n_steps]
    assert all(one[1] == other[0] for one, other in pairwise(blocks))
    assert all(past - first == size for first, past in blocks[:-1])


def check_order(events, count, blocks):
    """Check that a block begins when the strip before has done its own."""
    at = {event: k for k, event in enumerate(events)}
    assert len(events) == 2 * count * len(blocks)
    for strip in range(1, count):
        for number in range(len(blocks)):
            begun, done = ("begun", strip, blocks[number]), ("done", strip - 1, blocks[number])
            assert at[done] < at[begun]


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_a_strip_stays_behind_the_one_before(count, n_blocks):
    rng, events, blocks = np.random.default_rng(count + n_blocks), [], blocks_of(n_blocks, 1)
    pauses = rng.uniform(0, 2e-3, (count, n_blocks))

    def block(strip, steps):
        events.append(("begun", strip, steps))
        time.sleep(pauses[strip, steps[0]])
        events.append(("done", strip, steps))

    run_strips(block, count, blocks)
    check_order(events, count, blocks)


def test_a_strip_that_fails_keeps_nobody_waiting():
    def block(strip, steps):
        if (strip, steps) == (1, (2, 3)):
            raise KeyError("of a strip")

    with pytest.raises(KeyError, match="of a strip"):
        run_strips(block, 3, blocks_of(6, 1))
