"""Tiny runs of the commands fill the compile cache."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import click

from gpu_tools.hardware.compiling import once_compiling
from gpu_tools.hardware.device import list_gpus, resolve

IN_RUN = "GPU_TOOLS_TINY_RUN"
"""Is in the environment of commands that do not say that they compile, such as those of tests."""
_CPU = "cpu"
_SIGNALLED = 128
"""Exit codes above are of commands that were interrupted."""


@contextlib.contextmanager
def compiling_told(quiet: bool) -> Iterator[None]:
    """Have a command say so if code is missing from the compile cache."""

    def tell() -> None:
        click.echo(
            "compiling, once: code for this machine (gpu-tools warm-up does it for all commands)",
            err=True,
        )

    with contextlib.nullcontext() if quiet or IN_RUN in os.environ else once_compiling(tell):
        yield


def devices_to_warm(specification: str) -> list[str]:
    """Return the devices that a specification stands for, one of each kind of GPU.

    With ``auto`` the CPU is one of them, whether or not there is a GPU.
    """
    device = resolve(specification)
    if device.kind == _CPU:
        return [_CPU]
    kinds = {gpu.ordinal: gpu.compute_capability for gpu in list_gpus()}
    first_of = {kinds[ordinal]: f"cuda:{ordinal}" for ordinal in reversed(device.ordinals)}
    return [*([_CPU] if specification == "auto" else []), *sorted(first_of.values())]


class Warming:
    """The tiny runs on one device, and a record in the compile cache of what has been run.

    Parameters
    ----------
    device : str
        ``cpu`` or ``cuda:`` and an ordinal.
    """

    def __init__(self, device: str):
        self.device = device

    def missing(self, runs: Sequence) -> list:
        """Return those of some runs whose code need not be in the cache."""
        path = self._record()
        done = _lines_of(path) if path else []
        return [run for run in runs if self._digest(run) not in done]

    def run(self, runs: Sequence, threads: int | None, tell: Callable[[str], None]) -> list[str]:
        """Do runs, one after the other."""
        from gpu_tools.cli.common.tiny_runs import write_inputs

        path, failures = self._record(), []
        with tempfile.TemporaryDirectory(prefix="gpu-tools-") as name:
            write_inputs(Path(name))
            for number, run in enumerate(runs):
                if number:
                    tell(f"compiling, once: {len(runs) - number} of {len(runs)} parts remain")
                line = run.line(self.device, threads)[2:]
                words = [*line, "--quiet", "--output", f"{name}/out"]
                failure = _failure([_inside(Path(name), word) for word in words])
                if failure is not None:
                    failures.append(f"{' '.join(line)}: {failure}")
                elif path:
                    with contextlib.suppress(OSError):  # it is run again another time
                        with path.open("a", encoding="ascii") as stream:
                            stream.write(f"{self._digest(run)}\n")
        return failures

    def _record(self) -> Path | None:
        """Return where it is written what has been run."""
        from gpu_tools.hardware.compile_cache import WARMED, cache_folder

        folder = cache_folder()
        return folder and folder / WARMED

    def _digest(self, run) -> str:
        ordinal = int(self.device.partition(":")[2] or 0)
        kinds = [] if self.device == _CPU else [list_gpus()[ordinal].compute_capability]
        return sha256(repr((run.line(""), kinds)).encode()).hexdigest()[:16]


def _inside(folder: Path, word: str) -> str:
    """Return a word, or the path of the input that it names."""
    return str(folder / word) if (folder / word).is_file() else word


def _failure(line: list[str]) -> str | None:
    """Run a command in this process; return why it failed, or None."""
    from gpu_tools.cli.main import main

    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(line)
    if code > _SIGNALLED:
        raise KeyboardInterrupt
    if code == 0:
        return None
    return (said.getvalue().strip().splitlines() or [f"exit code {code}"])[-1]


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []
