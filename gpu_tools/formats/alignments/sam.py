"""Spliced alignments in SAM, BAM and PAF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

import pysam

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.alignments import walk
from gpu_tools.formats.files import is_stream, open_output, replaced_when_complete
from gpu_tools.model import results
from gpu_tools.model.resources import COMMAND_LINE, installed_version
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.sequences import decode, reverse_complement

_LONGEST_FOR_BAI = 2**29
_OPERATIONS = {"I": pysam.CINS, "D": pysam.CDEL, "N": pysam.CREF_SKIP, "=": pysam.CEQUAL,
              "X": pysam.CDIFF, "S": pysam.CSOFT_CLIP}  # fmt: skip
# the SAM specification's sets of characters
_QUERY_NAME = re.compile(r"[!-?A-~]{1,254}")
_REFERENCE_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")


def write_sam(path, alignments, bases, targets, accepted=None) -> None:
    """Write SAM sorted by coordinate."""
    head = header(bases)
    write_text(path, head, sorted_records(_records(alignments, targets, head, accepted)))


def write_text(path, head: pysam.AlignmentHeader, records: Iterable[pysam.AlignedSegment]) -> None:
    """Write records, in their order, as SAM."""
    with open_output(path) as stream:
        stream.write(str(head))
        stream.writelines(f"{record.to_string()}\n" for record in records)


def write_bam(path, alignments, bases, targets, accepted=None) -> None:
    """Write BAM sorted by coordinate, and its index unless it is a stream."""
    head = header(bases)
    write_indexed(path, head, _records(alignments, targets, head, accepted))


def write_indexed(path, head: pysam.AlignmentHeader, records) -> None:
    """Write records as sorted BAM, and its index: .bai, or .csi for references that need it."""
    if is_stream(path):
        with replaced_when_complete(path) as stream:
            _write_sorted(stream, head, records)
        return
    needs_csi = max(head.lengths, default=0) > _LONGEST_FOR_BAI
    kind, option = (".csi", "-c") if needs_csi else (".bai", "-b")
    # the records get their final name before the index: no index is newer than the wrong file
    with replaced_when_complete(f"{path}{kind}") as index:
        with replaced_when_complete(path) as temporary:
            _write_sorted(temporary, head, records)
            try:
                pysam.index(option, "-o", str(index), str(temporary))
            except pysam.SamtoolsError:
                raise OutputError(f"{path}: cannot be indexed") from None


def _write_sorted(path, head: pysam.AlignmentHeader, records) -> None:
    with pysam.AlignmentFile(str(path), "wb", header=head) as stream:
        for record in sorted_records(records):
            stream.write(record)


def sorted_records(records, last_is_primary: bool = False) -> Iterator[pysam.AlignedSegment]:
    """Yield records sorted by coordinate, primary or secondary.

    Each query's record of the highest score is primary, of equal scores the first of `records`
    or the last one, an accepted one if there is one; the others are secondary.
    """
    records, primary = list(records), {}
    ranked = records[::-1] if last_is_primary else records
    for record in sorted(ranked, key=lambda r: (r.is_qcfail, -r.get_tag("AS"))):
        primary.setdefault(record.query_name, record)
    order = sorted(
        records, key=lambda r: (r.reference_id, r.reference_start, r.is_reverse, r.query_name)
    )
    for record in order:
        record.is_secondary = record is not primary[record.query_name]
        yield record


def header(bases: Mapping[str, int]) -> pysam.AlignmentHeader:
    """Return the header of a file sorted by coordinate, with the references' lengths by name."""
    check_reference_names(bases)
    # a tab or a line end would end the field, and pysam takes ASCII alone
    line = " ".join(COMMAND_LINE.get().split()).encode("ascii", "backslashreplace").decode()
    command = {"CL": line} if line else {}
    return pysam.AlignmentHeader.from_dict({
        "HD": {"VN": "1.6", "SO": "coordinate"},
        "SQ": [{"SN": name, "LN": length} for name, length in bases.items()],
        "PG": [{"ID": "gpu-tools", "PN": "gpu-tools", "VN": installed_version(), **command}],
    })  # fmt: skip


def check_reference_names(bases: Iterable[str]) -> None:
    """Raise `InputError` for a base's name that cannot stand in SAM."""
    for name in bases:
        if not _REFERENCE_NAME.fullmatch(name):
            raise InputError(
                "the name cannot stand in SAM",
                record=name,
                expected="letters, digits and the punctuation that SAM allows in @SQ SN",
            )


def check_query_name(name: str) -> None:
    """Raise `InputError` for a target's name that cannot stand in SAM."""
    if not _QUERY_NAME.fullmatch(name):
        raise InputError("the name cannot stand in SAM", record=name,
                         expected="at most 254 printable characters without @")  # fmt: skip


