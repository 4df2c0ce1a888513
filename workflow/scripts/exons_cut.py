"""Move exons of records onto the loci of a batch; also runs by hand, see --help."""

from functools import cache

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.cli.exons.cut import KINDS, inside, of_record, read_kind
from gpu_tools.formats.exons.intervals import write_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.locus import Locus

FILES = {"multiple": True, "required": True, "metavar": "FILE"}
read_once = cache(read_kind)


def exons_inside(kind, path, record, sequence):
    """Return the exons of a record inside a sequence that was cut out of it, under its name."""
    # the record names the sequence of a report; the exons of an annotation are read for all
    found = read_once(kind, path, None if kind == "annotation" else record)
    origin = Locus.of(sequence)
    exons = inside(of_record(found, path, record), origin, sequence.name)
    return origin.exons_under(sequence.name, exons)


@click.command("exons_cut")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="What the files hold.")
@click.option("--exons", **FILES, help="Candidate exons or annotation; repeatable.")
@click.option(
    "--base", nargs=3, multiple=True, required=True, metavar="NAME N RECORD",
    help="A base, and the Nth --exons, which has exons of its record; repeatable.",
)  # fmt: skip
@click.option("--sequences", required=True, metavar="FILE", help="FASTA of the bases.")
@options.output_of("GFF3")
@options.common
def command(kind, exons, base, sequences, output, quiet):
    """Take the exons of records that lie in loci, each locus's under its own name."""
    loci = {sequence.name: sequence for sequence in read_fasta(sequences)}
    sets = {
        name: exons_inside(kind, exons[int(number) - 1], record, loci[name])
        for name, number, record in base
    }
    write_exons(output, sets, "gff3")


run_rule(command, globals().get("snakemake"))
