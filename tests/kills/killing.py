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
_LONGEST = 120.0


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


class CommandKiller:
    """Kills one command.

    Parameters
    ----------
    case : KillCase
    inputs : Path
        Folder of the inputs.
    url : str
        Address of the server.
    program : sequence of str
        What runs a command of gpu-tools.
    """

    def __init__(
        self, case: KillCase, inputs: Path, url: str, program: tuple[str, ...] = ("-m", "gpu_tools")
    ):
        words = case.command.replace("{url}", url).split()
        self.case, self.inputs = case, inputs
        self.words = [sys.executable, *program, *words, "--quiet"]
        self.expected: dict[str, bytes] = {}
        self.seconds = 0.0

    def measure(self) -> None:
        """Run the command twice, undisturbed: the first run may compile."""
        for _ in range(2):
            with tempfile.TemporaryDirectory(prefix="kills-") as name:
                folder = self._prepared(Path(name))
                start = time.monotonic()
                process = self._started(folder)
                if process.wait(10 * _LONGEST):
                    raise SystemExit(f"{self.case}: {(folder / 'errors').read_text()}")
                self.seconds = time.monotonic() - start
                self.expected = self._outputs(folder)

    def faults(self, kill: Kill) -> tuple[list[str], bool]:
        """Kill a run and repeat it; return what is wrong, and whether the kill came in time."""
        with tempfile.TemporaryDirectory(prefix="kills-") as name:
            folder = self._prepared(Path(name))
            if kill.over_old:
                for output in self.case.outputs:
                    (folder / output).write_bytes(OLD)
            process = self._started(folder)
            in_time = killed(process, kill)
            found = [*self._faults_of_end(process, kill, in_time, folder)]
            found += self._faults_of_files(process.returncode, kill, folder)
            found += self._faults_of_rerun(folder)
        return found, in_time

    def _prepared(self, folder: Path) -> Path:
        link_inputs(self.inputs, folder / "work")
        return folder / "work"

    def _started(self, folder: Path) -> subprocess.Popen:
        with open(folder / "errors", "wb") as errors:
            return subprocess.Popen(
                self.words, cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors,
                env=os.environ | {"PYTHONPATH": PATHS, "GPU_TOOLS_TINY_RUN": "1"},
            )  # fmt: skip

    def _outputs(self, folder: Path) -> dict[str, bytes]:
        paths = [folder / name for name in self.case.outputs]
        return {path.name: plain(path.name, path.read_bytes()) for path in paths if path.exists()}

    def _faults_of_end(self, process, kill: Kill, in_time: bool, folder: Path) -> Iterator[str]:
        code, errors = process.returncode, (folder / "errors").read_text("utf-8", "replace")
        if kill.signal == signal.SIGINT and in_time and _came_before_the_program(errors):
            return
        if code not in (0, *(CODES[kill.signal] if in_time else ())):
            yield f"exit code {code}: {errors[-1500:]}"
        if "Traceback" in errors:
            yield f"a traceback: {errors[-1500:]}"
        if group_lives(process.pid):
            yield "processes live on"
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _faults_of_files(self, code: int, kill: Kill, folder: Path) -> Iterator[str]:
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

    def _faults_of_rerun(self, folder: Path) -> Iterator[str]:
        code = self._started(folder).wait(_LONGEST)
        if code:
            errors = (folder / "errors").read_text("utf-8", "replace")
            yield f"the next run ends with exit code {code}: {errors[-1500:]}"
            return
        if self._outputs(folder) != self.expected:
            yield "the next run writes something else"
        inputs = {path.name for path in self.inputs.iterdir()}
        left = {path.name for path in folder.iterdir()} - inputs - {"errors", *self.case.outputs}
        left = {name for name in left if not is_index(name)}
        if left:
            yield f"files are left after the next run: {sorted(left)}"


def _came_before_the_program(errors: str) -> bool:
    """Tell whether Python itself was interrupted while it started, which no program can handle."""
    return "KeyboardInterrupt" in errors and "gpu_tools" not in errors


def killed(process: subprocess.Popen, kill: Kill) -> bool:
    """Kill a process at its moment and wait for its end; return whether it came to that."""
    try:
        process.wait(kill.moment)
        return False
    except subprocess.TimeoutExpired:
        pass
    if kill.receiver == "group":
        os.killpg(process.pid, kill.signal)
    else:
        process.send_signal(kill.signal)
    try:
        process.wait(_LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return True


def group_lives(group: int, patience: float = 5.0) -> bool:
    """Tell whether processes of a group are there after some seconds."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    return True
