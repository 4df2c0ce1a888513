"""``gpu-tools annotate``: a gene set from a genome and the proteins or cDNAs of related genes."""

from __future__ import annotations

from dataclasses import dataclass

import click

from gpu_tools.annotate.options import SEARCHES, AnnotationOptions
from gpu_tools.cli.common import loci, options, summary
from gpu_tools.cli.common.credibility import acceptance
from gpu_tools.cli.common.progress import progress
from gpu_tools.cli.common.proteins import ProteinOptions, protein_scores, read_proteins
from gpu_tools.errors import ScoringError
from gpu_tools.formats.files import check_writable
from gpu_tools.formats.sequences.fasta import read_fasta

_ENDS = ("global", "free-target")
_DEFAULTS = AnnotationOptions()


def _runs_on_cpu(requested: dict) -> str | None:
    """Return which work it is that no GPU does, None if a GPU can do it."""
    return None if requested["cdnas"] else "proteins"


@dataclass(frozen=True)
class AnnotationFiles:
    """The files that `annotate` writes."""

    output: str
    table: str | None
    targets_table: str | None
    protein_sequences: str | None
    cds_sequences: str | None
    summary: str | None


@click.command("annotate")
@click.option("--genome", required=True, metavar="FASTA", help="The genome.")
@loci.region_of("the genome")
@click.option(
    "--proteins", multiple=True, metavar="FASTA",
    help="Proteins of related genes. Repeatable.",
)  # fmt: skip
@click.option(
    "--cdnas", multiple=True, metavar="FASTA",
    help="cDNAs of related genes, in reading direction. Repeatable.",
)  # fmt: skip
@click.option(
    "--site-model", required=True, metavar="NAME|FILE",
    help="Model of the splice sites, shipped (gpu-tools sites list) or in JSON (gpu-tools sites "
    "train).",
)  # fmt: skip
@click.option(
    "--search", type=click.Choice(SEARCHES), default=_DEFAULTS.search, show_default=True,
    help="Align targets in windows around words that they share with the genome, or everywhere.",
)  # fmt: skip
@click.option(
    "--max-intron", type=options.count(1), default=_DEFAULTS.max_intron, show_default=True,
    metavar="N", help="Longest intron of a gene.",
)  # fmt: skip
@click.option(
    "--longest-gene", type=options.count(1), default=_DEFAULTS.longest_gene, show_default=True,
    metavar="N", help="With --search exhaustive: longest gene that is surely found whole.",
)  # fmt: skip
@click.option(
    "--ends", type=click.Choice(_ENDS),
    help="free-target: the target's ends may stay unaligned at no cost.  [default: global for "
    "proteins, free-target for cDNAs]",
)  # fmt: skip
@click.option(
    "--coding", is_flag=True,
    help="With --cdnas: only structures that translate, from a start codon to a stop codon.",
)  # fmt: skip
@protein_scores
@acceptance
@click.option(
    "--isoforms/--no-isoforms", default=True, show_default=True,
    help="Whether a gene may have several structures.",
)  # fmt: skip
@click.option(
    "--index", metavar="FOLDER",
    help="Keep the index of the seeded search there; it is made if it is missing.",
)  # fmt: skip
@click.option(
    "--work", metavar="FOLDER",
    help="Keep the results of each batch of targets there; the same command goes on with them.",
)  # fmt: skip
@click.option(
    "--batch", type=options.count(1), default=_DEFAULTS.batch, show_default=True, metavar="N",
    help="Targets of a batch.",
)  # fmt: skip
@options.output_of("Gene set in GFF3")
@click.option("--table", metavar="TSV", help="Also write a table of the genes.")
@click.option("--targets-table", metavar="TSV", help="Also write a table of the targets.")
@click.option(
    "--protein-sequences", metavar="FASTA", help="Also write the proteins of all mRNAs with a CDS."
)
@click.option("--cds-sequences", metavar="FASTA", help="Also write the exons of all mRNAs, joined.")
@click.option("--summary", metavar="JSON", help="Also write the gene set's figures.")
@options.device_unless(_runs_on_cpu)
@options.common
def command(
    genome, regions, proteins, cdnas, site_model, ends, coding, index, work, device, threads,
    quiet, **more,
) -> None:  # fmt: skip
    """Find the genes of a genome by the proteins or cDNAs of related genes.

    Each target is aligned, exactly, to the parts of the genome that resemble it, on both strands.
    Credible alignments that share coding nucleotides make a gene. Its structure is that of the best
    one; structures that explain their own targets clearly better are isoforms. E-values count the
    whole genome as searched.
    """
    if not (proteins or cdnas):
        raise click.UsageError("give --proteins or --cdnas")
    if coding and not cdnas:
        raise click.UsageError("--coding needs --cdnas")
    files = _taken(AnnotationFiles, more)
    check_writable(*vars(files).values())
    names = ("matrix", "gap_open", "gap_extend", "frameshift", "stop", "genetic_code")
    scores = {name: more.pop(name) for name in names}
    targets = _targets(proteins, cdnas, site_model, ends, coding, scores)
    _write(files, genome, regions, targets, more, (index, work, device, threads, quiet))


