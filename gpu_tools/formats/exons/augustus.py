"""Exons that AUGUSTUS prints, with the posterior probabilities of its sampling."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable

from gpu_tools.formats.exons.collect import ExonCollector, exon_type_code
from gpu_tools.formats.exons.gff import Feature, features
from gpu_tools.model.exon_set import ExonSet

TYPES = {"initial": "Init", "internal": "Intr", "terminal": "Term", "single": "Sngl"}
"""Exon types by the names that AUGUSTUS gives them under ``--exonnames=on``."""
_OTHER_FEATURES = ("gene", "transcript")


def parse_augustus(path: str | os.PathLike, lines: Iterable[tuple[int, str]]) -> ExonSet:
    """Return the exons of the one sequence that AUGUSTUS was run on.

    AUGUSTUS prints an exon in every transcript that has it, each time with the same probability;
    here it is returned once. The probabilities of its reading frames, which exclude each other,
    are added. Exons are sorted by strand (+ first), start, end and type; scores are 0.

    Raises
    ------
    InputError
        For a line that is neither a gene, a transcript nor an exon with a probability.
    """
    by_frame = {}
    for feature in features(path, lines):
        by_frame |= _exon(feature)
    totals = defaultdict(float)
    for (*exon, _), probability in by_frame.items():
        totals[tuple(exon)] += probability
    collector = ExonCollector()
    for reverse, start, end, code in sorted(totals):
        total = min(round(totals[reverse, start, end, code], 6), 1.0)
        collector.add("", (start, end), reverse, 0.0, code, total)
    return collector.sets().get("", ExonSet.empty())


def _exon(feature: Feature) -> dict[tuple, float]:
    """Return the probability of an exon by strand, interval, type and frame; {} for no exon."""
    location = feature.location
    if feature.type in _OTHER_FEATURES:
        return {}
    if feature.type not in TYPES:
        raise location.error(f"unknown feature {feature.type!r}", ", ".join(TYPES))
    if feature.score == ".":
        raise location.error("an exon without a probability", "0 to 1, from sampling")
    exon = (location.strand(feature.strand), *feature.interval, exon_type_code(TYPES[feature.type]))
    return {(*exon, feature.phase): location.probability(feature.score)}
