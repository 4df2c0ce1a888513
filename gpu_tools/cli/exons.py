"""``gpu-tools exons``: candidate exons."""

from __future__ import annotations

import click

from gpu_tools.cli.lazy import LazyGroup

COMMANDS = {
    "compare": "gpu_tools.cli.exons_compare",
    "convert": "gpu_tools.cli.exons_convert",
    "cut": "gpu_tools.cli.exons_cut",
    "predict": "gpu_tools.cli.exons_predict",
    "train": "gpu_tools.cli.exons_train",
}


@click.group("exons", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Predict, convert, cut and compare candidate exons, and train models."""
