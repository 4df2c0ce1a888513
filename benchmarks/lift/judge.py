"""What a lifted annotation has right. Run ``python -m benchmarks.lift.judge TRUTH LIFTED``.

A transcript is exact if some transcript of the lifted annotation has all its exons and both outer
ends; its coding sequence is if the coding segments are all the same. Names do not count. Where a
gene was copied, both places are right for it; a copy counts if its own place is found too.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.lift.mutated import COPY
from gpu_tools.formats.exons import gff
from gpu_tools.formats.files import read_lines

_FRAMESHIFT = 4
"""Coding segments with fewer nucleotides between them are one: a frameshift is there, no intron."""


class Structure(NamedTuple):
    """Where parts of a transcript lie."""

    record: str
    strand: str
    parts: tuple[tuple[int, int], ...]


def structures(path: Path, kind: str) -> dict[str, Structure]:
    """Return exons or coding segments of each transcript by its ID."""
    rows = list(read_lines(path))
    in_gtf = not gff.is_gff3(path, rows)
    parts: dict[str, list] = defaultdict(list)
    place = {}
    for feature in gff.features(path, rows):
        extends = kind == gff.CODING and in_gtf and feature.kind == gff.STOP
        if feature.kind == kind or extends:
            for parent in feature.parents:
                parts[parent].append(feature.interval)
                place[parent] = feature.record, feature.strand
    gap = _FRAMESHIFT if kind == gff.CODING else 1
    return {
        name: Structure(*place[name], tuple(gff.merged(own, gap))) for name, own in parts.items()
    }


def messengers(path: Path) -> set[str]:
    """Return the IDs of mRNAs, or of all transcripts if none is said to be one."""
    rows = list(read_lines(path))
    names = {f.attribute("ID") for f in gff.features(path, rows) if f.type == "mRNA"}
    return names or {*structures(path, gff.CODING)}


def judged(truth: Path, lifted: Path) -> dict[str, int]:
    """Return counts of transcripts, and of those that are exact."""
    out, own = {}, messengers(truth)
    for kind, what in ((gff.EXON, "mrnas"), (gff.CODING, "coding")):
        true, found = structures(truth, kind), {*structures(lifted, kind).values()}
        names = [name for name in sorted(own) if name in true]
        first = [name for name in names if not name.endswith(COPY)]
        out[what] = len(first)
        out[f"{what}_exact"] = sum(
            any(true.get(one) in found for one in (name, name + COPY)) for name in first
        )
        if len(first) < len(names):
            copies = [name for name in names if name.endswith(COPY)]
            out[f"{what}_copies"] = len(copies)
            out[f"{what}_copies_exact"] = sum(
                true[name] in found and true.get(name.removesuffix(COPY)) in found
                for name in copies
            )  # fmt: skip
    return {name: count for name, count in out.items() if count or not name.startswith("mrnas")}


def not_exact(truth: Path, lifted: Path) -> Iterator[str]:
    """Yield mRNAs that are not exact."""
    true, found = structures(truth, gff.EXON), {*structures(lifted, gff.EXON).values()}
    for name in sorted(messengers(truth)):
        if name in true and true[name] not in found:
            yield name


if __name__ == "__main__":
    paths = Path(sys.argv[1]), Path(sys.argv[2])
    print(json.dumps(judged(*paths)))
    if "--names" in sys.argv:
        print(*not_exact(*paths), sep="\n")
