"""The page of a gene set: its numbers, tables, and figures of genes."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from gpu_tools.errors import counted
from gpu_tools.formats.files import open_output
from gpu_tools.report import models
from gpu_tools.report.files import address
from gpu_tools.report.findings import DrawnLocus, Findings
from gpu_tools.report.gene_charts import charts_of
from gpu_tools.report.gene_set import BROKEN, MODELS, STATES, GeneSetFindings
from gpu_tools.report.page import (
    MOST_ROWS,
    Card,
    Column,
    Table,
    loci_data,
    page_data,
    page_template,
)
from gpu_tools.report.run_facts import run_facts

_COLUMNS = {
    "gene": Column("gene"), "target": Column("target"), "kind": Column("kind"),
    "description": Column("description"),
    "length": Column("length", True), "found": Column("found"), "loci": Column("loci", True),
    "record": Column("record"), "strand": Column("strand"), "start": Column("start", True),
    "end": Column("end", True), "mrnas": Column("mRNAs", True), "exons": Column("exons", True),
    "best_target": Column("best target"), "score": Column("score", True),
    "evalue": Column("E-value", True, None),
    "nucleotides": Column("identity of nucleotides", True, 1, "%"),
    "residues": Column("identity of amino acids", True, 1, "%"),
    "coverage": Column("coverage", True, 1, "%"), "accepted": Column("accepted"),
    "frameshifts": Column("frameshifts", True),
    "inner_stops": Column("stop codons inside", True),
    "min_confidence": Column("least confidence of an intron", True),
    "seen_introns": Column("introns that were seen", True),
}  # fmt: skip
"""Columns of the tables, by the names that the files have; identities are two columns."""
_FILES = ("*.gff3", "*.tsv", "*.fa", "*.json")


class GenePage(NamedTuple):
    """A gene set, the genes of it that have a figure, and what their figures are made of."""

    findings: GeneSetFindings
    drawn: list[DrawnLocus]
    sources: Findings

    def figures(self) -> dict[str, dict]:
        """Return all figures by name, as Vega-Lite that needs nothing else."""
        own = {f"gene_{x.name}": models.locus_figure(x, self.sources) for x in self.drawn}
        return charts_of(self.findings) | own


def write_gene_page(path: str | Path, title: str, page: GenePage) -> None:
    """Write the page of a gene set."""
    text = page_template("gene_set.html").render(_content(Path(path), title, page))
    with open_output(path) as stream:
        stream.write(text)


def _content(path: Path, title: str, page: GenePage) -> dict:
    findings, linked = page.findings, {locus.name for locus in page.drawn}
    tables = {"genes": genes_table(findings, linked), "targets": targets_table(findings, linked)}
    files = sorted(file for kind in _FILES for file in findings.folder.glob(kind))
    loci = loci_data(page.drawn, page.sources)
    links = {name: f"locus/{name}" for name in linked}
    charts = charts_of(findings, lambda gene: links.get(gene, ""))
    return page_data(charts, tables, **loci) | {
        "title": title, "cards": gene_cards(findings), "source": findings.folder,
        "run": run_facts(findings.folder / MODELS, findings.summary),
        "splice_sites": page.sources.sequences, "n_drawn": len(page.drawn),
        "junctions": page.sources.junctions is not None,
        "n_genes": len(findings.structures.transcripts),
        "files": [(file.name, address(file, path)) for file in files],
    }  # fmt: skip


def gene_cards(findings: GeneSetFindings) -> list[Card]:
    """Return the numbers of the first page."""
    summary, introns = findings.summary, len(findings.intron_lengths)
    usual = summary.get("introns", {}).get("GT-AG", 0)
    part = sum(row.get("accepted") == "part" for row in findings.targets)
    genes, *name = counted(len(findings.genes), "gene").split()
    cards = [
        Card(genes, *name, f"in {_searched(findings)}"),
        Card(
            f"{len(findings.found):,} of {len(findings.targets):,}",
            "targets have a gene",
            f"and {part:,} a part of one" if part else "",
        ),
        Card(f"{len(findings.exon_lengths):,}", "exons", f"and {counted(introns, 'intron')}"),
    ]
    if introns and usual:
        cards.append(Card(f"{100 * usual / introns:.1f} %", "GT-AG introns"))
    if "complete" in summary:
        cards.append(Card(f"{summary['complete']:,}", "genes from start to stop codon"))
    broken, pseudogenes, dropped = (summary.get(name, 0) for name in BROKEN)
    if broken or dropped:
        notes = [counted(pseudogenes, "pseudogene")] if pseudogenes else []
        notes += [f"{counted(dropped, 'hit')} with such left out"] if dropped else []
        cards.append(
            Card(f"{broken:,}", "mRNAs with frameshifts or stop codons inside", ", ".join(notes))
        )
    if findings.conserved:
        total = sum(findings.conserved.values())
        complete = sum(findings.conserved[state] for state in STATES[:2])
        cards.append(Card(f"{complete:,} of {total:,}", "conserved families are complete"))
    return cards


def _searched(findings: GeneSetFindings) -> str:
    """Return how much was searched, and of what."""
    parts = findings.searched
    size = models.length(sum(part.end - part.start for part in parts))
    if findings.summary.get("parts"):
        return f"{size} searched, {counted(len(parts), 'part')} of records"
    return f"{size} searched, {counted(len(parts), 'record')}"


def genes_table(findings: GeneSetFindings, linked: Collection[str]) -> Table:
    """Return the table of genes; those that are drawn have a link."""
    kinds = {row["target"]: row["kind"] for row in findings.targets}
    rows = [_with_identities(row, kinds.get(row["best_target"])) for row in findings.genes]
    return _table(rows, "gene", linked)


def targets_table(findings: GeneSetFindings, linked: Collection[str]) -> Table:
    """Return the table of targets; those of genes that are drawn have a link."""
    return _table(
        [_with_identities(row, row["kind"]) for row in findings.targets], "gene", linked
    )  # fmt: skip


def _with_identities(row: dict, kind: str | None) -> dict:
    """Return a row with identity in the column of what is compared, description by the name."""
    found = {}
    for name, text in row.items():
        if name == "description":
            continue
        if name == "identity":
            own = "residues" if kind == "protein" else "nucleotides"
            found |= {"nucleotides": None, "residues": None} | {own: text}
        else:
            found[name] = text
        if name in ("target", "best_target"):
            found["description"] = row.get("description")
    return found


def _table(rows: list[dict], key: str, linked: Collection[str]) -> Table:
    """Return rows of texts as a table of the page, without columns that are empty."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    shown = rows[:MOST_ROWS]
    values = [
        [float(row[name]) if row[name] and _COLUMNS[name].numeric else row[name] for name in names]
        for row in shown
    ]
    links = [f"locus/{row.get(key)}" if row.get(key) in linked else "" for row in shown]
    return Table([_COLUMNS[name] for name in names], values, links, len(rows))
