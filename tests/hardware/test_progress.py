"""Progress within a case: nothing is counted twice, and all is counted in the end."""

from threading import Event

import pytest

from gpu_tools.hardware import threads
from gpu_tools.hardware.threads import CaseProgress, watched


def test_cells_are_reported_some_at_a_time_and_all_in_the_end():
    reported = []
    tally = CaseProgress(100, reported.append, least=30)
    for cells in (10, 25, 29, 5):
        tally.add(cells)
    assert reported == [35, 34]
    tally.finish()
    assert reported == [35, 34, 31]


def test_more_cells_than_there_are_count_as_all():
    reported = []
    tally = CaseProgress(10, reported.append, least=1)
    tally.add(25)
    tally.add(1)
    tally.finish()
    assert reported == [10]


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
