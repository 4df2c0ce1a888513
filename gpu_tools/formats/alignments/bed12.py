"""Spliced alignments in BED12."""

from __future__ import annotations

from gpu_tools.formats.fields import bed_line
from gpu_tools.formats.files import open_output
from gpu_tools.model.results import SplicedAlignment

_HIGHEST_SCORE = 1000


def write_bed12(path, alignments, bases, targets) -> None:
    """Write a line for each alignment, its exons as blocks; scores are clipped to 0..1000."""
    with open_output(path) as stream:
        stream.writelines(_line(alignment) for alignment in alignments)


def _line(alignment: SplicedAlignment) -> str:
    blocks = sorted(alignment.chain)
    start, end = blocks[0][0], blocks[-1][1]
    columns = (
        alignment.base, start, end, alignment.target,
        min(max(alignment.score, 0), _HIGHEST_SCORE), alignment.strand,
        start, end if alignment.phases else start,  # thick is what is known to be coding
        0, len(blocks), ",".join(str(b - a) for a, b in blocks),
        ",".join(str(a - start) for a, _ in blocks),
    )  # fmt: skip
    return bed_line(*columns)
