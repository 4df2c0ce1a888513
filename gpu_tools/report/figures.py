"""Figures as files: SVG, PNG and Vega-Lite."""

from __future__ import annotations

import json
import re
from pathlib import Path

import vl_convert

from gpu_tools.errors import OutputError
from gpu_tools.formats.files import open_output, replaced_when_complete

_UNSAFE = re.compile(r"[^0-9A-Za-z._-]+")
_PNG_SCALE = 2


def write_figures(folder: str | Path, figures: dict[str, dict]) -> None:
    """Write each figure as SVG, PNG and Vega-Lite's JSON.

    Parameters
    ----------
    folder : path-like
        Where to write; it is made if it is missing.
    figures : dict of str to dict
        Vega-Lite specifications by name; symbols that file names should not hold become ``_``.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    names = _file_names(list(figures))
    for name, specification in figures.items():
        _write(folder / names[name], specification)


def _file_names(names: list[str]) -> dict[str, str]:
    """Return names of files by names of figures, with a number where another one has it."""
    found: dict[str, str] = {}
    for name in names:
        safe = _UNSAFE.sub("_", name)
        numbered = (f"{safe}_{k}" for k in range(2, len(names) + 2))
        free = (candidate for candidate in (safe, *numbered) if candidate not in found.values())
        found[name] = next(free)
    return found


def _write(stem: Path, specification: dict) -> None:
    write_svg(f"{stem}.svg", specification)
    with replaced_when_complete(f"{stem}.png") as temporary:
        temporary.write_bytes(vl_convert.vegalite_to_png(specification, scale=_PNG_SCALE))
    with open_output(f"{stem}.vl.json") as stream:
        json.dump(specification, stream)


def write_svg(path: str | Path, specification: dict) -> None:
    """Write a figure as SVG.

    Parameters
    ----------
    path : path-like
        File to write; ``-`` is standard output.
    specification : dict
        Vega-Lite.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    with open_output(path) as stream:
        stream.write(vl_convert.vegalite_to_svg(specification))
