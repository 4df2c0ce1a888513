"""Annotated sequences with introns of chosen kinds, for tests of training."""

from gpu_tools.model.annotation import AnnotatedSequence, CodingSegment, CodingSequence
from gpu_tools.model.sequences import Sequence, reverse_complement

EXONS = "ATGGCTGCTGCA", "GCTGCTGCATAA"


def intron(length, ends=("GT", "AG")):
    """Return an intron of C between two words."""
    return ends[0] + "C" * (length - 4) + ends[1]


def gene_text(between):
    """Return a gene of two exons of 12 nucleotides with 40 of T on both sides."""
    return "T" * 40 + EXONS[0] + between + EXONS[1] + "T" * 40


def annotated(introns, strand="+", copies=1):
    """Return one sequence with a gene for each intron, each annotated `copies` times."""
    texts = [gene_text(between) for between in introns]
    sequence = Sequence.from_text("chr", "".join(texts))
    length, coding, at = len(sequence), [], 0
    for number, (text, between) in enumerate(zip(texts, introns, strict=True)):
        first, second = at + 40, at + 52 + len(between)
        spans = [(first, first + 12), (second, second + 12)]
        if strand == "-":
            spans = [(length - end, length - start) for start, end in spans]
        segments = tuple(CodingSegment(start, end, 0) for start, end in spans)
        for copy in range(copies):
            coding.append(CodingSequence(f"t{number}.{copy}", strand, segments))
        at += len(text)
    if strand == "-":
        sequence = Sequence("chr", reverse_complement(sequence.codes))
    return AnnotatedSequence(sequence, tuple(coding))


def fields_of(record, phase="."):
    """Yield the lines of a GTF of a record."""
    for one in record.coding:
        for segment in one.segments:
            yield (
                f"{record.sequence.name}\tx\tCDS\t{segment.start + 1}\t{segment.end}\t.\t"
                f'{one.strand}\t{phase}\tgene_id "g"; transcript_id "{one.name}";\n'
            )
