"""``gpu-tools max-segments``: runs of values with the largest sums."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import PurePath
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

import gpu_tools
from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.options import note, option, progress
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.matches import REGION, Annotation, SegmentRow, write_segments
from gpu_tools.formats.numbers import is_track, read_tracks, read_values
from gpu_tools.formats.scales import load_scale
from gpu_tools.hardware.device import resolve
from gpu_tools.model.locus import Locus
from gpu_tools.model.results import Segments
from gpu_tools.model.scales import DECIMAL_PLACES, LARGEST, Scale, scale_number

_log = logging.getLogger(__name__)

SHORT = 1 << 16
"""Records with fewer values are searched on the CPU: a launch on a GPU takes longer."""
LARGEST_WHOLE = 2**62
"""Integers below this magnitude stay within 64 bits when a constant is subtracted."""
LARGEST_EXACT = 2**53 - LARGEST
"""Integers up to this magnitude are exact as floats, also less a constant."""


class Record(NamedTuple):
    """A named sequence of values, the file that it comes from, and where it lies."""

    name: str
    values: NDArray
    path: str
    locus: Locus


def _decimal(context: click.Context, parameter: click.Parameter, text: str) -> Decimal:
    if (number := scale_number(text)) is not None:
        return number
    raise click.BadParameter(
        f"{text!r} is not a number from -{LARGEST} to {LARGEST} "
        f"with at most {DECIMAL_PLACES} places"
    )


@click.command("max-segments")
@option(
    "--sequence FASTA", multiple=True,
    help="Sequences; needs --scale. Repeatable. Either this or --values is needed.",
)  # fmt: skip
@option(
    "--scale NAME|TSV",
    "Scores of symbols: a shipped scale, or a table with columns symbol and score.",
)
@option(
    "--values FILE",
    "Numbers: .npy, a text of one number on each line, or tracks: bedGraph, bigWig.",
)
@option(
    "--subtract X", default="0", callback=_decimal,
    help="Subtract X from each score or number: a segment needs a mean above X.",
)  # fmt: skip
@option(
    "--all every",
    "All maximal scoring segments after Ruzzo and Tompa.  [default: the best one]",
)
@option(
    "--min-score X", type=float, callback=options.finite,
    help="Keep segments that score X or more.  [default: all]",
)  # fmt: skip
@option("--min-length N", "Keep segments of N symbols or more.", type=options.Count(1), default=1)
@option("--significance", "Add a column evalue, after Karlin and Altschul; needs --scale.")
@option("--bed FILE", "Also write the segments as BED.")
@option("--gff3 FILE", "Also write the segments as GFF3.")
@option(
    "--feature TYPE", type=options.NameType(), default=REGION,
    help="Type of the features in GFF3, a term of the Sequence Ontology.",
)  # fmt: skip
@loci.coordinates
@options.output
@options.device
@options.common
def command(
    sequence, scale, values, subtract, every, min_score, min_length, significance,
    bed, gff3, feature, coordinates, output, device, threads, quiet,
) -> None:  # fmt: skip
    """Find the segments of sequences that score highest, exactly.

    A segment is a run of neighbouring symbols or numbers; its score is the sum of theirs. The table
    has a row for each segment, ranked within its sequence, with 1-based inclusive positions, those
    in a locus in its record's coordinates. A sequence without a positive score has no row.
    """
    _check_usage(sequence, scale, values, significance)
    resolve(device)
    used = None if scale is None else load_scale(scale).less(subtract)
    records = _sequences(sequence, used, coordinates) if used else _tracks(values, subtract)
    search, found = (gpu_tools.max_segments if every else _best), []
    short = sum(len(record.values) < SHORT for record in records)
    _log.info("%d of %d sequences are searched on the CPU: they are short", short, len(records))
    with progress("searching", sum(len(record.values) for record in records), quiet) as done:
        for record in records:
            where = device if len(record.values) >= SHORT else "cpu"
            found.append(_search(search, record, where, threads))
            done(len(record.values))
    chosen = [_chosen(segments, used, min_score, min_length) for segments in found]
    lengths = [(r.locus.record, r.locus.record_length) for r in records]
    annotation = Annotation(bed, gff3, feature, lengths)
    write_segments(output, _rows(records, chosen, used, significance), annotation, significance)
    note(counted(len(records), "sequence"), counted(sum(map(len, chosen)), "segment"))


def _check_usage(sequence, scale, values, significance: bool) -> None:
    if bool(sequence) == (values is not None):
        raise click.UsageError("give either --sequence with --scale or --values")
    if bool(sequence) != (scale is not None):
        raise click.UsageError("--sequence and --scale go together")
    if significance and scale is None:
        raise click.UsageError("--significance needs --sequence and --scale")


def _sequences(paths: tuple[str, ...], scale: Scale, coordinates: str) -> list[Record]:
    records = []
    for path in paths:
        found = loci.read_loci(path, (), scale.values)
        placed = loci.place(path, found, coordinates)
        records += [Record(s.name, s.codes, path, placed[s.name]) for s in found]
    return records


def _tracks(path: str, subtract: Decimal) -> list[Record]:
    tracks = read_tracks(path) if is_track(path) else [(PurePath(path).stem, read_values(path))]
    records = []
    for name, numbers in tracks:
        with _errors_of(path, name):
            values = _less(numbers, subtract)
        records.append(Record(name, values, path, Locus.whole(name, len(values))))
    return records


def _less(values: NDArray, subtract: Decimal) -> NDArray:
    """Return the numbers less a constant: integers less an integer stay integers."""
    from gpu_tools.segments.runs import as_numbers  # imports the compiler

    values = as_numbers(values, 1)
    if not subtract or values.dtype.kind == "f":
        return values.astype(np.float64) - float(subtract) if subtract else values
    largest = max(-int(values.min()), int(values.max()))
    if subtract == int(subtract) and largest < LARGEST_WHOLE:
        return values.astype(np.int64) - int(subtract)
    if subtract == int(subtract) or largest > LARGEST_EXACT:
        raise InputError(
            f"less {subtract} the integers exceed what is exact", expected="smaller values"
        )
    return values.astype(np.float64) - float(subtract)


def _best(values: NDArray, **options) -> Segments:
    found = gpu_tools.max_segment(values, **options)
    rows = [] if found is None else [found]
    starts = np.array([segment.start for segment in rows], np.int64)
    ends = np.array([segment.end for segment in rows], np.int64)
    return Segments(starts, ends, np.array([segment.score for segment in rows]))


def _search(search: Callable, record: Record, device, threads) -> Segments:
    with _errors_of(record.path, record.name):
        return search(record.values, device=device, threads=threads)


@contextmanager
def _errors_of(path: str, name: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise error.located(path=path, record=name if is_track(path) else None) from None


def _chosen(
    segments: Segments, scale: Scale | None, min_score: float | None, min_length: int
) -> Segments:
    """Return the segments to write, ranked: those of at least that score and that length."""
    chosen = segments.ends - segments.starts >= min_length
    if min_score is not None:
        limit = min_score if scale is None else scale.smallest(min_score)
        chosen &= segments.scores >= limit
    return segments.take(chosen).ranked()


def _text(score, scale: Scale | None) -> str:
    if scale is not None:
        return scale.text(score)
    return str(int(score)) if isinstance(score, int | np.integer) else f"{score:.15g}"


def _rows(records, found, scale: Scale | None, significance: bool) -> Iterator[SegmentRow]:
    from gpu_tools.segments.api import statistics

    for record, segments in zip(records, found, strict=True):
        figures = statistics(record.values) if significance and len(segments) else None
        for rank in range(len(segments)):
            segment = segments[rank]
            expected = figures and figures.expected(len(record.values), segment.score)
            bounds = record.locus.to_record((segment.start, segment.end))
            yield SegmentRow(
                record.locus.record, rank + 1, *bounds, _text(segment.score, scale),
                None if expected is None else f"{expected:.3g}",
            )  # fmt: skip
