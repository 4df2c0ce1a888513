"""A few kills, and that the harness sees a writer that is broken; `make kills` kills more."""

import signal
from random import Random

import pytest

from tests.cli.damage import FILES
from tests.kills.cases import KillCase
from tests.kills.killing import CODES, CommandKiller, Kill

BROKEN = """
import signal, sys, time
def clean_up(number, frame):
    sys.exit({code})
signal.signal(signal.SIGTERM, clean_up)
with open("out", "w") as stream:
    for _ in range(2):
        stream.write("half")
        stream.flush()
        time.sleep(0.3)
"""


@pytest.fixture
def inputs(tmp_path):
    folder = tmp_path / "inputs"
    folder.mkdir()
    (folder / "exons.tsv").write_bytes(FILES["exons.tsv"])
    return folder


def test_a_command_that_is_killed_is_done_again(inputs):
    case = KillCase("convert", "exons convert exons.tsv --to gff3 --output out", ("out",))
    killer = CommandKiller(case, inputs, "")
    killer.measure()
    print(f"seed 1, {killer.seconds:.2f} s")
    for number in range(2):
        kill = Kill.drawn(Random(f"1 {number}"), killer.seconds)
        assert killer.faults(kill)[0] == [], kill


@pytest.mark.parametrize(
    ("number", "code", "expected"),
    [
        (signal.SIGKILL, 0, "out is neither absent nor complete after exit code -9"),
        (signal.SIGTERM, 0, "out is neither absent nor complete after exit code 0"),
        (signal.SIGTERM, 1, "exit code 1: "),
    ],
)
def test_a_broken_writer_is_seen(inputs, number, code, expected):
    killer = CommandKiller(
        KillCase("broken", "", ("out",)), inputs, "", ("-c", BROKEN.format(code=code))
    )
    killer.expected = {"out": b"halfhalf"}
    found, in_time = killer.faults(Kill(0.3, number, "process", False))
    assert in_time
    assert any(fault.startswith(expected) for fault in found), found


def test_a_kill_depends_on_its_number_alone():
    drawn = [Kill.drawn(Random(f"1 {k}"), 2.0) for k in range(200)]
    assert drawn == [Kill.drawn(Random(f"1 {k}"), 2.0) for k in range(200)]
    assert {kill.signal for kill in drawn} == set(CODES)
    assert 0 <= min(kill.moment for kill in drawn) < 0.1 < 2.0 < max(k.moment for k in drawn) < 2.2
