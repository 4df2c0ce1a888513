"""``gpu-tools exons predict``: candidate exons of genomic sequences."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import click

from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.options import GENOMIC, note, option, progress
from gpu_tools.errors import counted
from gpu_tools.exons.providers import Augustus, Builtin, Genscan, end_programs
from gpu_tools.formats.exons.intervals import write_exons
from gpu_tools.hardware.device import cpu_threads

_log = logging.getLogger(__name__)

PROVIDERS = {"builtin": Builtin, "genscan": Genscan, "augustus": Augustus}
PROBABILITY = options.NumberRange(0, 1)


@click.command("predict")
@option(
    "--genome base FILE", "Genomic sequences, FASTA; - is standard input.", required=True,
    aliases=GENOMIC,
)  # fmt: skip
@loci.region_of("the genomic sequences")
@option(
    "--provider", type=click.Choice(list(PROVIDERS)), default="builtin",
    help="What predicts; genscan and augustus are programs of your own.",
)  # fmt: skip
@option("--model NAME|FILE", "builtin: a shipped model, or one in JSON.  [default: vertebrate]")
@option(
    "--min-score X", type=float, callback=options.finite,
    help="builtin: smallest score of a candidate, in bits.  [default: none]",
)  # fmt: skip
@option(
    "--program PROGRAM",
    "genscan, augustus: name or path of the program.  [default: the provider's name]",
)
@option(
    "--min-probability P", type=PROBABILITY,
    help="Smallest probability of an exon that is not in the best parse.  [default: the model's, "
    "genscan 0.01, augustus 0]",
)  # fmt: skip
@option("--matrix FILE", "genscan: its parameter matrix; required.")
@option("--species NAME", "augustus: its model.  [default: human]")
@option(
    "--samples N", type=options.Count(1),
    help="augustus: gene structures to sample.  [default: 100]",
)  # fmt: skip
@option(
    "--threads -t N", type=options.Count(1),
    help="genscan, augustus: sequences that are worked on at one time.  [default: all CPUs]",
)  # fmt: skip
@option(
    "--by-sequence",
    "Write the exons of each sequence under its own name, as spliced-align reads them: loci of "
    "one record keep theirs apart.",
)
@loci.coordinates
@options.output_of("GFF3")
@options.common
def command(
    base: str, regions: tuple, provider: str, threads: int | None, by_sequence: bool,
    coordinates: str, output: str, quiet: bool, **settings: object,
) -> None:  # fmt: skip
    """Predict candidate exons on both strands of every sequence, as GFF3.

    A candidate of the built-in predictor runs from an acceptor or ATG to a donor or stop codon and
    has an open reading frame. Features are named exon; exon_type is Init, Intr, Term or Sngl,
    column 6 is the score in bits, and the probability is the provider's, if it gives one. Exons of
    a locus are in its record's coordinates.
    """
    chosen = _provider(provider, {k: v for k, v in settings.items() if v is not None})
    _log.info("provider %s: %s", provider, chosen)
    records = loci.read_loci(base, regions)
    placed, sets = loci.place(base, records, coordinates), {}
    with progress("predicting exons", sum(map(len, records)), quiet) as advance:
        # the built-in predictor holds Python's lock; programs run beside each other
        with ThreadPoolExecutor(1 if provider == "builtin" else cpu_threads(threads)) as pool:
            found = pool.map(chosen.exons, (record.codes for record in records))
            try:
                for record, sets[record.name] in zip(records, found, strict=True):
                    advance(len(record))
            except BaseException:  # an interrupt, too: threads wait for their programs
                pool.shutdown(wait=False, cancel_futures=True)
                end_programs()
                raise
    note(counted(len(records), "sequence"), counted(sum(map(len, sets.values())), "candidate"))
    if by_sequence:
        write_exons(output, placed.exons_by_sequence(sets), "gff3")
    else:
        write_exons(output, placed.exons_by_record(sets), "gff3", placed.record_lengths)


def _provider(name: str, settings: dict[str, object]) -> Builtin | Genscan | Augustus:
    """Return a provider, or raise a usage error if the settings are another one's."""
    known = [field.name for field in fields(PROVIDERS[name])]
    for setting in settings:
        if setting not in known:
            option = setting.replace("_", "-")
            raise click.UsageError(f"--{option} is no option of --provider {name}")
    if name == "genscan" and "matrix" not in settings:
        raise click.UsageError("--provider genscan needs --matrix, its parameter matrix")
    return PROVIDERS[name](**settings)
