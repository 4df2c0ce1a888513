"""Tiny runs of the commands, in processes side by side, fill the compile cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import click

import gpu_tools
from gpu_tools.hardware.compiling import once_compiling
from gpu_tools.hardware.device import cpu_threads, list_gpus, resolve
from gpu_tools.hardware.reservation import FOLDER as LOCKS

IN_RUN = "GPU_TOOLS_TINY_RUN"
"""Is in the environment of the runs, which start no further ones and say nothing."""
_POLL_SECONDS = 0.02
_CPU = "cpu"


@contextmanager
def compiling_side_by_side(context: click.Context, options: dict) -> Iterator[None]:
    """Have a command whose code is missing from the cache compile it in several processes.

    Parameters
    ----------
    context : click.Context
        The command's.
    options : dict
        What the command receives; ``device`` is what it holds.
    """
    if IN_RUN in os.environ:
        yield
        return

    def compile_first() -> None:
        from gpu_tools.cli.common.tiny_runs import TINY_RUNS, modes_of

        name, modes = context.command_path.partition(" ")[2], modes_of(options)
        # `annotate` does what `spliced-align` does where it finds something
        names = {name, "spliced-align"} if name == "annotate" else {name}
        runs = [run for run in TINY_RUNS if run.command in names and run.modes == modes]
        device = options.get("device", _CPU)
        can = any(run.is_for(device) for run in runs if run.command == name)
        warming = Warming(device if can else _CPU)
        runs = [run for run in runs if run.is_for(warming.device)]
        tell = (lambda text: None) if options["quiet"] else _echo
        tell("compiling, once: code for this machine (gpu-tools warm-up does it for all commands)")
        side_by_side = cpu_threads(options.get("threads")) > 1
        if side_by_side and len(missing := warming.missing(runs)) > 1:
            warming.run(missing, options.get("threads"), tell)

    with once_compiling(compile_first):
        yield


def _echo(text: str) -> None:
    click.echo(text, err=True)


def devices_to_warm(specification: str) -> list[str]:
    """Return the devices that a specification stands for, one of each kind of GPU.

    With ``auto`` the CPU is one of them, whether or not there is a GPU.

    Raises
    ------
    DeviceError
        If CUDA is asked for and cannot be had.
    """
    device = resolve(specification)
    if device.kind == _CPU:
        return [_CPU]
    kinds = {gpu.ordinal: gpu.compute_capability for gpu in list_gpus()}
    first_of = {kinds[ordinal]: f"cuda:{ordinal}" for ordinal in reversed(device.ordinals)}
    return [*([_CPU] if specification == "auto" else []), *sorted(first_of.values())]


class Warming:
    """The tiny runs on one device, and a record beside the compile cache of what has been run.

    Parameters
    ----------
    device : str
        ``cpu`` or ``cuda:`` and one ordinal or several, the first of which is used.
    """

    def __init__(self, device: str):
        self.device = device.partition(",")[0]

    def missing(self, runs: Sequence) -> list:
        """Return those of some runs whose code need not be in the cache."""
        done = {line for path in self._records() for line in _lines_of(path)}
        return [run for run in runs if _digest(run) not in done]

    def run(self, runs: Sequence, processes: int | None, tell: Callable[[str], None]) -> list[str]:
        """Do runs in processes side by side.

        Parameters
        ----------
        runs : sequence of TinyRun
        processes : int, optional
            Runs at the same time; by default one for each processor.
        tell : callable
            Is told what remains.

        Returns
        -------
        list of str
            Why runs failed.
        """
        from gpu_tools.cli.common.tiny_runs import write_inputs

        failures, remaining = [], len(runs)
        with tempfile.TemporaryDirectory(prefix="gpu-tools-") as name:
            folder = Path(name)
            write_inputs(folder)
            for run, failure in self._finished(list(runs), cpu_threads(processes), folder):
                remaining -= 1
                if failure is None:
                    self._write(run)
                else:
                    failures.append(f"{' '.join(run.line(self.device))}: {failure}")
                if remaining:
                    tell(f"compiling, once: {remaining} of {len(runs)} parts remain")
        return failures

    def _finished(self, waiting: list, processes: int, folder: Path) -> Iterator[tuple]:
        """Yield runs as they end, and why each failed or None."""
        running = {}
        try:
            while waiting or running:
                # one more than there are processors, since some wait for what others compile
                while waiting and len(running) <= processes:
                    path = folder / str(len(waiting))
                    errors = path.with_suffix(".log").open("w+", encoding="utf-8")
                    run = waiting.pop(0)
                    running[self._start(run, path, errors)] = run, errors
                for process in [each for each in running if each.poll() is not None]:
                    run, errors = running.pop(process)
                    with errors:
                        yield run, _failure(process, errors)
                time.sleep(_POLL_SECONDS)
        finally:
            for process in running:
                process.terminate()
                process.wait()

    def _start(self, run, path: Path, errors) -> subprocess.Popen:
        line = run.line(self.device)
        if run.module is None:
            line += ["--quiet", "--output", f"{path}.out"]
        # the command that waits for the runs may hold the GPU: these have locks of their own
        environment = os.environ | {IN_RUN: "1", LOCKS: str(path.parent / "locks")}
        environment["PYTHONPATH"] = os.pathsep.join(_search_path())
        return subprocess.Popen(
            [sys.executable, *line], cwd=path.parent, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip

    def _records(self) -> list[Path]:
        """Return where it is written what has been run: in the cache, and in a shipped one."""
        from gpu_tools.hardware.compile_cache import cache_folders

        name = f"warm-up-{sha256(repr(self._machine()).encode()).hexdigest()[:16]}.txt"
        return [folder / name for folder in cache_folders()]

    def _machine(self) -> tuple:
        """Return what compiled code depends on."""
        from gpu_tools.hardware.compile_cache import package_stamp, processor

        ordinal = int(self.device.partition(":")[2] or 0)
        kinds = [] if self.device == _CPU else [g.compute_capability for g in list_gpus()]
        return package_stamp(), processor(), kinds[ordinal : ordinal + 1]

    def _write(self, run) -> None:
        path = self._records()[0]
        try:
            with path.open("a", encoding="ascii") as stream:
                stream.write(f"{_digest(run)}\n")
        except OSError:
            pass  # it is run again another time


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []


def _digest(run) -> str:
    return sha256(" ".join(run.line("")).encode()).hexdigest()[:16]


def _failure(process: subprocess.Popen, errors) -> str | None:
    if process.returncode == 0:
        return None
    errors.seek(0)
    lines = errors.read().strip().splitlines()
    return lines[-1] if lines else f"exit code {process.returncode}"


def _search_path() -> list[str]:
    """Return where the runs look for packages: this package first."""
    return [
        str(Path(gpu_tools.__file__).parents[1]),
        *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
    ]
