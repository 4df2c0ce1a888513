"""What commands on loci share: --region, --coordinates, and the sequences they choose."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby

import click
import numpy as np

from gpu_tools.cli.common.options import option
from gpu_tools.errors import InputError
from gpu_tools.formats.exons.intervals import read_intervals
from gpu_tools.formats.matches import MatchRow
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.sequences.locus import cut_regions
from gpu_tools.model.locus import COORDINATES, Loci, Locus, RecordRegion, may_be_locus
from gpu_tools.model.sequences import Sequence, SequenceChunk, encode

Region = RecordRegion | str
"""A region of a record, or the name of a BED file of regions."""


class RegionType(click.ParamType):
    """A record or a part of it, NAME:START-END, 1-based and inclusive, or a BED file."""

    name = "region"

    def convert(self, value, param, context):
        """Return a `RecordRegion`, or the file's name."""
        if isinstance(value, RecordRegion):
            return value
        region = RecordRegion.parse(value)
        if region and region.record != value:
            return region
        if os.path.isfile(value):  # noqa: PTH113  (no text is an error to it)
            return value
        if region is None:
            self.fail(
                f"{value!r} is neither NAME:START-END, 1-based, START not after END, nor a record, "
                "nor a file",
                param,
                context,
            )
        return region


def region_of(what: str) -> Callable:
    """Return the option --region of a command that reads `what`, as messages call it."""
    return option(
        "--region regions NAME[:START-END]|BED", multiple=True, type=RegionType(),
        help=f"Only this record of {what}, or this region of it (1-based, inclusive; commas "
        "allowed; either bound may be missing), or the regions of a BED file. Repeatable.",
    )  # fmt: skip


coordinates = option(
    "--coordinates", type=click.Choice(COORDINATES), default="record",
    help="Coordinates of results on a locus, a sequence named NAME:START-END: those of the record "
    "NAME, or the locus's own.",
)  # fmt: skip


def read_loci(path: str, regions: Iterable[Region], encode: Callable = encode) -> list[Sequence]:
    """Read the regions of a FASTA file, each once, or all its records if there is no region."""
    wanted = dict.fromkeys(one for region in regions for one in _regions_of(region))
    if wanted:
        found = list({s.name: s for s in cut_regions(path, wanted, encode)}.values())
    else:
        found = read_fasta(path, encode)
    with errors_of(path):
        for sequence in found:
            Locus.of(sequence)
    return found


def place(path: str, sequences: Iterable[Sequence], coordinates: str) -> Loci:
    """Return where the sequences of a file lie; headers that contradict are bad input."""
    with errors_of(path):
        return Loci(sequences, coordinates)


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Have errors name a file, unless they name one."""
    try:
        yield
    except InputError as error:
        raise error.located(path=path) from None


@contextmanager
def errors_of_records(names: Mapping[str, Iterable[str]]) -> Iterator[None]:
    """Have an error about a record name the one file, of those of `names`, that has it."""
    try:
        yield
    except InputError as error:
        files = [path for path, known in names.items() if error.record in set(known)]
        raise error.located(path=files[0] if len(files) == 1 else None) from None


def _regions_of(region: Region) -> list[RecordRegion]:
    if isinstance(region, RecordRegion):
        return [region]
    return [RecordRegion(name, start, end) for name, start, end in read_intervals(region)]


def joined(sequences: Iterable[Sequence]) -> list[Sequence]:
    """Return loci, those of a record that overlap as one, by position within each record."""
    order, found = {}, []
    for sequence in sequences:
        order.setdefault(Locus.of(sequence).record, []).append(sequence)
    for sequences in order.values():
        for sequence in sorted(sequences, key=Locus.of):
            before, locus = found[-1] if found else None, Locus.of(sequence)
            last = before and Locus.of(before)
            if last and last.record == locus.record and locus.start < last.end:
                codes = np.concatenate([before.codes, sequence.codes[last.end - locus.start :]])
                whole = last._replace(end=max(last.end, locus.end))
                found[-1] = Sequence(whole.name, codes, whole.header(whole.name))
            else:
                found.append(sequence)
    return found


def names_of(sequences: Iterable[Sequence]) -> dict[str, list[str]]:
    """Return the names of the sequences that a name in another file stands for.

    That is the one of that name, or else the loci of the record of that name.
    """
    named: dict[str, list[str]] = {}
    sequences = list(sequences)
    for sequence in sequences:
        named.setdefault(Locus.of(sequence).record, []).append(sequence.name)
    return named | {sequence.name: [sequence.name] for sequence in sequences}


def has_loci(sequences: Iterable[Sequence]) -> bool:
    """Return whether any sequence is a part of a record."""
    return any(not Locus.of(sequence).is_all_of(sequence.name) for sequence in sequences)


class TextLoci:
    """Texts that pass by in chunks, and the matches in them in the records' coordinates."""

    def __init__(self, chunks: Iterable[SequenceChunk], coordinates: str):
        self._chunks, self._coordinates = chunks, coordinates
        self._lengths: dict[str, int] = {}
        self._descriptions: dict[str, str] = {}

    def __iter__(self) -> Iterator[SequenceChunk]:
        """Yield the chunks."""
        for chunk in self._chunks:
            self._descriptions[chunk.name] = chunk.description
            self._lengths[chunk.name] = self._lengths.get(chunk.name, 0) + len(chunk.codes)
            yield chunk

    def moved(self, rows: Iterable[MatchRow]) -> Iterator[MatchRow]:
        """Yield matches, given text by text; those of a locus when the text has passed wholly."""
        for text, matches in groupby(rows, key=lambda row: row.text):
            description = self._descriptions[text]
            if self._coordinates == "record" and may_be_locus(text, description):
                matches = list(matches)  # the text's length is known only now
                locus = Locus.of_header(text, description, self._lengths[text])
                matches = (_moved(match, locus) for match in matches)
            yield from matches


def _moved(match: MatchRow, locus: Locus) -> MatchRow:
    start, end = locus.to_record((match.start, match.end))
    return match._replace(text=locus.record, start=start, end=end)
