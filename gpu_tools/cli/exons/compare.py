"""``gpu-tools exons compare``: accuracy of predicted exons."""

from __future__ import annotations

from collections.abc import Iterable

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.summary import counted, note
from gpu_tools.exons.accuracy import Accuracy, compare_exons
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.tables import write_table

COLUMNS = ("level", "annotated", "predicted", "true", "sensitivity", "precision", "f1")


@click.command("compare")
@click.option(
    "--candidates", required=True, metavar="FILE",
    help="Predicted exons: GENSCAN, GFF3, GTF, BED or TSV.",
)  # fmt: skip
@click.option(
    "--truth",
    required=True,
    metavar="FILE",
    help="Annotation in any of these formats; its features CDS if it has any, else its exons.",
)
@options.output
@options.common
def command(candidates: str, truth: str, output: str, quiet: bool) -> None:
    """Compare predicted exons with annotated ones, as TSV.

    Sensitivity and precision of nucleotides and of exons, after Burset and Guigo: an exon is true
    if strand and both ends are right. Equal exons of several transcripts count once.
    """
    levels = compare_exons(read_exons(candidates), read_annotated_exons(truth))
    write_table(output, COLUMNS, (_row(level, figures) for level, figures in levels.items()))
    exons = levels["exon"]
    note(counted(exons.predicted, "candidate"), counted(exons.annotated, "annotated exon"))


def _row(level: str, figures: Accuracy) -> Iterable[object]:
    ratios = (figures.sensitivity, figures.precision, figures.f1)
    shown = (None if ratio is None else f"{ratio:.4f}" for ratio in ratios)
    return level, figures.annotated, figures.predicted, figures.true, *shown
