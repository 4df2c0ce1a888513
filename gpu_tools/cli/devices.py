"""``gpu-tools devices``: what can be used."""

from __future__ import annotations

import click

from gpu_tools.cli.common import options
from gpu_tools.formats import tables
from gpu_tools.hardware.device import Gpu, list_gpus

COLUMNS = ("device", "name", "compute_capability", "memory_bytes", "cuda_driver")


@click.command("devices")
@options.output
@options.common
def command(output: str, quiet: bool) -> None:
    """List the GPUs that the tools can use, as TSV, or say why there is none.

    Without a usable GPU the exit code is 1 and the reason is on standard error; the tools then
    run on the CPU.
    """
    tables.write_table(output, COLUMNS, map(row, list_gpus()))


def row(gpu: Gpu) -> tuple:
    """Return a GPU's row of the table."""
    return f"cuda:{gpu.ordinal}", gpu.name, gpu.compute_capability, gpu.memory, gpu.driver
