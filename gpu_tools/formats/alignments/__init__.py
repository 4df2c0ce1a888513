"""Spliced alignments to files: gene models (GFF3, GTF), BED12, PAF, SAM and BAM."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

from gpu_tools.formats.alignments import gene_model, sam
from gpu_tools.formats.files import suffix_of
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence as Nucleotides

_WRITERS = {
    ".gff3": gene_model.write_gene_models,
    ".gtf": gene_model.write_gtf,
    ".bed": gene_model.write_bed12,
    ".paf": sam.write_paf,
    ".sam": sam.write_sam,
    ".bam": sam.write_bam,
}
SUFFIXES = tuple(_WRITERS)
"""Suffixes that choose a format."""


def check_names(
    paths: Iterable[str | os.PathLike],
    bases: Iterable[str],
    targets: Iterable[str],
    format: str | None = None,
) -> None:
    """Raise `InputError` for a name of a base or a target that one of these files cannot hold."""
    suffixes = {suffix_of(path, SUFFIXES, "alignment", format) for path in paths}
    for target in targets:
        if ".gtf" in suffixes:
            gene_model.check_gtf_name(target)
        if suffixes & {".sam", ".bam"}:
            sam.check_query_name(target)
    if suffixes & {".sam", ".bam"}:
        sam.check_reference_names(bases)


def write_alignments(
    path: str | os.PathLike,
    alignments: Sequence[SplicedAlignment],
    bases: Mapping[str, int],
    targets: Mapping[str, Nucleotides],
    format: str | None = None,
    accepted: Sequence[bool] | None = None,
) -> None:
    """Write spliced alignments in the format that the suffix of `path` chooses.

    Alignments without a chain are left out. PAF, SAM and BAM also leave out, with a warning,
    those in which no base symbol is paired with a target symbol. The file appears only when
    complete. SAM and BAM flag those that are not `accepted` as failing a check, 0x200.
    """
    write = _WRITERS[suffix_of(path, SUFFIXES, "alignment", format)]
    chosen = [bool(a.chain) for a in alignments]
    verdicts = [] if accepted is None else [[*compress(accepted, chosen)]]
    more = verdicts if write in (sam.write_sam, sam.write_bam) else []
    write(path, [*compress(alignments, chosen)], bases, targets, *more)
