"""``gpu-tools exons convert``: candidate exons from one format to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click

from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.completion import completed_files
from gpu_tools.cli.common.options import GENOMIC, note, option
from gpu_tools.errors import InputError, counted, did_you_mean
from gpu_tools.formats.exons import intervals
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Loci


@click.command("convert")
@click.argument("exons", metavar="IN", shell_complete=completed_files)
@option(
    "--to to_format", required=True, type=click.Choice(intervals.WRITTEN_FORMATS),
    help="Format to write.",
)  # fmt: skip
@option(
    "--from from_format", default=intervals.AUTO,
    type=click.Choice((intervals.AUTO, *intervals.FORMATS)),
    help="Format of IN; auto recognises it by content, then suffix.",
)  # fmt: skip
@option(
    "--genome base FILE",
    "FASTA of the sequences that IN names: exons on a locus go to its record's coordinates.",
    aliases=GENOMIC,
)
@options.output_of("File")
@options.common
def command(
    exons: str, to_format: str, from_format: str, base: str | None, output: str, quiet: bool
) -> None:
    """Convert the candidate exons of IN (- is standard input) to another format.

    All candidates are converted, the suboptimal ones of a GENSCAN report included; promoters and
    poly-A signals are not exons.
    """
    if base is None:
        found = intervals.read_exons(exons, from_format)
        intervals.write_exons(output, found, to_format)
        note(counted(sum(map(len, found.values())), "exon"))
        return
    sequences = loci.read_loci(base, ())
    placed = loci.place(base, sequences, "record")
    names = [sequence.name for sequence in sequences]
    only = names[0] if len(names) == 1 else None
    found = intervals.read_exons(exons, from_format, only, placed.record_lengths)
    _check_known((exons, base), found, {*names, *placed.record_lengths})
    on_records = _on_records(found, placed)
    if not loci.has_loci(sequences):  # of loci a record's length may not be known
        with loci.errors_of(exons):
            for name, candidates in on_records.items():
                candidates.check_within(placed.record_lengths[name], name)
    intervals.write_exons(output, on_records, to_format, placed.record_lengths)
    note(counted(sum(map(len, found.values())), "exon"))


def _on_records(found: Mapping[str, ExonSet], placed: Loci) -> dict[str, ExonSet]:
    """Move exons on the loci's names to the records; those on a record's name are there already."""
    on_loci = {name: s for name, s in found.items() if name not in placed.record_lengths}
    moved = placed.exons_by_record(on_loci)
    for name, exons in found.items():
        if name not in on_loci:
            moved[name] = ExonSet.concatenate([moved.get(name, ExonSet.empty()), exons])
    return moved


def _check_known(paths: tuple[str, str], found: Iterable[str], known: set[str]) -> None:
    for name in found:
        if name not in known:
            raise InputError(
                f"exons on an unknown sequence {name!r}{did_you_mean(name, known)}",
                path=paths[0],
                expected=f"names of the records in {paths[1]}",
            )
