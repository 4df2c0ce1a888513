"""``gpu-tools warm-up``: compile all code before it is needed."""

from __future__ import annotations

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import option
from gpu_tools.cli.common.warming import TINY_RUNS, Warming, devices_to_warm, warm
from gpu_tools.errors import GpuToolsError

COMMANDS = sorted({run.command.partition(" ")[0] for run in TINY_RUNS})


@click.command("warm-up")
@click.argument("commands", nargs=-1, type=click.Choice(COMMANDS), metavar="[COMMAND]...")
@option(
    "--device", type=options.DeviceType(), default="auto",
    help="For which device: cpu, or a GPU as cuda, cuda:0 or cuda:0,1; auto is the CPU and, if "
    "there is one, a GPU.",
)  # fmt: skip
@option(
    "--threads -t N", type=options.Count(1),
    help="Processes that compile side by side.  [default: one a processor]",
)  # fmt: skip
@options.common
def command(commands: tuple[str, ...], device: str, threads: int | None, quiet: bool) -> None:
    """Compile the code of commands, all by default, so that no first call is slow.

    numba compiles code for the processor or GPU at hand and stores it. Run this once after an
    installation, on each kind of machine; it ends at once if everything is stored. What is stored
    depends on the kind of processor and GPU, and several kinds may share one folder.
    """
    chosen = [run for run in TINY_RUNS if not commands or run.command.partition(" ")[0] in commands]
    runs = [Warming(run, each) for each in devices_to_warm(device) for run in chosen
            if run.is_for(each)]  # fmt: skip
    runs = [run for run in runs if not run.is_done]
    failures = warm(runs, threads, (lambda text: None) if quiet else _tell)
    if failures:
        raise GpuToolsError(f"code could not be compiled: {failures[0]}")


def _tell(text: str) -> None:
    click.echo(text, err=True)
