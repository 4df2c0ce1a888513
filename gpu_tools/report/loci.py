"""Loci of the report: accepted chains of a base that overlap, with what else lies there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpu_tools.formats.scores import ScoredRow
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.loci import interval_of
from gpu_tools.report.findings import Findings, Interval, is_accepted, method_of

MOST_TARGETS = 12
"""Targets of a method that are drawn at a locus."""
MARGIN = 500
"""Nucleotides beside the chains in which candidates and annotation are shown, at most."""


class DrawnLocus(NamedTuple):
    """A place on a record, and the chains there.

    `name` is the base's; of several loci on a base it also says where: ``RECORD:START-END``.
    `interval` reaches from the first to the last nucleotide of the chains, 0-based half-open.
    `rows` are chains by method in the order of the table, then by falling score; `omitted` chains
    of lower scores are left out. A base without any accepted chain has each method's best one.
    """

    name: str
    base: str
    record: str
    interval: Interval
    rows: list[ScoredRow]
    omitted: int
    accepted: bool

    @property
    def best(self) -> ScoredRow:
        """The chain of the lowest E-value, of equal ones the first."""
        return min(self.rows, key=rank)

    @property
    def shown(self) -> Interval:
        """The interval in which candidates and annotation are shown."""
        start, end = self.interval
        margin = min(MARGIN, (end - start) // 10 + 50)
        return max(0, start - margin), end + margin

    def within(self, sets: dict[str, ExonSet]) -> ExonSet:
        """Return the exons of the locus's record that lie in what is shown."""
        exons = sets.get(self.record, ExonSet.empty())
        start, end = self.shown
        return exons.take((exons.starts >= start) & (exons.ends <= end))


def rank(row: ScoredRow) -> tuple[float, float]:
    """Return how good a chain is, the smallest first: its E-value, then its score."""
    evalue = row.alignment.evalue
    return float("inf") if evalue is None else evalue, -(row.alignment.score or 0)


def drawn_loci(findings: Findings) -> list[DrawnLocus]:
    """Return the loci of all bases with a chain."""
    methods = findings.methods
    bases: dict[str, list[ScoredRow]] = {}
    for row in findings.rows:
        bases.setdefault(row.fields["base"], [])
        if row.alignment.chain:
            bases[row.fields["base"]].append(row)
    return [locus for rows in bases.values() if rows for locus in _of_base(rows, methods)]


def drawn_bases(findings: Findings) -> list[DrawnLocus]:
    """Return all chains of each base as one locus."""
    bases: dict[str, list[ScoredRow]] = {}
    for row in findings.rows:
        if row.alignment.chain:
            bases.setdefault(row.fields["base"], []).append(row)
    return [_locus(rows, findings.methods, MOST_TARGETS, whole=True) for rows in bases.values()]


def _of_base(rows: list[ScoredRow], methods: list[str]) -> list[DrawnLocus]:
    accepted = [row for row in rows if is_accepted(row)]
    if not accepted:
        best = min(rows, key=rank)
        near = [row for row in rows if overlap(_interval(row), _interval(best))]
        return [_locus(near, methods, 1, whole=True)]
    groups = clusters(accepted)
    return [_locus(group, methods, MOST_TARGETS, whole=len(groups) == 1) for group in groups]


def _locus(rows: list[ScoredRow], methods: list[str], most: int, whole: bool) -> DrawnLocus:
    drawn = [row for method in methods for row in _best_of(rows, method, most)]
    bounds = [_interval(row) for row in drawn]
    interval = min(start for start, _ in bounds), max(end for _, end in bounds)
    first = rows[0]
    record, base = first.alignment.base, first.fields["base"]
    place = f"{record}:{interval[0] + 1}-{interval[1]}"
    name = base if whole else place if base == record else f"{base} ({place})"
    accepted = is_accepted(first)
    omitted = len(rows) - len(drawn) if accepted else 0
    return DrawnLocus(name, base, record, interval, drawn, omitted, accepted)


def _best_of(rows: Iterable[ScoredRow], method: str, most: int) -> list[ScoredRow]:
    found = [row for row in rows if method_of(row) == method]
    return sorted(found, key=lambda row: -row.alignment.score)[:most]


def clusters(rows: Iterable[ScoredRow]) -> list[list[ScoredRow]]:
    """Return groups of chains that overlap, directly or through others, by their starts."""
    groups: list[list[ScoredRow]] = []
    end = -1
    for row in sorted(rows, key=_interval):
        start, last = _interval(row)
        if start >= end:
            groups.append([])
        groups[-1].append(row)
        end = max(end, last)
    return groups


def overlap(one: Interval, other: Interval) -> bool:
    """Return whether two intervals have a nucleotide in common."""
    return one[0] < other[1] and other[0] < one[1]


def _interval(row: ScoredRow) -> Interval:
    return interval_of(row.alignment)
