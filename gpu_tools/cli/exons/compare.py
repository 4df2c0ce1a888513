"""``gpu-tools exons compare``: accuracy of predicted exons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.exons import accuracy
from gpu_tools.formats.exons import annotation
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.tables import write_table

COLUMNS = ("level", "annotated", "predicted", "true", "sensitivity", "precision", "f1")


@click.command("compare")
@option("--candidates FILE", "Predicted exons: GENSCAN, GFF3, GTF, BED or TSV.", required=True)
@option(
    "--truth FILE",
    required=True,
    help="Annotation in any of these formats; its features CDS if it has any, else its exons.",
)
@option(
    "--transcripts",
    "Compare introns and intron chains of transcripts instead, in GFF3 or GTF.",
)
@option(
    "--overlapping",
    "With --transcripts: only transcripts count that overlap one of the other file's.",
)
@options.output
@options.common
def command(
    candidates: str, truth: str, transcripts: bool, overlapping: bool, output: str, quiet: bool
) -> None:
    """Compare predicted exons with annotated ones, as TSV.

    Sensitivity and precision of nucleotides and of exons, after Burset and Guigo: an exon is true
    if strand and both ends are right. Equal exons of several transcripts count once.
    """
    if overlapping and not transcripts:
        raise click.UsageError("--overlapping needs --transcripts")
    if transcripts:
        sides = annotation.read_transcripts(candidates), annotation.read_transcripts(truth)
        names = [dict.fromkeys(one.record for one in side) for side in sides]
    else:
        names = sides = read_exons(candidates), annotation.read_annotated_exons(truth)
    try:
        accuracy.check_in_common(*names)
    except InputError as error:
        raise InputError(error.problem, path=candidates, expected=f"names of {truth}") from None
    levels = _of_transcripts(sides, overlapping) if transcripts else accuracy.compare_exons(*sides)
    write_table(output, COLUMNS, (_row(level, figures) for level, figures in levels.items()))
    name, figures = next(item for item in levels.items() if item[0] != "nucleotide")
    note(counted(figures.predicted, "candidate"), counted(figures.annotated, f"annotated {name}"))


def _of_transcripts(
    sides: Sequence[list[annotation.TranscriptExons]], overlapping: bool
) -> dict[str, accuracy.Accuracy]:
    if overlapping:
        pairs = sides, sides[::-1]
        sides = [list(accuracy.overlapping(one, other)) for one, other in pairs]
    return accuracy.compare_transcripts(*sides)


def _row(level: str, figures: accuracy.Accuracy) -> Iterable[object]:
    ratios = (figures.sensitivity, figures.precision, figures.f1)
    shown = (None if ratio is None else f"{ratio:.4f}" for ratio in ratios)
    return level, figures.annotated, figures.predicted, figures.true, *shown
