"""``gpu-tools exons convert``: candidate exons from one format to another."""

from __future__ import annotations

import click

from gpu_tools.cli.common import options
from gpu_tools.formats.exons import intervals


@click.command("convert")
@click.argument("exons", metavar="IN")
@click.option(
    "--to", "to_format", required=True, type=click.Choice(intervals.WRITTEN_FORMATS),
    help="Format to write.",
)  # fmt: skip
@click.option(
    "--from", "from_format", default=intervals.AUTO, show_default=True,
    type=click.Choice((intervals.AUTO, *intervals.FORMATS)),
    help="Format of IN; auto recognises it by content, then suffix.",
)  # fmt: skip
@options.output_of("File")
@options.common
def command(exons: str, to_format: str, from_format: str, output: str, quiet: bool) -> None:
    """Convert the candidate exons of IN (- is standard input) to another format.

    All candidates are converted, the suboptimal ones of a GENSCAN report included; promoters and
    poly-A signals are not exons.
    """
    intervals.write_exons(output, intervals.read_exons(exons, from_format), to_format)
