"""What a shell completes with the tab key: names of files, models, matrices and scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from click.shell_completion import CompletionItem

FOLDER, NAME = "FOLDER", "NAME"
_FILES = {"FASTA", "FILE", "TSV", "JSON", "GFF3", "GTF", "BED", "HTML", "SVG", FOLDER}
"""Words for values of options that are files."""


def _site_models() -> Sequence[str]:
    from gpu_tools.cli.common.site_models import AUTO
    from gpu_tools.sites.model import shipped_sites

    return [AUTO, *shipped_sites()]


def _matrices() -> Sequence[str]:
    from gpu_tools.formats.scales import SHIPPED

    return SHIPPED


def _scales() -> Sequence[str]:
    from gpu_tools.formats.scales import known_scales

    return known_scales()


_NAMES: dict[str, Callable[[], Sequence[str]]] = {
    "--site-model": _site_models, "--matrix": _matrices, "--scale": _scales,
}  # fmt: skip
"""Shipped names by the option that takes them beside files."""


def completed(option: str, metavar: str | None) -> dict:
    """Return the keywords of an option that complete its value, if there is what to complete."""
    words = set((metavar or "").split("|"))
    names = _NAMES.get(option) if NAME in words else None
    if not words & _FILES and names is None:
        return {}
    kind = "dir" if words == {FOLDER} else "file"

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str):
        known = [] if names is None else names()
        fitting = [name for name in known if name.lower().startswith(incomplete.lower())]
        # a shell takes either names or files: files where no name begins so
        return list(map(CompletionItem, fitting)) or file_names(incomplete, kind)

    return {"shell_complete": complete}


def file_names(incomplete: str, kind: str = "file") -> list[CompletionItem]:
    """Have the shell complete the name of a file or folder."""
    return [CompletionItem(incomplete, type=kind)]


def completed_files(context: click.Context, parameter: click.Parameter, incomplete: str):
    """Complete an argument that is a file."""
    return file_names(incomplete)
