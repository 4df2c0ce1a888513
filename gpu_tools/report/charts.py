"""Charts of all cases: the best models, targets by loci, scores, and accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterable

import altair as alt

from gpu_tools.formats.scores import ScoredRow
from gpu_tools.report.axis import merged
from gpu_tools.report.findings import Findings, is_accepted, method_of
from gpu_tools.report.loci import DrawnLocus
from gpu_tools.report.models import SIGNS, shown_evalue
from gpu_tools.report.theme import COLOURS, CONFIG, GREY, RULE, colour_of

MOST_MODELS = 30
MOST_POINTS = 4000
MOST_CELLS = 150
"""Targets, and loci, of the heat map at most."""
_WIDTH, _GAP = 700.0, 11.0
_LEAST_EVALUE = 1e-300


def overview(loci: list[DrawnLocus]) -> dict | None:
    """Return the picture of the best gene model of each locus, None without an accepted chain.

    Parameters
    ----------
    loci : list of DrawnLocus

    Returns
    -------
    dict or None
        Vega-Lite: exons to one scale, introns as short lines, colour by identity. At most
        `MOST_MODELS` loci, those of the lowest E-values.
    """
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
    """Return the picture of targets by bases, None if either is only one.

    Parameters
    ----------
    findings : Findings
    links : dict of str to str
        The page's part that shows a base.

    Returns
    -------
    dict or None
        Vega-Lite: a square for each accepted chain, coloured by identity, a dot for other cases.
        With more than `MOST_CELLS` targets or bases only those with an accepted chain are there.
    """
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
    """Return identity and E-value against score, side by side, None without any chain.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    dict or None
        Vega-Lite, of at most `MOST_POINTS` chains: accepted ones first.
    """
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
    """Return sensitivity and precision over all annotated loci, None without annotation.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    dict or None
        Vega-Lite: a panel each for nucleotides and exons.
    """
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
