"""``gpu-tools exons cut``: exons of a record onto a locus cut out of it."""

from __future__ import annotations

import logging
from dataclasses import replace

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.sequences.cut import flank, locus
from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import read_coding_segments
from gpu_tools.formats.exons.intervals import AUTO, read_exons, write_exons
from gpu_tools.formats.sequences.fasta import read_one
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.sequences import Sequence

_log = logging.getLogger(__name__)


KINDS = ("candidates", "report", "annotation")


@click.command("cut")
@click.argument("exons")
@click.option(
    "--kind", type=click.Choice(KINDS), default="candidates", show_default=True,
    help="What EXONS holds: candidates in any format, a GENSCAN report, or an annotation, of which "
    "the features CDS are taken.",
)  # fmt: skip
@click.option("--base", required=True, metavar="FILE", help="FASTA of the locus; one record.")
@click.option("--record", required=True, metavar="NAME", help="Record that the locus is part of.")
@locus
@flank
@options.output_of("GFF3")
@options.common
def command(exons, kind, base, record, locus, flank, output, quiet) -> None:
    """Move the exons of a record onto a locus that `gpu-tools sequences cut` made of it.

    EXONS is GFF3, GTF, BED, TSV or a GENSCAN report in the record's coordinates. The output is
    GFF3 in the locus's coordinates, named by BASE; exons that do not lie within it are left out,
    with a warning that counts them.
    """
    sequence = read_one(base, expected="one, the locus")
    first = max(locus[0] - flank, 0) if locus else 0
    chosen = _shifted(_of_record(_read(kind, exons, record), exons, record), first, sequence)
    write_exons(output, {sequence.name: chosen}, "gff3", {sequence.name: len(sequence)})


def _read(kind: str, path: str, record: str) -> dict[str, ExonSet]:
    if kind == "annotation":
        return read_coding_segments(path)
    return read_exons(path, "genscan" if kind == "report" else AUTO, record)


def _of_record(sets: dict[str, ExonSet], path: str, record: str) -> ExonSet:
    if sets and record not in sets:
        raise InputError(
            f"exons of {', '.join(map(repr, list(sets)[:3]))} but not of {record!r}", path=path,
            expected="the record's name in the exons' first column",
        )  # fmt: skip
    return sets.get(record, ExonSet.empty())


def _shifted(exons: ExonSet, first: int, sequence: Sequence) -> ExonSet:
    shifted = replace(exons, starts=exons.starts - first, ends=exons.ends - first)
    within = (shifted.starts >= 0) & (shifted.ends <= len(sequence))
    if not within.all():
        _log.warning("%d exons outside %s left out", (~within).sum(), sequence.name)
    return shifted.take(within)
