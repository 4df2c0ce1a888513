"""Rows of the tables of docs/guide/compare.md: gpu-tools beside other programs on equal inputs."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median

from benchmarks.formatting import Row

OWN = {
    "gpu-tools site mode, free target ends, sample": "gpu-tools",
    "gpu-tools site mode, sample": "gpu-tools, `--ends global`",
    "gpu-tools site mode, coding, sample": "gpu-tools, `--ends global --coding`",
}
"""Names of settings by the names in the record: those that have the same genes as the others."""
OWN_PROTEINS = {"data": "at", "gaps": False, "base": "whole piece"}
"""Proteins of which all programs have all identities."""
DIVERGENCES = (5, 15, 25, 35, 45)


def named(rows: list[dict], own: dict[str, str] = OWN) -> dict[str, list[dict]]:
    """Return the rows of each method by its name in the table, gpu-tools first."""
    others = {r["method"]: r["method"] for r in rows if not r["method"].startswith("gpu-tools")}
    names = own | others
    return {names[m]: [r for r in rows if r["method"] == m] for m in names}


def cdnas(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 by divergence on the same genes, and seconds a gene."""
    rows = [row for row in figures["accuracy"] if row["mutations"] == "uniform"]
    for name, own in named(rows).items():
        by_divergence = {row["divergence"]: row for row in own}
        values = (f"{by_divergence[d]['exon_f1']:.3f}" for d in DIVERGENCES)
        yield name, *values, f"{median(row['seconds_a_gene'] for row in own):.3f}"


def genome_rows(figures: dict) -> list[dict]:
    """Return the rows of a record of `genome`: of one run, or of several that are one record."""
    parts = (own if isinstance(own, list) else [own] for own in figures.values())
    return [row for own in parts for row in own]


def of_identities(figures: dict) -> dict[str, list[dict]]:
    """Return the rows of each method on own proteins of Arabidopsis, by falling identity."""
    rows = [
        r for name, r in figures.items() if "identity" in name and r.items() >= OWN_PROTEINS.items()
    ]
    rows.sort(key=lambda row: (row["method"] != "gpu-tools", row["method"], -row["identity"]))
    return {row["method"]: [r for r in rows if r["method"] == row["method"]] for row in rows}


def identities(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 of own proteins by identity."""
    for method, rows in of_identities(figures).items():
        yield method, *(f"{row['exon_f1']:.3f}" for row in rows)


def proteins(figures: dict) -> Iterator[Row]:
    """Yield a row a method: mean exon F1 of homologous proteins, and processor's seconds."""
    rows = [r for name, r in figures.items() if name.startswith(("species", "kogs"))]
    groups = (("whole piece", False), ("gene and 3 kb, sample", False), ("whole piece", True))
    for method in dict.fromkeys(row["method"] for row in rows):
        values, seconds = [], ""
        for base, far in groups:
            own = [r for r in rows if (r["base"], r["method"]) == (base, method)
                   and (r["locus"] == "fly2L") == far and r["locus"] != "at"]  # fmt: skip
            values.append(f"{mean(r['exon_f1'] for r in own):.3f}" if own else "")
            if (base, far) == groups[1]:
                seconds = f"{mean(r['processor_seconds'] / r['proteins'] for r in own):.3f}"
        yield method, *values, seconds
