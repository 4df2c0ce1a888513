"""Rows of the tables of gene sets."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.rows import Row


def gene_sets(figures: dict) -> Iterator[Row]:
    """Yield a row a data set, identity and method: F1 of each level, loci, processor's time."""
    for row in (row for name, row in figures.items() if name.startswith("identity")):
        size = f"{row['data']}, {row['nucleotides'] / 1e6:g} Mb, {row['proteins']} proteins"
        scores = (f"{row[level]['f1']:.3f}" for level in ("exon", "chain", "locus"))
        found = f"{row['locus']['found']} of {row['locus']['truth']}"
        yield f"{size} at {row['identity']} %: {row['method']}", *scores, found
