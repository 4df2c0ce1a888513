"""Files of a lift beside the annotation: tables, proteins and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from statistics import median

from gpu_tools.formats.exons.lifted import copy_suffix
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.formats.tables import write_table
from gpu_tools.lift.api import Lift, LiftedGeneOutcome
from gpu_tools.lift.transcripts import INTACT, STATUSES, TranscriptOutcome
from gpu_tools.model.genes import Interval, OddGene, ReferenceGene
from gpu_tools.model.sequences import ProteinSequence

COLUMNS = (
    "gene", "transcript", "copy", "record", "start", "end", "strand",
    "reference_record", "reference_start", "reference_end", "reference_strand",
    "exons", "reference_exons", "coverage", "identity", "protein_identity", "status",
)  # fmt: skip
GENE_COLUMNS = (
    "gene", "reference_record", "reference_start", "reference_end", "reference_strand",
    "record", "start", "end", "strand", "copies", "transcripts", "reference_transcripts",
    "coverage", "identity", "status", "reason",
)  # fmt: skip
UNMAPPED_COLUMNS = ("gene", "transcript", "record", "start", "end", "strand", "reason")
_MISSING = "."
_LABELS = ("introns and flanks", "untranslated exons", "coding sequence")
_SITES = "donors", "acceptors", "start codons", "stop codons"


def write_lift_table(path: str | PathLike, lift: Lift) -> None:
    """Write a row for each transcript: where it lies, and what happened to it."""
    rows = (_row(gene, one) for gene in lift.genes for one in gene.outcomes)
    write_table(path, COLUMNS, rows)


def _row(gene: LiftedGeneOutcome, one: TranscriptOutcome) -> tuple:
    lifted, own = gene.lifted, one.lifted
    reference = own.transcript
    return (
        lifted.gene.id, reference.id, lifted.copy, lifted.record, *_shown(own.interval),
        lifted.strand, reference.record, *_shown(reference.interval), reference.strand,
        len(own.exons), len(reference.exons), f"{one.coverage:.4f}", f"{one.identity:.4f}",
        _MISSING if one.protein_identity is None else f"{one.protein_identity:.4f}",
        ", ".join(one.statuses),
    )  # fmt: skip


def _shown(interval: Interval) -> tuple[int, int]:
    """Return an interval as tables show it: 1-based, inclusive."""
    return interval[0] + 1, interval[1]


def write_gene_table(
    path: str | PathLike, lift: Lift, genes: Sequence[ReferenceGene], odd: Sequence[OddGene]
) -> None:
    """Write a row for each gene of the reference, those that are lost or odd with the reason.

    `genes` are those that were to be carried over, in the order of the rows.
    """
    places, copies = {}, Counter()
    for gene in lift.genes:
        if gene.lifted.copy == 0:
            places[id(gene.lifted.gene)] = gene
        else:
            copies[id(gene.lifted.gene)] += 1
    reasons = {id(gene): reason for gene, reason in lift.unmapped}
    rows = [
        (gene.id, gene.record, *_shown(gene.interval), gene.strand,
         *_gene_row(gene, places.get(id(gene)), copies[id(gene)], reasons.get(id(gene))))
        for gene in genes
    ]  # fmt: skip
    known = {gene.id for gene in genes}
    left_out = {one.gene: _why_odd(one) for one in reversed([*odd]) if one.gene not in known}
    rows += [
        (name, *(_MISSING,) * 8, 0, 0, *(_MISSING,) * 4, why)
        for name, why in reversed(left_out.items())
    ]  # fmt: skip
    write_table(path, GENE_COLUMNS, rows)


def _gene_row(
    gene: ReferenceGene, found: LiftedGeneOutcome | None, copies: int, reason: str | None
) -> tuple:
    """Return the columns behind the place in the reference."""
    if found is None:
        nowhere, unknown = (_MISSING,) * 4, (_MISSING,) * 3
        return *nowhere, copies, 0, len(gene.transcripts), *unknown, reason
    own, said = found.lifted, {status for one in found.outcomes for status in one.statuses}
    if len(said) > 1:
        said -= {INTACT}
    return (
        own.record, *_shown(own.interval), own.strand, copies, len(found.outcomes),
        len(gene.transcripts), f"{found.coverage:.4f}", f"{found.identity:.4f}",
        ", ".join(status for status in STATUSES if status in said), _MISSING,
    )  # fmt: skip


def write_unmapped(path: str | PathLike, lift: Lift, odd: Iterable[OddGene]) -> None:
    """Write a row for each gene, or transcript of a gene, that was not carried over, and why."""
    write_table(path, UNMAPPED_COLUMNS, _unmapped(lift, odd))


def _unmapped(lift: Lift, odd: Iterable[OddGene]) -> Iterator[tuple]:
    for gene, reason in lift.unmapped:
        yield gene.id, _MISSING, gene.record, *_shown(gene.interval), gene.strand, reason
    for gene in lift.genes:
        own = gene.lifted
        there = {one.lifted.transcript.id for one in gene.outcomes}
        for one in own.gene.transcripts if own.copy == 0 else ():
            if one.id not in there:
                place = one.record, *_shown(one.interval), one.strand
                yield own.gene.id, one.id, *place, "none of its exons is left"
    for one in odd:
        yield one.gene, one.transcript or _MISSING, *(_MISSING,) * 4, _why_odd(one)


def _why_odd(one: OddGene) -> str:
    return f"line {one.line} of the annotation: {one.reason}"


def write_lifted_proteins(path: str | PathLike, lift: Lift) -> None:
    """Write what the coding sequences read, named as their transcripts; broken ones as they are."""
    write_fasta(path, (
        ProteinSequence(
            one.lifted.transcript.id + copy_suffix(gene.lifted.copy), one.protein,
            ", ".join(one.statuses),
        )
        for gene in lift.genes for one in gene.outcomes if len(one.protein)
    ))  # fmt: skip


def summary_of_lift(lift: Lift, odd: Iterable[OddGene]) -> dict:
    """Return the figures of a lift, as JSON holds them."""
    own = [gene for gene in lift.genes if gene.lifted.copy == 0]
    outcomes = [one for gene in own for one in gene.outcomes]
    coding = [one for one in outcomes if one.protein_identity is not None]
    statuses = Counter(status for one in outcomes for status in one.statuses)
    moved = sum(gene.lifted.record != gene.lifted.gene.record for gene in own)
    return {
        "genes": len(own) + len(lift.unmapped),
        "lifted": len(own),
        "copies": len(lift.genes) - len(own),
        "unmapped": dict(sorted(Counter(reason for _, reason in lift.unmapped).items())),
        "odd": len(list(odd)),
        "on_a_record_of_another_name": moved,
        "on_the_other_strand": sum(gene.lifted.strand != gene.lifted.gene.strand for gene in own),
        "transcripts": len(outcomes),
        "coding_transcripts": len(coding),
        "statuses": {name: statuses[name] for name in STATUSES},
        "median_identity": _median([one.identity for one in outcomes]),
        "median_protein_identity": _median([one.protein_identity for one in coding]),
        "learned": {
            "rates": {
                label: rates._asdict()
                for label, rates in zip(_LABELS, lift.scores.rates, strict=True)
            },
            "kept": dict(zip(_SITES, lift.scores.kept, strict=True)),
            "codon_gaps": lift.scores.codon_gaps,
        },
    }  # fmt: skip


def _median(values: list[float]) -> float | None:
    return round(median(values), 4) if values else None
