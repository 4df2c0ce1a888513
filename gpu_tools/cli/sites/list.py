"""``gpu-tools sites list``: the shipped site models."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gpu_tools.cli.common import options
from gpu_tools.formats.tables import write_table
from gpu_tools.sites.model import GeneSites, load_sites, shipped_sites

COLUMNS = (
    "name", "shortest_intron", "usual_from", "intron_penalty", "rising", "introns_per_kb",
    "donors_per_kb", "acceptors_per_kb", "source",
)  # fmt: skip


@click.command("list")
@options.output
@options.common
def command(output: str, quiet: bool) -> None:
    """List the models that spliced-align --site-model knows by name.

    Introns of the usual lengths, from usual_from on, cost intron_penalty points against cDNAs, and
    twice as much against proteins. The column rising has lines EXTRA:EVERY. A longer intron costs
    EXTRA points more, and one more for each EVERY nucleotides; of the lines the cheapest counts.
    """
    write_table(output, COLUMNS, _rows(load_sites(name) for name in shipped_sites()))


def _rows(models: Iterator[GeneSites]) -> Iterator[tuple]:
    for model in models:
        usual = model.introns[0]
        rising = ",".join(f"{extra}:{every}" for extra, every in usual.rising)
        yield (
            model.name, model.shortest_intron, *usual.penalties[-1], rising or None,
            model.introns_per_kb, *(model.sites_per_kb or (None, None)), model.source,
        )  # fmt: skip
