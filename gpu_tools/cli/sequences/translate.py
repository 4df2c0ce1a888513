"""``gpu-tools sequences translate``: the proteins of cDNAs."""

from __future__ import annotations

import logging

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.summary import counted, note
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.model.translation import longest_protein

_log = logging.getLogger(__name__)


@click.command("translate")
@click.option(
    "--fasta", required=True, multiple=True, metavar="FILE",
    help="cDNAs, FASTA or FASTQ; plain, gzip or bgzip. May be given several times.",
)  # fmt: skip
@options.output_of("FASTA")
@options.common
def command(fasta, output, quiet) -> None:
    """Translate the longest open reading frame of each cDNA.

    A frame runs from an ATG to the next stop, or to the cDNA's end if there is none; of equally
    long ones the first counts. A cDNA without ATG is left out, with a warning.
    """
    proteins = []
    for record in (record for path in fasta for record in read_fasta(path)):
        codes = longest_protein(record.codes)
        if len(codes):
            proteins.append(ProteinSequence(record.name, codes, record.description))
        else:
            _log.warning("record %s has no ATG", record.name)
    if not proteins:
        raise InputError("no record with an open reading frame", path=fasta[0])
    write_fasta(output, proteins)
    note(counted(len(proteins), "protein"))
