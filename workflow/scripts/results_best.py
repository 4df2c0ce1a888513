"""Keep the best target of each base sequence and method; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.errors import InputError
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.tables import write_table


def read_scores(path):
    """Return the columns and the rows of a table of scores, each row a dictionary."""
    lines = (line.split("\t") for _, line in read_lines(path))
    columns = next(lines, [])
    if not {"base", "method", "score"} <= set(columns):
        raise InputError("no scores", path=path, line=1, expected="columns base, method, score")
    return columns, [dict(zip(columns, fields, strict=True)) for fields in lines]


def best_of_each(rows):
    """Return the row of the highest score of each base and method; on equal scores the first."""
    best = {}
    for row in rows:
        key = row["base"], row["method"]
        if key not in best or rank(row) > rank(best[key]):
            best[key] = row
    return best.values()


def rank(row):
    """Return the score; a case without any candidate exon has none and comes last."""
    return float("-inf") if row["score"] == "." else int(row["score"])


@click.command("results_best")
@click.option("--scores", required=True, metavar="FILE", help="Table of scores.")
@options.output
@options.common
def command(scores, output, quiet):
    """Keep the best target of each base and method; on equal scores the first of the table."""
    columns, rows = read_scores(scores)
    write_table(output, columns, ([row[name] for name in columns] for row in best_of_each(rows)))


run_rule(command, globals().get("snakemake"))
