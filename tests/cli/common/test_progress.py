"""How long the rest takes."""

import pytest

from gpu_tools.cli.common.options import lines, time_left


@pytest.mark.parametrize(
    ("seconds", "done", "total", "text"),
    [
        (10, 0, 100, ""),
        (10, 100, 100, ""),
        (10, 50, 100, ", about 10 s left"),
        (1, 99, 100, ", about 1 s left"),
        (60, 25, 100, ", about 3 min left"),
        (3600, 40, 100, ", about 1 h 30 min left"),
    ],
)
def test_the_rest_takes_as_long_as_what_is_done(seconds, done, total, text):
    assert time_left(seconds, done, total) == text


def test_compilation_does_not_count_for_what_is_left(capsys):
    times = iter((0, 30, 40, 50, 60))
    update = lines("aligning", 100, lambda: next(times))
    for done in (0, 20, 20, 60):
        update(done)
    assert capsys.readouterr().err.splitlines() == [
        "aligning: 0 %", "aligning: 20 %", "aligning: 40 %, about 30 s left", "aligning: 100 %",
    ]  # fmt: skip
