"""Show the best chain of each locus on a terminal: best_chains.py RESULTS."""

import textwrap
from pathlib import Path

import click

from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.tables import read_table

COLUMNS = ("base", "target", "method", "strand", "score", "n_chain", "identity")
TABLES = {
    "report.html": "what was found: open it in a browser",
    "scores.tsv": "all cases",
    "best.tsv": "best target of each locus, for each method",
    "structures.svg": "these chains, drawn",
    "alignments.gff3": "gene models from candidate exons (also .bed and .bam)",
    "site_alignments.gff3": "gene models from all exons that sites allow (also .bed and .bam)",
    "protein_alignments.gff3": "gene models from proteins (also .bed, and .txt to be read)",
}
WIDTH = 100


@click.command("best_chains")
@click.argument("results", type=click.Path(path_type=Path))
def command(results: Path) -> None:
    """Print where the tables are, and the rows of best.tsv in aligned columns."""
    table = read_table(results / "best.tsv", (*COLUMNS, "chain"), comments=False)
    rows = [row for _, row in table]
    lengths = [max(map(len, (name, *(row[name] for row in rows)))) for name in COLUMNS]
    click.echo(aligned(COLUMNS, lengths))
    for row in rows:
        click.echo(aligned([row[name] for name in COLUMNS], lengths))
        chain = row["chain"].replace(",", ", ")
        click.echo(textwrap.fill(chain, WIDTH, initial_indent="    ", subsequent_indent="    "))
    for name, what in TABLES.items():
        if not (results / name).exists():
            continue
        click.echo(f"{results / name}: {what}")


def aligned(fields, lengths) -> str:
    """Return fields padded to the columns' widths."""
    return "  ".join(f.ljust(n) for f, n in zip(fields, lengths, strict=True)).rstrip()


run_rule(command)
