"""``gpu-tools sequences``: sequence files."""

from __future__ import annotations

import click

from gpu_tools.cli.common.lazy import LazyGroup

COMMANDS = ("cut", "fetch", "translate")


@click.group("sequences", cls=LazyGroup, package=__name__, names=COMMANDS)
def command() -> None:
    """Fetch and prepare sequence files."""
