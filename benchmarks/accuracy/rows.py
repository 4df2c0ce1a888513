"""Rows of the tables of accuracy and credibility, made of the figures of their records."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.accuracy.comparison import genome_rows
from benchmarks.formatting import Row

FLANKS = "gene", "1 kb", "3 kb", "100 kb", "whole piece"


def accuracy(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 by divergence."""
    rows = [row for row in figures["accuracy"] if row["mutations"] == "uniform"]
    for method in dict.fromkeys(row["method"] for row in rows):
        own = {row["divergence"]: row for row in rows if row["method"] == method}
        values = (f"{own[d]['exon_f1']:.3f}" for d in (5, 15, 25, 35, 45, 50))
        yield f"{method} ({own[5]['genes']} genes)", *values


def accuracy_genome(figures: dict, left_out: Row = ("gene", "1 kb")) -> Iterator[Row]:
    """Yield a row a data set, base and method: exon F1 by divergence, whole genes at 5 %."""
    rows, divergences = genome_rows(figures), (0, 5, 15, 25, 35, 45)
    for data, base, method in sorted({(r["data"], r["base"], r["method"]) for r in rows}):
        own = {r["divergence"]: r for r in rows if (r["data"], r["base"]) == (data, base)
               and r["method"] == method}  # fmt: skip
        if base in left_out or not own:
            continue
        values = (f"{own[d]['exon_f1']:.3f}" if d in own else "" for d in divergences)
        whole = f"{own[5]['whole']} of {own[5]['transcripts']}" if 5 in own else ""
        yield f"{data}, {base}: {method}", *values, whole


def accuracy_flanks(figures: dict) -> Iterator[Row]:
    """Yield a row a data set: targets, and exon F1 by base."""
    rows = genome_rows(figures)
    for data in dict.fromkeys(row["data"] for row in rows):
        own = {row["base"]: row for row in rows if row["data"] == data}
        values = (f"{own[base]['exon_f1']:.4f}" for base in FLANKS)
        first = own[FLANKS[0]]
        yield f"{data}, {first['divergence']} %", f"{first['transcripts']:,}", *values


