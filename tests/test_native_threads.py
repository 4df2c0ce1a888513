"""Threads that take turns at running Python, and copies that threads make."""

import time
from threading import Thread

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from gpu_tools import driver_calls
from gpu_tools.native_threads import Copy, Turn


def test_one_thread_at_a_time_has_its_turn():
    line, inside, seen = np.zeros(2, np.int64), [], []

    def work(number):
        turn = Turn(line)
        for _ in range(50):
            with turn:
                inside.append(number)
                time.sleep(1e-5)  # Python's lock goes to another thread
                seen.append((turn.held, len(inside)))
                inside.remove(number)
                with turn.aside():
                    seen.append((turn.held, 0))

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert line.tolist() == [400, 400]
    assert sorted(seen) == [(False, 0)] * 200 + [(True, 1)] * 200


def test_a_turn_ends_with_an_error():
    turn = Turn(np.zeros(2, np.int64))
    with pytest.raises(KeyError), turn, turn.aside():
        raise KeyError
    assert turn.line.tolist() == [2, 2]
    assert not turn.held


def test_who_has_no_turn_gives_none_away():
    turn = Turn(np.zeros(2, np.int64))
    with turn.aside():
        assert turn.line.tolist() == [0, 0]


def test_others_have_their_turn_while_calls_are_made():
    line = np.zeros(2, np.int64)
    with Turn(line):
        calls = np.zeros((0, 12), np.int64)
        driver_calls._make_calls(calls, line, True)
        assert line.tolist() == [2, 1]
        driver_calls._make_calls(calls, line, False)
        assert line.tolist() == [2, 1]
    assert line.tolist() == [2, 2]


@pytest.mark.parametrize("count", [0, 1, 5_000_000])
def test_a_copy_is_the_same(count):
    values = np.arange(count, dtype=np.int32)
    copy = Copy(values)
    expected = values.copy()
    found = copy.result()
    values[:] = 7
    assert (found == expected).all()
    assert copy.result() is found
