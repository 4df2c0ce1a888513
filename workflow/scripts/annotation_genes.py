"""Make the gene set of all parts' hits; also runs by hand, see --help."""

from itertools import product

import click

from gpu_tools.cli import annotate
from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.hardware.device import cpu_threads


@click.command("annotation_genes")
@annotate.genome
@annotate.search
@annotate.structures
@click.option(
    "--hits", multiple=True, required=True, metavar="JSON", help="Hits of a part; repeatable."
)
@click.option(
    "--parts", nargs=2, type=options.Count(1), required=True, metavar="N M",
    help="In how many shares the targets and the genome's tiles are.",
)  # fmt: skip
@annotate.files
@click.option("--threads", type=options.Count(1), metavar="N", help="CPU threads.")
@options.common
def command(genome, hits, parts, threads, quiet, **more):
    """Make one gene set of the hits of all parts; its files are those of gpu-tools annotate."""
    from gpu_tools.annotate.api import AnnotationPart, Share, annotation_of, read_hits
    from gpu_tools.annotate.genome import GenomeRecords
    from gpu_tools.formats.sequences.fasta import read_fasta

    files = annotate.GeneSetFiles.taken(more)
    limits, targets = annotate.limits_of(more), annotate.read_targets(more, files.is_gtf)
    records = GenomeRecords(read_fasta(genome))
    targets = annotate.with_evidence(targets, more, records)
    wanted = [
        AnnotationPart(Share(k, parts[0]), Share(tile, parts[1]))
        for k, tile in product(range(1, parts[0] + 1), range(1, parts[1] + 1))
    ]
    found = read_hits(hits, records, targets, limits, wanted)
    files.write(
        annotation_of(records, targets, limits, found, cpu_threads(threads)),
        records,
        targets[0].sites,
    )


run_rule(command, globals().get("snakemake"))
