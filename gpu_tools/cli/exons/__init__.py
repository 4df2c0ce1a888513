"""``gpu-tools exons``: candidate exons."""

from __future__ import annotations

import click

from gpu_tools.cli.common.lazy import LazyGroup

COMMANDS = {
    "compare": "gpu_tools.cli.exons.compare",
    "convert": "gpu_tools.cli.exons.convert",
    "cut": "gpu_tools.cli.exons.cut",
    "predict": "gpu_tools.cli.exons.predict",
    "train": "gpu_tools.cli.exons.train",
}


@click.group("exons", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Predict, convert, cut and compare candidate exons, and train models."""