def accuracy_species(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 by locus and target; before them genes and exons."""
    rows = figures["species"]
    own = {(row["method"], row["locus"], row["target"]): row for row in rows}
    pairs = dict.fromkeys((row["locus"], row["target"]) for row in rows)
    pairs = sorted(pairs, key=lambda pair: pair[0] != "human")
    first = [own[rows[0]["method"], *pair] for pair in pairs]
    yield "locus", *(row["locus"] for row in first)
    yield "target, identity", *(f"{row['target']}, {row['identity']:.2f}" for row in first)
    yield "genes, exons", *(f"{row['genes']}, {row['exons']}" for row in first)
    for method in dict.fromkeys(row["method"] for row in rows):
        yield method, *(f"{own[method, *pair]['exon_f1']:.3f}" for pair in pairs)


def accuracy_vertebrates(figures: dict) -> Iterator[Row]:
    """Yield a row a species and reading: exon F1 by divergence."""
    rows = [row for row in figures["vertebrates"] if row["mutations"] == "uniform"]
    for species, method in dict.fromkeys((row["species"], row["method"]) for row in rows):
        own = [r for r in rows if (r["species"], r["method"]) == (species, method)]
        name = f"{species}, coding" if method.endswith("coding") else species
        counts = f"{own[0]['genes']}, {own[0]['exons']}"
        yield name, counts, *(f"{row['exon_f1']:.3f}" for row in own)


def accuracy_fragments(figures: dict) -> Iterator[Row]:
    """Yield three rows for each treatment of ends: inner edges, outer ends, by divergence."""
    rows = figures["fragments"]
    kinds = {
        "acceptors and donors": "inner_f1",
        "outer ends, exact": "outer_within_0",
        "outer ends, within 10": "outer_within_10",
    }
    for ends in dict.fromkeys(row["ends"] for row in rows):
        for name, key in kinds.items():
            yield f"`{ends}`", name, *(f"{r[key]:.3f}" for r in rows if r["ends"] == ends)


def chains(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 by divergence, seconds a gene at 25 %."""
    rows = figures["chains"]
    for method in dict.fromkeys(row["method"] for row in rows):
        own = {row["divergence"]: row for row in rows if row["method"] == method}
        values = (f"{own[d]['exon_f1']:.3f}" for d in (15, 25, 35))
        yield method, *values, f"{own[25]['seconds_a_gene']:.3f}"


def credibility(figures: dict) -> Iterator[Row]:
    """Yield a row a setting: how many shuffled and true targets pass E-values of three sizes."""
    for row in (row for rows in figures.values() for row in rows):
        weight = row["exon_weight"]
        mode = f"`{row['sites']}`" if row["sites"] else f"list mode, exon weight {weight:g}"
        coding = {"any": "", "complete": ", `--coding`", "incomplete": ", `--incomplete`"}
        counts = (
            f"{number:,}" for kind in ("shuffled", "true")
            for name, number in row.items() if name.startswith(kind)
        )  # fmt: skip
        yield f"{mode}{coding[row['reading']]}, `{row['ends']}`", *counts


def protein_credibility(figures: dict) -> Iterator[Row]:
    """Yield a row a data set and setting, as `credibility` does."""
    names = {"fly2L": "fly", "at": "Arabidopsis"}
    for key, each in figures.items():
        (found,) = each
        for setting, *counts in credibility({key: each}):
            yield f"{names.get(found['data'], found['data'])}: {setting}", *counts


def _protein_methods(rows: list[dict], column, columns: tuple) -> Iterator[Row]:
    """Yield a row a method and base: exon F1 by column, empty where it was not measured."""
    for base, method in sorted({(r["base"], r["method"]) for r in rows}, reverse=True):
        own = {column(r): r for r in rows if (r["base"], r["method"]) == (base, method)}
        yield (
            f"{base}: {method}",
            *(f"{own[c]['exon_f1']:.3f}" if c in own else "" for c in columns),
        )


def proteins_identity(figures: dict) -> Iterator[Row]:
    """Yield a row a data set, setting, base and method: exon F1 by identity."""
    every = [row for name, row in figures.items() if name.startswith("identity")]
    for data, gaps in dict.fromkeys((row["data"], row["gaps"]) for row in every):
        rows = [row for row in every if (row["data"], row["gaps"]) == (data, gaps)]
        title = f"{data}, with gaps" if gaps else data
        for name, *values in _protein_methods(rows, lambda r: r["identity"], (100, 80, 60, 40, 30)):
            yield f"{title}, {name}", *values


def proteins_homologs(figures: dict) -> Iterator[Row]:
    """Yield a row a pair of genome and protein's source: exon F1 by method."""
    methods = "gpu-tools", "spaln", "miniprot", "exonerate", "genewise"
    every = [r for name, r in figures.items() if name.startswith(("species", "kogs"))]
    for base, locus, target in dict.fromkeys((r["base"], r["locus"], r["target"]) for r in every):
        own = {r["method"]: r for r in every
               if (r["base"], r["locus"], r["target"]) == (base, locus, target)}  # fmt: skip
        first = next(iter(own.values()))
        values = (f"{own[m]['exon_f1']:.3f}" if m in own else "" for m in methods)
        name = f"{target} on {locus}, {base}"
        yield name, f"{first['proteins']}, {first['exons']}", *values


def proteins_short(figures: dict) -> Iterator[Row]:
    """Yield a row a data set and method: exons of at most 15 nucleotides that are right."""
    for row in (row for name, row in figures.items() if name.startswith("short")):
        pairs = (row["lengths"].get(f"{place}, to 15", (0, 0)) for place in PLACES)
        counts = (f"{right} of {total}" for right, total in pairs)
        yield f"{row['data']}: {row['method']}", *counts, f"{row['exon_f1']:.3f}"


PLACES = "first", "internal", "last"
