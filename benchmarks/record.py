"""Run a benchmark program and write its raw record: figures, machine, versions, commit, date."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from gpu_tools.errors import DeviceError
from gpu_tools.hardware.device import list_gpus, simulated

_ROOT = Path(__file__).parent.parent
LINE = 800
"""Characters of a line of a record, at most, if what it holds has parts."""
_PACKAGES = ("gpu-tools", "numba", "numba-cuda", "numpy", "parasail")


Measured = Iterable[tuple[str, object]]
"""Names and figures; each is measured when the iterator reaches it."""


def main(
    measure: Callable[..., Measured],
    needs_folder: bool = False,
    needs_gpu: bool = False,
    arguments: list[str] | None = None,
    **parts: Callable[..., Measured],
) -> None:
    """Run a program: print its figures as they come and write them to a record, if one is named.

    `measure` and the parts, which ``--part NAME`` measures instead, take ``tiny``. Where
    `needs_folder` says so they take a folder before it, the program's first argument. A program
    that `needs_gpu` ends with a word where there is none.
    """
    parser = argparse.ArgumentParser()
    if needs_folder:
        parser.add_argument("folder", type=Path)
    parser.add_argument("record", nargs="?", help="JSON file to write")
    parser.add_argument("--tiny", action="store_true", help="inputs that take seconds")
    if parts:
        parser.add_argument("--part", choices=parts, help="measure something else")
    options = parser.parse_args(arguments)
    if needs_gpu and (missing := no_gpu()):
        return print(missing)
    chosen = parts.get(getattr(options, "part", None), measure)
    inputs = [options.folder] if needs_folder else []
    write_each(chosen(*inputs, tiny=options.tiny), options.record)


def no_gpu() -> str | None:
    """Return why there is no real GPU, or None if there is one."""
    try:
        list_gpus()
    except DeviceError as error:
        return str(error)
    return "only the simulator" if simulated() else None


def write(path: str | Path, figures: dict) -> None:
    """Write `figures` and where they come from as JSON."""
    Path(path).write_text(text_of({**environment(), "figures": figures}), encoding="utf-8")


def text_of(recorded: dict) -> str:
    """Return a record as JSON: each field, each figure and each row of a list on a line."""
    head = {name: value for name, value in recorded.items() if name != "figures"}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    lines.append(f'  "figures": {_expanded(recorded["figures"], 2)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _expanded(value: dict | list, indent: int) -> str:
    """Return a dict or list with an entry on each line."""
    space = " " * (indent + 2)
    if isinstance(value, dict):
        items = value.items()
        lines = [f"{space}{json.dumps(key)}: {_text(each, indent + 2)}" for key, each in items]
        return "{\n" + ",\n".join(lines) + f"\n{' ' * indent}}}"
    return "[\n" + ",\n".join(space + json.dumps(row) for row in value) + f"\n{' ' * indent}]"


def _text(value, indent: int) -> str:
    """Return JSON on one line, but lists of rows, and what is long and has parts, expanded."""
    line, inner = json.dumps(value), value.values() if isinstance(value, dict) else value
    parts = isinstance(value, dict | list) and any(isinstance(each, dict | list) for each in inner)
    return _expanded(value, indent) if parts and (_has_rows(value) or len(line) > LINE) else line


def _has_rows(value) -> bool:
    """Return whether there is a list of dicts in a value."""
    if isinstance(value, list):
        return any(isinstance(each, dict) for each in value)
    return isinstance(value, dict) and any(map(_has_rows, value.values()))


def write_each(measured: Measured, path: str | Path | None = None) -> None:
    """Print figures as they come, and write the record after each: a run cut short leaves one."""
    figures = {}
    for name, figure in measured:
        print(f"{name}: {figure}", flush=True)
        figures[name] = figure
        if path is not None:
            write(path, figures)


def environment() -> dict:
    """Return what the figures of this process depend on."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "gpus": _gpus(),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _commit() -> str:
    """Return the commit; GPU_TOOLS_COMMIT names it where the tree travels without its history."""
    if "GPU_TOOLS_COMMIT" in os.environ:
        return os.environ["GPU_TOOLS_COMMIT"]
    command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _gpus() -> list[str]:
    try:
        return [f"{gpu.name}, CUDA {gpu.driver}" for gpu in list_gpus()]
    except DeviceError:
        return []


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
