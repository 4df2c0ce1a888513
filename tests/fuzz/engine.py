"""Many inputs over several processes, each watched: exceptions, hangs, memory, crashes."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from gpu_tools.hardware.own_files import MEMORY
from tests.fuzz.running import MOST_BYTES, Runner, bound_memory
from tests.fuzz.serving import Network
from tests.fuzz.targets import COMMAND_LINES, READERS, SLOW_COMMANDS

WEIGHTS = {"reader": 8, "command": 4, "fetch": 4, "slow": 0.01}
"""Inputs of a target of each kind, in relation: commands take ten times as long as readers."""
LONGEST_WAIT = 300.0
"""Seconds without a sign of life after which a process is killed: it may be compiling, or waiting
for one that does."""
METHOD = "spawn"
"""How processes are started."""
_LAST_WAIT = 30.0
"""Seconds after the time of a job until what is still being tried is ended, without a verdict."""
_ROUND = 10_000
_MORE_MEMORY = 4 * MOST_BYTES
_MEMORY_TOLD = "1"
"""GiB that commands believe to have: what takes more is to be refused, on any machine."""
_NOTED = 70
"""Exit code of a process that has noted why it ends."""


class Job(NamedTuple):
    """Which inputs to try: numbers below `inputs`, drawn by a seed; for so long at most."""

    inputs: int
    seed: int
    processes: int
    seconds: float | None = None
    slow: bool = True


def kinds(slow: bool = True) -> dict[str, str]:
    """Return the kind of each target by its name."""
    found = {f"reader: {name}": "reader" for name in READERS}
    found |= {f"command: {' '.join(words)}": "command" for words in COMMAND_LINES}
    found["command: sequences fetch from a server"] = "fetch"
    if slow:
        found |= {f"command: {' '.join(words)}": "slow" for words in SLOW_COMMANDS}
    return found


def schedule(job: Job) -> list[str]:
    """Return the targets of one round of inputs, each as often as its weight says."""
    of_targets = kinds(job.slow)
    total = sum(WEIGHTS[kind] for kind in of_targets.values())
    size = min(_ROUND, job.inputs)
    if size < _ROUND:  # a short run: each target in turn
        names = list(of_targets)
        return [names[k % len(names)] for k in range(size)]
    counts = {name: size * WEIGHTS[kind] / total for name, kind in of_targets.items()}
    found = [name for name, count in counts.items() for _ in range(max(round(count), 1))]
    Random(job.seed).shuffle(found)
    return found


class Trier:
    """Tries inputs in this process, each known by its number."""

    def __init__(self, job: Job, folder: Path):
        self.seed, self.schedule = job.seed, schedule(job)
        self.runner, self._network = Runner(folder), None

    def close(self) -> None:
        """Stop what runs beside the inputs."""
        if self._network:
            self._network.close()

    def target(self, number: int) -> str:
        """Return the target of an input."""
        return self.schedule[number % len(self.schedule)]

    def faults(self, number: int) -> list[str]:
        """Try an input; what took too long is tried again, for some of it may be compiling."""
        target = self.target(number)
        found = self._tried(number, target)
        if any(fault.startswith("time") for fault in found):
            found = self._tried(number, target)
        return found

    def _tried(self, number: int, target: str) -> list[str]:
        rng = Random(f"{self.seed} {number}")
        kind, _, name = target.partition(": ")
        if kind == "reader":
            return self.runner.reader(*READERS[name], rng)
        if name == "sequences fetch from a server":
            self._network = self._network or Network()
            line = self._network.line(rng)
            self.runner.folder.lay_out({})
            outputs = {"out", "out.fa.gz", "a.tsv"}
            parts = {f".{output}.part{end}" for output in outputs for end in ("", ".json")}
            return self.runner.faults(line, {}, outputs | parts, parts)
        if name.startswith("report"):
            bound_memory(None)  # the engine that draws reserves many addresses, for good
        return self.runner.command(name.split(), rng)


def work(job: Job, share: int, first: int, state, log: str) -> None:
    """Try a share of the inputs from one on; log what is wrong; tell which one is being tried."""
    bound_memory(_MORE_MEMORY)
    os.environ[MEMORY] = _MEMORY_TOLD
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        trier = Trier(job, Path(folder))
        try:
            _try_share(job, trier, share, first, state, log)
        except Exception:
            number, what = state[share], f"the harness fails: {traceback.format_exc()}"
            _note(log, number, trier.target(number), [what])
            raise SystemExit(_NOTED) from None
        finally:
            with suppress(Exception):  # what fails at the end is nothing that an input does
                trier.close()
            os.chdir("/")


def _try_share(job: Job, trier: Trier, share: int, first: int, state, log: str) -> None:
    start = time.monotonic()
    for number in range(first, job.inputs, job.processes):
        state[share] = number
        if job.seconds and time.monotonic() - start > job.seconds:
            return
        if found := trier.faults(number):
            _note(log, number, trier.target(number), found)
    state[share] = job.inputs + share


def _note(log: str, number: int, target: str, found: list[str]) -> None:
    with open(log, "a", encoding="utf-8") as stream:
        for fault in found:
            print(json.dumps({"input": number, "target": target, "fault": fault}), file=stream)
            print(f"input {number}: {target}: {fault.splitlines()[0][:200]}", flush=True)


class Watch:
    """The processes of a job: those that crash or hang are noted, and others go on for them."""

    def __init__(self, job: Job, log: Path):
        self.job, self.log = job, str(log)
        self.context = multiprocessing.get_context(METHOD)
        self.state = self.context.RawArray("q", job.processes)
        self.changed = [(0, 0.0)] * job.processes
        self.start, self.unfinished = time.monotonic(), []
        self.running = [self._started(share, share) for share in range(job.processes)]

    def _started(self, share: int, first: int):
        left = self.job.seconds and self.job.seconds - (time.monotonic() - self.start)
        self.state[share] = first
        self.changed[share] = first, time.monotonic()
        job = self.job._replace(seconds=left)
        process = self.context.Process(target=work, args=(job, share, first, self.state, self.log))
        process.start()
        return process

    def wait(self) -> int:
        """Wait for all; return how many inputs were tried to their end."""
        while any(process is not None for process in self.running):
            time.sleep(0.2)
            for share in range(self.job.processes):
                self._look_at(share)
        job = self.job
        ends = (min(self.state[share], job.inputs) for share in range(job.processes))
        return sum(len(range(k, end, job.processes)) for k, end in enumerate(ends))

    def _look_at(self, share: int) -> None:
        process, number = self.running[share], self.state[share]
        if process is None:
            return
        if process.exitcode is None:
            if number != self.changed[share][0]:
                self.changed[share] = number, time.monotonic()
            elif time.monotonic() - self.changed[share][1] > LONGEST_WAIT or self._late(_LAST_WAIT):
                os.kill(process.pid, signal.SIGKILL)
            return
        code, self.running[share] = process.exitcode, None
        process.join()
        if code == -signal.SIGKILL and self._late(_LAST_WAIT):
            self.unfinished.append(number)
            return
        if code:
            target = schedule(self.job)[number % len(schedule(self.job))]
            waited = time.monotonic() - self.changed[share][1]
            hung = code == -signal.SIGKILL and waited > LONGEST_WAIT
            what = f"time: no end within {waited:.0f} s" if hung else f"crash: {code}"
            if code != _NOTED:
                _note(self.log, number, target, [what])
            if not self._late():
                self.running[share] = self._started(share, number + self.job.processes)

    def _late(self, more: float = 0.0) -> bool:
        """Tell whether the time of the job is over, and so many seconds more."""
        job = self.job
        return bool(job.seconds) and time.monotonic() - self.start > job.seconds + more


def run(job: Job) -> dict:
    """Try the inputs of a job; return what was tried, what was found, and how long it took."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        log = Path(folder) / "findings"
        log.touch()
        watch = Watch(job, log)
        tried = watch.wait()
        noted = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    names = schedule(job)
    by_target = Counter(names[k % len(names)] for k in range(tried))
    return {
        "inputs": tried, "seed": job.seed, "processes": job.processes,
        "seconds": round(time.monotonic() - start, 1), "findings": distinct(noted),
        "unfinished": sorted(watch.unfinished),
        "inputs_by_target": dict(sorted(by_target.items())),
    }  # fmt: skip


def distinct(noted: list[dict]) -> list[dict]:
    """Return one finding of each kind, the first, with how often it came."""
    found: dict[tuple, dict] = {}
    for each in sorted(noted, key=lambda each: each["input"]):
        lines = re.findall(r"(?m)^\S*(?:Error|Exception)\b.*|File .*, in \w+", each["fault"])
        kind = each["target"].split()[1], each["fault"].partition(":")[0][:60], *lines[-2:]
        found.setdefault(kind, {**each, "times": 0})["times"] += 1
    return list(found.values())


def replay(job: Job, number: int) -> list[str]:
    """Try one input of a job again, in this process."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        trier = Trier(job, Path(folder))
        print(trier.target(number))
        try:
            return trier.faults(number)
        finally:
            trier.close()
            os.chdir("/")
