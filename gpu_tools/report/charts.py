"""Charts of all cases: the best models, targets by loci, scores, and accuracy."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping

import altair as alt

from gpu_tools.formats.scores import ScoredRow
from gpu_tools.report.findings import (
    METHODS,
    CaseParallelism,
    Findings,
    Job,
    Parallelism,
    is_accepted,
    method_of,
)
from gpu_tools.report.loci import DrawnLocus
from gpu_tools.report.models import (
    AXIS_WIDTH,
    COLOURS,
    CONFIG,
    FAINT,
    GREY,
    RULE,
    SIGNS,
    ModelFigure,
    colour_of,
    merged,
    model_figure,
    shown_evalue,
    title_of,
)

MOST_MODELS = 30
MOST_POINTS = 4000
MOST_CELLS = 150
"""Targets, and loci, of the heat map at most."""
_WIDTH, _GAP = 700.0, 11.0
_LEAST_EVALUE = 1e-300


def overview(loci: list[DrawnLocus]) -> dict | None:
    """Return the picture of the best gene model of each locus, None without an accepted chain."""
    chosen = [locus for locus in loci if locus.accepted]
    if not chosen:
        return None
    if len(chosen) > MOST_MODELS:
        best = sorted(chosen, key=lambda locus: locus.best.alignment.evalue or 0)[:MOST_MODELS]
        chosen = [locus for locus in chosen if locus in best]
    scale = min(map(_scale, chosen))
    exons = [exon for k, locus in enumerate(chosen) for exon in _thumbnail(k, locus, scale)]
    return _overview_chart(exons, [_caption(k, locus) for k, locus in enumerate(chosen)])


def _scale(locus: DrawnLocus) -> float:
    """Return the pixels of a nucleotide with which a model fills the width."""
    exons = merged(locus.best.alignment.chain)
    nucleotides = sum(end - start for start, end in exons)
    return min((_WIDTH - _GAP * (len(exons) - 1)) / nucleotides, 0.5)


def _thumbnail(k: int, locus: DrawnLocus, scale: float) -> Iterable[dict]:
    best, x = locus.best, 0.0
    identity = best.fields.get("identity", ".")
    for start, end in sorted(best.alignment.chain):
        width = max(scale * (end - start), 1.5)
        yield {
            "x": round(x, 1), "x2": round(x + width, 1), "row": k, "link": f"locus/{locus.name}",
            "identity": None if identity == "." else 100 * float(identity),
            "exon": f"{start + 1:,}-{end:,}", "bp": end - start,
        }  # fmt: skip
        x += width + _GAP


def _caption(k: int, locus: DrawnLocus) -> dict:
    best = locus.best
    strand = SIGNS[best.alignment.strand]
    n = best.alignment.n_chain
    return {
        "row": k, "locus": f"{locus.name} ({strand})", "link": f"locus/{locus.name}",
        "target": best.alignment.target,
        "facts": f"{n} exon{'s' * (n != 1)}, E = {shown_evalue(best.fields['evalue'])}",
    }  # fmt: skip


def _overview_chart(exons: list[dict], captions: list[dict]) -> dict:
    y = alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0.42))
    pixels = alt.X("x:Q", scale=None, axis=None)
    drawn, named = alt.Chart(alt.Data(values=exons)), alt.Chart(alt.Data(values=captions))
    lines = drawn.transform_aggregate(first="min(x)", last="max(x2)", groupby=["row"]).mark_rule(
        color=GREY
    )
    colour = alt.Color(
        "identity:Q", title="identity (%)",
        scale=alt.Scale(scheme="viridis", reverse=True, domain=[50, 100], clamp=True),
        legend=alt.Legend(orient="bottom", gradientLength=200, direction="horizontal"),
    )  # fmt: skip
    bars = drawn.mark_bar(cornerRadius=1.5, cursor="pointer").encode(
        pixels, y, x2="x2:Q", color=colour, tooltip=["exon:N", "bp:Q", "identity:Q"]
    )
    text = named.mark_text(baseline="middle", cursor="pointer")
    return _specification(
        alt.layer(
            lines.encode(alt.X("first:Q", scale=None, axis=None), y, x2="last:Q"),
            bars,
            named.mark_text(align="right", x=-12, limit=200, cursor="pointer").encode(
                y, text="locus:N"
            ),
            text.mark_text(align="left", x=_WIDTH + 14, limit=130, cursor="pointer").encode(
                y, text="target:N"
            ),
            text.mark_text(align="left", x=_WIDTH + 150, color=GREY).encode(y, text="facts:N"),
        ).properties(width=_WIDTH, height=alt.Step(24))
    )


def _specification(chart) -> dict:
    return chart.configure(**CONFIG).to_dict()


def heat_map(findings: Findings, links: dict[str, str]) -> dict | None:
    """Return the picture of targets by bases, None if either is only one."""
    rows = findings.rows
    if _too_many(rows):
        bases, targets = map(set, _names(findings.accepted))
        rows = [r for r in rows if r.fields["base"] in bases and r.alignment.target in targets]
    bases, targets = _names(rows)
    if min(len(bases), len(targets)) < 2 or _too_many(rows):
        return None
    values = [_cell(row, links) for row in rows]
    return _specification(_heat_map_chart(values, bases, targets, findings.methods))


def _names(rows: Iterable[ScoredRow]) -> tuple[list[str], list[str]]:
    rows = list(rows)
    bases = dict.fromkeys(row.fields["base"] for row in rows)
    return list(bases), list(dict.fromkeys(row.alignment.target for row in rows))


def _too_many(rows: list[ScoredRow]) -> bool:
    return max(map(len, _names(rows))) > MOST_CELLS


def _cell(row: ScoredRow, links: dict[str, str]) -> dict:
    fields, base = row.fields, row.fields["base"]
    identity = fields.get("identity", ".")
    return {
        "base": base, "target": row.alignment.target, "method": method_of(row),
        "accepted": is_accepted(row), "score": row.alignment.score,
        "identity": None if identity == "." else round(100 * float(identity), 1),
        "evalue": fields["evalue"], "link": links.get(base, ""),
    }  # fmt: skip


def _heat_map_chart(values, bases, targets, methods):
    size = max(9, min(24, 700 // len(bases)))
    x = alt.X("base:N", sort=bases, title="locus", axis=alt.Axis(labelAngle=-45, labelLimit=150))
    y = alt.Y("target:N", sort=targets, title="target", axis=alt.Axis(labelLimit=200))
    tips = ["base:N", "target:N", "score:Q", "identity:Q", "evalue:N"]
    source = alt.Chart(alt.Data(values=values))
    dots = source.transform_filter("!datum.accepted").mark_circle(size=8, color=RULE)
    colour = alt.Color(
        "identity:Q", title="identity (%)",
        scale=alt.Scale(scheme="viridis", reverse=True, domain=[50, 100], clamp=True),
    )  # fmt: skip
    squares = source.transform_filter("datum.accepted").mark_rect(cursor="pointer", stroke="white")
    both = alt.layer(
        dots.encode(x, y, tooltip=tips), squares.encode(x, y, color=colour, tooltip=tips)
    ).properties(width=alt.Step(size), height=alt.Step(max(9, min(24, 600 // len(targets)))))
    if len(methods) == 1:
        return both
    chooser = alt.binding_radio(options=methods, name="method ")
    method = alt.param(name="chosen", value=methods[-1], bind=chooser)
    return both.transform_filter("datum.method == chosen").add_params(method)


def score_points(findings: Findings) -> dict | None:
    """Return identity and E-value against score, side by side, None without any chain."""
    rows = [row for row in findings.rows if row.alignment.chain]
    rows = sorted(rows, key=lambda row: not is_accepted(row))[:MOST_POINTS]
    if not rows:
        return None
    source = alt.Chart(alt.Data(values=[_point(row) for row in rows]))
    methods = list(dict.fromkeys(map(method_of, rows)))
    positive = min(row.alignment.score for row in rows) >= 0
    x = alt.X("score:Q", title="score", scale=alt.Scale(type="sqrt" if positive else "linear"))
    encodings = {
        "color": alt.Color("method:N", title="method", scale=alt.Scale(
            domain=methods, range=[colour_of(method) for method in methods])),
        "opacity": alt.Opacity("accepted:O", title="accepted", scale=alt.Scale(
            domain=["no", "yes"], range=[0.22, 0.85])),
        "tooltip": ["base:N", "target:N", "method:N", "score:Q", "identity:Q", "evalue:N"],
    }  # fmt: skip
    points = source.mark_circle(size=48).encode(x, **encodings)
    identity = alt.Y("identity:Q", title="identity (%)", scale=alt.Scale(zero=False))
    power = alt.Y("power:Q", title="-log10 of the E-value")
    parts = [points.encode(y).properties(width=400, height=260) for y in (identity, power)]
    return _specification(alt.hconcat(*parts, spacing=40))


def _point(row: ScoredRow) -> dict:
    evalue = row.alignment.evalue
    power = None if evalue is None else round(-math.log10(max(evalue, _LEAST_EVALUE)), 2)
    return _cell(row, {}) | {"accepted": "yes" if is_accepted(row) else "no", "power": power}


def accuracy_bars(findings: Findings) -> dict | None:
    """Return sensitivity and precision over all annotated loci, None without annotation."""
    values = _ratios(findings)
    return _specification(_accuracy_chart(values)) if values else None


def _ratios(findings: Findings) -> list[dict]:
    """Return the ratios over all loci together."""
    return [
        {"method": _of_accuracy(row), "measure": measure, "level": row["level"],
         "value": float(row[measure.lower()])}
        for row in findings.accuracy
        if row["base"] is None
        for measure in ("sensitivity", "precision", "F1")
        if row[measure.lower()]
    ]  # fmt: skip


def _accuracy_chart(values: list[dict]):
    methods = list(dict.fromkeys(value["method"] for value in values))
    shades = {f"chains of {name}": COLOURS[name] for name in ("sites", "candidates", "proteins")}
    y = alt.Y("method:N", sort=methods, title=None)
    source = alt.Chart(alt.Data(values=values))
    colour = alt.Color("method:N", legend=None, scale=alt.Scale(
        domain=methods, range=[shades.get(method, "#9aa5b1") for method in methods]))  # fmt: skip
    shown = alt.Tooltip("value:Q", format=".1%")
    bars = source.mark_bar(height=14, cornerRadiusEnd=2).encode(
        alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
        y, colour, tooltip=["method:N", "measure:N", "level:N", shown],
    )  # fmt: skip
    texts = source.mark_text(align="left", dx=4, fontSize=10).encode(
        alt.X("value:Q"), y, text=alt.Text("value:Q", format=".1%")
    )
    panel = (bars + texts).properties(width=190, height=alt.Step(22))
    order = ["sensitivity", "precision", "F1"]
    header = alt.Header(title=None, labelFontWeight=600, labelAngle=0, labelAlign="left")
    return panel.facet(
        column=alt.Column("measure:N", sort=order, header=header),
        row=alt.Row("level:N", sort=["nucleotide", "exon"], header=header),
        spacing={"row": 14, "column": 44},
    )


def _of_accuracy(row: dict) -> str:
    return "candidates alone" if row["exons"] == "candidates" else f"chains of {row['method']}"


# The figure of a locus in Vega-Lite: a template, whose named data `models` makes.


_CANDIDATES_HEIGHT = 84
_CHEVRONS = {"+": "M-0.5,-0.8L0.4,0L-0.5,0.8", "-": "M0.5,-0.8L-0.4,0L0.5,0.8"}


def template(candidates: bool) -> dict:
    """Return the specification of a locus's figure without its data."""
    layers = [_bands(), *_axis(), _introns(), _signs(), _exons(), _numbers(), *_texts()]
    models = alt.layer(*layers).properties(width=AXIS_WIDTH, height=100)
    parts = [models, _candidates()] if candidates else [models]
    return alt.vconcat(*parts, spacing=14).configure(**CONFIG).to_dict()


