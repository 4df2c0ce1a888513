"""``gpu-tools exons``: candidate exons."""

from __future__ import annotations

import click

from gpu_tools.cli.common.lazy import LazyGroup

COMMANDS = ("compare", "convert", "cut", "predict", "train")


@click.group("exons", cls=LazyGroup, package=__name__, names=COMMANDS)
def command() -> None:
    """Predict, convert, cut and compare candidate exons, and train models."""
