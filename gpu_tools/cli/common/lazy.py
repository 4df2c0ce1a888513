"""A group of commands that imports the module of a command on its first use."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

import click


class LazyGroup(click.Group):
    """A click group whose commands live in modules of a package, each as ``command``.

    The modules are named as their commands, with _ for -.
    """

    def __init__(self, *arguments, package: str, names: Iterable[str], **options):
        super().__init__(*arguments, **options)
        self.modules = {name: f"{package}.{name.replace('-', '_')}" for name in names}

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self.modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import and return one command, or None if there is no such name."""
        return importlib.import_module(self.modules[name]).command if name in self.modules else None