def _records(alignments, targets, head, accepted=None) -> Iterator[pysam.AlignedSegment]:
    """Yield records; of alignments that are not accepted they have the flag of a failed check."""
    for alignment, passes in zip(alignments, accepted or repeat(True)):  # noqa: B905
        forward = walk.forward_alignment(alignment)
        if forward:
            record = _record(alignment, forward, targets[alignment.target], head)
            record.is_qcfail = not passes
            yield record


def _record(
    alignment: results.SplicedAlignment, forward: walk.ForwardAlignment, target: Nucleotides, head
) -> pysam.AlignedSegment:
    left, right = alignment.target_start, alignment.target_length - alignment.target_end
    if alignment.strand == "-":
        left, right = right, left
    cigar = [("S", left), *forward.cigar, ("S", right)]
    position = alignment.base, forward.start, alignment.strand
    record = make_record(head, alignment.target, target, position, cigar, alignment.score)
    record.set_tag("ts", "+", "A")
    if alignment.rank is not None:
        record.set_tag("rk", alignment.rank, "i")
    return record


def make_record(
    head: pysam.AlignmentHeader,
    name: str,
    query: Nucleotides,
    position: tuple[str, int, str],
    cigar: Sequence[results.CigarOperation],
    score: int,
) -> pysam.AlignedSegment:
    """Return a record of an alignment with its score (AS) and its edits (NM).

    The query is whole and on its forward strand; the position is a reference's name, a 0-based
    start and a strand. The CIGAR runs along the reference, with S for what is not aligned; empty
    runs are left out. A name that cannot stand in SAM raises `InputError`.
    """
    check_query_name(name)
    record = pysam.AlignedSegment(head)
    record.query_name, (record.reference_name, record.reference_start, strand) = name, position
    record.is_reverse = strand == "-"
    record.mapping_quality = walk.UNKNOWN_QUALITY
    record.query_sequence = decode(
        reverse_complement(query.codes) if record.is_reverse else query.codes
    )
    record.cigartuples = [(_OPERATIONS[operation], n) for operation, n in cigar if n]
    record.set_tags([("AS", score, "i"), ("NM", results.count_columns(cigar, "XID"), "i")])
    return record


# Spliced alignments in PAF.


def write_paf(path, alignments, bases, targets) -> None:
    """Write a line for each alignment, the target sequence as PAF's query, the base as its target.

    Column 11 counts alignment columns without introns; ``cg`` has N for introns. For proteins see
    `_protein_line`.
    """
    with open_output(path) as stream:
        for alignment in alignments:
            if isinstance(alignment, results.ProteinAlignment):
                stream.write(_protein_line(alignment))
                continue
            forward = walk.forward_alignment(alignment)
            if forward:
                stream.write(_line(alignment, forward))


def _line(alignment: results.SplicedAlignment, forward: walk.ForwardAlignment) -> str:
    columns = (
        alignment.target, alignment.target_length, alignment.target_start, alignment.target_end,
        alignment.strand, alignment.base, alignment.base_length, forward.start, forward.end,
        results.count_columns(forward.cigar, "="), results.count_columns(forward.cigar, "=XID"),
        walk.UNKNOWN_QUALITY, f"NM:i:{results.count_columns(forward.cigar, 'XID')}",
        f"AS:i:{alignment.score}", "ts:A:+", *_rank_tags(alignment),
        f"cg:Z:{results.cigar_text(forward.cigar)}",
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"


def _rank_tags(alignment: results.SplicedAlignment | results.ProteinAlignment) -> list[str]:
    """Return what PAF says of the rank, where several chains of a pair were looked for.

    As in minimap2's files ``tp`` is ``P`` for a primary alignment and ``S`` for a secondary one.
    """
    rank = alignment.rank
    return [] if rank is None else [f"tp:A:{'P' if rank == 1 else 'S'}", f"rk:i:{rank}"]


def _protein_line(alignment: results.ProteinAlignment) -> str:
    """Return a line of PAF, the protein as the query.

    Columns 10 and 11 count nucleotides, as miniprot does: three for each equal residue, and three
    for each column of the alignment. ``cg`` is the protein's CIGAR, ``np`` the number of pairs that
    score above 0, ``fs`` that of frameshifts, and ``st`` that of stop codons inside.
    """
    start, end = walk.extent(alignment.chain)
    # the stop codon behind the alignment is not part of it
    if alignment.stop_codon:
        start += walk.CODON * (alignment.strand == "-")
        end -= walk.CODON * (alignment.strand == "+")
    columns = (
        alignment.target, alignment.target_length, alignment.target_start, alignment.target_end,
        alignment.strand, alignment.base, alignment.base_length, start, end,
        walk.CODON * alignment.matches, walk.CODON * alignment.columns, walk.UNKNOWN_QUALITY,
        f"AS:i:{alignment.score}", f"np:i:{alignment.positives}",
        f"fs:i:{alignment.frameshifts}", f"st:i:{alignment.inner_stops}", *_rank_tags(alignment),
        f"cg:Z:{results.cigar_text(alignment.cigar)}",
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"
