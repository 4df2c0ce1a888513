"""``gpu-tools sequences``: sequence files."""

from __future__ import annotations

import click

from gpu_tools.cli.main import LazyGroup


@click.group("sequences", cls=LazyGroup, within="sequences")
def command() -> None:
    """Fetch and prepare sequence files."""
