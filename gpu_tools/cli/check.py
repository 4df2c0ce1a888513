"""``gpu-tools check``: whether everything that the tools need works here, and what to do."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import click

from gpu_tools.cli.common import options
from gpu_tools.errors import DeviceError
from gpu_tools.formats.tables import write_table
from gpu_tools.hardware.device import Gpu, cpu_threads, list_gpus
from gpu_tools.hardware.own_files import private_folder
from gpu_tools.hardware.reservation import is_held, lock_folder
from gpu_tools.model.resources import installed_version

COLUMNS = ("what", "state", "found", "to_do")
OK, NOTE, PROBLEM = "ok", "note", "problem"
_PACKAGE = Path(__file__).parents[1]
_EXTRAS = {
    "report": ("altair", "vl-convert-python"),
    "workflow": ("snakemake", "pygments"),
    "tracks": ("pyBigWig",),
}
_DRIVER = "install NVIDIA's driver, or run on the CPU"


class Finding(NamedTuple):
    """A row of the table: what was looked at, how it is, what was found, and what to do."""

    what: str
    state: str
    found: str
    to_do: str | None = None


@click.command("check")
@options.output
@options.common
def command(output: str, quiet: bool) -> None:
    """Look whether everything that the tools need works on this machine.

    The table has a row for each thing: ok, a note about what is not there and need not be, or a
    problem, with what to do. With a problem the exit code is 1.
    """
    findings = [*_software(), *_gpus(), *_folders(), *_extras()]
    write_table(output, COLUMNS, findings)
    if any(finding.state == PROBLEM for finding in findings):
        click.get_current_context().exit(1)


def _software() -> Iterator[Finding]:
    yield Finding("gpu-tools", OK, f"{installed_version()} in {_PACKAGE}")
    yield Finding("python", OK, platform.python_version())
    for name in ("numba", "numpy", "pysam"):
        yield Finding(name, OK, version(name))
    yield Finding("processors", OK, f"{cpu_threads()} of {os.cpu_count()} may be used")


def _gpus() -> Iterator[Finding]:
    try:
        found = list_gpus()
    except DeviceError as error:
        missing = _version("numba-cuda") is None
        to_do = "for a GPU: pip install 'gpu-tools[cuda]'" if missing else _DRIVER
        yield Finding("gpu", NOTE, f"{error}; commands run on the CPU", to_do)
        return
    yield Finding("numba-cuda", OK, _version("numba-cuda") or "unknown")
    yield Finding("driver", OK, f"CUDA {found[0].driver}")
    yield from map(_gpu, found)


def _gpu(gpu: Gpu) -> Finding:
    text = f"{gpu.name}, compute capability {gpu.compute_capability}, {gpu.memory / 1e9:.0f} GB"
    if is_held(gpu):
        return Finding(f"cuda:{gpu.ordinal}", NOTE, f"{text}; another job holds it", "wait for it")
    return Finding(f"cuda:{gpu.ordinal}", OK, text)


def _folders() -> Iterator[Finding]:
    folder = _cache_folder()
    read = {folder} if os.environ.get("NUMBA_CACHE_DIR") else {folder, _PACKAGE}
    n = sum(1 for each in read for _ in each.rglob("*.nbi"))
    where = f"{folder}, {n} compiled functions"
    if not _can_write(folder):
        to_do = "set NUMBA_CACHE_DIR to a folder that can be written"
        yield Finding("compile cache", PROBLEM, f"{where}; it cannot be written", to_do)
    elif not n:
        to_do = "gpu-tools warm-up compiles the code once"
        yield Finding("compile cache", NOTE, f"{where}; first calls are slow", to_do)
    else:
        yield Finding("compile cache", OK, where)
    yield _locks()


def _cache_folder() -> Path:
    """Return where compiled code is stored: docs/guide/warm-up.md has the order."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named)
    if os.access(_PACKAGE, os.W_OK):
        return _PACKAGE
    try:
        of_user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numba"
    except RuntimeError:  # there is no home
        return private_folder()
    there = next(folder for folder in (of_user, *of_user.parents) if folder.exists())
    return of_user if os.access(there, os.W_OK) else private_folder()


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _locks() -> Finding:
    try:
        return Finding("locks of GPUs", OK, str(lock_folder()))
    except DeviceError as error:
        return Finding("locks of GPUs", PROBLEM, str(error), "set GPU_TOOLS_LOCKS to such a folder")


def _extras() -> Iterator[Finding]:
    for extra, packages in _EXTRAS.items():
        missing = [name for name in packages if _version(name) is None]
        if missing:
            to_do = f"if it is needed: pip install 'gpu-tools[{extra}]'"
            yield Finding(f"extra {extra}", NOTE, f"{missing[0]} is not installed", to_do)
        else:
            found = ", ".join(f"{name} {_version(name)}" for name in packages)
            yield Finding(f"extra {extra}", OK, found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
