"""The page: one HTML file that needs no other and no network."""

from __future__ import annotations

import base64
import gzip
import json
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import jinja2
import vl_convert
from markupsafe import Markup

from gpu_tools.errors import counted
from gpu_tools.formats.files import open_output
from gpu_tools.formats.scores import ScoredRow
from gpu_tools.model.resources import installed_version
from gpu_tools.report import charts, models, tables
from gpu_tools.report.files import address, linked_files, pictures
from gpu_tools.report.findings import Findings, method_of
from gpu_tools.report.loci import DrawnLocus, drawn_loci, rank

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

    def tables(self) -> dict[str, tables.Table]:
        """Return the tables by name, those for which there are rows."""
        found = {
            "loci": tables.loci_table(self.loci, {locus.name for locus in self.drawn}),
            "targets": tables.targets_table(self.findings, self.link),
            "cases": tables.cases_table(self.findings, self.link),
            "accuracy": tables.accuracy_table(self.findings),
            "parallelism": tables.parallelism_table(self.findings.parallelism),
            "jobs": tables.jobs_table(self.findings),
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
    loci = {locus.name: _locus(locus, findings) for locus in report.drawn}
    data = page_data(
        drawn, listed, loci=loci,
        templates={name: models.template(candidates) for name, candidates in _TEMPLATES.items()},
        pictures={image.name: image.svg for image in images},
        chain_columns=[column._asdict() for column in tables.CASE_COLUMNS],
    )  # fmt: skip
    return data | {
        "title": around.title, "lead": _lead(report), "cards": tables.cards(findings, report.loci),
        "parts": _parts(listed, images), "tables": listed, "images": images,
        "omitted_models": max(0, len(report.loci) - charts.MOST_MODELS),
        "candidates_note": _candidates_note(loci), "times": tables.times(findings),
        "files": linked_files(findings.folder, around.files, around.path),
        "session": around.session and address(around.session, around.path),
        "genome": around.genome, "source": findings.folder,
    }  # fmt: skip


def page_template(name: str) -> jinja2.Template:
    """Return the template of a page, which fills the frame that all pages share."""
    loader = jinja2.FunctionLoader(_own_text)
    return jinja2.Environment(autoescape=True, loader=loader).get_template(name)


def page_data(drawn: dict[str, dict], listed: dict[str, tables.Table], **more) -> dict:
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
        "parallelism": "parallelism" in listed and "Parallelism and time",
        "images": images and "Segments and dot plots",
        "files": "Files and jobs" if "jobs" in listed else "Files",
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


def _candidates_note(loci: dict) -> str:
    most = max((len(locus["datasets"]["candidates"]) for locus in loci.values()), default=0)
    return f"at most {most} are drawn" if most == models.MOST_CANDIDATES else ""


def _locus(locus: DrawnLocus, findings: Findings) -> dict:
    """Return what the page's script needs to show a locus."""
    figure = models.model_figure(locus, findings)
    name = "candidates" if figure.datasets["candidates"] else "models"
    chains = tables.cases_table(findings._replace(rows=locus.rows), lambda row: "").rows
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
    return f"{place}, {counted(targets, 'accepted target')}{by}{more}."


def locus_figures(report: Report) -> dict[str, dict]:
    """Return the figures of loci by name, as Vega-Lite that needs nothing else."""
    return {f"locus_{x.name}": models.locus_figure(x, report.findings) for x in report.drawn}
