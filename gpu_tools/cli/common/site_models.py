"""Site models by name, and ``auto``: the one that fits the introns of a first pass best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpu_tools.cli.common import options

if TYPE_CHECKING:
    from gpu_tools.sites.model import GeneSites

AUTO, GENERIC = "auto", "generic"
"""The site model that is chosen, and the one with which a first pass is made."""
HELP = (
    "Model of the splice sites, shipped (gpu-tools sites list) or in JSON (gpu-tools sites train). "
    "auto: the shipped one that fits the introns of a first pass best."
)


def tell_choice(sites: GeneSites, why: str, quiet: bool) -> str:
    """Tell which model was chosen and why; return its name."""
    if not quiet:
        click.echo(f"site model {sites.name}: {why}", err=True)
    options.note(f"site model {sites.name}")
    return sites.name
