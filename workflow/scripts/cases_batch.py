"""Gather a batch's sequences, candidate exons and pairs; also runs by hand, see --help."""

import click

from gpu_tools.cli import options
from gpu_tools.cli.rule import run_rule
from gpu_tools.formats.merge import concatenate, merge_gff3
from gpu_tools.formats.tables import write_table

FILES = {"multiple": True, "required": True, "metavar": "FILE"}


@click.command("cases_batch")
@click.option("--bases", **FILES, help="FASTA of base sequences, bgzip; repeatable.")
@click.option("--candidates", **FILES, help="GFF3 of candidate exons; repeatable.")
@click.option("--sequences", **FILES, help="FASTA of targets, bgzip; repeatable.")
@click.option("--pair", nargs=2, multiple=True, required=True, help="Base and target; repeatable.")
@click.option("--base", required=True, help="FASTA of all base sequences to write.")
@click.option("--exons", required=True, help="GFF3 of all candidate exons to write.")
@click.option("--targets", required=True, help="FASTA of all targets to write.")
@click.option("--pairs", required=True, help="Table of the pairs to write.")
@options.common
def command(bases, candidates, sequences, pair, base, exons, targets, pairs, quiet):
    """Join the files of several sequences, and list the pairs to align."""
    concatenate(bases, base)
    merge_gff3(candidates, exons)
    concatenate(sequences, targets)
    write_table(pairs, ("base", "target"), pair)


run_rule(command, globals().get("snakemake"))
