"""Keep the best target of each base sequence and method; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.matches import read_scores
from gpu_tools.formats.tables import write_table
from gpu_tools.report.findings import method_of


def best_of_each(rows):
    """Return the row of the highest score of each base and method; on equal scores the first."""
    best = {}
    for row in rows:
        key = row.fields["base"], method_of(row)
        if key not in best or rank(row) > rank(best[key]):
            best[key] = row
    return best.values()


def rank(row):
    """Return the score; a case without any candidate exon has none and comes last."""
    return row.alignment.score if row.alignment.chain else float("-inf")


@click.command("results_best")
@click.option("--scores", required=True, metavar="FILE", help="Table of scores.")
@options.output
@options.common
def command(scores, output, quiet):
    """Keep the best target of each base and method; on equal scores the first of the table."""
    columns, rows = read_scores(scores)
    write_table(output, columns, (row.fields.values() for row in best_of_each(rows)))


run_rule(command, globals().get("snakemake"))
