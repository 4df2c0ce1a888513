"""``gpu-tools annotate``: a gene set from a genome and the proteins or cDNAs of related genes."""

from __future__ import annotations

import click

from gpu_tools.cli.common import annotation, loci, options
from gpu_tools.cli.common.progress import progress


@click.command("annotate")
@annotation.genome
@loci.region_of("the genome")
@annotation.search
@annotation.isoforms
@annotation.kept
@annotation.files
@options.device
@options.common
def command(genome, regions, index, work, device, threads, quiet, **more) -> None:
    """Find the genes of a genome by the proteins or cDNAs of related genes.

    Each target is aligned, exactly, to the parts of the genome that resemble it, on both strands.
    Credible alignments that share coding nucleotides make a gene. Its structure is that of the best
    one; structures that explain their own targets clearly better are isoforms. E-values count the
    whole genome as searched.
    """
    from gpu_tools.annotate.api import annotate_genome
    from gpu_tools.annotate.genome import GenomeRecords

    files = annotation.GeneSetFiles.taken(more)
    targets = annotation.read_targets(more)
    files.check_names(targets)
    found = loci.read_loci(genome, regions)
    with loci.errors_of(genome):
        records = GenomeRecords(loci.joined(found) if regions else found)
    total = sum(len(some.sequences) for some in targets)
    with progress("annotating", total, quiet) as done:
        found = annotate_genome(
            records, targets, annotation.limits_of(more), index=index, work=work, device=device,
            threads=threads, progress=done,
        )  # fmt: skip
    files.write(found, records)
