"""``gpu-tools exons cut``: exons of a record that lie in a locus cut out of it."""

from __future__ import annotations

import logging
from dataclasses import replace

import click

from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.completion import completed_files
from gpu_tools.cli.common.options import GENOMIC, note, option
from gpu_tools.cli.sequences.cut import LocusType
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.exons.annotation import read_coding_segments
from gpu_tools.formats.exons.intervals import AUTO, read_exons, write_exons
from gpu_tools.formats.sequences.fasta import read_one
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence

_log = logging.getLogger(__name__)


KINDS = ("candidates", "report", "annotation")


@click.command("cut")
@click.argument("exons", shell_complete=completed_files)
@option(
    "--kind", type=click.Choice(KINDS), default="candidates",
    help="What EXONS holds: candidates in any format, a GENSCAN report, or an annotation, of "
    "which the features CDS are taken.",
)  # fmt: skip
@option("--genome base FILE", "FASTA of the locus; one record.", required=True, aliases=GENOMIC)
@option("--record NAME", "Name of the record in EXONS.  [default: that of --genome]")
@option(
    "--locus START-END", type=LocusType(),
    help="Part of the record that --genome has, 1-based and inclusive; needed if its header does "
    "not tell it.  [default: that of the header]",
)  # fmt: skip
@option(
    "--flank N", type=options.Count(), default=0,
    help="With --locus: nucleotides on either side of it that were cut, too.",
)  # fmt: skip
@loci.coordinates
@options.output_of("GFF3")
@options.common
def command(exons, kind, base, record, locus, flank, coordinates, output, quiet) -> None:
    """Take the exons of a record that lie in a locus that `gpu-tools sequences cut` made of it.

    EXONS is GFF3, GTF, BED, TSV or a GENSCAN report in the record's coordinates. The output is
    GFF3 in the record's coordinates, or with --coordinates locus in those of the locus. Exons that
    do not lie within the locus are left out, with a warning that counts them.
    """
    sequence = read_one(base, expected="one, the locus")
    origin = _origin(base, sequence, locus, flank, record)
    name = record or origin.record
    chosen = inside(of_record(read_kind(kind, exons, name), exons, name), origin, sequence.name)
    stated = replace(sequence, description=origin.header(sequence.name))
    placed = loci.place(base, [stated], coordinates)
    sets = placed.exons_by_record({sequence.name: chosen})
    write_exons(output, sets, "gff3", placed.record_lengths)
    note(counted(len(chosen), "exon"))


def _origin(path: str, sequence: Sequence, locus, flank: int, record: str | None) -> Locus:
    """Return the locus that a sequence is, by its header or else by the options."""
    stated = Locus.of(sequence)
    if locus is None:
        return stated
    first = max(locus[0] - flank, 0)
    if stated.is_all_of(sequence.name):  # its header says nothing
        return Locus(record or sequence.name, first, first + len(sequence))
    if first != stated.start:
        raise InputError(
            f"position 1 is {stated.start + 1} of {stated.record}", path=path,
            record=sequence.name, expected=f"{first + 1}, as --locus and --flank say",
        )  # fmt: skip
    return stated


def read_kind(kind: str, path: str, record: str) -> dict[str, ExonSet]:
    """Read the exons of a file of one of the `KINDS`; a report's are those of the record."""
    if kind == "annotation":
        return read_coding_segments(path)
    return read_exons(path, "genscan" if kind == "report" else AUTO, record)


def of_record(sets: dict[str, ExonSet], path: str, record: str) -> ExonSet:
    """Return the exons of a record; exons of other records alone are an error."""
    if sets and record not in sets:
        raise InputError(
            f"exons of {', '.join(map(repr, list(sets)[:3]))} but not of {record!r}", path=path,
            expected="the record's name in the exons' first column",
        )  # fmt: skip
    return sets.get(record, ExonSet.empty())


def inside(exons: ExonSet, origin: Locus, name: str) -> ExonSet:
    """Return a record's exons inside a locus, in its coordinates; a warning counts the others."""
    found = origin.exons_within(exons)
    if len(found) < len(exons):
        _log.warning("%d exons outside %s left out", len(exons) - len(found), name)
    return found
