"""``gpu-tools sequences fetch``: sequences from a file, an address, NCBI or Ensembl."""

from __future__ import annotations

import sys
from dataclasses import astuple

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import note, option
from gpu_tools.errors import counted
from gpu_tools.formats.sources import Settings, fetch
from gpu_tools.formats.sources.fetch import ENSEMBL_URL, NCBI_URL
from gpu_tools.formats.sources.http import Patience
from gpu_tools.formats.tables import write_table

LONGEST_TIMEOUT = 86400
GIB = 1 << 30
COLUMNS = ("source", "address", "retrieved", "bytes", "sha256", "records", "symbols")


@click.command("fetch")
@option("--source SOURCE", "What to fetch.", required=True)
@option(
    "--flank N", type=options.Count(), default=0,
    help="Nucleotides to add on either side of ensembl:gene.",
)  # fmt: skip
@option(
    "--ncbi-url URL", default=NCBI_URL, envvar="GPU_TOOLS_NCBI_URL", show_envvar=True,
    help="E-utilities, or a mirror of them.",
)  # fmt: skip
@option(
    "--ensembl-url URL", default=ENSEMBL_URL, envvar="GPU_TOOLS_ENSEMBL_URL", show_envvar=True,
    help="Ensembl's REST service, or a mirror.",
)  # fmt: skip
@option(
    "--attempts N", type=options.Count(1), default=Patience.attempts,
    help="Number of attempts, if a failure may pass.",
)  # fmt: skip
@option(
    "--timeout S", type=options.NumberRange(0, LONGEST_TIMEOUT, min_open=True),
    default=Patience.timeout,
    help="Seconds to wait for a connection, and for each part of an answer.",
)  # fmt: skip
@option(
    "--max-size GIB", type=options.NumberRange(0, min_open=True),
    default=Patience.most_bytes / GIB, callback=options.finite,
    help="Largest size of a download, in GiB; a larger one is an error.",
)  # fmt: skip
@option(
    "--output -o FILE", required=True,
    help="FASTA to write; .gz is compressed with bgzip and indexed.",
)  # fmt: skip
@option("--provenance TSV", "Table of what was fetched, to write.")
@options.common
def command(
    source, flank, ncbi_url, ensembl_url, attempts, timeout, max_size, output, provenance, quiet
) -> None:
    """Fetch the sequences of a source, check them and write them as FASTA.

    SOURCE is a file, an http or https address, ncbi:ACCESSION[:START-END],
    ensembl:region:SPECIES:NAME:START-END[:STRAND], ensembl:gene:ID, ensembl:cdna:ID (of a
    transcript, or a gene's canonical one), or ensembl:homologue:ID:SPECIES (the canonical cDNA
    of a gene's orthologue). #sha256=SUM or #md5=SUM behind it is checked.

    Failures that may pass are tried again after growing waits, at least as long as the server
    requests. An interrupted download continues where it stopped. The environment variable
    NCBI_API_KEY holds a key for NCBI, which then allows ten requests a second instead of three.
    """
    patience = Patience(attempts, timeout, most_bytes=int(min(max_size * GIB, sys.maxsize)))
    settings = Settings(ncbi_url, ensembl_url, flank, patience)
    fetched = fetch(source, output, settings)
    if provenance is not None:
        write_table(provenance, COLUMNS, [astuple(fetched)])
    note(counted(fetched.records, "sequence"), counted(fetched.symbols, "symbol"))
