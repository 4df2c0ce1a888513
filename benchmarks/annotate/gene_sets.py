"""Gene sets of coding exons, and how one compares with the truth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gpu_tools.model.sequences import Sequence


class CodingModel(NamedTuple):
    """The coding exons of a transcript, by position, 0-based half-open."""

    record: str
    strand: str
    exons: tuple[tuple[int, int], ...]

    @property
    def introns(self) -> tuple:
        """Record, strand and introns; the latter are empty for a single exon."""
        ends = [end for _, end in self.exons[:-1]]
        starts = [start for start, _ in self.exons[1:]]
        return self.record, self.strand, tuple(zip(ends, starts, strict=True))


def levels(found: Iterable[CodingModel], truth: Iterable[CodingModel]) -> dict[str, dict]:
    """Return sensitivity, precision and F1 of exons, intron chains and loci.

    An exon is right if both its ends are; an intron chain if all introns of a transcript are, in
    transcripts of several exons; a locus if one of its transcripts is right, exon by exon. A locus
    holds transcripts of a strand that share a coding nucleotide, directly or through others. What
    occurs several times counts once.
    """
    found, truth = set(found), set(truth)
    shared = found & truth
    return {
        "exon": _level(*(_exons(models) for models in (found, truth))),
        "chain": _level(*(_chains(models) for models in (found, truth))),
        "locus": _figures(
            _right_loci(truth, shared), len(loci(truth)), _right_loci(found, shared),
            len(loci(found)),
        ),
    }  # fmt: skip


def _exons(models: Iterable[CodingModel]) -> set:
    return {(m.record, m.strand, exon) for m in models for exon in m.exons}


def _chains(models: Iterable[CodingModel]) -> set:
    return {m.introns for m in models if len(m.exons) > 1}


def _level(found: set, truth: set) -> dict:
    right = len(found & truth)
    return _figures(right, len(truth), right, len(found))


def _figures(hit: int, truth: int, right: int, found: int) -> dict:
    """Return figures of `hit` of the truth's things, and of `right` things of those found."""
    sensitivity, precision = hit / max(truth, 1), right / max(found, 1)
    f1 = 2 * sensitivity * precision / max(sensitivity + precision, 1e-9)
    return {
        "truth": truth, "found": found, "sensitivity": round(sensitivity, 4),
        "precision": round(precision, 4), "f1": round(f1, 4),
    }  # fmt: skip


def _right_loci(models: set[CodingModel], right: set[CodingModel]) -> int:
    return sum(any(model in right for model in locus) for locus in loci(models))


def loci(models: Iterable[CodingModel]) -> list[list[CodingModel]]:
    """Group transcripts whose exons overlap on one strand, directly or through others."""
    exons = sorted((m.record, m.strand, *exon, m) for m in set(models) for exon in m.exons)
    group: dict[CodingModel, CodingModel] = {}

    def first(model: CodingModel) -> CodingModel:
        while group.setdefault(model, model) != model:
            model = group[model]
        return model

    place, furthest, owner = None, 0, None
    for record, strand, start, end, model in exons:
        if (record, strand) == place and start < furthest:
            group[first(model)] = first(owner)
        else:
            place, furthest = (record, strand), start
        if end > furthest:
            furthest, owner = end, model
    members = defaultdict(list)
    for model in {exon[-1] for exon in exons}:
        members[first(model)].append(model)
    return list(members.values())


def models_of_gff(
    lines: Iterable[str], feature: str, codes: dict[str, Sequence],
    extend: Callable | None = None,
) -> list[CodingModel]:  # fmt: skip
    """Return the transcripts of GFF3 whose features of a type name their ``Parent``.

    `extend` receives a record's codes and its exons with their strand, and returns exons.
    """
    parts = defaultdict(list)
    for fields in (line.rstrip("\n").split("\t") for line in lines):
        if len(fields) == 9 and fields[2] == feature:
            parent = dict(item.split("=", 1) for item in fields[8].split(";"))["Parent"]
            exon = fields[6], int(fields[3]) - 1, int(fields[4])
            parts[fields[0], parent].append(exon)
    found = []
    for (record, _), exons in parts.items():
        exons = extend(codes[record].codes, sorted(exons)) if extend else sorted(exons)
        found.append(CodingModel(record, exons[0][0], tuple(e[1:] for e in exons)))
    return found
