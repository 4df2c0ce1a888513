"""``gpu-tools sequences``: sequence files."""

from __future__ import annotations

import click

from gpu_tools.cli.lazy import LazyGroup

COMMANDS = {
    "cut": "gpu_tools.cli.sequences_cut",
    "fetch": "gpu_tools.cli.sequences_fetch",
    "translate": "gpu_tools.cli.sequences_translate",
}


@click.group("sequences", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Fetch and prepare sequence files."""
