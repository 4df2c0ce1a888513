"""Spliced alignments in PAF."""

from __future__ import annotations

from gpu_tools.formats.alignments.proteins import protein_paf_line
from gpu_tools.formats.alignments.sam import UNKNOWN_QUALITY
from gpu_tools.formats.alignments.walk import ForwardAlignment, forward_alignment
from gpu_tools.formats.files import open_output
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.results import SplicedAlignment, cigar_text, count_columns


def write_paf(path, alignments, bases, targets) -> None:
    """Write a line for each alignment, the target sequence as PAF's query, the base as its target.

    Column 11 counts alignment columns without introns; ``cg`` has N for introns. For proteins see
    `gpu_tools.formats.alignments.proteins.protein_paf_line`.
    """
    with open_output(path) as stream:
        for alignment in alignments:
            if isinstance(alignment, ProteinAlignment):
                stream.write(protein_paf_line(alignment))
                continue
            forward = forward_alignment(alignment)
            if forward:
                stream.write(_line(alignment, forward))


def _line(alignment: SplicedAlignment, forward: ForwardAlignment) -> str:
    columns = (
        alignment.target, alignment.target_length, alignment.target_start, alignment.target_end,
        alignment.strand, alignment.base, alignment.base_length, forward.start, forward.end,
        count_columns(forward.cigar, "="), count_columns(forward.cigar, "=XID"), UNKNOWN_QUALITY,
        f"NM:i:{count_columns(forward.cigar, 'XID')}", f"AS:i:{alignment.score}", "ts:A:+",
        f"cg:Z:{cigar_text(forward.cigar)}",
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"
