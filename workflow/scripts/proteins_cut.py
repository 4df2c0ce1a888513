"""Take the proteins of a batch's targets; also runs by hand, see --help."""

import logging

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.proteins import read_proteins
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.model.translation import longest_protein

# a target without a reading frame has this protein, so that each case has a row
NOTHING = "X"


def translated(target):
    """Return the protein of the longest open reading frame of a target."""
    codes = longest_protein(target.codes)
    if not len(codes):
        logging.warning("target %s has no ATG: %s stands for its protein", target.name, NOTHING)
        return ProteinSequence.from_text(target.name, NOTHING, target.description)
    return ProteinSequence(target.name, codes, target.description)


def chosen(targets, path):
    """Return the proteins of targets that a file has under their names."""
    known = read_proteins(path)
    for target in targets:
        if target.name not in known:
            raise InputError(
                f"no record {target.name}", path=path, expected="a protein of each target"
            )
    return [known[target.name] for target in targets]


@click.command("proteins_cut")
@click.option("--targets", required=True, metavar="FILE", help="FASTA of the targets, cDNAs.")
@click.option(
    "--proteins", metavar="FILE",
    help="FASTA of proteins, named as their targets; default: the longest open reading frames.",
)  # fmt: skip
@options.output_of("FASTA")
@options.common
def command(targets, proteins, output, quiet):
    """Take the proteins of targets from a file, or translate their longest open reading frames."""
    targets = read_fasta(targets)
    write_fasta(output, chosen(targets, proteins) if proteins else map(translated, targets))


run_rule(command, globals().get("snakemake"))
