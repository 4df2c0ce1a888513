"""``gpu-tools sequences cut``: a locus out of a record."""

from __future__ import annotations

import re
from dataclasses import replace

import click

from gpu_tools.cli.common import options
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import whole_records, write_fasta
from gpu_tools.formats.sequences.locus import cut_locus, read_record

_LOCUS = re.compile(r"([1-9]\d*)-([1-9]\d*)")


class LocusType(click.ParamType):
    """START-END, 1-based and inclusive; becomes a 0-based half-open interval."""

    name = "locus"

    def convert(self, value, param, context):
        """Return (start, end), 0-based and half-open."""
        match = _LOCUS.fullmatch(value)
        if not match or int(match[1]) > int(match[2]):
            self.fail(f"{value!r} is not START-END, 1-based, START not after END", param, context)
        return int(match[1]) - 1, int(match[2])


locus = click.option(
    "--locus", type=LocusType(), metavar="START-END",
    help="Part of the record, 1-based and inclusive.  [default: all of it]",
)  # fmt: skip
flank = click.option(
    "--flank", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
    help="Nucleotides to add on either side of the locus, as far as the record goes.",
)  # fmt: skip


@click.command("cut")
@click.option(
    "--fasta", required=True, metavar="FILE", help="FASTA or FASTQ; plain, gzip or bgzip."
)
@click.option(
    "--record", metavar="NAME", help="Record to cut from.  [default: the only one of the file]"
)
@locus
@flank
@click.option("--name", help="Name of the sequence written.  [default: the record's]")
@options.output_of("FASTA")
@options.common
def command(fasta, record, locus, flank, name, output, quiet) -> None:
    """Cut a locus with its flanks out of a FASTA record, or copy all of it.

    The record is checked: only IUPAC nucleotides, ambiguity codes become N. A locus is cut by the
    index beside the file; a missing index is made. An output that ends in .gz is compressed with
    bgzip and indexed (.fai and .gzi).
    """
    record = record or _only(fasta)
    if locus:
        sequence = cut_locus(fasta, record, *locus, flank=flank)
        sequence = replace(sequence, description=sequence.name)
    else:
        sequence = read_record(fasta, record)
    write_fasta(output, [replace(sequence, name=name or record)])


def _only(fasta: str) -> str:
    names = [record.name for record in whole_records(fasta)]
    if len(names) != 1:
        raise InputError(f"{len(names)} records", path=fasta, expected="one, or --record")
    return names[0]
