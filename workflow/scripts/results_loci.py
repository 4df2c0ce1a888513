"""Choose loci and targets among the accepted chains; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.batch import select_gff3
from gpu_tools.formats.matches import read_scores
from gpu_tools.formats.tables import write_table
from gpu_tools.model.loci import best_loci, best_targets

FILES = {"multiple": True, "required": True, "metavar": "FILE"}


@click.command("results_loci")
@click.option("--scores", required=True, metavar="FILE", help="Table of scores.")
@click.option("--method", **FILES, help="A method of the table; repeatable.")
@click.option("--alignments", **FILES, help="GFF3 of each method's alignments; repeatable.")
@click.option("--loci", required=True, metavar="FILE", help="Table of each target's loci to write.")
@click.option(
    "--targets", required=True, metavar="FILE", help="Table of each locus' best target to write."
)
@click.option("--models", **FILES, help="GFF3 of each method's best targets to write; repeatable.")
@options.common
def command(scores, method, alignments, loci, targets, models, quiet):
    """Rank the loci of each target and choose the best target of each locus, by method."""
    columns, rows = read_scores(scores)
    ranked, chosen = [], []
    for name, source, output in zip(method, alignments, models, strict=True):
        found = [row for row in rows if row.fields.get("method", name) == name]
        fields = {id(row.alignment): list(row.fields.values()) for row in found}
        accepted = [row.alignment for row in found if row.fields["accepted"] == "yes"]
        for chains in best_loci(accepted):
            ranked += [(k, *fields[id(chain)]) for k, chain in enumerate(chains, start=1)]
        best = best_targets(accepted)
        for locus in best:
            start, end = locus.interval
            chosen.append((start + 1, end, 1 + len(locus.others), *fields[id(locus.best)]))
        select_gff3(source, output, {(x.best.base, x.best.target, x.interval) for x in best})
    write_table(loci, ["rank", *columns], ranked)
    write_table(targets, ["start", "end", "n_targets", *columns], chosen)


run_rule(command, globals().get("snakemake"))
