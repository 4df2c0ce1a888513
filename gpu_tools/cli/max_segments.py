"""``gpu-tools max-segments``: runs of values with the largest sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from gpu_tools import max_segment, max_segments
from gpu_tools.cli import options
from gpu_tools.cli.progress import progress
from gpu_tools.device import resolve
from gpu_tools.errors import InputError
from gpu_tools.formats.fasta import read_fasta
from gpu_tools.formats.files import check_writable, open_output
from gpu_tools.formats.numbers import read_values
from gpu_tools.formats.scales import load_scale
from gpu_tools.formats.tables import write_table
from gpu_tools.results import Segments
from gpu_tools.segments.scale import Scale
from gpu_tools.segments.significance import statistics

COLUMNS = ("sequence", "rank", "start", "end", "score")
SHORT = 1 << 16
"""Records with fewer values are searched on the CPU: they are not worth a launch."""


class Record(NamedTuple):
    """A named sequence of values."""

    name: str
    values: NDArray


def _finite(context: click.Context, parameter: click.Parameter, value: float | None):
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


@click.command("max-segments")
@click.option("--sequence", metavar="FASTA", help="Sequences; needs --scale.")
@click.option(
    "--scale", metavar="NAME|TSV",
    help="Scores of symbols: a shipped scale, or a table with columns symbol and score.",
)  # fmt: skip
@click.option("--values", metavar="FILE", help="Numbers: .npy, or a text of one number a line.")
@click.option(
    "--all", "every", is_flag=True,
    help="All maximal scoring segments after Ruzzo and Tompa.  [default: the best one]",
)  # fmt: skip
@click.option(
    "--min-score", type=float, callback=_finite, metavar="X",
    help="Keep segments that score X or more.",
)  # fmt: skip
@click.option(
    "--significance", is_flag=True,
    help="Add a column evalue, after Karlin and Altschul; needs --scale.",
)  # fmt: skip
@click.option("--bed", metavar="FILE", help="Also write the segments as BED.")
@options.output
@options.device
@options.common
def command(
    sequence, scale, values, every, min_score, significance, bed, output, device, threads, quiet
) -> None:
    """Find the segments of sequences that score highest, exactly.

    A segment is a run of neighbouring symbols or numbers; its score is the sum of theirs. The table
    has a row for each segment, ranked within its sequence, with 1-based inclusive positions. A
    sequence without a positive score has no row.
    """
    _check_usage(sequence, scale, values, significance)
    for path in filter(None, (output, bed)):
        check_writable(path)
    resolve(device)
    if values is not None:
        records, used = [Record(PurePath(values).stem, read_values(values))], None
    else:
        used = load_scale(scale)
        records = [Record(s.name, s.codes) for s in read_fasta(sequence, used.values)]
    search = _best if every is False else _all
    found = []
    with progress("searching", sum(len(record.values) for record in records), quiet) as done:
        for record in records:
            where = device if len(record.values) >= SHORT else "cpu"
            found.append(_search(search, record, where, threads, sequence or values))
            done(len(record.values))
    kept = [_kept(segments, used, min_score).ranked() for segments in found]
    columns = (*COLUMNS, "evalue") if significance else COLUMNS
    if bed:
        _write_bed(bed, records, kept, used)
    write_table(output, columns, _rows(records, kept, used, significance))


def _check_usage(sequence, scale, values, significance: bool) -> None:
    if (sequence is None) == (values is None):
        raise click.UsageError("give either --sequence with --scale or --values")
    if (sequence is None) != (scale is None):
        raise click.UsageError("--sequence and --scale go together")
    if significance and scale is None:
        raise click.UsageError("--significance needs --sequence and --scale")


def _best(values: NDArray, **options) -> Segments:
    found = max_segment(values, **options)
    rows = [] if found is None else [found]
    starts = np.array([segment.start for segment in rows], np.int64)
    ends = np.array([segment.end for segment in rows], np.int64)
    return Segments(starts, ends, np.array([segment.score for segment in rows]))


def _all(values: NDArray, **options) -> Segments:
    return max_segments(values, **options)


def _search(search: Callable, record: Record, device, threads, path) -> Segments:
    try:
        return search(record.values, device=device, threads=threads)
    except InputError as error:
        raise error.located(path=path) from None


def _kept(segments: Segments, scale: Scale | None, min_score: float | None) -> Segments:
    if min_score is None:
        return segments
    limit = min_score if scale is None else scale.smallest(min_score)
    return segments.take(segments.scores >= limit)


def _text(score, scale: Scale | None) -> str:
    if scale is not None:
        return scale.text(score)
    return str(int(score)) if isinstance(score, int | np.integer) else f"{score:.15g}"


def _rows(records, found, scale: Scale | None, significance: bool) -> Iterator[tuple]:
    for record, segments in zip(records, found, strict=True):
        figures = statistics(record.values) if significance and len(segments) else None
        for rank in range(len(segments)):
            segment = segments[rank]
            row = (record.name, rank + 1, segment.start + 1, segment.end)
            row = (*row, _text(segment.score, scale))
            if significance:
                expected = figures and figures.expected(len(record.values), segment.score)
                row = (*row, None if expected is None else f"{expected:.3g}")
            yield row


def _write_bed(path: str, records, found, scale: Scale | None) -> None:
    with open_output(path) as stream:
        for record, segments in zip(records, found, strict=True):
            for rank in range(len(segments)):
                segment = segments[rank]
                columns = (
                    record.name, segment.start, segment.end, f"segment{rank + 1}",
                    _text(segment.score, scale),
                )  # fmt: skip
                stream.write("\t".join(map(str, columns)) + "\n")
