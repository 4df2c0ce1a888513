"""Index the words of a genome for the seeded search; also runs by hand, see --help."""

import click

from gpu_tools.cli import annotate
from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule


@click.command("annotation_index")
@annotate.genome
@click.option("--proteins", multiple=True, metavar="FASTA", help="Index translated frames.")
@click.option("--cdnas", multiple=True, metavar="FASTA", help="Index nucleotides.")
@click.option("--genetic-code", type=int, default=1, show_default=True, help="NCBI's number.")
@click.option("--index", required=True, metavar="FOLDER", help="Folder to write.")
@click.option("--threads", type=options.Count(1), metavar="N", help="CPU threads.")
@options.common
def command(genome, proteins, cdnas, genetic_code, index, threads, quiet):
    """Index the words of a genome, for each kind of targets."""
    from gpu_tools.annotate.genome import GenomeRecords
    from gpu_tools.annotate.windows import index_of
    from gpu_tools.formats.sequences.fasta import read_fasta

    records = GenomeRecords(read_fasta(genome))
    for kind, wanted in (("protein", proteins), ("cDNA", cdnas)):
        if wanted:
            index_of(records, kind, genetic_code, index, threads)


run_rule(command, globals().get("snakemake"))
