"""A command that is killed at a random moment, what it leaves, and the run after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.kills.cases import KillCase, is_index, link_inputs, plain

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), *sys.path])
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {
    signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGINT: (130, -2),
}  # fmt: skip
"""What a process returns that a signal ended, in Python's words or a shell's."""
RECEIVERS = ("process", "group")
OLD = b"what was there before\n"
PRINTED = "printed"
"""The file of what a run prints."""


class Kill(NamedTuple):
    """When a run is killed, how, and whether its outputs were there before.

    `moment` is in seconds from its start.
    """

    moment: float
    signal: signal.Signals
    receiver: str
    over_old: bool

    @classmethod
    def drawn(cls, rng: Random, seconds: float, receivers: tuple[str, ...] = RECEIVERS) -> Kill:
        """Draw a kill of a run that takes so many seconds if nobody disturbs it."""
        moment = rng.uniform(0, 1.1 * seconds)
        return cls(moment, rng.choice(SIGNALS), rng.choice(receivers), rng.random() < 0.3)

    def __str__(self) -> str:
        old = ", over old outputs" if self.over_old else ""
        return f"{self.signal.name} to the {self.receiver} after {self.moment:.3f} s{old}"


class Killer:
    """Kills runs of a program in a folder, and compares what they leave with undisturbed ones.

    A subclass says what a folder holds before a run (`prepared`) and after it (`outputs`), and what
    is wrong after a kill (`faults_of_end`, `faults_of_files`, `faults_of_rerun`).
    """

    receivers, old_outputs = RECEIVERS, True
    longest = 120.0
    """Seconds that an undisturbed run may take, if it does not compile."""

    def __init__(self, name: str, words: list[str]):
        self.name, self.words, self.seconds = name, words, 0.0
        self.expected: dict[str, bytes] = {}
        self.environment = os.environ | {"PYTHONPATH": PATHS, "GPU_TOOLS_TINY_RUN": "1"}

    def measure(self) -> None:
        """Run undisturbed twice, as the first run may compile; what differs is not compared."""
        found = []
        for _ in range(2):
            with tempfile.TemporaryDirectory(prefix="kills-") as name:
                folder, start = self.prepared(Path(name)), time.monotonic()
                if self.ended(folder, 1200):
                    raise SystemExit(f"{self.name}: {printed(folder)[-3000:]}")
                self.seconds = time.monotonic() - start
                found.append(self.outputs(folder))
        self.expected = {n: text for n, text in found[0].items() if found[1].get(n) == text}
        if differing := sorted({*found[0], *found[1]} - self.expected.keys()):
            print(f"{self.name}: not compared: {differing}", flush=True)

    def row(self, number: int, options) -> dict:
        """Kill a run by a random number of its own; return a row of the record."""
        if options.until and time.monotonic() > options.until:
            return {"case": self.name, "kill": "not done", "in_time": False, "faults": []}
        kill = Kill.drawn(Random(f"{options.seed} {number}"), self.seconds, self.receivers)
        kill = kill._replace(over_old=kill.over_old and self.old_outputs)
        found, in_time = self.faults(kill)
        for fault in found:
            print(f"kill {number}, {self.name}, {kill}: {fault}", flush=True)
        return {"case": self.name, "kill": str(kill), "in_time": in_time, "faults": found}

    def faults(self, kill: Kill) -> tuple[list[str], bool]:
        """Kill a run and repeat it; return what is wrong, and whether the kill came in time."""
        with tempfile.TemporaryDirectory(prefix="kills-") as name:
            folder = self.prepared(Path(name), kill.over_old)
            process = self.started(folder)
            in_time = self.killed(process, kill)
            found = [*self.faults_of_end(process, kill, in_time, folder)]
            found += self.faults_of_files(process.returncode, kill, folder)
            found += self.faults_of_rerun(folder)
        return found, in_time

    def started(self, folder: Path, *more: str) -> subprocess.Popen:
        """Start the program."""
        with open(folder / PRINTED, "wb") as output:
            return subprocess.Popen(
                [*self.words, *more], cwd=folder, env=self.environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def ended(self, folder: Path, seconds: float, *more: str) -> int:
        """Run the program undisturbed; return its exit code, or -9 if it had to be ended."""
        return ended(self.started(folder, *more), seconds)

    def killed(self, process: subprocess.Popen, kill: Kill) -> bool:
        """Kill a process at its moment; return whether it came to that."""
        try:
            process.wait(kill.moment)
            return False
        except subprocess.TimeoutExpired:
            self.send(process, kill)
            return True

    def send(self, process: subprocess.Popen, kill: Kill) -> None:
        """Send the signal of a kill."""
        if kill.receiver == "group":
            os.killpg(process.pid, kill.signal)
        else:
            process.send_signal(kill.signal)


class CommandKiller(Killer):
    """Kills one command, among the files of a folder and with the address of a server."""

    def __init__(
        self, case: KillCase, inputs: Path, url: str, program: tuple[str, ...] = ("-m", "gpu_tools")
    ):
        words = case.command.replace("{url}", url).split()
        super().__init__(case.name, [sys.executable, *program, *words, "--quiet"])
        self.case, self.inputs = case, inputs

    def prepared(self, folder: Path, over_old: bool = False) -> Path:
        """Return a folder with the inputs, and with old outputs if these are wanted."""
        link_inputs(self.inputs, folder / "work")
        if over_old:
            for output in self.case.outputs:
                (folder / "work" / output).write_bytes(OLD)
        return folder / "work"

    def outputs(self, folder: Path) -> dict[str, bytes]:
        """Return what the command has written."""
        paths = [folder / name for name in self.case.outputs]
        return {path.name: plain(path.name, path.read_bytes()) for path in paths if path.exists()}

    def faults_of_end(self, process, kill: Kill, in_time: bool, folder: Path) -> Iterator[str]:
        """Yield what is wrong with the end of a process."""
        code, errors = ended(process, self.longest), printed(folder)
        if kill.signal == signal.SIGINT and in_time and _came_before_the_program(errors):
            return
        if code not in (0, *(CODES[kill.signal] if in_time else ())):
            yield f"exit code {code}: {errors[-1500:]}"
        if "Traceback" in errors:
            yield f"a traceback: {errors[-1500:]}"
        if group_lives(process.pid):
            yield "processes live on"

    def faults_of_files(self, code: int, kill: Kill, folder: Path) -> Iterator[str]:
        """Yield what is wrong with the files of a run that was killed."""
        for name in self.case.outputs:
            path = folder / name
            content = path.read_bytes() if path.exists() else None
            allowed = (None, OLD) if kill.over_old else (None,)
            if code and (content in allowed or (content is not None and is_index(name))):
                continue
            if content is None or self._plain(name, content) != self.expected.get(name):
                yield f"{name} is neither absent nor complete after exit code {code}"
        hidden = [path.name for path in folder.iterdir() if "gpu-tools-" in path.name]
        if hidden and code in (130, 143):
            yield f"temporary files after a signal: {hidden}"

    def _plain(self, name: str, content: bytes) -> bytes | None:
        try:
            return plain(name, content)
        except (OSError, EOFError):
            return None

    def faults_of_rerun(self, folder: Path) -> Iterator[str]:
        """Yield what is wrong with the run after it."""
        if code := self.ended(folder, self.longest):
            yield f"the next run ends with exit code {code}: {printed(folder)[-1500:]}"
            return
        if self.outputs(folder) != self.expected:
            yield "the next run writes something else"
        inputs = {path.name for path in self.inputs.iterdir()}
        left = {path.name for path in folder.iterdir()} - inputs - {PRINTED, *self.case.outputs}
        if left := {name for name in left if not is_index(name)}:
            yield f"files are left after the next run: {sorted(left)}"


def printed(folder: Path) -> str:
    """Return what the last run in a folder has printed."""
    return (folder / PRINTED).read_text("utf-8", "replace")


def ended(process: subprocess.Popen, seconds: float) -> int:
    """Wait for the end of a process, or kill its group; return its exit code."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _came_before_the_program(errors: str) -> bool:
    """Tell whether Python itself was interrupted while it started, which no program can handle."""
    return "KeyboardInterrupt" in errors and "gpu_tools" not in errors


def group_lives(group: int, patience: float = 5.0) -> bool:
    """Tell whether processes of a group are there after some seconds; then kill them."""
    until = time.monotonic() + patience
    with suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
        return True
    return False
