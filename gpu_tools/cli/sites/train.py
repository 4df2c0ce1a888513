"""``gpu-tools sites train``: a model for site mode from a genome and its annotation."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import GENOMIC, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.exons.training import annotated_sequences
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.files import STANDARD_STREAM, open_output
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.tables import write_table
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.json_model import model_to_json
from gpu_tools.sites import training

_log = logging.getLogger(__name__)


@click.command("train")
@option("--genome FASTA", "Genomic sequences; - is standard input.", required=True, aliases=GENOMIC)
@option(
    "--annotation FILE", required=True,
    help="Their genes, GFF3 or GTF: features CDS, with phase or complete.",
)  # fmt: skip
@option("--name", "What the model is called.", type=options.NameType(), default="trained")
@option(
    "--source TEXT",
    type=options.NameType(),
    help="What the model is made from.  [default: files and counts]",
)
@option("--report TSV", "Also write what training saw.")
@options.output_of("Model (JSON)")
@options.common
def command(
    genome: str, annotation: str, name: str, source: str | None, report: str | None, output: str,
    quiet: bool,
) -> None:  # fmt: skip
    """Train a model of splice sites and introns, for spliced-align --site-model.

    An intron that several coding sequences share counts once. Coding sequences that do not read
    through from ATG to a stop codon are left out with a warning.
    """
    for name_of, text in (("--name", name), ("--source", source)):
        if text == "":
            raise click.BadParameter("an empty text", param_hint=name_of)
    records, census = _read(genome, annotation)
    for warning in census.warnings():
        _log.warning("%s", warning)
    content = training.train_sites(records, name, source or _source(census, genome, annotation))
    with open_output(output) as stream:
        stream.write(model_to_json(content))
    note(counted(census.n_coding, "coding sequence"), counted(census.kinds.total(), "intron"))
    if report is not None:
        write_table(report, training.CENSUS_COLUMNS, training.census_rows(census, content))


def _read(genome: str, annotation: str) -> tuple[list[AnnotatedSequence], training.IntronCensus]:
    """Return what can be learned from, and what it is."""
    if genome == annotation == STANDARD_STREAM:
        raise InputError("more than one input is standard input", path=STANDARD_STREAM)
    coding = read_coding(annotation)
    try:
        records = annotated_sequences(read_fasta(genome), coding)
    except InputError as error:
        raise error.located(path=annotation) from None
    census = training.census_of(records, sum(map(len, coding.values())))
    if not census.kinds["GT-AG"]:
        raise InputError(
            "no intron from GT to AG to train on", path=annotation,
            expected="coding sequences of several segments",
        )  # fmt: skip
    return records, census


def _source(census: training.IntronCensus, genome: str, annotation: str) -> str:
    return (
        f"{census.kinds.total()} introns of {census.n_coding} coding sequences: "
        f"{Path(genome).name}, {Path(annotation).name}"
    )
