"""``gpu-tools check``: whether everything that the tools need works here, and what to do."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import click

from gpu_tools.cli.common import options
from gpu_tools.errors import DeviceError
from gpu_tools.formats.tables import write_table
from gpu_tools.hardware.device import (
    Gpu,
    cpu_threads,
    driver_version,
    is_held,
    list_gpus,
    lock_folder,
)
from gpu_tools.model.resources import how_to_install, installed_version

COLUMNS = ("what", "state", "found", "to_do")
OK, NOTE, PROBLEM = "ok", "note", "problem"
_PACKAGE = Path(__file__).parents[1]
_EXTRAS = {
    "report": ("altair", "vl-convert-python"),
    "workflow": ("snakemake", "pygments"),
    "tracks": ("pyBigWig",),
}
_NO_DRIVER = "install NVIDIA's driver, or run on the CPU"
_OLD_DRIVER = "install a driver of version 525 or newer, or run on the CPU"
_CUDA = 13, 12
"""Versions of CUDA for which there is an extra."""


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
    """Test whether everything that the tools need works on this machine.

    Each row of the table is ok, a note (optional and missing, or in use by another job) or a
    problem, and tells what to do. With a problem the exit code is 1.
    """
    findings = [*_software(), *_gpus(), _compile_cache(), _locks(), *_extras()]
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
        yield Finding("gpu", NOTE, f"{error}; commands run on the CPU", _how_to_have_gpus())
        return
    yield Finding("numba-cuda", OK, _version("numba-cuda") or "unknown")
    yield Finding("driver", OK, f"CUDA {found[0].driver}")
    yield from map(_gpu, found)


def _how_to_have_gpus() -> str:
    """Return what to do where no GPU can be used: the extra that fits the driver, or a driver."""
    known = driver_version()
    if known is None:
        missing = _version("numba-cuda") is None
        return f"for a GPU: {how_to_install('cuda')}" if missing else _NO_DRIVER
    fitting = next((number for number in _CUDA if number <= known[0]), None)
    if fitting is None:
        return _OLD_DRIVER
    return f"for this driver of CUDA {known[0]}.{known[1]}: {how_to_install(f'cuda{fitting}')}"


def _gpu(gpu: Gpu) -> Finding:
    text = f"{gpu.name}, compute capability {gpu.compute_capability}, {gpu.memory / 1e9:.0f} GB"
    if is_held(gpu):
        return Finding(f"cuda:{gpu.ordinal}", NOTE, f"{text}; another job holds it", "wait for it")
    return Finding(f"cuda:{gpu.ordinal}", OK, text)


def _compile_cache() -> Finding:
    from gpu_tools.hardware import compiled

    folders = [place / compiled.folder_name() for place in compiled.places()]
    folder = next(filter(compiled.usable, folders), None)
    named = bool(os.environ.get(compiled.NAMED)) and not compiled.listed(folders[0])
    if folder is None or (named and folder != folders[0]):
        to_do = f"set {compiled.NAMED} to a folder that can be written, on a disk with room"
        return Finding("compile cache", PROBLEM, f"{folders[0]} cannot be written", to_do)
    known = compiled.listed(folder)
    where = f"{folder}, {sum(name.endswith('.nbi') for name in known)} compiled functions"
    if bad := [name for name in compiled.damaged(folder) if name in known]:
        to_do = "gpu-tools warm-up compiles them again"
        return Finding("compile cache", PROBLEM, f"{where}; {len(bad)} files are damaged", to_do)
    if not known:
        to_do = "gpu-tools warm-up compiles the code once"
        return Finding("compile cache", NOTE, f"{where}; first calls are slow", to_do)
    return Finding("compile cache", OK, where)


def _locks() -> Finding:
    try:
        return Finding("locks of GPUs", OK, str(lock_folder()))
    except DeviceError as error:
        return Finding("locks of GPUs", PROBLEM, str(error), "set GPU_TOOLS_LOCKS to such a folder")


def _extras() -> Iterator[Finding]:
    for extra, packages in _EXTRAS.items():
        missing = [name for name in packages if _version(name) is None]
        if missing:
            to_do = f"if it is needed: {how_to_install(extra)}"
            yield Finding(f"extra {extra}", NOTE, f"{missing[0]} is not installed", to_do)
        else:
            found = ", ".join(f"{name} {_version(name)}" for name in packages)
            yield Finding(f"extra {extra}", OK, found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
