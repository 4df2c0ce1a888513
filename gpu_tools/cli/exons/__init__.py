"""``gpu-tools exons``: candidate exons."""

from __future__ import annotations

import click

from gpu_tools.cli.main import LazyGroup


@click.group("exons", cls=LazyGroup, within="exons")
def command() -> None:
    """Predict, convert, cut and compare candidate exons, and train models."""
