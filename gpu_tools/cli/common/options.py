"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable

import click

from gpu_tools.hardware.device import is_specification
from gpu_tools.hardware.reservation import reserved

LOG_LEVELS = ("debug", "info", "warning", "error")


class DeviceType(click.ParamType):
    """A device specification: auto, cpu, cuda, cuda:0 or cuda:0,1."""

    name = "device"

    def convert(self, value, param, context):
        """Return `value` if it is well formed; whether the device is there is asked later."""
        if not is_specification(value):
            self.fail(f"{value!r} is not one of auto, cpu, cuda, cuda:0, cuda:0,1", param, context)
        return value


def _start_logging(context: click.Context, param: click.Parameter, level: str) -> None:
    logging.basicConfig(format="gpu-tools: %(levelname)s: %(message)s", force=True)
    logging.addLevelName(logging.WARNING, "warning")
    logging.addLevelName(logging.INFO, "info")
    logging.getLogger("gpu_tools").setLevel(level.upper())


def output_of(what: str) -> Callable:
    """Return the option --output of a command that writes `what`."""
    return click.option(
        "--output", "-o", default="-", show_default=True, metavar="FILE",
        help=f"{what} to write; - is standard output.",
    )  # fmt: skip


output = output_of("Table")

_device = click.option(
    "--device", type=DeviceType(), default="auto", show_default=True,
    help="auto, cpu, cuda, cuda:0 or cuda:0,1; auto takes a GPU that no other job holds, "
    "else the CPU.",
)  # fmt: skip
_threads = click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.  [default: all]"
)  # fmt: skip
_quiet = click.option("--quiet", is_flag=True, help="No progress on standard error.")
_log_level = click.option(
    "--log-level", type=click.Choice(LOG_LEVELS), default="warning", show_default=True,
    callback=_start_logging, expose_value=False, is_eager=True, help="What to log.",
)  # fmt: skip
_debug = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."
)


def device(function: Callable) -> Callable:
    """Add --device and --threads to a command; it receives ``device`` and ``threads``.

    The command holds its GPUs as long as it runs, so that several jobs on one machine do not
    share one by accident; ``device`` is what it got.
    """
    return device_unless(lambda options: False)(function)


def device_unless(cpu_only: Callable[[dict], bool]) -> Callable:
    """Add --device and --threads as `device` does, but hold no GPU where options rule it out.

    Parameters
    ----------
    cpu_only : callable
        Told all options, it says whether no GPU is to do what they ask for. Then ``device`` is what
        the user gave, for the library to take as the CPU or to refuse.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def holding(*arguments, device: str, **options):
            if cpu_only({**options, "device": device}):
                return function(*arguments, device=device, **options)
            with reserved(device) as got:
                return function(*arguments, device=got, **options)

        return _device(_threads(holding))

    return decorate


def common(function: Callable) -> Callable:
    """Add --quiet, --log-level and --debug to a command; it receives ``quiet``."""
    return _quiet(_log_level(_debug(function)))
