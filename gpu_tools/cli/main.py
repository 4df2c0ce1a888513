"""The command ``gpu-tools``: finds the subcommand; errors become a line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import click

from gpu_tools.cli.common.lazy import LazyGroup
from gpu_tools.errors import GpuToolsError, printable
from gpu_tools.formats.files import streams_read_once
from gpu_tools.model.resources import installed_version

COMMANDS = (
    "annotate", "check", "devices", "exons", "global-align", "local-align", "match-approximate",
    "match-exact", "max-segments", "max-submatrix", "report", "sequences", "sites", "spliced-align",
    "spliced-estimate", "warm-up",
)  # fmt: skip
_SHOWN = 60
BAD_INPUT, WRONG_USAGE = 1, 2
_AGAIN_SECONDS = 0.02
"""After so long an interrupt is sent again: the callback that it came into is over by then."""
_ENDED_BY = 128
"""What a shell adds to the number of the signal that ended a program."""


@click.group(
    cls=LazyGroup, package="gpu_tools.cli", names=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(installed_version(), prog_name="gpu-tools")
def cli() -> None:
    """Exact sequence algorithms on a GPU, or without one, with the same answer."""


def main(arguments: Sequence[str] | None = None, program: click.Command = cli) -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _open_missing_streams()
    arrived: list[int] = []
    try:
        with _interrupts_noted(arrived), streams_read_once():
            return program.main(arguments, prog_name=_name(program), standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return WRONG_USAGE
    except BrokenPipeError:
        _abandon_output()  # the reader went away: leave quietly
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(arrived)
    except Exception as error:
        if arrived:  # compiled code and libraries turn interrupts into errors of their own
            return _interrupted(arrived)
        if "--debug" in arguments or (reason := _reason(error)) is None:
            raise
        return _failed(reason, BAD_INPUT)


def _interrupted(arrived: list[int]) -> int:
    # Python remembers an interrupt that came out of code in a string, as numba's and dataclasses'
    # is, and would end as if nobody had handled it; the next such code makes it forget
    exec("pass")
    number = arrived[0] if arrived else signal.SIGINT
    return _failed("terminated" if number == signal.SIGTERM else "interrupted", _ENDED_BY + number)


def _reason(error: Exception) -> str | None:
    """Return what is wrong with the input or the machine; None if it is the program."""
    if isinstance(error, GpuToolsError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[:_SHOWN]!r} cannot be written in the encoding {error.encoding}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return None


@contextmanager
def _interrupts_noted(arrived: list[int]) -> Iterator[None]:
    """Note interrupts, and let SIGTERM, which schedulers send, clean up as one does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame) -> None:
        arrived.append(number)
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)  # a job in the background of a shell ignores it
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        with _lost_interrupts_sent_again(arrived):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _lost_interrupts_sent_again(arrived: list[int]) -> Iterator[None]:
    """Send an interrupt again that came within a callback, as those of imports: Python drops it."""
    told = sys.unraisablehook

    def send_again(unraisable) -> None:
        if not (arrived and unraisable.exc_type is KeyboardInterrupt):
            told(unraisable)
            return
        again = threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), arrived[0]))
        again.daemon = True
        again.start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = told


def _open_missing_streams() -> None:
    """Put nothing where standard input, output or error is closed: no file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _abandon_output() -> None:
    """Keep Python from writing once more, at its end, what could not be written."""
    try:
        sys.stdout.flush()
    except (AttributeError, ValueError):
        pass  # there is no output, or it is no file
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _name(program: click.Command) -> str:
    return "gpu-tools" if program is cli else f"{program.name}.py"


def _failed(reason: str, code: int) -> int:
    _abandon_output()
    with suppress(OSError):  # there is nobody to tell
        click.echo(f"gpu-tools: error: {printable(reason)}", err=True)
    return code
