"""Tell what the workflow's results were made of; also runs by hand, see --help."""

import json
from collections import Counter

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.cli.common.run_record import write_summary
from gpu_tools.formats.tables import read_table


@click.command("results_summary")
@click.argument("scores")
@click.option("--configuration", default="", help="Keys that are not as by default.")
@click.option("--limits", type=json.loads, default="{}", help="What is accepted, by method; JSON.")
@click.option("--site-model", help="Name or file of the site model.")
@click.option("--inputs", multiple=True, metavar="FILE", help="File that was read; repeatable.")
@options.output
@options.common
def command(scores, configuration, limits, site_model, inputs, output, quiet):
    """Write how many cases of a table of scores are accepted, and what the run was."""
    from gpu_tools.sites.model import load_sites

    verdicts = Counter(row["accepted"] for _, row in read_table(scores, ("accepted",)))
    found = {"cases": sum(verdicts.values()), "accepted": dict(verdicts)}
    found["site_model"] = load_sites(site_model).name if site_model else None
    write_summary(output, found, configuration=configuration, limits=limits)


run_rule(command, globals().get("snakemake"))
