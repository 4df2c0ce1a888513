"""Names of gene models, and which transcripts are isoforms of one gene."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from gpu_tools.formats.exons.collect import format_number
from gpu_tools.formats.exons.gff import escape_seqid
from gpu_tools.model.results import SplicedAlignment, cigar_text

Interval = tuple[int, int]


class Transcript(NamedTuple):
    """What an alignment is as a transcript of a gene.

    Attributes
    ----------
    name : str
        ``TARGET@BASE:START-END:CHECKSUM``, as IDs write it.
    base, strand, target : str
        Names of base sequence and target as they are; the strand.
    score : int
    exons : tuple of (int, int)
        0-based half-open, in any order.
    """

    name: str
    base: str
    strand: str
    target: str
    score: int
    exons: tuple[Interval, ...]

    @classmethod
    def of(cls, alignment: SplicedAlignment) -> Transcript:
        """Return the transcript that an alignment with a chain stands for."""
        place = alignment.base, extent(alignment.chain)
        name = _name(alignment.target, *place, _content(alignment))
        return cls(name, alignment.base, alignment.strand, alignment.target, alignment.score,
                   alignment.chain)  # fmt: skip


class LocusGene(NamedTuple):
    """Transcripts that count as isoforms of one gene.

    Attributes
    ----------
    name : str
        As a transcript's, with the target of the best one and the interval of all.
    best : Transcript
        The one of the highest score, of equal ones the first by name.
    interval : (int, int)
        From the first to the last nucleotide of all exons, 0-based half-open.
    isoforms : tuple of Transcript
        In the order in which they were given.
    """

    name: str
    best: Transcript
    interval: Interval
    isoforms: tuple[Transcript, ...]


def genes_of(transcripts: Sequence[Transcript]) -> list[LocusGene]:
    """Group transcripts into genes.

    Two transcripts of one base and strand that share a nucleotide of an exon are isoforms of one
    gene; so are the isoforms of isoforms.

    Parameters
    ----------
    transcripts : sequence of Transcript

    Returns
    -------
    list of LocusGene
        In the order of their first transcripts.
    """
    isoforms = defaultdict(list)
    for transcript, first in zip(transcripts, _first_isoforms(transcripts), strict=True):
        isoforms[first].append(transcript)
    return [_gene(several) for several in isoforms.values()]


def _gene(isoforms: list[Transcript]) -> LocusGene:
    best = min(isoforms, key=lambda transcript: (-transcript.score, transcript.name))
    interval = extent([exon for transcript in isoforms for exon in transcript.exons])
    content = "\n".join(sorted(transcript.name for transcript in isoforms))
    name = _name(best.target, best.base, interval, content)
    return LocusGene(name, best, interval, tuple(isoforms))


def _first_isoforms(transcripts: Sequence[Transcript]) -> list[int]:
    """Return for each transcript the number of the first one of its gene."""
    earlier = list(range(len(transcripts)))

    def first(number: int) -> int:
        while earlier[number] != number:
            earlier[number] = number = earlier[earlier[number]]
        return number

    for one, other in _sharing(transcripts):
        low, high = sorted((first(one), first(other)))
        earlier[high] = low
    return [first(number) for number in range(len(transcripts))]


def _sharing(transcripts: Sequence[Transcript]) -> Iterator[tuple[int, int]]:
    """Yield pairs that share a nucleotide, enough to connect all that do."""
    exons = sorted(
        (t.base, t.strand, *exon, number)
        for number, t in enumerate(transcripts) for exon in t.exons
    )  # fmt: skip
    place, furthest, longest = None, 0, 0
    for base, strand, start, end, number in exons:
        if (base, strand) == place and start < furthest:
            yield longest, number
        else:
            place, furthest = (base, strand), start
        if end > furthest:
            furthest, longest = end, number


def extent(intervals: Sequence[Interval]) -> Interval:
    """Return where the first of some intervals begins and where the last one ends."""
    return min(start for start, _ in intervals), max(end for _, end in intervals)


def _name(target: str, base: str, interval: Interval, content: str) -> str:
    start, end = interval
    names = f"{escape_seqid(target).replace('@', '%40')}@{escape_seqid(base)}"
    return f"{names}:{start + 1}-{end}:{crc32(content.encode()):08x}"


def _content(alignment: SplicedAlignment) -> str:
    """Return a text that differs for two alignments of the same names and interval."""
    exons = (f"{start}-{end}" for start, end in alignment.chain)
    scores = map(format_number, alignment.exon_scores)
    phases, codons = map(str, alignment.phases), (alignment.start_codon, alignment.stop_codon)
    return "\t".join((
        alignment.target, alignment.base, str(alignment.strand), str(alignment.score),
        ",".join(exons), str(alignment.target_start), cigar_text(alignment.cigar),
        ",".join(scores), ",".join(phases), *("01"[codon] for codon in codons),
    ))  # fmt: skip
