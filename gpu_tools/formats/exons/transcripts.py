"""Transcripts of GFF3 and GTF: the exons that have one parent."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.files import read_lines


class TranscriptExons(NamedTuple):
    """Where the exons of a transcript lie, by position, 0-based half-open."""

    record: str
    strand: str
    exons: tuple[tuple[int, int], ...]


def read_transcripts(path: str | os.PathLike) -> list[TranscriptExons]:
    """Read the features ``exon`` of each transcript; UTRs may be among them.

    Parameters
    ----------
    path : path-like
        GFF3, where exons name transcripts by ``Parent``, or GTF with ``transcript_id``.

    Returns
    -------
    list of TranscriptExons
        In the order of their first exons.

    Raises
    ------
    InputError
        If the file cannot be read, an exon names no transcript, or there is no exon.
    """
    found = defaultdict(list)
    for feature in features(path, read_lines(path)):
        if feature.type != "exon":
            continue
        parents = feature.attribute("Parent") or feature.attribute("transcript_id")
        if not parents:
            raise feature.location.error("an exon of no transcript", "Parent or transcript_id")
        strand = feature.location.strand(feature.strand)
        for parent in parents.split(","):
            found[unquote(feature.seqid), strand, parent].append(feature.interval)
    if not found:
        raise InputError("no exon of a transcript", path=path, expected="GFF3 or GTF with exons")
    return [
        TranscriptExons(record, strand, tuple(sorted(exons)))
        for (record, strand, _), exons in found.items()
    ]
