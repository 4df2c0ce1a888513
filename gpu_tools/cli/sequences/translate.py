"""``gpu-tools sequences translate``: the proteins of cDNAs, or their coding sequences."""

from __future__ import annotations

import logging

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import CDNA, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.sequences import ProteinSequence, Sequence
from gpu_tools.model.translation import longest_frame, longest_protein

_log = logging.getLogger(__name__)


@click.command("translate")
@option(
    "--fasta FILE", required=True, multiple=True, aliases=CDNA,
    help="cDNAs, FASTA or FASTQ; plain or compressed. May be given several times.",
)  # fmt: skip
@option(
    "--nucleotides",
    "Write the reading frames themselves, stop codons included, instead of proteins.",
)
@options.output_of("FASTA")
@options.common
def command(fasta, nucleotides, output, quiet) -> None:
    """Translate the longest open reading frame of each cDNA.

    A frame runs from an ATG to the next stop, or to the cDNA's end if there is none; of equally
    long ones the first counts. A cDNA without ATG is left out, with a warning.
    """
    made, found = _frame if nucleotides else _protein, []
    for record in (record for path in fasta for record in read_fasta(path)):
        one = made(record)
        if len(one):
            found.append(one)
        else:
            _log.warning("record %s has no ATG", record.name)
    if not found:
        raise InputError("no record with an open reading frame", path=fasta[0])
    write_fasta(output, found)
    note(counted(len(found), "coding sequence" if nucleotides else "protein"))


def _protein(record: Sequence) -> ProteinSequence:
    return ProteinSequence(record.name, longest_protein(record.codes), record.description)


def _frame(record: Sequence) -> Sequence:
    start, end = longest_frame(record.codes)
    return Sequence(record.name, record.codes[start:end], record.description)
