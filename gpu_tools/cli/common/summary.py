"""A line at the end of a command: what was done, on which device, how fast, to which files."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from gpu_tools.hardware.gpu_faults import has_given_way
from gpu_tools.hardware.small_inputs import was_small

_NOTES = f"{__name__}.notes"
_WRITTEN = (
    "output", "alignments", "bed", "gff3", "dot_plot", "provenance", "report", "igv", "figures",
    "table", "targets_table", "protein_sequences", "cds_sequences", "summary", "show", "histograms",
    "calls",
)  # fmt: skip
"""Options that name files to write."""
_READ = {"report": "alignments"}
"""Options of the same names that name files to read, by command."""


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number of things in words."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def note(*texts: str) -> None:
    """Have the running command's last line say something, such as ``12 cases``."""
    click.get_current_context().meta.setdefault(_NOTES, []).extend(texts)


@contextmanager
def summed_up(context: click.Context, options: dict) -> Iterator[None]:
    """Write a line to standard error when a command that has noted something ends well.

    Parameters
    ----------
    context : click.Context
        The command's.
    options : dict
        What the command receives; with ``quiet`` nothing is written.
    """
    start = time.monotonic()
    yield
    notes = context.meta.pop(_NOTES, None)
    if notes and not options["quiet"]:
        parts = [", ".join(notes), *_device(options), _cost(time.monotonic() - start)]
        click.echo(f"done: {'; '.join(parts + _files(context.info_name, options))}", err=True)


def _device(options: dict) -> list[str]:
    if "device" not in options:
        return []
    more = ", then cpu: too small for a GPU" if was_small() else ""
    more = ", which failed, then cpu" if has_given_way() else more
    return [f"device {options['device']}{more}"]


def _cost(seconds: float) -> str:
    """Return time, and the most memory that this process had."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return f"{seconds:.1f} s, {memory:.2g} GB of memory"


def _files(command: str | None, options: dict) -> list[str]:
    values = (options.get(name) for name in _WRITTEN if name != _READ.get(command))
    paths = [p for v in values if v for p in ((v,) if isinstance(v, str) else v) if p != "-"]
    return [f"written to {', '.join(paths)}"] if paths else []
