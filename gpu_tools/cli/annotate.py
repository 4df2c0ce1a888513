"""``gpu-tools annotate``: a gene set from a genome and the proteins or cDNAs of related genes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import click

from gpu_tools.annotate.options import (
    LARGE_BATCH,
    MOST_INTRON,
    SEARCHES,
    USUAL_BATCH,
    AnnotationOptions,
    longest_intron_of,
)
from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.cases import read_cdnas
from gpu_tools.cli.common.credibility import acceptance, tell
from gpu_tools.cli.common.evidence import check_usage, evidence_options, read_evidence
from gpu_tools.cli.common.grouped import GroupedCommand
from gpu_tools.cli.common.options import CDNA, GENOMIC, option, progress
from gpu_tools.cli.common.proteins import (
    frameshifts,
    protein_scores,
    protein_scoring,
    read_proteins,
    target_introns,
    with_own_introns,
)
from gpu_tools.cli.common.run_record import run_record
from gpu_tools.cli.common.site_models import AUTO, GENERIC, HELP, tell_choice
from gpu_tools.errors import InputError, ScoringError, counted
from gpu_tools.formats.alignments.gene_model import check_gtf_name
from gpu_tools.formats.files import format_of, uncompressed_name
from gpu_tools.model.scoring import SITE_SCORING

# What commands of an annotation share: options of the search, targets, and files of a gene set.


_ENDS = ("global", "free-target")
_OTHER_FORMATS = (".bed", ".sam", ".bam", ".paf")

_log = logging.getLogger(__name__)

genome = option("--genome FASTA", "The genome.", required=True, aliases=GENOMIC)

search = options.added(
    option("--proteins FASTA", "Proteins of related genes. Repeatable.", multiple=True),
    option("--cdnas FASTA", "cDNAs of related genes. Repeatable.", multiple=True, aliases=CDNA),
    option(
        "--stranded",
        "With --cdnas: all of them are in reading direction. Otherwise both directions are tried, "
        "and a cDNA that fits clearly better as its reverse complement is reversed.",
    ),
    option("--site-model NAME|FILE", HELP, required=True),
    option(
        "--intron-penalty N", type=int,
        help="Points that an intron of usual length costs, in units of the scores of the given "
        "targets, proteins or cDNAs.  [default: the model's]",
    ),
    option(
        "--search", type=click.Choice(SEARCHES), of=AnnotationOptions,
        help="Align targets in windows around words that they share with the genome, or "
        "everywhere.",
    ),
    option(
        "--max-intron N", type=options.Count(1),
        help="Longest intron of a gene.  [default: one that costs 10 points in the site model, at "
        f"most {MOST_INTRON}]",
    ),
    option(
        "--longest-gene N", type=options.Count(1), of=AnnotationOptions,
        help="With --search exhaustive: longest gene that is surely found whole.",
    ),
    option(
        "--ends", type=click.Choice(_ENDS),
        help="free-target: the target's ends may stay unaligned at no cost.  [default: global for "
        "proteins, free-target for cDNAs]",
    ),
    option(
        "--end-cost N", type=options.Count(0),
        help="With --cdnas: points that leaving out an end of the target costs, its poly-A tail "
        f"excepted.  [default: {SITE_SCORING.end_cost}]",
    ),
    option(
        "--coding",
        "With --cdnas: only structures that translate, from a start codon to a stop codon.",
    ),
    evidence_options,
    target_introns,
    protein_scores,
    acceptance,
)  # fmt: skip
"""Adds the options on which hits depend to a command; `read_targets` and `limits_of` take them."""

structures = options.added(
    option(
        "--isoforms/--no-isoforms", default=True,
        help="Whether a gene may have several structures.",
    ),
    frameshifts,
    option(
        "--confidence",
        "Add the confidence of each intron and exon: the points that the best chain there loses "
        "without it. Takes some more time for each gene.",
    ),
    option(
        "--min-confidence N", type=options.Count(), of=AnnotationOptions,
        help="Least confidence of all introns of a reported structure; least score of one without "
        "introns.",
    ),
)  # fmt: skip
"""Adds the options of what genes are made of hits to a command."""

kept = options.added(
    option(
        "--work FOLDER",
        "Keep the results of each batch of targets there; the same command continues from them.",
    ),
    option(
        "--batch N", type=options.Count(1),
        help=f"Targets of a batch; by default {LARGE_BATCH:,} on a GPU, else {USUAL_BATCH} or, on "
        "several threads, fewer.",
    ),
)  # fmt: skip
"""Adds the options of what a run keeps."""


def as_gene_set(context: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse a name by which readers would take the gene set for another format."""
    if uncompressed_name(value).endswith(_OTHER_FORMATS):
        raise click.BadParameter(
            f"{value!r}: the gene set is GFF3 or GTF; gffread --bed turns it into BED"
        )
    return value


