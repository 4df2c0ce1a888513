"""``gpu-tools lift``: an annotation carried from one genome to another."""

from __future__ import annotations

import click

from gpu_tools.cli.annotate import as_gene_set
from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.grouped import GroupedCommand
from gpu_tools.cli.common.options import GENOMIC, option, progress
from gpu_tools.cli.common.run_record import write_summary
from gpu_tools.cli.common.site_models import AUTO, tell_choice
from gpu_tools.errors import InputError, counted
from gpu_tools.lift.options import LiftOptions

_FRACTION = options.NumberRange(0, 1)


@click.command("lift", cls=GroupedCommand)
@option("--reference FASTA", "The genome that is annotated.", required=True)
@option("--annotation GFF3|GTF", "Its genes, of any common source.", required=True)
@option("--genome FASTA", "The genome to annotate.", required=True, aliases=GENOMIC)
@option(
    "--site-model NAME|FILE", required=True,
    help="Model of the splice sites, shipped (gpu-tools sites list) or in JSON (gpu-tools sites "
    "train). auto: the shipped one that fits the annotation's introns best.",
)  # fmt: skip
@option(
    "--min-coverage F", type=_FRACTION, of=LiftOptions,
    help="Smallest part of a gene's exons that is aligned.",
)  # fmt: skip
@option(
    "--min-identity F", type=_FRACTION, of=LiftOptions,
    help="Smallest identity of a gene's exons.",
)  # fmt: skip
@option("--copies", "Also report further copies of genes, with the attribute copy.")
@option(
    "--min-copy-identity F", type=_FRACTION,
    help="With --copies: smallest identity of a further copy.  "
    f"[default: {LiftOptions.min_copy_identity}]",
)  # fmt: skip
@option(
    "--junctions FILE", multiple=True,
    help="Introns that were seen in the new genome, say by RNA-seq: BED, GFF3, GTF, STAR's "
    "SJ.out.tab, SAM, BAM or CRAM. Edges of exons prefer them. Repeatable.",
)  # fmt: skip
@options.output_of("Annotation in GFF3, or GTF if it ends in .gtf,", callback=as_gene_set)
@option("--table TSV", "Also write a table of the transcripts: where they lie, what changed.")
@option("--gene-table TSV", "Also write a table of the genes, with the reason of those not found.")
@option("--unmapped TSV", "Also write a table of genes that were not carried over, and why.")
@option("--protein-sequences FASTA", "Also write the proteins of all coding sequences.")
@option("--summary JSON", "Also write figures of the result.")
@options.device_unless(lambda options: "genes that are lifted")
@options.common
def command(
    reference, annotation, genome, site_model, junctions, output, table, gene_table,
    unmapped, protein_sequences, summary, device, threads, quiet, **limits,
) -> None:  # fmt: skip
    """Carry the genes of an annotated genome to another genome of the species or of a near one.

    Each gene is searched for in the new genome; among several similar places the order of its
    neighbours decides. Gene and place are aligned exactly, with introns and flanks. Where a splice
    site was lost, the edge of an exon follows the alignment; where the alignment leaves a choice,
    it follows the site. The hierarchy, IDs and attributes of the annotation stay.
    """
    from gpu_tools.formats.exons.genes import read_genes
    from gpu_tools.formats.exons.lifted import write_lifted
    from gpu_tools.formats.junctions import splice_evidence
    from gpu_tools.lift import tables
    from gpu_tools.lift.api import lift_genes

    if limits["min_copy_identity"] is not None and not limits["copies"]:
        raise click.UsageError("--min-copy-identity needs --copies")
    limits = LiftOptions(**{name: value for name, value in limits.items() if value is not None})
    records, new = (loci.read_loci(path, ()) for path in (reference, genome))
    read = read_genes(annotation, {record.name: len(record) for record in records})
    if not read.genes:
        first = read.odd[0]
        raise InputError(
            f"no gene can be carried over; of the first one: {first.reason}", path=annotation,
            line=first.line, expected=f"genes of {reference}",
        )  # fmt: skip
    sites = _site_model(site_model, read.genes, records, quiet)
    evidence = splice_evidence(new, junctions) if junctions else None
    with progress("lifting", len(read.genes), quiet) as done:
        found = lift_genes(
            read.genes, records, new, sites, limits, evidence=evidence, device=device,
            threads=threads, progress=done,
        )  # fmt: skip
    lengths = {record.name: len(record) for record in new}
    write_lifted(output, [gene.lifted for gene in found.genes], lengths)
    if table:
        tables.write_lift_table(table, found)
    if gene_table:
        tables.write_gene_table(gene_table, found, read.genes, read.odd)
    if unmapped:
        tables.write_unmapped(unmapped, found, read.odd)
    if protein_sequences:
        tables.write_lifted_proteins(protein_sequences, found)
    figures = tables.summary_of_lift(found, read.odd)
    if summary:
        write_summary(summary, figures | {"site_model": sites.name})
    options.note(
        f"{figures['lifted']:,} of {counted(figures['genes'], 'gene')} lifted",
        *([counted(figures["copies"], "further copy", "further copies")] if limits.copies else []),
        *([f"{counted(len(read.odd), 'odd gene')} left out"] if read.odd else []),
    )  # fmt: skip


def _site_model(name: str, genes, records, quiet: bool):
    """Return the site model of a name; `auto` is the one that fits the reference's introns."""
    from gpu_tools.lift.site_choice import model_of_annotation
    from gpu_tools.sites.model import load_sites

    if name != AUTO:
        return load_sites(name)
    sites, why = model_of_annotation(genes, records)
    tell_choice(sites, why, quiet)
    return sites
