"""``gpu-tools exons train``: a model for ``exons predict`` from annotated sequences."""

from __future__ import annotations

from pathlib import Path

import click

from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.options import GENOMIC, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.exons.training import annotated_sequences, train
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.files import open_output
from gpu_tools.formats.scales import read_codon_usage
from gpu_tools.model.annotation import CodingSequence
from gpu_tools.model.json_model import model_to_json
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence


@click.command("train")
@option(
    "--genome base FILE", "Genomic sequences, FASTA; - is standard input.", required=True,
    aliases=GENOMIC,
)  # fmt: skip
@option(
    "--annotation FILE", required=True,
    help="Their genes, GFF3 or GTF: features CDS, with phase or complete.",
)  # fmt: skip
@option(
    "--codon-usage FILE",
    "Codon usage of the species, columns codon and frequency; helps where genes are few.",
)
@option("--name", "What the model is called.", type=options.NameType(), default="trained")
@options.output_of("Model (JSON)")
@options.common
def command(
    base: str, annotation: str, codon_usage: str | None, name: str, output: str, quiet: bool
) -> None:
    """Train a model of genes from annotated sequences, for exons predict --model.

    Sequences without a coding sequence, and coding sequences that do not read through, are left
    out with a warning. What is not annotated counts as not coding, so annotate all genes of a
    sequence.
    """
    if not name:
        raise click.BadParameter("a model needs a name", param_hint="--name")
    coding = read_coding(annotation)
    sequences = loci.read_loci(base, ())
    try:
        records = annotated_sequences(sequences, _on_sequences(coding, sequences))
    except InputError as error:
        raise error.located(path=annotation) from None
    usage = None if codon_usage is None else read_codon_usage(codon_usage)
    source = (
        f"{sum(len(r.coding) for r in records)} coding sequences of {len(records)} records: "
        f"{Path(base).name}, {Path(annotation).name}"
    )
    content = train(records, name, source, usage=usage)
    with open_output(output) as stream:
        stream.write(model_to_json(content))
    n = sum(len(record.coding) for record in records)
    note(counted(n, "coding sequence"), counted(len(records), "record"))


def _on_sequences(
    coding: dict[str, tuple[CodingSequence, ...]], sequences: list[Sequence]
) -> dict[str, tuple[CodingSequence, ...]]:
    """Return coding sequences by the name and in the coordinates of each sequence, locus or not.

    Beside loci some may lie on other records of the genome; those are left out.
    """
    placed = {sequence.name: Locus.of(sequence) for sequence in sequences}
    named = loci.names_of(sequences)
    if not loci.has_loci(sequences):
        return coding
    found: dict[str, tuple[CodingSequence, ...]] = {}
    for name in coding:
        for sequence in named.get(name, ()):
            locus = placed[sequence]
            on_record = name == locus.record and not locus.is_all_of(sequence)
            inside = locus.coding_within(coding[name]) if on_record else coding[name]
            found[sequence] = found.get(sequence, ()) + inside
    return found