files = options.added(
    options.output_of("Gene set in GFF3, or GTF if it ends in .gtf,", callback=as_gene_set),
    option("--table TSV", "Also write a table of the genes."),
    option("--targets-table TSV", "Also write a table of the targets."),
    option("--protein-sequences FASTA", "Also write the proteins of all mRNAs with a CDS."),
    option("--cds-sequences FASTA", "Also write the exons of all mRNAs, joined."),
    option("--summary JSON", "Also write the gene set's figures."),
)
"""Adds the files of a gene set to a command; `GeneSetFiles` takes them."""


@dataclass(frozen=True)
class GeneSetFiles:
    """The files of a gene set."""

    output: str
    table: str | None
    targets_table: str | None
    protein_sequences: str | None
    cds_sequences: str | None
    summary: str | None

    @classmethod
    def taken(cls, values: dict) -> GeneSetFiles:
        """Return the files among options, which lose them."""
        return cls(**{name: values.pop(name) for name in cls.__dataclass_fields__})

    @property
    def is_gtf(self) -> bool:
        """Whether the gene set is written as GTF."""
        return format_of(self.output, (".gtf",)) is not None

    def write(self, found, genome, sites) -> None:
        """Write a `GenomeAnnotation` made with a site model, and note what it has."""
        from gpu_tools.annotate import tables
        from gpu_tools.annotate.site_choice import sites_of
        from gpu_tools.sites.fit import bad_fit

        (tables.write_gtf if self.is_gtf else tables.write_gff3)(self.output, found)
        if self.table:
            tables.write_gene_table(self.table, found)
        if self.targets_table:
            tables.write_target_table(self.targets_table, found)
        if self.protein_sequences:
            tables.write_proteins(self.protein_sequences, found, genome)
        if self.cds_sequences:
            tables.write_coding_sequences(self.cds_sequences, found, genome)
        if self.summary:
            tables.write_summary(self.summary, found, genome, sites.name, run_record())
        tell(
            tables.reversed_targets(found), "cDNA",
            "taken as the reverse complement, which fits clearly better",
        )  # fmt: skip
        tell(
            tables.with_unaligned_ends(found), "mRNA",
            "of proteins with an end that is aligned to nothing (coverage below 1): its exons may "
            "lie beyond --max-intron or a contig's end, or be missing",
        )  # fmt: skip
        tell(
            tables.broken_transcripts(found), "mRNA",
            "with a frameshift or a stop codon inside",
        )  # fmt: skip
        tell(tables.pseudogenes(found), "gene", "with several of them, written as pseudogenes")
        if told := bad_fit(sites, sites_of(found, genome)):
            _log.warning("%s", told)
        with_hit = sum(target.loci > 0 for target in found.targets)
        mrnas = sum(len(gene.transcripts) for gene in found.genes)
        options.note(
            counted(len(found.genes), "gene"), counted(mrnas, "mRNA"),
            f"{with_hit:,} of {counted(len(found.targets), 'target')} found",
            *([f"{counted(found.dropped, 'hit')} left out"] if found.dropped else []),
        )  # fmt: skip


def limits_of(values: dict) -> AnnotationOptions:
    """Return the limits of a search among options; the site model says what is a long intron."""
    from gpu_tools.sites.model import load_sites

    fields = AnnotationOptions.__dataclass_fields__
    own = {name: values[name] for name in fields if name in values}
    if own["max_intron"] is None:
        own["max_intron"] = longest_intron_of(load_sites(values["site_model"]))
    return AnnotationOptions(**own)


def read_targets(values: dict, is_gtf: bool = False) -> list:
    """Read the targets of each kind; scores without a law of E-values are wrong usage.

    A name that the gene set cannot hold, if it is GTF, raises `InputError`.
    """
    from gpu_tools.annotate.targets import cdna_targets, protein_targets
    from gpu_tools.model.scoring import SplicedScoring
    from gpu_tools.sites.model import load_sites

    proteins, cdnas, ends = values["proteins"], values["cdnas"], values["ends"]
    _check_usage(values)
    sites, found = load_sites(values["site_model"]), []
    names: set[str] = set()
    if proteins:
        read = partial(read_proteins, nucleotides="--cdnas")
        sequences, sources = _read_all(proteins, read, names, is_gtf)
        own = with_own_introns({one.name: one for one in sequences}, values["target_introns"])
        sequences = [*own.values()]
        scoring = protein_scoring(values, ends or "global")
        found.append(protein_targets(sequences, sites, scoring, values["keep_ends"], sources))
    if cdnas:
        sequences, sources = _read_all(cdnas, read_cdnas, names, is_gtf)
        own = with_own_introns({one.name: one for one in sequences}, values["target_introns"])
        sequences = [*own.values()]
        cost = SITE_SCORING.end_cost if values["end_cost"] is None else values["end_cost"]
        scoring = SplicedScoring(ends=ends or SITE_SCORING.ends, end_cost=cost)
        reading = "complete" if values["coding"] else "any"
        stranded = values["stranded"]
        found.append(cdna_targets(sequences, sites, scoring, reading, stranded, sources))
    found = [_with_penalty(some, values["intron_penalty"]) for some in found]
    try:
        for some in found:
            some.nulls  # noqa: B018  (raises)
    except ScoringError as error:
        raise click.UsageError(str(error)) from None
    return found


