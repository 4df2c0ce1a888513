"""Options that name the files of cases, for the commands of spliced alignment."""

from __future__ import annotations

import click

from gpu_tools.formats.exons import intervals

targets = click.option("--targets", metavar="FASTA", help="cDNAs of homologous genes.")

pairs = click.option(
    "--pairs", metavar="TSV",
    help="Columns base and target: the cases to do.  [default: every target on every base]",
)  # fmt: skip

exons_format = click.option(
    "--exons-format", default=intervals.AUTO, show_default=True,
    type=click.Choice((intervals.AUTO, *intervals.FORMATS)),
    help="Format of the exons; auto recognises it by content, then suffix.",
)  # fmt: skip
