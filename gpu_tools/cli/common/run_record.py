"""What a run was: its command line, version, limits of acceptance, and digests of its inputs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

import click

from gpu_tools.formats.files import open_output
from gpu_tools.model.resources import COMMAND_LINE, installed_version

_INPUTS = (
    "reference", "annotation", "genome", "base", "proteins", "cdnas", "targets", "exons", "pairs",
    "junctions", "splice_scores", "target_introns", "inputs",
)  # fmt: skip
"""Parameters that name files to read."""
_WORKFLOW = "GPU_TOOLS_WORKFLOW"
"""Variable that holds the command line of the workflow, whose scripts have none of their own."""
_LIMITS = ("max_evalue", "min_identity", "min_coverage")


def write_summary(path: str, figures: dict, **run: object) -> None:
    """Write figures of results, and what the running command was or `run` says, as JSON."""
    with open_output(path) as stream:
        stream.write(json.dumps(figures | {"run": run_record() | run}, indent=2) + "\n")


def run_record() -> dict:
    """Return what the running command was, as JSON holds it.

    It has no time, so that equal runs write equal files.
    """
    values = click.get_current_context().params
    paths = [path for name in _INPUTS for path in _several(values.get(name))]
    return {
        "version": installed_version(),
        "command": COMMAND_LINE.get() or os.environ.get(_WORKFLOW, ""),
        **{name: values[name] for name in _LIMITS if name in values},
        "inputs": [_file(path) for path in paths if Path(path).is_file()],
    }


def _several(value: str | Iterable[str] | None) -> Iterable[str]:
    return (value,) if isinstance(value, str) else value or ()


def _file(path: str) -> dict:
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"file": path, "bytes": Path(path).stat().st_size, "sha256": digest}
