"""A gene set as GFF3, GTF, tables, sequences and a summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from statistics import median

from gpu_tools.annotate.gene_set import (
    AnnotatedGene,
    AnnotatedTranscript,
    GenomeAnnotation,
    TargetResult,
)
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import Alignment
from gpu_tools.annotate.targets import spliced
from gpu_tools.formats.alignments import gene_model
from gpu_tools.formats.alignments.proteins import place_of, translated
from gpu_tools.formats.exons.gff import escape_attribute, escape_seqid, feature_line, gff3_head
from gpu_tools.formats.files import open_output
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.formats.tables import write_table
from gpu_tools.model.acceptance import PART
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import described
from gpu_tools.model.results import ProteinAlignment, faults_of
from gpu_tools.model.sequences import ProteinSequence, decode, reverse_complement
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.translation import translate


def write_gff3(path, annotation: GenomeAnnotation) -> None:
    """Write ``gene``, ``mRNA`` and its parts of each gene.

    An ``mRNA`` has ``Target``, and as attributes identity, coverage and E-value of its alignment,
    ``target_reversed`` if that is of a cDNA's reverse complement, ``support``, the targets that
    support the structure, and ``intron_support``, the targets that have each intron, in transcript
    order; with junctions also ``junction_counts``, how often each intron was seen. What a gap or
    the record's end cuts off is told, and parts are written, as by `gene_model.write_gene_models`;
    IDs are those of the gene set, so that they differ within a genome.
    """
    with open_output(path) as stream:
        stream.writelines(gff3_head(annotation.record_lengths))
        for gene in annotation.genes:
            stream.writelines(_gene_lines(gene))


def _gene_lines(gene: AnnotatedGene) -> Iterator[str]:
    name, best = escape_seqid(gene.name), gene.transcripts[0].alignment
    seqid, interval = escape_seqid(gene.record), (gene.start, gene.end)
    own = [transcript.alignment for transcript in gene.transcripts]
    cut = gene_model.joint_cut(interval, ((interval_of(a), gene_model.cut_sides(a)) for a in own))
    attributes = [
        f"ID=gene:{name}", f"Name={escape_attribute(best.target)}", f"targets={len(gene.targets)}",
        *gene_model.partial_attributes(interval, cut),
    ]  # fmt: skip
    kind = gene_model.gene_type(map(gene_model.is_pseudo, own))
    yield feature_line(seqid, kind, interval, ";".join(attributes), gene.strand, best.score)
    for transcript in gene.transcripts:
        yield _transcript_line(transcript, seqid, f"gene:{name}")
        parts = gene_model.part_lines(transcript.alignment, escape_seqid(transcript.name))
        yield from (f"{line}\n" for line in parts)


def _transcript_line(transcript: AnnotatedTranscript, seqid: str, gene: str) -> str:
    own = transcript.alignment
    target = escape_attribute(own.target)
    support, counts = ",".join(map(str, transcript.intron_support)), transcript.junction_counts
    attributes = [
        f"ID=mRNA:{escape_seqid(transcript.name)}", f"Parent={gene}", f"Name={target}",
        gene_model.target_attribute(own, own.target_start, own.target_end),
        *gene_model.alignment_attributes(own), f"support={len(transcript.targets)}",
        *([f"intron_support={support}"] if support else []),
        *([f"junction_counts={','.join(map(str, counts))}"] if counts else []),
        *gene_model.partial_attributes(interval_of(own), gene_model.cut_sides(own)),
    ]  # fmt: skip
    text = ";".join(attributes)
    kind = gene_model.transcript_type(own)
    return feature_line(seqid, kind, interval_of(own), text, own.strand, own.score)


def write_gtf(path, annotation: GenomeAnnotation) -> None:
    """Write a ``transcript`` and its parts for each mRNA; those of one gene share ``gene_id``.

    IDs are those of the gene set in GFF3, lines those of `gene_model.write_gtf`.
    """
    with open_output(path) as stream:
        for gene in annotation.genes:
            for transcript in gene.transcripts:
                names = escape_seqid(gene.name), escape_seqid(transcript.name)
                ids = 'gene_id "gene:{}"; transcript_id "mRNA:{}"; '.format(*names)
                stream.writelines(gene_model.transcript_lines(transcript.alignment, ids))


GENE_COLUMNS = (
    "gene", "record", "strand", "start", "end", "mrnas", "exons", "best_target", "score", "evalue",
    "identity", "coverage", "targets", "frameshifts", "inner_stops", "min_confidence",
    "seen_introns", "description",
)  # fmt: skip
TARGET_COLUMNS = (
    "target", "kind", "length", "found", "loci", "gene", "record", "strand", "start", "end",
    "score", "evalue", "identity", "coverage", "accepted", "description",
)  # fmt: skip
OPTIONAL = ("seen_introns", "description")
"""Columns that are left out without junctions, and without descriptions of targets."""


def write_gene_table(path, annotation: GenomeAnnotation) -> None:
    """Write a row a gene, with the figures and the target's description of its best structure.

    With junctions a column is how many of its introns were seen.
    """
    texts = {target.name: target.description for target in annotation.targets}
    rows = (_gene_row(gene, texts) for gene in annotation.genes)
    write_table(path, GENE_COLUMNS, rows, OPTIONAL)


def write_target_table(path, annotation: GenomeAnnotation) -> None:
    """Write a row a target, with the figures of its best hit or, if there is none, best chain."""
    write_table(path, TARGET_COLUMNS, map(_target_row, annotation.targets), OPTIONAL)


def _gene_row(gene: AnnotatedGene, descriptions: Mapping[str, str]) -> tuple:
    own, counts = gene.transcripts[0].alignment, gene.transcripts[0].junction_counts
    shifts, stops = _faults(own)
    return (
        gene.name, gene.record, gene.strand, gene.start + 1, gene.end, len(gene.transcripts),
        own.n_chain, own.target, own.score, *_figures(own), len(gene.targets), shifts, stops,
        own.min_confidence, None if counts is None else sum(n > 0 for n in counts),
        described(descriptions.get(own.target, "")),
    )  # fmt: skip


def _target_row(target: TargetResult) -> tuple:
    own, found = target.best, "yes" if target.loci else "no"
    head = target.name, target.kind, target.length, found, target.loci, target.gene
    last = target.accepted, described(target.description)
    if own is None:
        return *head, *[None] * (len(TARGET_COLUMNS) - len(head) - len(last)), *last
    start, end = interval_of(own) if own.chain else (None, None)
    first = None if start is None else start + 1
    return *head, own.base, own.strand, first, end, own.score, *_figures(own), *last


def _figures(alignment: Alignment) -> tuple:
    """Return E-value, identity and coverage as tables write them."""
    fractions = alignment.identity, alignment.coverage
    shown = (None if fraction is None else f"{fraction:.4f}" for fraction in fractions)
    return f"{alignment.evalue:.1e}", *shown


def _faults(alignment: Alignment) -> tuple[int | None, int | None]:
    """Return the numbers of frameshifts and of inner stop codons of a protein's alignment."""
    if isinstance(alignment, ProteinAlignment):
        return alignment.frameshifts, alignment.inner_stops
    return None, None


