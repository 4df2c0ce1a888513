"""Find hits of a share of the targets in a share of the genome; also runs by hand, see --help."""

import shutil
from functools import partial
from pathlib import Path

import click

from gpu_tools.cli import annotate
from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import progress
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.hardware.device import cpu_threads

SHARE = {"nargs": 2, "type": options.Count(1), "default": (1, 1), "metavar": "K N"}


def find_hits(genome, part, limits, targets, run):
    """Return a part of the genome, and the hits in it; `targets` returns those of a part."""
    from gpu_tools.annotate.api import hits_of_part, read_part

    searched = read_part(genome, part.tiles, limits)
    targets = targets(searched.genome, searched.whole)
    return searched, targets, hits_of_part(searched, targets, limits, part.targets, run)


@click.command("annotation_hits")
@annotate.genome
@annotate.search
@annotate.kept
@click.option("--targets", "targets_share", **SHARE, help="Of N shares of the targets the Kth.")
@click.option("--tiles", "tiles_share", **SHARE, help="Of N shares of the genome the Kth.")
@click.option("--output", required=True, metavar="JSON", help="Hits to write.")
@options.device
@options.common
def command(genome, work, targets_share, tiles_share, output, device, threads, quiet, **more):
    """Find the hits of a share of the targets in a share of the genome.

    Results of batches lie beside the output until it is written.
    """
    from gpu_tools.annotate.api import AnnotationPart, PartRun, Share, write_hits

    part = AnnotationPart(Share(*targets_share), Share(*tiles_share))
    for share in part:
        if share.number > share.of:
            raise click.UsageError(f"share {share}; expected 1/{share.of} to {share.of}/{share.of}")
    limits, targets = annotate.limits_of(more), annotate.read_targets(more)
    if limits.search == "seeded" and part.tiles.of > 1:
        raise click.UsageError("--tiles needs --search exhaustive")
    folder = work or f"{output}.batches"
    total = sum(len(some.sequences) for some in targets)
    with progress("searching", total // part.targets.of, quiet) as done:
        run = PartRun(folder, device, cpu_threads(threads), done)
        with_evidence = partial(annotate.with_evidence, targets, more)
        searched, targets, found = find_hits(genome, part, limits, with_evidence, run)
    write_hits(output, searched, targets, limits, part, found)
    if not work:
        shutil.rmtree(Path(folder))


run_rule(command, globals().get("snakemake"))
