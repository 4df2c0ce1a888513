"""``gpu-tools sites``: models for site mode."""

from __future__ import annotations

import click

from gpu_tools.cli.common.lazy import LazyGroup

COMMANDS = ("list", "train")


@click.group("sites", cls=LazyGroup, package=__name__, names=COMMANDS)
def command() -> None:
    """List and train models for spliced-align --site-model."""