def _with_penalty(targets, penalty: int | None):
    """Return targets with another penalty of introns, if one is given."""
    if penalty is None:
        return targets
    return replace(targets, sites=targets.sites.with_penalty(penalty))


def _read_all(
    paths, read: Callable[[str], dict], names: set[str], is_gtf: bool
) -> tuple[list, list[int]]:
    """Return the targets of all files, and the number of each one's file."""
    each = [_named_once(path, read, names, is_gtf) for path in paths]
    numbers = [k for k, found in enumerate(each) for _ in found]
    return [one for found in each for one in found], numbers


def _named_once(path: str, read: Callable[[str], dict], names: set[str], is_gtf: bool) -> list:
    """Return the targets of a file, with names of their own, that GTF can hold if it has to."""
    found = read(path)
    if again := next((name for name in found if name in names), None):
        raise InputError(
            "a target of that name has been read from another file", path=path, record=again,
            expected="a name for each target",
        )  # fmt: skip
    with loci.errors_of(path):
        for name in found if is_gtf else ():
            check_gtf_name(name)
    names.update(found)
    return list(found.values())


def with_evidence(targets: list, values: dict, genome, whole=None) -> list:
    """Return targets with the splice evidence among options on a genome, a part of a `whole`."""
    loci = () if whole is None else whole.loci
    elsewhere = {locus.record: locus.record_length for locus in loci}
    evidence = read_evidence(values, genome.records, elsewhere)
    return targets if evidence is None else [replace(t, evidence=evidence) for t in targets]


def _check_usage(values: dict) -> None:
    check_usage(values)
    if not (values["proteins"] or values["cdnas"]):
        raise click.UsageError("give --proteins or --cdnas")
    if values["intron_penalty"] is not None and values["proteins"] and values["cdnas"]:
        raise click.UsageError(
            "--intron-penalty is in points of proteins or of cDNAs; give one of them"
        )
    if values["target_introns"] and values["cdnas"] and (
        values["confidence"] or values["min_confidence"]
    ):  # fmt: skip
        raise click.UsageError("--target-introns of --cdnas goes without confidences")
    for name in ("coding", "stranded", "end_cost"):
        # an end cost of 0 equals False and is given all the same
        if not (values[name] is None or values[name] is False or values["cdnas"]):
            raise click.UsageError(f"--{name.replace('_', '-')} needs --cdnas")


@click.command("annotate", cls=GroupedCommand, positional=("genome", "proteins"))
@genome
@loci.region_of("the genome")
@search
@structures
@kept
@files
@options.device
@options.common
def command(genome, regions, work, device, threads, quiet, **more) -> None:
    """Find the genes of a genome by the proteins or cDNAs of related genes.

    Each target is aligned, exactly, to the parts of the genome that resemble it, on both strands.
    Credible alignments that share coding nucleotides make a gene, with the structure of the best
    one. Another structure is an isoform if it explains its own target better, and the target is the
    gene's own or targets of two files agree on it. E-values are those of a search of the whole
    genome.
    """
    from gpu_tools.annotate.api import annotate_genome
    from gpu_tools.annotate.genome import GenomeRecords

    files = GeneSetFiles.taken(more)
    chosen = more["site_model"] == AUTO
    more["site_model"] = GENERIC if chosen else more["site_model"]
    targets = read_targets(more, files.is_gtf)
    found = loci.read_loci(genome, regions)
    with loci.errors_of(genome):
        records = GenomeRecords(loci.joined(found) if regions else found)
    targets = with_evidence(targets, more, records)
    if chosen:
        targets, more["site_model"] = _chosen(records, targets, more, device, threads, quiet)
    total = sum(len(some.sequences) for some in targets)
    with progress("annotating", total, quiet) as done:
        found = annotate_genome(
            records, targets, limits_of(more), work=work, device=device, threads=threads,
            progress=done,
        )  # fmt: skip
    files.write(found, records, targets[0].sites)


def _chosen(records, targets: list, values: dict, device: str, threads: int | None, quiet: bool):
    """Choose a site model by a first pass, and tell which; return targets with it, and its name."""
    from gpu_tools.annotate.site_choice import choose_sites

    sites, why = choose_sites(records, targets, limits_of(values), device, threads)
    penalty, name = values["intron_penalty"], tell_choice(sites, why, quiet)
    return [_with_penalty(some.with_sites(sites), penalty) for some in targets], name
