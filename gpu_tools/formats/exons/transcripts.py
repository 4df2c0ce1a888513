"""Transcripts of GFF3 and GTF: the exons that have one parent."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.annotation import with_stop_codons
from gpu_tools.formats.exons.gff import CODING, EXON, STOP, features, lacking, merged
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.odd import OddItems


class TranscriptExons(NamedTuple):
    """Where the exons of a transcript lie, by position, 0-based half-open."""

    record: str
    strand: str
    exons: tuple[tuple[int, int], ...]


def read_transcripts(path: str | os.PathLike) -> list[TranscriptExons]:
    """Read the features ``exon`` of each transcript; UTRs may be among them.

    A transcript without features ``exon`` has those that its CDS and stop codon make. Exons of a
    transcript that abut are one, and repeated ones count once. A transcript on both strands, as of
    trans-spliced genes, is left out with a warning.

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
    found, seen = defaultdict(lambda: {EXON: [], CODING: [], STOP: []}), {}
    strands, odd = {}, {}
    for feature in features(path, read_lines(path)):
        seen[feature.type] = None
        if feature.kind not in (EXON, CODING) and (feature.kind != STOP or feature.in_gff3):
            continue
        if not feature.parents:
            raise feature.location.error(
                f"a feature {feature.type} of no transcript", "Parent or transcript_id"
            )
        strand = feature.location.strand(feature.strand)
        for parent in feature.parents:
            name = unquote(feature.seqid), parent
            found[name][feature.kind].append(feature.interval)
            if strands.setdefault(name, strand) != strand:
                odd.setdefault(name, feature.location.error(f"{parent!r} is on both strands"))
    if not found:
        raise lacking("exon of a transcript", path, seen, "GFF3 or GTF with exons")
    _tell(odd.values())
    return [
        TranscriptExons(name[0], strands[name], tuple(merged(_exons_of(parts))))
        for name, parts in found.items()
        if name not in odd
    ]


def _tell(errors: Iterable[InputError]) -> None:
    odd = OddItems("transcripts on both strands, left out")
    for error in errors:
        odd.add(error)
    odd.tell()


def _exons_of(parts: dict[str, list[tuple[int, int]]]) -> Iterable[tuple[int, int]]:
    return parts[EXON] or with_stop_codons(parts[CODING], parts[STOP])
