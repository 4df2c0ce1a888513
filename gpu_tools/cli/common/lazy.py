"""A group of commands that imports the module of a command on its first use."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable
from difflib import get_close_matches

import click

from gpu_tools.cli.common.examples import EXAMPLES, SUMMARIES


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
        """Import and return one command with its example, or None if there is no such name."""
        if name not in self.modules:
            return None
        command = importlib.import_module(self.modules[name]).command
        words = self.modules[name].removeprefix("gpu_tools.cli.").split(".")
        title = " ".join(words).replace("_", "-")
        command.short_help = SUMMARIES.get(title)
        if example := EXAMPLES.get(title):
            command.epilog = f"\b\nExample:\n{_wrapped(example)}"
        return command

    def resolve_command(self, context: click.Context, arguments: list[str]):
        """Find the command that arguments begin with; an error names those that are alike."""
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as error:
            alike = get_close_matches(arguments[0], self.list_commands(context))
            if alike and "Did you mean" not in error.message:
                error.message = f"{error.message} (Did you mean {' or '.join(alike)}?)"
            raise


def _wrapped(example: str) -> str:
    """Return a command in lines that a shell reads as one."""
    lines = textwrap.wrap(
        example, 72, initial_indent="  ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return " \\\n".join(lines)
