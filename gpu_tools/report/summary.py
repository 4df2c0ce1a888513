"""What was found, in numbers."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from gpu_tools.report.findings import Findings
from gpu_tools.report.loci import DrawnLocus


class Card(NamedTuple):
    """A number of the first page, with its meaning."""

    number: str
    meaning: str
    note: str = ""


def cards(findings: Findings, loci: list[DrawnLocus]) -> list[Card]:
    """Return the numbers of the first page.

    Parameters
    ----------
    findings : Findings
    loci : list of DrawnLocus
        Those of these findings.

    Returns
    -------
    list of Card
    """
    accepted = findings.accepted
    bases = {row.fields["base"] for row in findings.rows}
    targets = {row.alignment.target for row in findings.rows}
    placed = {row.alignment.target for row in accepted}
    found = {row.fields["base"] for row in accepted}
    models = [locus.best for locus in loci if locus.accepted]
    exons = sum(row.alignment.n_chain for row in models)
    return [
        Card(f"{len(found):,} of {len(bases):,}", "loci searched have a gene model"),
        Card(f"{len(placed):,} of {len(targets):,}", "targets have a locus"),
        Card(f"{len(accepted):,}", "accepted", f"of {counted(len(findings.rows), 'alignment')}"),
        Card(f"{exons:,}", "exons", f"in {counted(len(models), 'best model')}"),
        *_identity(models), *_accuracy(findings), *_time(findings),
    ]  # fmt: skip


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number of things in words."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _identity(models) -> list[Card]:
    found = [
        float(row.fields["identity"]) for row in models if row.fields.get("identity", ".") != "."
    ]
    return (
        [Card(f"{100 * median(found):.0f} %", "median identity", "of best models")] if found else []
    )


def _accuracy(findings: Findings) -> list[Card]:
    total = [
        row for row in findings.accuracy
        if row["base"] is None and row["level"] == "exon" and row["exons"] == "chain" and row["f1"]
    ]  # fmt: skip
    best = max(total, key=lambda row: float(row["f1"]), default=None)
    if best is None:
        return []
    sensitivity, precision = (100 * float(best[name] or 0) for name in ("sensitivity", "precision"))
    note = f"{precision:.0f} % of chosen ones are annotated ({best['method']})"
    return [Card(f"{sensitivity:.0f} %", "of annotated exons found exactly", note)]


def _time(findings: Findings) -> list[Card]:
    cells = sum(int(row.fields.get("cells", 0)) for row in findings.rows)
    seconds = sum(job.seconds for job in findings.jobs)
    note = f"in {seconds:,.0f} s of alignment jobs" if seconds else "of the matrices"
    return [Card(_large(cells), "cells", note)] if cells else []


def _large(number: int) -> str:
    """Return a number with a word for its power of ten, on one line."""
    for power, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= power:
            return f"{number / power:,.3g}\N{NO-BREAK SPACE}{word}"
    return f"{number:,}"


def times(findings: Findings) -> str:
    """Return what the time model expects of the cases and jobs, in a sentence or two.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    str
        Empty without a table of spliced-estimate.
    """
    cases = findings.parallelism.cases
    if not cases:
        return ""
    listed, of_sites = (
        int(sum(case.numbers[name] for case in cases)) for name in ("cells", "site_cells")
    )
    parts = [f"{_large(listed)} cells of candidates"] if listed else []
    parts.append(f"{_large(of_sites)} cells of site mode")
    told = f"{counted(len(cases), 'case')}: {', '.join(parts)}."
    jobs = [job for job in findings.jobs if job.estimated is not None]
    if not jobs:
        return told
    estimated, busy = sum(job.estimated for job in jobs), sum(job.busy_seconds for job in jobs)
    return (
        f"{told} The time model expects {estimated:.2g} s of alignment in "
        f"{counted(len(jobs), 'job')}, which took {busy:,.1f} s with all that they do beside it."
    )
