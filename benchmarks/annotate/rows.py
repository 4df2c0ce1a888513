"""Rows of the tables of gene sets."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.formatting import Row


def gene_sets(figures: dict) -> Iterator[Row]:
    """Yield a row a data set, identity and method: F1 of each level, loci, processor's time."""
    for row in (row for name, row in figures.items() if name.startswith("identity")):
        size = f"{row['data']}, {row['nucleotides'] / 1e6:.3g} Mb, {row['proteins']} proteins"
        scores = (f"{row[level]['f1']:.3f}" for level in ("exon", "chain", "locus"))
        found = f"{row['locus']['found']} of {row['locus']['truth']}"
        yield f"{size} at {row['identity']} %: {row['method']}", *scores, found


def conserved(figures: dict) -> Iterator[Row]:
    """Yield a row a source of proteins and method: right of the exons, chains and loci found."""
    for row in (row for name, row in figures.items() if name.startswith("kogs")):
        right = (
            f"{round(row[level]['precision'] * row[level]['found'])} of {row[level]['found']}"
            for level in ("exon", "chain", "locus")
        )
        scores = (f"{row[level]['f1']:.3f}" for level in ("exon", "chain", "locus"))
        yield f"{row['source']}, {row['proteins']} proteins: {row['method']}", *right, *scores


def references(figures: dict) -> Iterator[Row]:
    """Yield a row a set of proteins: loci, those outside of true ones, and mRNAs."""
    for row in (row for name, row in figures.items() if name.startswith("references")):
        name = f"{row['data']}: {' and '.join(row['sources'])}, {row['proteins']} proteins"
        yield name, str(row["loci"]), str(row["outside"]), str(row["mrnas"])
    for row in (row for name, row in figures.items() if name.startswith("shuffled")):
        name = f"{row['data']}: residues in random order, {row['proteins']} proteins, E = 0.01"
        yield name, str(row["loci"]), "", ""


def memory(figures: dict) -> Iterator[Row]:
    """Yield a row a genome: the peaks of a seeded run and of a part, and the planned sum."""
    parts = {name.split()[2]: row for name, row in figures.items() if name.startswith("exhaus")}
    for name, row in figures.items():
        kind, size = name.split()[:2]
        if kind == "seeded":
            peaks = row, parts.get(size, {})
            whole, part = (_megabytes(own.get("peak_megabytes")) for own in peaks)
            planned = _megabytes(row["planned_megabytes"])
            yield f"{int(size.replace(',', '')) / 1e6:g} Mb", whole, planned, part


def speed(figures: dict) -> Iterator[Row]:
    """Yield a row a program: elapsed and processor's time, memory, and what it finds."""
    for name, row in figures.items():
        if "peak_megabytes" in row:
            times = (f"{row[key]:.0f} s" for key in ("seconds", "processor_seconds"))
            found = (f"{row[key]:,}" for key in ("transcripts", "loci", "outside"))
            true = f"{row['true']} of {row['true_loci']}"
            yield name, *times, _megabytes(row["peak_megabytes"]), *found, true


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value:,} MB"