def filled(specification: dict, figure: ModelFigure, title: str = "") -> dict:
    """Return a template with the data of a locus, and a title."""
    found = copy.deepcopy(specification)
    found["vconcat"][0]["height"] = figure.height
    found["datasets"] = figure.datasets
    if title:
        found["title"] = {"text": title, "offset": 12}
    return found


def _x(field: str) -> alt.X:
    return alt.X(f"{field}:Q", scale=None, axis=None)


def _y(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=None, axis=None)


def _chart(data: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=data))


_COLOUR = {
    "color": alt.Color("colour:N", scale=None, legend=None),
    "opacity": alt.Opacity("faint:Q", scale=None, legend=None),
}


def _tips(**titles: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


_WHERE = {"what": "what", "position": "position", "length": "length"}


def _bands() -> alt.Chart:
    rectangles = _chart("bands").mark_rect(color=FAINT, opacity=0.75)
    return rectangles.encode(_x("x"), _y("y"), x2="x2:Q", y2="y2:Q")


def _axis() -> list[alt.Chart]:
    stretches, ticks = _chart("axis"), _chart("ticks")
    to_scale = stretches.transform_filter("datum.to_scale").mark_rule(color=GREY, size=1.5)
    shortened = stretches.transform_filter("!datum.to_scale").mark_rule(
        color=RULE, strokeDash=[2, 2]
    )
    notes = _chart("notes")
    small = {"fontSize": 9, "color": GREY}
    bar = notes.transform_filter("isValid(datum.x2)")
    length = notes.transform_filter("!isValid(datum.x2)")
    return [
        *(part.encode(_x("x"), _y("y"), x2="x2:Q") for part in (to_scale, shortened)),
        ticks.mark_rule(color=GREY).encode(_x("x"), _y("y"), y2="y2:Q"),
        ticks.mark_text(baseline="top", dy=6, fontSize=10).encode(_x("x"), _y("y"), text="label:N"),
        bar.mark_rule(color=GREY, size=2).encode(_x("x"), _y("y"), x2="x2:Q"),
        bar.mark_text(align="left", dx=6, **small).encode(_x("x2"), _y("y"), text="text:N"),
        length.mark_text(**small).encode(_x("x"), _y("y"), text="text:N"),
    ]


def _introns() -> alt.Chart:
    lines = _chart("introns").mark_rule(size=1.3)
    tips = _tips(**_WHERE, sites="splice sites")
    return lines.encode(_x("x"), _y("y"), x2="x2:Q", tooltip=tips, **_COLOUR)


def _signs() -> alt.Chart:
    shape = alt.Shape(
        "strand:N", legend=None,
        scale=alt.Scale(domain=list(_CHEVRONS), range=list(_CHEVRONS.values())),
    )  # fmt: skip
    points = _chart("signs").mark_point(size=36, strokeWidth=1.3, filled=False)
    return points.encode(_x("x"), _y("y"), shape=shape, **_COLOUR)


def _exons() -> alt.Chart:
    rectangles = _chart("exons").mark_rect(cornerRadius=1.5, stroke="white", strokeWidth=0.6)
    tips = _tips(**_WHERE, phase="phase")
    return rectangles.encode(_x("x"), _y("y"), x2="x2:Q", y2="y2:Q", tooltip=tips, **_COLOUR)


def _numbers() -> alt.Chart:
    texts = _chart("exons").transform_filter("datum.number").mark_text(color="white", fontSize=9)
    return texts.encode(_x("middle"), _y("centre"), text="number:N")


def _texts() -> list[alt.Chart]:
    labels, headers = _chart("labels"), _chart("headers")
    name = labels.transform_filter("datum.kind == 'name'").mark_text(align="right", limit=190)
    number = labels.transform_filter("datum.kind != 'name'").mark_text(align="right", color=GREY)
    return [
        name.encode(_x("x"), _y("y"), text="text:N"),
        number.encode(_x("x"), _y("y"), text="text:N"),
        headers.mark_text(align="left", fontWeight=600, x=0).encode(
            _y("y"), text="text:N", color=_COLOUR["color"]
        ),
    ]


def _candidates() -> alt.Chart:
    scores = alt.Y("score:Q", title="candidates' score", axis=alt.Axis(tickCount=4))
    rules = _chart("candidates").mark_rule(size=3)
    drawn = rules.encode(
        _x("x"), scores, x2="x2:Q", tooltip=_tips(**_WHERE, score="score"), **_COLOUR
    )
    return drawn.properties(width=AXIS_WIDTH, height=_CANDIDATES_HEIGHT)


# One figure of several loci, one below the other.


_OUTERMOST = ("$schema", "config", "datasets")


def locus_figure(locus: DrawnLocus, findings: Findings) -> dict:
    """Return the figure of a locus with its title."""
    figure = model_figure(locus, findings)
    return filled(template(bool(figure.datasets["candidates"])), figure, title_of(locus))


def structures(findings: Findings, loci: list[DrawnLocus]) -> dict:
    """Return the figures of loci as one."""
    figures = [locus_figure(locus, findings) for locus in loci]
    parts = [_inlined(figure, figure["datasets"]) for figure in figures]
    inner = [{k: v for k, v in part.items() if k not in _OUTERMOST} for part in parts]
    return {"$schema": alt.SCHEMA_URL, "config": CONFIG, "spacing": 34, "vconcat": inner}


def _inlined(node: object, datasets: Mapping[str, list]) -> object:
    """Return a specification whose named data are in their places."""
    if isinstance(node, list):
        return [_inlined(item, datasets) for item in node]
    if not isinstance(node, dict):
        return node
    if node.keys() == {"name"} and node["name"] in datasets:
        return {"values": datasets[node["name"]]}
    return {key: _inlined(value, datasets) for key, value in node.items() if key != "datasets"}


# Charts of parallelism and time: estimated against measured, histograms, cells.


_LABELS = {"exon_length": "length of candidates", "group_size": "candidates of a group"}
_LOG = {"type": "log", "nice": False, "padding": 12}
_LEAST_SECONDS = 1e-6


def charts_of(findings: Findings) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw."""
    own = findings.parallelism
    found = {
        "job_times": _job_times(findings.jobs), "case_times": _case_times(own.cases),
        "cells": _cells(own.cases), "histograms": _histograms(own),
    }  # fmt: skip
    return {name: chart.configure(**CONFIG).to_dict() for name, chart in found.items() if chart}


def _job_times(jobs: list[Job]) -> alt.LayerChart | None:
    """Draw a point a job, measured above estimated time, and the line where they are equal."""
    values = [
        {"method": METHODS[job.rule], "batch": job.batch, "device": job.device, "cases": job.cases,
         "estimated": max(job.estimated, _LEAST_SECONDS), "measured": job.busy_seconds}
        for job in jobs if job.estimated is not None and job.busy_seconds
    ]  # fmt: skip
    if not values:
        return None
    x = alt.X("estimated:Q", title="estimated (s)", scale=alt.Scale(**_LOG))
    y = alt.Y("measured:Q", title="measured (s)", scale=alt.Scale(**_LOG))
    tips = ["batch:N", "device:N", "cases:Q", "estimated:Q", "measured:Q"]
    points = alt.Chart(alt.Data(values=values)).mark_circle(size=64, opacity=0.8)
    return alt.layer(
        _equal([v[name] for v in values for name in ("estimated", "measured")]),
        points.encode(x, y, color=_of_methods(values), tooltip=tips),
    ).properties(width=400, height=260)


def _equal(seconds: list[float]) -> alt.Chart:
    """Draw the line on which estimate and measurement are equal."""
    ends = [{"estimated": s, "measured": s} for s in (min(seconds), max(seconds))]
    line = alt.Chart(alt.Data(values=ends)).mark_line(color=GREY, strokeDash=[4, 4])
    return line.encode(alt.X("estimated:Q"), alt.Y("measured:Q"))


def _of_methods(values: list[dict]) -> alt.Color:
    methods = list(dict.fromkeys(value["method"] for value in values))
    colours = alt.Scale(domain=methods, range=[colour_of(method) for method in methods])
    return alt.Color("method:N", title="method", scale=colours)


def _spread(cases: list[CaseParallelism]) -> list[CaseParallelism]:
    """Return at most `MOST_POINTS` cases, spread over all."""
    return cases[:: 1 + len(cases) // MOST_POINTS]


def _case_times(cases: list[CaseParallelism]) -> alt.LayerChart | None:
    """Draw estimated and measured times of cases in the order of their sequential times."""
    timed = [case for case in cases if case.measured is not None]
    ordered = sorted(timed, key=lambda case: case.numbers["cells"])
    values = [
        {"case": k, "what": what, "seconds": max(seconds, _LEAST_SECONDS), "target": case.target,
         "locus": case.base}
        for k, case in enumerate(_spread(ordered), start=1)
        for what, seconds in (("measured", case.measured), ("estimated", case.estimated))
    ]  # fmt: skip
    if not values:
        return None
    source = alt.Chart(alt.Data(values=values)).encode(
        alt.X("case:Q", title="case, by sequential time", scale=alt.Scale(nice=False)),
        alt.Y("seconds:Q", title="time (s)", scale=alt.Scale(**_LOG)),
        alt.Color("what:N", title=None, sort=["measured", "estimated"]),
        tooltip=["locus:N", "target:N", "what:N", "seconds:Q"],
    )
    points = source.transform_filter("datum.what == 'measured'").mark_circle(size=32)
    line = source.transform_filter("datum.what == 'estimated'").mark_line(strokeWidth=1.5)
    return alt.layer(points, line).properties(width=700, height=260)


def _cells(cases: list[CaseParallelism]) -> alt.Chart | None:
    """Draw a point a case and method: its time on a thread of a CPU by its cells."""
    parts = (("candidates", "cells", "list"), ("sites", "site_cells", "site"))
    values = [
        {"method": method, "cells": case.numbers[cells], "locus": case.base, "target": case.target,
         "ms": 1e3 * max(case.numbers[f"{mode}_cpu_seconds"], _LEAST_SECONDS)}
        for case in _spread(cases) for method, cells, mode in parts if case.numbers[cells]
    ]  # fmt: skip
    if not values:
        return None
    points = alt.Chart(alt.Data(values=values)).mark_circle(size=36, opacity=0.6)
    return points.encode(
        alt.X("cells:Q", title="cells", scale=alt.Scale(**_LOG), axis=alt.Axis(format="~s")),
        alt.Y("ms:Q", title="estimated on one thread (ms)", scale=alt.Scale(**_LOG)),
        _of_methods(values), tooltip=["locus:N", "target:N", "method:N", "cells:Q", "ms:Q"],
    ).properties(width=400, height=260)  # fmt: skip


def _histograms(found: Parallelism) -> alt.HConcatChart | None:
    """Draw how often lengths of candidates and sizes of groups occur, side by side."""
    drawn = [name for name in _LABELS if name in found.histograms]
    parts = [_histogram(found, name) for name in drawn]
    return alt.hconcat(*parts, spacing=40) if parts else None


def _histogram(found: Parallelism, name: str) -> alt.Chart:
    values = [
        {"from": bar.first - 0.5, "to": bar.last + 0.5, "count": bar.count, "base": 0.5,
         "values": f"{bar.first:,}" + (f" to {bar.last:,}" if bar.last > bar.first else "")}
        for bar in found.histograms[name]
    ]  # fmt: skip
    bars = alt.Chart(alt.Data(values=values)).mark_bar(color=colour_of("candidates"))
    return bars.encode(
        alt.X("from:Q", title=_LABELS[name], scale=alt.Scale(nice=False)), x2="to:Q",
        y=alt.Y("count:Q", title="number", scale=alt.Scale(type="log", domainMin=0.5)), y2="base:Q",
        tooltip=["values:N", "count:Q"],
    ).properties(width=400, height=220)  # fmt: skip
