"""``gpu-tools global-align``: the best alignment of whole sequences."""

from __future__ import annotations

import click

import gpu_tools
from gpu_tools.cli.common import options, pairwise
from gpu_tools.cli.common.loci import errors_of_records
from gpu_tools.cli.common.options import note, progress
from gpu_tools.errors import counted
from gpu_tools.formats import tables
from gpu_tools.formats.alignments.pairwise import write_alignments


@click.command("global-align")
@pairwise.options
@options.output
@options.device_unless(lambda requested: "alignments of whole sequences")
@options.common
def command(
    query, subject, alignments, alignments_format, coordinates, output, device, threads, quiet,
    **scores,
) -> None:  # fmt: skip
    """Align the whole of each query with the whole of each subject, exactly.

    A gap of n symbols costs open + (n - 1) * extend. The table has one row for each pair. The
    CPU does the work on every device.
    """
    scoring = pairwise.scoring_of(**scores)
    pairs, placed, names = pairwise.read_pairs(query, subject, scoring, coordinates)
    cells = sum(len(q) * len(s) for q, s in pairs)
    with progress("aligning", cells, quiet) as done, errors_of_records(names):
        found = gpu_tools.global_align(
            pairs, scoring, device=device, threads=threads, progress=done
        )
    for path in alignments:
        write_alignments(path, found, pairs, placed, alignments_format)
    tables.write_table(output, pairwise.COLUMNS, pairwise.rows(found, placed))
    note(counted(len(pairs), "pair"))
