"""Work shared among threads."""

from threading import Event, current_thread, main_thread
from time import sleep

import pytest

from gpu_tools.hardware.threads import map_on_threads


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_order(threads):
    assert map_on_threads(threads, lambda a, b: a - b, range(20), range(20, 40)) == [-20] * 20


def test_one_thread_is_the_calling_one():
    assert map_on_threads(1, lambda _: current_thread(), "ab") == [main_thread()] * 2
    assert main_thread() not in map_on_threads(2, lambda _: current_thread(), "ab")


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_is_raised(threads):
    with pytest.raises(ZeroDivisionError):
        map_on_threads(threads, lambda n: 1 // n, range(5))


def test_calls_end_where_one_fails():
    begun, failed = [], Event()

    def call(n: int) -> None:
        begun.append(n)
        if n == 1:
            failed.set()
            raise ZeroDivisionError
        failed.wait()
        sleep(0.1)

    with pytest.raises(ZeroDivisionError):
        map_on_threads(2, call, range(9))
    assert len(begun) < 9


def test_there_may_be_nothing_to_do():
    assert map_on_threads(4, abs, []) == []