def write_proteins(path, annotation: GenomeAnnotation, genome: GenomeRecords) -> None:
    """Write the proteins of all transcripts that have a CDS, named as the transcripts."""
    coding = (t for t in _transcripts(annotation) if t.alignment.phases)
    write_fasta(path, (_protein(t, genome) for t in coding))


def write_coding_sequences(path, annotation: GenomeAnnotation, genome: GenomeRecords) -> None:
    """Write the spliced sequences of all transcripts, named as the transcripts."""
    write_fasta(path, (_spliced(t, genome) for t in _transcripts(annotation)))


def _transcripts(annotation: GenomeAnnotation) -> Iterator[AnnotatedTranscript]:
    return (transcript for gene in annotation.genes for transcript in gene.transcripts)


def _described(transcript: AnnotatedTranscript) -> str:
    return f"{place_of(transcript.alignment)} {transcript.alignment.target}"


def _protein(transcript: AnnotatedTranscript, genome: GenomeRecords) -> ProteinSequence:
    own = transcript.alignment
    if isinstance(own, ProteinAlignment):
        codes = translated(own).codes
    else:
        codes = translate(_spliced(transcript, genome).codes[own.phases[0] :])
        codes = codes[:-1] if own.stop_codon else codes
    return ProteinSequence(transcript.name, codes, _described(transcript))


def _spliced(transcript: AnnotatedTranscript, genome: GenomeRecords) -> Nucleotides:
    own = transcript.alignment
    record, first = genome.sequence_at(own.base, min(own.chain)[0])
    return Nucleotides(transcript.name, spliced(own, record, first).codes, _described(transcript))


