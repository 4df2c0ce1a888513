"""What is made ahead is the same, in order, and ends with those who ask for it."""

import threading

import pytest

from gpu_tools.hardware.threads import prefetch


@pytest.mark.parametrize("count", [1, 3, 50])
def test_items_come_in_order(count):
    assert list(prefetch(iter(range(20)), count)) == list(range(20))


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


def test_errors_come_where_the_item_is_asked_for():
    def items():
        yield 1
        raise ValueError("broken")

    following = prefetch(items(), 4)
    assert next(following) == 1
    with pytest.raises(ValueError, match="broken"):
        next(following)


def test_nothing_is_made_for_one_who_left():
    made = []

    def items():
        for k in range(100):
            made.append(k)
            yield k

    following = prefetch(items(), 2)
    next(following)
    following.close()
    assert len(made) <= 4
