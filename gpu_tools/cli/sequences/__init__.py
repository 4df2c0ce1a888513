"""``gpu-tools sequences``: sequence files."""

from __future__ import annotations

import click

from gpu_tools.cli.common.lazy import LazyGroup

COMMANDS = {
    "cut": "gpu_tools.cli.sequences.cut",
    "fetch": "gpu_tools.cli.sequences.fetch",
    "translate": "gpu_tools.cli.sequences.translate",
}


@click.group("sequences", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Fetch and prepare sequence files."""