def summary_of(annotation: GenomeAnnotation, genome: GenomeRecords) -> dict:
    """Return the figures of a gene set, as JSON holds them."""
    best = [gene.transcripts[0].alignment for gene in annotation.genes]
    kinds = Counter(target.kind for target in annotation.targets)
    found = Counter(target.kind for target in annotation.targets if target.loci)
    part = Counter(target.kind for target in annotation.targets if target.accepted == PART)
    faults = [_faults(own) for own in best]
    introns = [intron for own in best for intron in _introns(own, genome)]
    sites = Counter(pair for pair, _ in introns)
    return {
        "records": len(annotation.record_lengths),
        "nucleotides": sum(annotation.record_lengths.values()),
        "searched": sum(genome.lengths),
        "parts": [locus.name for locus in genome.loci if not locus.is_all_of(locus.record)],
        "targets": {
            kind: {"given": n, "found": found[kind], "part": part[kind]}
            for kind, n in kinds.items()
        },
        "reversed_cdnas": len(reversed_targets(annotation)),
        "genes": len(annotation.genes),
        "cut_off_genes": sum(any(own.beyond) for own in best),
        "mrnas": sum(len(gene.transcripts) for gene in annotation.genes),
        "chimeric_hits": annotation.chimeras,
        "exons": sum(own.n_chain for own in best),
        "introns": dict(sorted(sites.items(), key=lambda item: (-item[1], item[0]))),
        "frameshifts": sum(shifts or 0 for shifts, _ in faults),
        "inner_stops": sum(stops or 0 for _, stops in faults),
        "broken_mrnas": len(broken_transcripts(annotation)),
        "pseudogenes": len(pseudogenes(annotation)),
        "dropped_hits": annotation.dropped,
        "unaligned_ends": len(with_unaligned_ends(annotation)),
        "complete": sum(own.start_codon and own.stop_codon for own in best),
        "median_lengths": {
            "gene": _median([gene.end - gene.start for gene in annotation.genes]),
            "exon": _median([end - start for own in best for start, end in own.chain]),
            "intron": _median([length for _, length in introns]),
        },
    }


def broken_transcripts(annotation: GenomeAnnotation) -> list[str]:
    """Return the names of mRNAs with frameshifts or stop codons inside."""
    return [one.name for one in _transcripts(annotation) if faults_of(one.alignment)]


def pseudogenes(annotation: GenomeAnnotation) -> list[str]:
    """Return the names of genes of which each mRNA has several frameshifts or stop codons."""
    return [
        gene.name for gene in annotation.genes
        if all(gene_model.is_pseudo(transcript.alignment) for transcript in gene.transcripts)
    ]  # fmt: skip


def with_unaligned_ends(annotation: GenomeAnnotation) -> list[str]:
    """Return the names of mRNAs whose proteins are not aligned up to both ends."""
    return [
        transcript.name for transcript in _transcripts(annotation)
        if isinstance(own := transcript.alignment, ProteinAlignment)
        and own.target_end - own.target_start < own.target_length
    ]  # fmt: skip


def reversed_targets(annotation: GenomeAnnotation) -> list[str]:
    """Return the names of cDNAs that were found as their reverse complement."""
    return [
        target.name for target in annotation.targets
        if target.loci and getattr(target.best, "target_reversed", False)
    ]  # fmt: skip


def _median(lengths: list[int]) -> float | None:
    return median(lengths) if lengths else None


def _introns(alignment: Alignment, genome: GenomeRecords) -> Iterator[tuple[str, int]]:
    """Yield first and last two nucleotides of each intron, say GT-AG, and its length."""
    exons = sorted(alignment.chain)
    record, first = genome.sequence_at(alignment.base, exons[0][0])
    for (_, start), (end, _) in pairwise(exons):
        codes = record.codes[start - first : end - first]
        text = decode(codes if alignment.strand == "+" else reverse_complement(codes))
        yield f"{text[:2]}-{text[-2:]}", end - start


def write_summary(
    path, annotation: GenomeAnnotation, genome: GenomeRecords, site_model: str, run: dict
) -> None:
    """Write the summary, the name of the site model and what the run was, as JSON."""
    content = summary_of(annotation, genome) | {"site_model": site_model, "run": run}
    with open_output(path) as stream:
        stream.write(json.dumps(content, indent=2) + "\n")
