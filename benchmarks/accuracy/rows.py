"""Rows of the tables of accuracy and credibility, made of the figures of their records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from benchmarks.accuracy.comparison import genome_rows
from benchmarks.formatting import Row

FLANKS = "gene", "1 kb", "3 kb", "100 kb", "whole piece"


def _groups(rows: list[dict], *names: str) -> dict[tuple, list[dict]]:
    """Return the rows by the values of some entries, in their order."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def _f1(rows: list[dict], name: str, columns: Iterable) -> Iterator[str]:
    """Yield exon F1 by the value of an entry, nothing where it was not measured."""
    own = {row[name]: f"{row['exon_f1']:.3f}" for row in rows}
    return (own.get(column, "") for column in columns)


def accuracy(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 by divergence."""
    rows = [row for row in figures["accuracy"] if row["mutations"] == "uniform"]
    for (method,), own in _groups(rows, "method").items():
        values = _f1(own, "divergence", (5, 15, 25, 35, 45, 50))
        yield f"{method} ({own[0]['genes']} genes)", *values


def accuracy_genome(figures: dict, left_out: Row = ("gene", "1 kb")) -> Iterator[Row]:
    """Yield a row a data set, base and method: exon F1 by divergence, whole genes at 5 %."""
    groups = _groups(genome_rows(figures), "data", "base", "method")
    for (data, base, method), own in sorted(groups.items(), key=lambda group: group[0]):
        if base not in left_out:
            whole = {r["divergence"]: f"{r['whole']} of {r['transcripts']}" for r in own}
            values = _f1(own, "divergence", (0, 5, 15, 25, 35, 45))
            yield f"{data}, {base}: {method}", *values, whole.get(5, "")


def accuracy_flanks(figures: dict) -> Iterator[Row]:
    """Yield a row a data set: targets, and exon F1 by base."""
    for (data,), rows in _groups(genome_rows(figures), "data").items():
        own = {row["base"]: f"{row['exon_f1']:.4f}" for row in rows}
        name = f"{data}, {rows[0]['divergence']} %"
        yield name, f"{rows[0]['transcripts']:,}", *(own[base] for base in FLANKS)


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
    for (species, method), own in _groups(rows, "species", "method").items():
        name = f"{species}, coding" if method.endswith("coding") else species
        counts = f"{own[0]['genes']}, {own[0]['exons']}"
        yield name, counts, *(f"{row['exon_f1']:.3f}" for row in own)


def accuracy_fragments(figures: dict) -> Iterator[Row]:
    """Yield three rows for each treatment of ends: inner edges, outer ends, by divergence."""
    kinds = {
        "acceptors and donors": "inner_f1", "outer ends, exact": "outer_within_0",
        "outer ends, within 10": "outer_within_10",
    }  # fmt: skip
    for (ends,), own in _groups(figures["fragments"], "ends").items():
        for name, key in kinds.items():
            yield f"`{ends}`", name, *(f"{row[key]:.3f}" for row in own)


def chains(figures: dict) -> Iterator[Row]:
    """Yield a row a method: exon F1 by divergence, seconds a gene at 25 %."""
    for (method,), rows in _groups(figures["chains"], "method").items():
        (slow,) = (row["seconds_a_gene"] for row in rows if row["divergence"] == 25)
        yield method, *_f1(rows, "divergence", (15, 25, 35)), f"{slow:.3f}"


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


def proteins_identity(figures: dict) -> Iterator[Row]:
    """Yield a row a data set, setting, base and method: exon F1 by identity."""
    every = [row for name, row in figures.items() if name.startswith("identity")]
    for (data, gaps), rows in _groups(every, "data", "gaps").items():
        title = f"{data}, with gaps" if gaps else data
        groups = _groups(rows, "base", "method").items()
        for (base, method), own in sorted(groups, key=lambda group: group[0], reverse=True):
            yield f"{title}, {base}: {method}", *_f1(own, "identity", (100, 80, 60, 40, 30))


def proteins_homologs(figures: dict) -> Iterator[Row]:
    """Yield a row a pair of genome and protein's source: exon F1 by method."""
    methods = "gpu-tools", "spaln", "miniprot", "exonerate", "genewise"
    every = [r for name, r in figures.items() if name.startswith(("species", "kogs"))]
    for (base, locus, target), own in _groups(every, "base", "locus", "target").items():
        counts = f"{own[0]['proteins']}, {own[0]['exons']}"
        yield f"{target} on {locus}, {base}", counts, *_f1(own, "method", methods)


def proteins_short(figures: dict) -> Iterator[Row]:
    """Yield a row a data set and method: exons of at most 15 nucleotides that are right."""
    for row in (row for name, row in figures.items() if name.startswith("short")):
        pairs = (row["lengths"].get(f"{place}, to 15", (0, 0)) for place in PLACES)
        counts = (f"{right} of {total}" for right, total in pairs)
        yield f"{row['data']}: {row['method']}", *counts, f"{row['exon_f1']:.3f}"


PLACES = "first", "internal", "last"
