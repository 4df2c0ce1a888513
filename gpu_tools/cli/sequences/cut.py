"""``gpu-tools sequences cut``: a locus out of a record."""

from __future__ import annotations

import re
from dataclasses import replace

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import CDNA, GENOMIC, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.formats.sequences.locus import cut_locus, read_record, record_lengths
from gpu_tools.model.locus import Locus

_LOCUS = re.compile(r"([1-9][0-9]{0,17})-([1-9][0-9]{0,17})")


class LocusType(click.ParamType):
    """START-END, 1-based and inclusive; becomes a 0-based half-open interval."""

    name = "locus"

    def convert(self, value, param, context):
        """Return (start, end), 0-based and half-open."""
        match = _LOCUS.fullmatch(value.replace(",", ""))
        if not match or int(match[1]) > int(match[2]):
            self.fail(f"{value!r} is not START-END, 1-based, START not after END", param, context)
        return int(match[1]) - 1, int(match[2])


locus = option(
    "--locus START-END", type=LocusType(),
    help="Part of the record, 1-based and inclusive, commas allowed.  [default: all of it]",
)  # fmt: skip
flank = option(
    "--flank N", type=options.Count(), default=0,
    help="Nucleotides to add on either side of the locus, as far as the record goes.",
)  # fmt: skip


@click.command("cut")
@option(
    "--fasta FILE", "FASTA or FASTQ; plain or compressed.", required=True,
    aliases=(*GENOMIC, *CDNA),
)  # fmt: skip
@option("--record NAME", "Record to cut from.  [default: the only one of the file]")
@locus
@flank
@option(
    "--name",
    type=options.NameType(one_word=True),
    help="Name of the sequence written.  [default: RECORD:START-END, or the record's]",
)
@option(
    "--origin",
    "With --name, for a whole record: results name the record instead of --name.",
)
@options.output_of("FASTA")
@options.common
def command(fasta, record, locus, flank, name, origin, output, quiet) -> None:
    """Cut a locus with its flanks out of a FASTA record, or copy all of it.

    A locus is named RECORD:START-END, and its description states the record's length. All commands
    give results on it in the record's coordinates, also under another --name, which the description
    then explains.

    The record is checked: only IUPAC nucleotides, ambiguity codes become N. A locus is cut by the
    index beside the file; a missing index is made. An output that ends in .gz is compressed with
    bgzip and indexed (.fai and .gzi).
    """
    record = record or only_record(fasta)
    if locus:
        sequence = cut_locus(fasta, record, *locus, flank=flank)
    else:
        sequence = read_record(fasta, record)
    name = name or sequence.name
    if name != sequence.name and (locus or origin):
        sequence = replace(sequence, description=Locus.of(sequence).header(name))
    write_fasta(output, [replace(sequence, name=name)])
    note(name, counted(len(sequence), "nucleotide"))


def only_record(fasta: str) -> str:
    """Return the name of the only record of a file; several are an error."""
    names = list(record_lengths(fasta))
    if len(names) != 1:
        raise InputError(f"{len(names)} records", path=fasta, expected="one, or --record")
    return names[0]
