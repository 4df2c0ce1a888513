"""``gpu-tools exons predict``: candidate exons of genomic sequences."""

from __future__ import annotations

import math

import click

from gpu_tools.cli import options
from gpu_tools.cli.progress import progress
from gpu_tools.exons.model import load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.fasta import read_fasta
from gpu_tools.formats.intervals import write_exons


def _finite(context: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


@click.command("predict")
@click.option(
    "--base", required=True, metavar="FILE", help="Genomic sequences, FASTA; - is standard input."
)
@click.option(
    "--model", "model_name", default="vertebrate", show_default=True, metavar="NAME|FILE",
    help="A shipped model, or one in JSON.",
)  # fmt: skip
@click.option(
    "--min-score", type=float, callback=_finite, metavar="X",
    help="Smallest score of a candidate, in bits.  [default: the model's]",
)  # fmt: skip
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="FILE",
    help="GFF3 to write; - is standard output.",
)  # fmt: skip
@options.common
def command(base: str, model_name: str, min_score: float | None, output: str, quiet: bool) -> None:
    """Predict candidate exons on both strands of every sequence, as GFF3.

    A candidate runs from an acceptor or ATG to a donor or stop codon and has an open reading
    frame. Features are named exon; exon_type is Init, Intr, Term or Sngl, and column 6 is the
    score in bits.
    """
    model = load_model(model_name)
    records = read_fasta(base)
    lengths = {record.name: len(record) for record in records}
    sets = {}
    with progress("predicting exons", sum(lengths.values()), quiet) as advance:
        for record in records:
            sets[record.name] = predict_exons(record.codes, model, min_score)
            advance(len(record))
    write_exons(output, sets, "gff3", lengths)
