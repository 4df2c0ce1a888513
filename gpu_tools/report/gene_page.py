"""The page of a gene set: one HTML file that needs no other and no network."""

from __future__ import annotations

import json
from pathlib import Path

import vl_convert
from markupsafe import Markup

from gpu_tools.formats.files import open_output
from gpu_tools.model.resources import installed_version
from gpu_tools.report.files import address
from gpu_tools.report.gene_charts import charts_of
from gpu_tools.report.gene_set import STATES, GeneSetFindings
from gpu_tools.report.page import own_text, packed, page_template
from gpu_tools.report.summary import Card, counted
from gpu_tools.report.tables import MOST_ROWS, Column, Table

_NUMBERS = {
    "length": 0, "loci": 0, "start": 0, "end": 0, "mrnas": 0, "exons": 0, "score": 0,
    "evalue": None, "identity": 1, "coverage": 1,
}  # fmt: skip
"""Decimals of the columns that hold numbers."""
_FRACTIONS = ("identity", "coverage")
_FILES = ("*.gff3", "*.tsv", "*.fa", "*.json")


def write_gene_page(path: str | Path, title: str, findings: GeneSetFindings) -> None:
    """Write the page of a gene set.

    Parameters
    ----------
    path : path-like
    title : str
    findings : GeneSetFindings

    Raises
    ------
    OutputError
        If the page cannot be written.
    """
    page = page_template("gene_set.html")
    text = page.render(_content(Path(path), title, findings))
    with open_output(path) as stream:
        stream.write(text)


def _content(path: Path, title: str, findings: GeneSetFindings) -> dict:
    charts, folder = charts_of(findings), findings.folder
    tables = {"genes": _table(findings.genes), "targets": _table(findings.targets)}
    data = {
        "charts": charts, "loci": {}, "templates": {}, "pictures": {}, "chain_columns": [],
        "tables": {name: table.content for name, table in tables.items()},
    }  # fmt: skip
    files = sorted(file for kind in _FILES for file in folder.glob(kind))
    return {
        "title": title, "cards": gene_cards(findings), "charts": charts,
        "files": [(file.name, address(file, path)) for file in files], "source": folder,
        "version": installed_version(), "data": packed(json.dumps(data, separators=(",", ":"))),
        "bundle": packed(vl_convert.javascript_bundle()),
        "style": Markup(own_text("page.css")), "script": Markup(own_text("page.js")),
    }  # fmt: skip


def gene_cards(findings: GeneSetFindings) -> list[Card]:
    """Return the numbers of the first page."""
    summary, introns = findings.summary, len(findings.intron_lengths)
    usual = summary.get("introns", {}).get("GT-AG", 0)
    nucleotides = sum(findings.record_lengths.values())
    cards = [
        Card(f"{len(findings.genes):,}", "genes", f"in {nucleotides / 1e6:,.1f} Mb"),
        Card(f"{len(findings.found):,} of {len(findings.targets):,}", "targets have a gene"),
        Card(f"{len(findings.exon_lengths):,}", "exons", f"and {counted(introns, 'intron')}"),
    ]
    if introns and usual:
        cards.append(Card(f"{100 * usual / introns:.1f} %", "of introns are GT-AG"))
    if "complete" in summary:
        cards.append(Card(f"{summary['complete']:,}", "genes from start to stop codon"))
    if findings.conserved:
        total = sum(findings.conserved.values())
        complete = sum(findings.conserved[state] for state in STATES[:2])
        cards.append(Card(f"{complete:,} of {total:,}", "conserved families are complete"))
    return cards


def _table(rows: list[dict]) -> Table:
    """Return rows of texts as a table of the page."""
    names = list(rows[0]) if rows else []
    columns = [
        Column(name, name in _NUMBERS, _NUMBERS.get(name, 0), "%" if name in _FRACTIONS else "")
        for name in names
    ]
    values = [[_value(name, row[name]) for name in names] for row in rows[:MOST_ROWS]]
    return Table(columns, values, [""] * len(values), len(rows))


def _value(name: str, text: str | None) -> str | float | None:
    return float(text) if text is not None and name in _NUMBERS else text
