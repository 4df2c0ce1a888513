"""The page: one HTML file that needs no other and no network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import NamedTuple

import jinja2
import vl_convert
from markupsafe import Markup

from gpu_tools.errors import counted
from gpu_tools.formats.files import open_output
from gpu_tools.formats.matches import ScoredRow
from gpu_tools.formats.tables import MISSING
from gpu_tools.model.loci import interval_of
from gpu_tools.model.resources import installed_version
from gpu_tools.report import charts, models
from gpu_tools.report.files import address, linked_files, pictures
from gpu_tools.report.findings import (
    ALONE,
    SECONDS,
    CaseParallelism,
    DrawnLocus,
    Findings,
    Parallelism,
    description_of,
    drawn_loci,
    is_accepted,
    method_of,
    rank,
    ratio_of,
)
from gpu_tools.report.run_facts import run_facts

MOST_ROWS = 20_000
Value = str | float | int | None


class Column(NamedTuple):
    """A column: its title, whether it holds numbers, and how many decimals of them are shown.

    `unit` is ``%`` for fractions; `decimals` None is for numbers as they are, such as E-values. An
    `optional` column is left out where no row has a value.
    """

    title: str
    numeric: bool = False
    decimals: int | None = 0
    unit: str = ""
    optional: bool = False


class Table(NamedTuple):
    """A table of the page: a value a column in each row, and the part of the page it links to.

    An empty link is none. Of `total` rows there are, fewer may be listed.
    """

    columns: Sequence[Column]
    rows: list[list[Value]]
    links: list[str]
    total: int

    @property
    def content(self) -> dict:
        """What the page's script reads."""
        return {
            "columns": [column._asdict() for column in self.columns],
            "rows": self.rows, "links": self.links, "total": self.total,
        }  # fmt: skip


_IDENTITIES = ("identity", "identity of nucleotides", "identity of amino acids")
"""Of a method that is not known, of cDNAs, of proteins."""
_OF_CHAIN = (
    Column("target"), Column("description", optional=True), Column("method"), Column("strand"),
    Column("start", True), Column("end", True), Column("exons", True), Column("score", True),
    *(Column(title, True, 1, "%", optional=True) for title in _IDENTITIES),
    Column("coverage", True, 1, "%"), Column("E-value", True, None),
)  # fmt: skip
CASE_COLUMNS = (
    Column("locus"), *_OF_CHAIN, Column("accepted"), Column("rank", True, optional=True),
    Column("chain"),
)  # fmt: skip
"""Columns of the table of all cases, and of a locus's chains."""


def _of_chain(row: ScoredRow) -> list[Value]:
    found = row.alignment
    start, end = interval_of(found) if found.chain else (None, None)
    method = method_of(row)
    own = 0 if method == ALONE else 2 if method == "proteins" else 1
    identities = [ratio_of(row, "identity") if k == own else None for k in range(len(_IDENTITIES))]
    return [
        found.target, description_of(row), method, found.strand,
        None if start is None else start + 1, end, len(found.chain) or None, found.score,
        *identities, ratio_of(row, "coverage"), found.evalue,
    ]  # fmt: skip


def loci_table(loci: list[DrawnLocus], drawn: Collection[str]) -> Table:
    """Return a row a locus and method: its best chain there; loci that are drawn have a link."""
    found = [
        (locus, min(rows, key=rank), len(rows))
        for locus in loci
        if locus.accepted
        for rows in _by(locus.rows, method_of).values()
    ]
    more = Column("targets", True), Column("record", optional=True)
    columns = (Column("locus"), *_OF_CHAIN, *more)
    rows = [
        [locus.name, *_of_chain(row), n, None if locus.record == locus.base else locus.record]
        for locus, row, n in found
    ]
    links = [f"locus/{locus.name}" if locus.name in drawn else "" for locus, *_ in found]
    return Table(columns, rows, links, len(rows))


