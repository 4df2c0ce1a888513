"""``gpu-tools sites``: models for site mode."""

from __future__ import annotations

import click

from gpu_tools.cli.main import LazyGroup


@click.group("sites", cls=LazyGroup, within="sites")
def command() -> None:
    """List and train models for spliced-align --site-model."""
