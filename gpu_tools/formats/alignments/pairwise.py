"""Pairwise alignments to files: PAF, SAM and readable text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pysam

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments import sam
from gpu_tools.formats.alignments.walk import UNKNOWN_QUALITY
from gpu_tools.formats.files import open_output, suffix_of
from gpu_tools.model.results import PairLoci, PairwiseAlignment, cigar_text
from gpu_tools.model.sequences import (
    ProteinSequence,
    Sequence,
    decode,
    decode_protein,
    reverse_complement,
)

_WIDTH = 60


def write_alignments(
    path: str | os.PathLike,
    alignments: Iterable[PairwiseAlignment],
    pairs: Iterable[tuple[Sequence, Sequence]],
    loci: PairLoci,
    format: str | None = None,
) -> None:
    """Write pairwise alignments in the format that the suffix of `path` chooses."""
    write = _WRITERS[suffix_of(path, SUFFIXES, "alignment", format)]
    pairs = list(pairs)
    sequences = {q.name: q for q, _ in pairs}, {s.name: s for _, s in pairs}
    write(path, list(alignments), sequences, loci)


def _write_paf(path, alignments, sequences, loci: PairLoci) -> None:
    with open_output(path) as stream:
        stream.writelines(_paf_line(loci.moved(alignment)) for alignment in alignments)


def _paf_line(a: PairwiseAlignment) -> str:
    columns = (
        a.query, a.query_length, a.query_start, a.query_end, a.strand, a.subject, a.subject_length,
        a.subject_start, a.subject_end, a.matches, a.columns, UNKNOWN_QUALITY,
        f"NM:i:{a.columns - a.matches}", f"AS:i:{a.score}", f"cg:Z:{cigar_text(a.cigar)}",
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"


def _write_sam(path, alignments, sequences, loci: PairLoci) -> None:
    queries, subjects = sequences
    for sequence in (*queries.values(), *subjects.values()):
        if isinstance(sequence, ProteinSequence):
            raise InputError("SAM holds no proteins", path=path, record=sequence.name)
    head = sam.header(loci.subjects.record_lengths)
    records = [_sam_record(a, queries[a.query], head, loci) for a in alignments]
    sam.write_text(path, head, sam.sorted_records(records, last_is_primary=True))


def _sam_record(
    a: PairwiseAlignment, query: Sequence, head, loci: PairLoci
) -> pysam.AlignedSegment:
    start, end = _range_along_subject(a)
    cigar = [("S", start), *a.cigar, ("S", a.query_length - end)]
    moved = loci.moved(a)
    position = moved.subject, moved.subject_start, a.strand
    return sam.make_record(head, a.query, query, position, cigar, a.score)


def _range_along_subject(a: PairwiseAlignment) -> tuple[int, int]:
    if a.strand == "-":
        return a.query_length - a.query_end, a.query_length - a.query_start
    return a.query_start, a.query_end


def _write_text(path, alignments, sequences, loci: PairLoci) -> None:
    queries, subjects = sequences
    with open_output(path) as stream:
        for alignment in alignments:
            shown = _lines(alignment, queries[alignment.query], subjects[alignment.subject])
            stream.writelines(f"{line}\n" for line in _text(loci.moved(alignment), shown))


def _text(a: PairwiseAlignment, shown: tuple[str, str, str]) -> Iterator[str]:
    yield (
        f"# {a.query} ({a.strand}) and {a.subject}: rank {a.rank}, score {a.score}, "
        f"{a.matches} of {a.columns} columns identical ({100 * a.identity:.1f} %), {a.gaps} gaps"
    )
    upper, middle, lower = shown
    steps = [1, 1] if a.strand == "+" else [-1, 1]
    positions = [a.query_start + 1 if a.strand == "+" else a.query_end, a.subject_start + 1]
    margin = max(len(a.query), len(a.subject))
    for first in range(0, len(upper), _WIDTH):
        yield ""
        parts = [line[first : first + _WIDTH] for line in (upper, middle, lower)]
        for part, row, name in ((parts[0], 0, a.query), (parts[2], 1, a.subject)):
            symbols = len(part) - part.count("-")
            begin, positions[row] = positions[row], positions[row] + steps[row] * symbols
            last = positions[row] - steps[row] if symbols else begin
            yield f"{name:<{margin}} {begin:>9} {part} {last}"
            if row == 0:
                yield f"{'':<{margin}} {'':>9} {parts[1]}".rstrip()
    yield ""


def _lines(a: PairwiseAlignment, query: Sequence, subject: Sequence) -> tuple[str, str, str]:
    """Return the query's line, bars under identical symbols, the subject's line."""
    letters = decode_protein if isinstance(query, ProteinSequence) else decode
    start, end = _range_along_subject(a)
    codes = reverse_complement(query.codes) if a.strand == "-" else query.codes
    above = iter(letters(codes[start:end]))
    below = iter(letters(subject.codes[a.subject_start : a.subject_end]))
    operations = [operation for operation, n in a.cigar for _ in range(n)]
    return (
        "".join("-" if o == "D" else next(above) for o in operations),
        "".join("|" if o == "=" else " " for o in operations),
        "".join("-" if o == "I" else next(below) for o in operations),
    )


_WRITERS = {".paf": _write_paf, ".sam": _write_sam, ".txt": _write_text}
SUFFIXES = tuple(_WRITERS)
"""Suffixes that choose a format."""
