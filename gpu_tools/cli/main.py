"""The command ``gpu-tools``: finds the subcommand; errors become a line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from gpu_tools.cli.common.lazy import LazyGroup
from gpu_tools.errors import GpuToolsError
from gpu_tools.model.resources import installed_version

COMMANDS = (
    "check", "devices", "exons", "global-align", "local-align", "match-approximate", "match-exact",
    "max-segments", "max-submatrix", "report", "sequences", "sites", "spliced-align", "warm-up",
)  # fmt: skip
BAD_INPUT, WRONG_USAGE, INTERRUPTED = 1, 2, 130


@click.group(
    cls=LazyGroup, package="gpu_tools.cli", names=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(installed_version(), prog_name="gpu-tools")
def cli() -> None:
    """Exact sequence algorithms on a GPU, or without one, with the same answer."""


def main(arguments: Sequence[str] | None = None, program: click.Command = cli) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; the process's own by default.
    program : click.Command
        What the arguments are for; all of gpu-tools by default.

    Returns
    -------
    int
        0 on success, 1 on bad input, 2 on wrong usage, 130 when interrupted.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with _ended_as_interrupted():
            return program.main(arguments, prog_name=_name(program), standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return WRONG_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # the reader went away: leave quietly, and keep Python from flushing into the closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except (GpuToolsError, MemoryError) as error:
        if "--debug" in arguments:
            raise
        return _failed(str(error) or "out of memory", BAD_INPUT)


@contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """Let SIGTERM, which schedulers send, clean up as an interrupt does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _name(program: click.Command) -> str:
    return "gpu-tools" if program is cli else f"{program.name}.py"


def _failed(reason: str, code: int) -> int:
    click.echo(f"gpu-tools: error: {reason}", err=True)
    return code
