"""Join the provenance of all fetched sources; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.batch import merge_tables


@click.command("results_provenance")
@click.option(
    "--fetched", multiple=True, required=True, metavar="FILE",
    help="Provenance of a source; repeatable.",
)  # fmt: skip
@options.output
@options.common
def command(fetched, output, quiet):
    """Join tables of provenance, in their order."""
    merge_tables(fetched, output)


run_rule(command, globals().get("snakemake"))
