"""A short run of the fuzzing, and that it sees what it looks for; `make fuzz` runs it longer."""

import time
from pathlib import Path
from random import Random

import pytest

from gpu_tools.cli.main import LazyGroup, cli
from tests.fuzz import engine, running
from tests.fuzz.engine import Job, Trier, distinct, kinds
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import COMMAND_LINES, CORPUS, NOT_FUZZED, READERS, SLOW_COMMANDS, corpus

INPUTS = len(kinds(slow=False))


@pytest.fixture
def trier(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", time.sleep)  # a server's clients do not wait
    found = Trier(Job(INPUTS, seed=1, processes=1, slow=False), tmp_path)
    yield found
    found.close()


def test_each_target_once(trier):
    found = {number: trier.faults(number) for number in range(INPUTS)}
    assert not {trier.target(number): faults for number, faults in found.items() if faults}


def commands(group, before=()):
    """Yield the words of all commands."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, LazyGroup):
            yield from commands(command, (*before, name))
        else:
            yield [*before, name]


def test_every_command_is_fuzzed():
    lines = [*COMMAND_LINES, *SLOW_COMMANDS]
    missing = {" ".join(words) for words in commands(cli)
               if not any(line[: len(words)] == words for line in lines)}  # fmt: skip
    assert missing == set(NOT_FUZZED)


def test_every_file_of_the_corpus_is_used():
    used = {name for reader in READERS.values() for name in reader.names}
    used |= {word for line in COMMAND_LINES for word in line}
    names = [path.name for path in CORPUS.glob("*/*")]
    assert len(names) == len(set(names))
    assert set(names) - used == set()


def test_an_input_depends_on_its_number_alone():
    for name, content in corpus().items():
        assert mutated(name, content, Random("1 5")) == mutated(name, content, Random("1 5"))


def fails(*_):
    raise RuntimeError


HELD = []


def takes_memory(path):
    """Hold it: not every kernel knows the peak of what a process has given back."""
    HELD.append(b"x" * (64 << 20))


@pytest.mark.parametrize(
    ("read", "expected"), [(fails, "RuntimeError"), (takes_memory, "memory: "), (abs, "TypeError")]
)
def test_what_a_reader_does_wrong_is_seen(trier, monkeypatch, read, expected):
    monkeypatch.setattr(running, "MOST_BYTES", 8 << 20)
    (fault, *_) = trier.runner.reader(read, ("one.fa",), Random(1))
    HELD.clear()
    assert expected in fault


FAULTY = {
    "a traceback": fails,
    "exit code 7": lambda line: 7,
    "no word of what is wrong": lambda line: 1,
    "files of a run that failed: ['x']": lambda line: Path("x").write_text("half") and 1,
    "files that are no outputs: ['x']": lambda line: Path("x").write_text("half") and 0,
    "base.fa has changed": lambda line: Path("base.fa").write_text("other") and 0,
    "the output was not written": lambda line: 0,
    "time: ": lambda line: sum(range(300_000)) and 0,
}


@pytest.mark.parametrize("expected", FAULTY)
def test_what_a_command_does_wrong_is_seen(trier, monkeypatch, expected):
    monkeypatch.setattr(running, "main", FAULTY[expected])
    monkeypatch.setattr(running, "MOST_SECONDS", 0.001)
    files = {"base.fa": b"", "out": running.OLD}
    trier.runner.folder.lay_out(files)
    found = trier.runner.faults(["x"], files, {"out"})
    assert any(fault.startswith(expected) for fault in found), found


def dies(job, share, first, state, log):
    """Crash at one input, hang at another one."""
    for number in range(first, job.inputs, job.processes):
        state[share] = number
        if number == 2:
            raise SystemExit(3)
        if number == 3:
            time.sleep(100)
    state[share] = job.inputs + share


WATCHED = {
    "crashes and hangs are noted": (None, 8, [], ["crash: 3", "time: no"]),
    "what is under way when the time is over is no finding": (0.5, 5, [3], ["crash: 3"]),
}


@pytest.mark.parametrize("case", WATCHED)
def test_other_processes_go_on(monkeypatch, case):
    seconds, tried, unfinished, faults = WATCHED[case]
    monkeypatch.setattr(engine, "LONGEST_WAIT", 100 if seconds else 0.5)
    monkeypatch.setattr(engine, "_LAST_WAIT", 0.1)
    monkeypatch.setattr(engine, "work", dies)
    monkeypatch.setattr(engine, "METHOD", "fork")
    figures = engine.run(Job(8, seed=1, processes=2, seconds=seconds))
    assert (figures["inputs"], figures["unfinished"]) == (tried, unfinished)
    assert [each["fault"][:8] for each in figures["findings"]] == faults


def test_a_harness_that_fails_says_why(monkeypatch):
    monkeypatch.setattr(Trier, "faults", lambda *_: 1 / 0)
    monkeypatch.setattr(engine, "METHOD", "fork")
    figures = engine.run(Job(2, seed=1, processes=1, slow=False))
    (found,) = figures["findings"]
    assert found["times"] == 2
    assert "ZeroDivisionError" in found["fault"]


def test_equal_findings_are_one():
    text = 'File "a.py", line 1, in f\nValueError: x'
    noted = [{"input": n, "target": "reader: x", "fault": text} for n in (5, 3)]
    assert distinct(noted) == [{"input": 3, "target": "reader: x", "fault": text, "times": 2}]