def _by(rows: Iterable[ScoredRow], key: Callable) -> dict[str, list[ScoredRow]]:
    groups: dict[str, list[ScoredRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def targets_table(findings: Findings, link: Callable[[ScoredRow], str]) -> Table:
    """Return a row a target: at how many loci it was accepted, and its best chain."""
    columns = (
        *_OF_CHAIN[:2], Column("length", True), Column("tried on", True),
        Column("accepted", True), Column("best locus"), *_OF_CHAIN[2:],
    )  # fmt: skip
    rows, links = [], []
    for found in _by(findings.rows, lambda row: row.alignment.target).values():
        chains = [row for row in found if row.alignment.chain]
        best = min(chains or found, key=lambda row: (not is_accepted(row), *rank(row)))
        bases = {row.fields["base"] for row in found}
        accepted = {row.fields["base"] for row in found if is_accepted(row)}
        own = _of_chain(best)
        rows.append([*own[:2], best.alignment.target_length, len(bases), len(accepted),
                     best.fields["base"], *own[2:]])  # fmt: skip
        links.append(link(best))
    return Table(columns, rows[:MOST_ROWS], links[:MOST_ROWS], len(rows))


def cases_table(findings: Findings, link: Callable[[ScoredRow], str]) -> Table:
    """Return a row a case and method, as the table of scores has them."""
    rows = findings.rows
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda row: not is_accepted(row))[:MOST_ROWS]
    values = [
        [row.fields["base"], *_of_chain(row), row.fields["accepted"],
         int(row.fields["rank"]) if row.fields.get("rank", "").isdecimal() else None,
         row.fields["chain"].replace(",", ", ")]
        for row in rows
    ]  # fmt: skip
    return Table(CASE_COLUMNS, values, [link(row) for row in rows], len(findings.rows))


def accuracy_table(findings: Findings) -> Table:
    """Return the table of accuracy, all loci together first."""
    columns = (
        Column("locus"), Column("method"), Column("exons"), Column("level"),
        Column("annotated", True), Column("predicted", True), Column("true", True),
        Column("sensitivity", True, 1, "%"), Column("precision", True, 1, "%"),
        Column("F1", True, 1, "%"),
    )  # fmt: skip
    ordered = sorted(findings.accuracy, key=lambda row: row["base"] is not None)
    counts, ratios = ("annotated", "predicted", "true"), ("sensitivity", "precision", "f1")
    rows = [
        [row["base"] or "all", row["method"], row["exons"], row["level"],
         *(int(row[name]) for name in counts),
         *(None if row[name] is None else float(row[name]) for name in ratios)]
        for row in ordered
    ]  # fmt: skip
    return Table(columns, rows, [""] * len(rows), len(rows))


def jobs_table(findings: Findings) -> Table:
    """Return a row an alignment job of the workflow."""
    columns = (
        Column("rule"), Column("batch"), Column("device"), Column("cases", True),
        Column("billion cells", True, 2),
        Column("seconds", True, 1), Column("billion cells a second", True, 2),
        Column("estimated (s)", True, 2), Column("memory (MiB)", True),
    )  # fmt: skip
    rows = [
        [job.rule, job.batch, job.device, job.cases, job.cells / 1e9, job.seconds,
         job.cells / 1e9 / job.seconds if job.seconds else None, job.estimated, job.mebibytes]
        for job in findings.jobs
    ]  # fmt: skip
    return Table(columns, rows, [""] * len(rows), len(rows))


def parallelism_table(found: Parallelism) -> Table:
    """Return a row a case: its candidates, what can run side by side, and how long it takes."""
    columns = (
        Column("locus"), Column("target"), Column("candidates", True),
        Column("million cells", True, 2), Column("computed", True, 0, "%"), Column("groups", True),
        Column("largest group", True), Column("longest chain", True),
        Column("million cells, sites", True, 2),
        *(Column(f"{mode}, {kind} (ms)", True, 2)
          for mode in ("candidates", "sites") for kind in ("CPU", "GPU")),
    )  # fmt: skip
    rows = [_of_case(case) for case in found.cases[:MOST_ROWS]]
    return Table(columns, rows, [""] * len(rows), len(found.cases))


def _of_case(case: CaseParallelism) -> list[Value]:
    own, cells = case.numbers, case.numbers["cells"]
    return [
        case.base, case.target, own["n_exons"], cells / 1e6,
        own["computed_cells"] / cells if cells else None, own["groups"], own["largest_group"],
        own["longest_chain"], own["site_cells"] / 1e6,
        *(1e3 * own[name] if name.startswith("site") or cells else None for name in SECONDS),
    ]  # fmt: skip


# Key figures


class Card(NamedTuple):
    """A number of the first page, with its meaning."""

    number: str
    meaning: str
    note: str = ""


def cards(findings: Findings, loci: list[DrawnLocus]) -> list[Card]:
    """Return the numbers of the first page."""
    accepted = findings.accepted
    bases, found = ({row.fields["base"] for row in rows} for rows in (findings.rows, accepted))
    targets, placed = ({row.alignment.target for row in rows} for rows in (findings.rows, accepted))
    models = [locus.best for locus in loci if locus.accepted]
    exons = sum(row.alignment.n_chain for row in models)
    return [
        Card(f"{len(found):,} of {len(bases):,}", "loci searched have a gene model"),
        Card(f"{len(placed):,} of {len(targets):,}", "targets have a locus"),
        Card(f"{len(accepted):,}", "accepted", f"of {counted(len(findings.rows), 'alignment')}"),
        Card(f"{exons:,}", "exons", f"in {counted(len(models), 'best model')}"),
        *_identity(models), *_accuracy(findings),
    ]  # fmt: skip


def _identity(models: list[ScoredRow]) -> list[Card]:
    found = [x for x in (ratio_of(row, "identity") for row in models) if x is not None]
    if not found:
        return []
    return [Card(f"{100 * median(found):.0f} %", "median identity", "of best models")]


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


def _cells(findings: Findings) -> str:
    """Return how many cells the matrices have in all, and what they took."""
    texts = (row.fields.get("cells", MISSING) for row in findings.rows)
    cells = sum(int(text) for text in texts if text != MISSING)
    seconds = sum(job.seconds for job in findings.jobs)
    return f"{_large(cells)} cells of matrices in {seconds:,.0f} s of these jobs" if cells else ""


def _large(number: int) -> str:
    """Return a number with a word for its power of ten, on one line."""
    for power, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= power:
            return f"{number / power:,.3g}\N{NO-BREAK SPACE}{word}"
    return f"{number:,}"


def times(findings: Findings) -> str:
    """Return what the time model expects of the cases and jobs, in a sentence or two."""
    cases = findings.parallelism.cases
    if not cases:
        return ""
    listed, of_sites = (
        int(sum(case.numbers[name] for case in cases)) for name in ("cells", "site_cells")
    )
    parts = [f"{_large(listed)} cells of candidates"] if listed else []
    parts.append(f"{_large(of_sites)} cells of site mode")
    text = f"{counted(len(cases), 'case')}: {', '.join(parts)}."
    jobs = [job for job in findings.jobs if job.estimated is not None]
    if not jobs:
        return text
    estimated, busy = sum(job.estimated for job in jobs), sum(job.busy_seconds for job in jobs)
    return (
        f"{text} The time model expects {estimated:.2g} s of alignment in "
        f"{counted(len(jobs), 'job')}, which took {busy:,.1f} s with all that they do beside it."
    )


_TEMPLATES = {"models": False, "candidates": True}
"""Templates of figures of loci by name: whether they have a panel of candidates."""


class Surroundings(NamedTuple):
    """What a page says and links to beside the findings.

    The page will be at `path`; `files` are further ones to link to, `session` is one of IGV, and
    `genome` says whether that names a genome.
    """

    path: Path
    title: str
    files: tuple[Path, ...] = ()
    session: Path | None = None
    genome: bool = False


class Report:
    """Figures and tables of findings; the `most` loci of the lowest E-values have a figure."""

    def __init__(self, findings: Findings, most: int):
        self.findings = findings
        self.loci = drawn_loci(findings)
        """All loci, in the order of the table of scores."""
        best = sorted(self.loci, key=lambda locus: (not locus.accepted, *rank(locus.best)))
        chosen = {locus.name for locus in best[:most]}
        self.drawn = [locus for locus in self.loci if locus.name in chosen]
        """The loci that have a figure."""
        self._of_row = {id(row): locus.name for locus in self.drawn for row in locus.rows}
        self._of_base = {locus.base: locus.name for locus in reversed(self.drawn)}

    def link(self, row: ScoredRow) -> str:
        """Return the part of the page that shows a row's locus, empty if none does."""
        name = self._of_row.get(id(row)) or self._of_base.get(row.fields["base"])
        return f"locus/{name}" if name else ""

    def charts(self) -> dict[str, dict]:
        """Return the charts of all cases by name, those for which there is something to draw."""
        links = {base: f"locus/{name}" for base, name in self._of_base.items()}
        return charts.charts_of(self.findings, self.drawn, links)

    def tables(self) -> dict[str, Table]:
        """Return the tables by name, those for which there are rows."""
        found = {
            "loci": loci_table(self.loci, {locus.name for locus in self.drawn}),
            "targets": targets_table(self.findings, self.link),
            "cases": cases_table(self.findings, self.link),
            "accuracy": accuracy_table(self.findings),
            "parallelism": parallelism_table(self.findings.parallelism),
            "jobs": jobs_table(self.findings),
        }
        always = ("loci", "targets", "cases")
        return {name: table for name, table in found.items() if table.rows or name in always}


def write_page(report: Report, around: Surroundings) -> None:
    """Write the page of a report."""
    text = page_template("page.html").render(_content(report, around))
    with open_output(around.path) as stream:
        stream.write(text)


def _content(report: Report, around: Surroundings) -> dict:
    """Return what the page's template needs."""
    findings, images = report.findings, pictures(report.findings.folder)
    drawn, listed = report.charts(), report.tables()
    loci = loci_data(report.drawn, findings)
    candidates = (len(x["datasets"]["candidates"]) for x in loci["loci"].values())
    most = max(candidates, default=0)
    note = f"at most {most} are drawn" if most == models.MOST_CANDIDATES else ""
    images_by_name = {image.name: image.svg for image in images}
    data = page_data(drawn, listed, **loci, pictures=images_by_name)
    return data | {
        "title": around.title, "lead": _lead(report), "cards": cards(findings, report.loci),
        "parts": _parts(listed, images), "tables": listed, "images": images,
        "most_cells": charts.MOST_CELLS,
        "omitted_models": max(0, len(report.loci) - charts.MOST_MODELS),
        "candidates": most, "candidates_note": note, "splice_sites": findings.sequences,
        "junctions": findings.junctions is not None,
        "cells": _cells(findings), "times": times(findings),
        "run": run_facts(findings.scores, findings.summary),
        "files": linked_files(findings.folder, around.files, around.path),
        "session": around.session and address(around.session, around.path),
        "genome": around.genome, "source": findings.folder,
    }  # fmt: skip


def loci_data(loci: Iterable[DrawnLocus], findings: Findings) -> dict:
    """Return what the page's script needs to show loci."""
    return {
        "loci": {locus.name: _locus(locus, findings) for locus in loci},
        "templates": {name: models.template(panel) for name, panel in _TEMPLATES.items()},
        "chain_columns": [column._asdict() for column in CASE_COLUMNS[1:]],
    }


def page_template(name: str) -> jinja2.Template:
    """Return the template of a page, which fills the frame that all pages share."""
    loader = jinja2.FunctionLoader(_own_text)
    return jinja2.Environment(autoescape=True, loader=loader).get_template(name)


def page_data(drawn: dict[str, dict], listed: dict[str, Table], **more) -> dict:
    """Return what every page's template needs: charts, and the data and texts of its script."""
    data = {"loci": {}, "templates": {}, "pictures": {}, "chain_columns": []} | more
    data |= {"charts": drawn, "tables": {name: table.content for name, table in listed.items()}}
    return {
        "charts": drawn, "data": _packed(json.dumps(data, separators=(",", ":"))),
        "bundle": _packed(vl_convert.javascript_bundle()), "version": installed_version(),
        "style": Markup(_own_text("page.css")), "script": Markup(_own_text("page.js")),
    }  # fmt: skip


def _own_text(name: str) -> str:
    """Return a file of this package."""
    return (files("gpu_tools.report") / name).read_text("utf-8")


def _packed(text: str) -> str:
    """Return a text compressed, as the page's script unpacks it; equal texts give equal ones."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _parts(listed: dict, images: list) -> list[tuple[str, str]]:
    parts = {
        "overview": "Overview", "loci": "Gene models", "targets": "Targets", "cases": "Cases",
        "accuracy": "accuracy" in listed and "Accuracy",
        "images": images and "Segments and dot plots",
        "files": "Files and jobs" if "jobs" in listed else "Files",
        "parallelism": "parallelism" in listed and "Parallelism and time",
    }  # fmt: skip
    return [(name, title) for name, title in parts.items() if title]


def _lead(report: Report) -> str:
    """Return the sentence that says what was done."""
    findings = report.findings
    bases = len({row.fields["base"] for row in findings.rows})
    targets = len({row.alignment.target for row in findings.rows})
    cases = len({(row.fields["base"], row.alignment.target) for row in findings.rows})
    methods = findings.methods
    how = f", each by {' and '.join(methods)}" if len(methods) > 1 else ""
    n = len(findings.accepted)
    found = f"{counted(n, 'chain')} accepted." if n else "No chain is accepted."
    return (
        f"{counted(targets, 'target')} aligned to {counted(bases, 'locus', 'loci')}: "
        f"{counted(cases, 'case')}{how}. {found}"
    )


def _locus(locus: DrawnLocus, findings: Findings) -> dict:
    """Return what the page's script needs to show a locus."""
    figure = models.model_figure(locus, findings)
    name = "candidates" if figure.datasets["candidates"] else "models"
    cases = cases_table(findings._replace(rows=locus.rows), lambda row: "").rows
    chains = [case[1:] for case in cases]  # the page's head has the locus
    return {
        "template": name, "height": figure.height, "datasets": figure.datasets,
        "facts": _facts(locus), "chains": chains,
    }  # fmt: skip


def _facts(locus: DrawnLocus) -> str:
    """Return where a locus is and what is drawn of it, in a sentence."""
    start, end = locus.interval
    place = f"{locus.record}:{models.shown(start, end)} ({models.length(end - start)})"
    if not locus.accepted:
        return f"{place}. No chain is accepted; the best one is shown."
    targets = len({row.alignment.target for row in locus.rows})
    methods = len({method_of(row) for row in locus.rows})
    by = f" by {methods} methods" if methods > 1 else ""
    more = f"; {locus.omitted} of lower scores are not drawn" if locus.omitted else ""
    description = description_of(locus.best)
    best = f" Best target: {locus.best.alignment.target}, {description}." if description else ""
    return f"{place}, {counted(targets, 'accepted target')}{by}{more}.{best}"


def locus_figures(report: Report) -> dict[str, dict]:
    """Return the figures of loci by name, as Vega-Lite that needs nothing else."""
    return {f"locus_{x.name}": models.locus_figure(x, report.findings) for x in report.drawn}
