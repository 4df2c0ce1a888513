"""Cut the loci and targets of a batch of cases; also runs by hand, see --help."""

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.cli.sequences.cut import LocusType, flank, only_record
from gpu_tools.formats.batch import CaseRow, write_case_rows
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.formats.sequences.locus import cut_loci, read_records
from gpu_tools.formats.tables import MISSING
from gpu_tools.model.locus import Locus

FILES = {"multiple": True, "required": True, "metavar": "FILE"}
NAMES = {"multiple": True, "required": True}


class Wanted(NamedTuple):
    """A sequence to cut: its name, its file, and the record and locus in it.

    `record` is None for the only one of the file; `locus`, 0-based half-open, for all of it.
    """

    name: str
    file: str
    record: str
    locus: tuple[int, int] | None = None


def wanted(words, files):
    """Return the sequence of an option's words: name, number of the file, record and locus."""
    name, number, record, *locus = words
    if not number.isdecimal() or not 1 <= int(number) <= len(files):
        raise click.UsageError(
            f"file {number} for {name}; expected a number from 1 to {len(files)}"
        )
    path = files[int(number) - 1]
    record = only_record(path) if record == MISSING else record
    known = [LocusType().convert(text, None, None) for text in locus if text != MISSING]
    return Wanted(name, path, record, *known)


def cut(items, flank):
    """Return the sequence of each item, each file read at most once for whole records."""
    by_file = defaultdict(list)
    for item in items:
        by_file[item.file, item.locus is None].append(item)
    found = {}
    for (path, whole), of_file in by_file.items():
        if whole:
            sequences = read_records(path, [item.record for item in of_file])
        else:
            loci = [Locus(item.record, *item.locus) for item in of_file]
            sequences = cut_loci(path, loci, flank)
        found |= dict(zip(of_file, sequences, strict=True))
    return [found[item] for item in items]


def renamed(sequence, name, origin):
    """Return a sequence under another name; with `origin` its description says what it is."""
    if origin and name != sequence.name:
        sequence = replace(sequence, description=Locus.of(sequence).header(name))
    return replace(sequence, name=name)


def sequences(words, files, flank, origin):
    """Return the sequences of an option."""
    items = [wanted(item, files) for item in words]
    found = zip(items, cut(items, flank), strict=True)
    return [renamed(sequence, item.name, origin) for item, sequence in found]


@click.command("sequences_cut")
@click.option("--fasta", **FILES, help="FASTA to cut from; repeatable.")
@click.option(
    "--base", nargs=4, **NAMES, metavar="NAME N RECORD LOCUS",
    help="Base to cut, from the Nth --fasta; . is the only record, and all of it. Repeatable.",
)  # fmt: skip
@click.option(
    "--target", nargs=3, **NAMES, metavar="NAME N RECORD", help="Target to cut; repeatable."
)
@click.option(
    "--pair", nargs=2, multiple=True, metavar="BASE TARGET", help="A case of --cases; repeatable."
)
@flank
@click.option("--bases", required=True, metavar="FILE", help="FASTA of the bases to write.")
@click.option("--targets", required=True, metavar="FILE", help="FASTA of the targets to write.")
@click.option("--cases", metavar="FILE", help="Table of the cases to write.")
@options.common
def command(fasta, base, target, pair, flank, bases, targets, cases, quiet):
    """Cut loci with their flanks, or take whole records, checked, compressed and indexed.

    Results on a base are in the coordinates of its record.
    """
    loci = sequences(base, fasta, flank, origin=True)
    write_fasta(bases, loci)
    write_fasta(targets, sequences(target, fasta, flank, origin=False))
    if cases:
        placed = {sequence.name: Locus.of(sequence) for sequence in loci}
        write_case_rows(cases, [CaseRow(b, t, placed[b]) for b, t in pair])


run_rule(command, globals().get("snakemake"))
