"""Join the scores of all batches and methods; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.batch import merge_methods

METHODS = ("candidates", "sites", "proteins")


@click.command("results_merge")
@click.option(
    "--scores", multiple=True, required=True, metavar="FILE",
    help="Table of scores; repeatable, each batch's with one table a method.",
)  # fmt: skip
@click.option(
    "--method", multiple=True, required=True, type=click.Choice(METHODS),
    help="Method of a batch's table; repeatable, in the order of the tables.",
)  # fmt: skip
@click.option(
    "--cases", multiple=True, required=True, metavar="FILE",
    help="Table of a batch's cases: base, target and locus; repeatable.",
)  # fmt: skip
@options.output
@options.common
def command(scores, method, cases, output, quiet):
    """Join the scores of several batches, in their order, each case's methods side by side."""
    if len(scores) != len(cases) * len(method):
        raise click.UsageError("as many --scores for each batch of --cases as there are methods")
    batches = zip(*[iter(scores)] * len(method), strict=True)
    merge_methods([dict(zip(method, tables, strict=True)) for tables in batches], cases, output)


run_rule(command, globals().get("snakemake"))
