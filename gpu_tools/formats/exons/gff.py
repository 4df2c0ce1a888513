"""Exons in GFF3 and GTF."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TextIO
from urllib.parse import quote, unquote

import numpy as np

from gpu_tools.formats.exons.collect import ExonCollector, exon_type_code
from gpu_tools.formats.fields import Location
from gpu_tools.model.exon_set import EXON_TYPES, ExonSet

SOURCE = "gpu-tools"
EXON_FEATURES = frozenset(("exon", "CDS", "SO:0000147", "SO:0000316"))
_SAFE_IN_SEQID = ".:^*$@!+_?-|"
_SAFE_IN_ATTRIBUTE = _SAFE_IN_SEQID + "/#()[]{}<>~'\"\\`"
_ATTRIBUTE = re.compile(r'(?:^|;)\s*(exon_type|probability)(?:=|\s+)"?([^";]*?)"?\s*(?=;|$)')


def escape_seqid(name: str) -> str:
    """Return a sequence name as GFF3's first column writes it."""
    return quote(name, safe=_SAFE_IN_SEQID)


def escape_attribute(text: str) -> str:
    """Return a name as GFF3's attributes write it, blanks escaped as ``Target`` needs them."""
    return quote(text, safe=_SAFE_IN_ATTRIBUTE)


def format_number(value: float) -> str:
    """Return the shortest decimal text that reads back as the same number."""
    return np.format_float_positional(value, trim="-")


def parse_gff3(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    """Return the features ``exon`` and ``CDS`` of GFF3 lines, by sequence."""
    exons = ExonCollector()
    for number, line in lines:
        if line.startswith((">", "##FASTA")):
            break
        _add_feature(exons, Location(path, number), line, unquote)
    return exons.sets()


def parse_gtf(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> dict[str, ExonSet]:
    """Return the features ``exon`` and ``CDS`` of GTF lines, by sequence."""
    exons = ExonCollector()
    for number, line in lines:
        _add_feature(exons, Location(path, number), line, str)
    return exons.sets()


def _add_feature(exons: ExonCollector, location: Location, line: str, unescape) -> None:
    if not line.strip() or line.startswith("#"):
        return
    fields = line.split("\t")
    if len(fields) != 9:
        raise location.error(f"{len(fields)} columns", "9 tab-separated columns")
    if not fields[0].strip():
        raise location.error("the sequence's name is empty")
    if fields[2] in EXON_FEATURES:
        attributes = dict(_ATTRIBUTE.findall(fields[8]))
        exons.add(
            unescape(fields[0]),
            location.closed_interval(fields[3], fields[4]),
            location.strand(fields[6]),
            location.score(fields[5]),
            exon_type_code(attributes.get("exon_type")),
            location.probability(attributes.get("probability")),
        )


def write_gff3(
    stream: TextIO, sets: Mapping[str, ExonSet], lengths: Mapping[str, int] | None = None
) -> None:
    """Write candidates as GFF3 features ``exon``; known lengths give sequence regions."""
    stream.write("##gff-version 3\n")
    for name in sets:
        if lengths and name in lengths:
            stream.write(f"##sequence-region {escape_seqid(name)} 1 {lengths[name]}\n")
    for name, exons in sets.items():
        for k in range(len(exons)):
            stream.write(_format_feature(escape_seqid(name), exons, k))


def _format_feature(seqid: str, exons: ExonSet, k: int) -> str:
    attributes = []
    if exons.types[k]:
        attributes.append(f"exon_type={EXON_TYPES[exons.types[k]]}")
    if not np.isnan(exons.probabilities[k]):
        attributes.append(f"probability={format_number(exons.probabilities[k])}")
    columns = (
        seqid, SOURCE, "exon", exons.starts[k] + 1, exons.ends[k],
        format_number(exons.scores[k]), "-" if exons.reverse[k] else "+", ".",
        ";".join(attributes) or ".",
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"