def _taken(kind: type, values: dict):
    """Return a dataclass made of some of the values, which lose them."""
    return kind(**{name: values.pop(name) for name in kind.__dataclass_fields__})


def _targets(proteins, cdnas, site_model, ends, coding, scores: dict) -> list:
    """Read the targets of each kind; scores without a law of E-values are wrong usage."""
    from gpu_tools.annotate.targets import cdna_targets, protein_targets
    from gpu_tools.model.scoring import GENE_SCORING, SplicedScoring
    from gpu_tools.sites.model import load_sites

    sites, found = load_sites(site_model), []
    own = ProteinOptions(None, **scores, protein_sequences=None, cds_sequences=None, show=None)
    if proteins:
        sequences = [one for path in proteins for one in read_proteins(path).values()]
        found.append(protein_targets(sequences, sites, own.scoring(ends or "global")))
    if cdnas:
        sequences = [one for path in cdnas for one in read_fasta(path)]
        scoring = SplicedScoring(ends=ends or GENE_SCORING.ends)
        reading = "complete" if coding else "any"
        found.append(cdna_targets(sequences, sites, scoring, reading))
    try:
        for some in found:
            some.null  # noqa: B018  (raises)
    except ScoringError as error:
        raise click.UsageError(str(error)) from None
    return found


def _write(files: AnnotationFiles, path, regions, targets, wanted: dict, how: tuple) -> None:
    from gpu_tools.annotate import gff3, tables
    from gpu_tools.annotate.api import annotate_genome
    from gpu_tools.annotate.genome import GenomeRecords

    index, work, device, threads, quiet = how
    genome = GenomeRecords(loci.read_loci(path, regions))
    total = sum(len(some.sequences) for some in targets)
    with progress("annotating", total, quiet) as done:
        found = annotate_genome(
            genome, targets, AnnotationOptions(**wanted), index=index, work=work,
            device=device, threads=threads, progress=done,
        )  # fmt: skip
    gff3.write_gene_set(files.output, found)
    if files.table:
        tables.write_gene_table(files.table, found)
    if files.targets_table:
        tables.write_target_table(files.targets_table, found)
    if files.protein_sequences:
        tables.write_proteins(files.protein_sequences, found, genome)
    if files.cds_sequences:
        tables.write_coding_sequences(files.cds_sequences, found, genome)
    if files.summary:
        tables.write_summary(files.summary, found, genome)
    with_hit = sum(target.loci > 0 for target in found.targets)
    mrnas = sum(len(gene.transcripts) for gene in found.genes)
    summary.note(
        summary.counted(len(found.genes), "gene"), summary.counted(mrnas, "mRNA"),
        f"{with_hit:,} of {summary.counted(total, 'target')} found",
    )  # fmt: skip
