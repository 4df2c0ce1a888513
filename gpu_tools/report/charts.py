"""Charts of all cases: best models, targets by loci, scores, accuracy, and times."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import altair as alt

from gpu_tools.errors import counted
from gpu_tools.formats.exons.gff import merged
from gpu_tools.formats.matches import ScoredRow
from gpu_tools.report import models
from gpu_tools.report.findings import (
    ALONE,
    METHODS,
    CaseParallelism,
    DrawnLocus,
    Findings,
    Job,
    Parallelism,
    description_of,
    is_accepted,
    method_of,
    rank,
    ratio_of,
)

MOST_MODELS = 30
MOST_POINTS = 4000
MOST_CELLS = 60
"""Largest number of targets, and of loci, in the heat map."""
_WIDTH, _GAP, _GAPS = 520.0, 8.0, 0.4
_LEAST_EVALUE, _LEAST_SECONDS = 1e-300, 1e-6
_LABELS = {"exon_length": "length of candidates (nt)", "group_size": "candidates of a group"}
_LOG = {"type": "log", "nice": False, "padding": 12}
_FEW_LOCI, _BIN = 30, 5
_FEW = 10
"""Counts below it have a tick each: of a single one, Vega makes a tick at a half."""
_WHOLE_LOG = alt.Axis(labelExpr="datum.value < 1 ? '' : datum.label", format=",d")
_PERCENT = alt.Axis(format="%", values=[0, 0.5, 1])
_IDENTITY = alt.Color(
    "identity:Q", title="identity (%)",
    scale=alt.Scale(scheme="viridis", reverse=True, domain=[50, 100], clamp=True),
)  # fmt: skip


def charts_of(
    findings: Findings, loci: Iterable[DrawnLocus] = (), links: dict[str, str] | None = None
) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw.

    The overview holds `loci`; a click on a base opens the part of the page that `links` names.
    """
    own = findings.parallelism
    histograms = [_histogram(own, name) for name in _LABELS if name in own.histograms]
    found = {
        "overview": _overview([locus for locus in loci if locus.accepted]),
        "heat_map": _heat_map(findings, links or {}),
        "score_points": _score_points(findings),
        "accuracy_bars": _accuracy_bars(findings),
        "job_times": _job_times(findings.jobs),
        "case_times": _case_times(own.cases),
        "cells": _cells(own.cases),
        "histograms": alt.hconcat(*histograms, spacing=40) if histograms else None,
    }
    return configured(found)


def configured(charts: dict[str, alt.TopLevelMixin | None]) -> dict[str, dict]:
    """Return Vega-Lite by name, in the look of all figures; what is None is left out."""
    return {name: c.configure(**models.CONFIG).to_dict() for name, c in charts.items() if c}


def whole_axis(most: int = _FEW) -> alt.Axis:
    """Return an axis of counts up to `most`: nothing is half a gene."""
    few = {"values": list(range(most + 1))} if most < _FEW else {}
    return alt.Axis(tickMinStep=1, format=",d", **few)


def source(values: list[dict]) -> alt.Chart:
    """Return a chart of rows, without marks."""
    return alt.Chart(alt.Data(values=values))


def identity_bars(values: dict[str, list[float]], what: str) -> alt.Chart | None:
    """Draw how many have which identity, in a row for each kind of symbol that is compared."""
    bins = [
        {"kind": kind, "from": low, "to": low + _BIN, "number": n,
         "identity": f"{low} to {low + _BIN} %"}
        for kind, fractions in values.items()
        for low, n in sorted(
            Counter(min(int(100 * x) // _BIN * _BIN, 100 - _BIN) for x in fractions).items()
        )
    ]  # fmt: skip
    if not bins:
        return None
    kinds = [kind for kind in values if values[kind]]
    colours = {"nucleotides": models.COLOURS["cDNAs"], "amino acids": models.COLOURS["proteins"]}
    return source(bins).mark_bar().encode(
        alt.X("from:Q", bin="binned", title="identity (%)", axis=whole_axis(),
              scale=alt.Scale(domain=[0, 100])), alt.X2("to:Q"),
        alt.Y("number:Q", title=what, axis=whole_axis(max(row["number"] for row in bins))),
        color=alt.Color("kind:N", legend=None,
                        scale=alt.Scale(domain=kinds, range=[colours[kind] for kind in kinds])),
        row=alt.Row("kind:N", title=None, sort=kinds),
        tooltip=["kind:N", "identity:N", "number:Q"],
    ).properties(width=700, height=120)  # fmt: skip


def _of_methods(methods: Iterable[str]) -> alt.Color:
    names = list(dict.fromkeys(methods))
    scale = alt.Scale(domain=names, range=[models.colour_of(name) for name in names])
    return alt.Color("method:N", title="method", scale=scale)


def _tips(*fields: str) -> list[alt.Tooltip]:
    """Return what is told of a case, in words."""
    words = {"base": "locus", "name": "target", "identity": "identity (%)", "evalue": "E-value"}
    return [alt.Tooltip(field, type="nominal", title=words.get(field, field)) for field in fields]


def _identity(row: ScoredRow) -> float | None:
    identity = ratio_of(row, "identity")
    return None if identity is None else 100 * identity


def _overview(loci: list[DrawnLocus]) -> alt.LayerChart | None:
    """Draw the best gene model of each locus."""
    if not loci:
        return None
    if len(loci) > MOST_MODELS:
        best = sorted(loci, key=lambda locus: locus.best.alignment.evalue or 0)[:MOST_MODELS]
        loci = [locus for locus in loci if locus in best]
    gaps = max(len(locus.best.alignment.chain) for locus in loci) - 1
    gap = min(_GAP, _GAPS * _WIDTH / max(gaps, 1))
    scale = min(_scale(locus, gap) for locus in loci)
    exons = [exon for k, locus in enumerate(loci) for exon in _thumbnail(k, locus, scale, gap)]
    drawn, named = source(exons), source([_caption(k, locus) for k, locus in enumerate(loci)])
    y = alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0.6))
    first, x = (alt.X(f"{field}:Q", scale=None, axis=None) for field in ("first", "x"))
    ends = drawn.transform_aggregate(first="min(x)", last="max(x2)", groupby=["row"])
    bars = drawn.mark_bar(cornerRadius=1.5, cursor="pointer")
    colour = _IDENTITY.legend(gradientLength=200)
    locus = named.mark_text(align="right", x=-12, limit=200, cursor="pointer")
    beside = {"align": "left", "x": _WIDTH + 14, "limit": 330}
    target = named.mark_text(**beside, dy=-7, cursor="pointer")
    facts = named.mark_text(**beside, dy=7, color=models.GREY)
    return alt.layer(
        ends.mark_rule(color=models.GREY).encode(first, y, x2="last:Q"),
        bars.encode(x, y, x2="x2:Q", color=colour, tooltip=["exon:N", "bp:Q", "identity:Q"]),
        locus.encode(y, text="locus:N"),
        target.encode(y, text="target:N", tooltip="target:N"),
        facts.encode(y, text="facts:N"),
    ).properties(width=_WIDTH, height=alt.Step(32))


def _scale(locus: DrawnLocus, gap: float) -> float:
    """Return the pixels of a nucleotide with which a model fills the width."""
    exons = merged(locus.best.alignment.chain, models.JOINED)
    nucleotides = sum(end - start for start, end in exons)
    return min((_WIDTH - gap * (len(exons) - 1)) / nucleotides, 0.5)


def _thumbnail(k: int, locus: DrawnLocus, scale: float, gap: float) -> Iterable[dict]:
    x, identity, chain = 0.0, _identity(locus.best), sorted(locus.best.alignment.chain)
    least = min(1.5, (1 - _GAPS) * _WIDTH / len(chain))
    for start, end in chain:
        width = max(scale * (end - start), least)
        yield {
            "x": round(x, 1), "x2": round(x + width, 1), "row": k, "link": f"locus/{locus.name}",
            "identity": identity, "exon": f"{start + 1:,}-{end:,}", "bp": end - start,
        }  # fmt: skip
        x += width + gap


def _caption(k: int, locus: DrawnLocus) -> dict:
    chain, evalue = locus.best.alignment, models.shown_evalue(locus.best.fields["evalue"])
    by = "" if (method := method_of(locus.best)) == ALONE else f", {method}"
    return {
        "row": k, "locus": f"{models.SIGNS[chain.strand]} {locus.name}",
        "link": f"locus/{locus.name}", "target": _named(locus.best),
        "facts": f"{counted(chain.n_chain, 'exon')}, E = {evalue}{by}",
    }  # fmt: skip


def _named(row: ScoredRow) -> str:
    """Return a target's name and description."""
    return f"{row.alignment.target} {description_of(row) or ''}".rstrip()


def _heat_map(findings: Findings, links: dict[str, str]) -> alt.LayerChart | None:
    """Draw targets by bases, nothing if either is only one; of many those of the best chains."""
    rows = findings.rows
    if max(map(len, _names(rows))) > MOST_CELLS:
        best = sorted(rows, key=lambda row: (not is_accepted(row), *rank(row)))
        bases, targets = (set(names[:MOST_CELLS]) for names in _names(best))
        rows = [r for r in rows if r.fields["base"] in bases and r.alignment.target in targets]
    bases, targets = _names(rows)
    if min(len(bases), len(targets)) < 2:
        return None
    angle = -45 if len(bases) <= _FEW_LOCI else -90  # steeper names fit closer columns
    x = alt.X("base:N", sort=bases, title="locus", axis=alt.Axis(labelAngle=angle, labelLimit=150))
    y = alt.Y("target:N", sort=targets, title="target", axis=alt.Axis(labelLimit=200))
    tips = _tips("base", "name", "score", "identity", "evalue")
    cases = source([_case(row, links) for row in rows])
    dots = cases.transform_filter("!datum.accepted").mark_circle(size=8, color=models.RULE)
    squares = cases.transform_filter("datum.accepted").mark_rect(cursor="pointer", stroke="white")
    width, height = (max(13, min(24, n)) for n in (700 // len(bases), 600 // len(targets)))
    both = alt.layer(
        dots.encode(x, y, tooltip=tips), squares.encode(x, y, color=_IDENTITY, tooltip=tips)
    ).properties(width=alt.Step(width), height=alt.Step(height))
    if len(findings.methods) == 1:
        return both
    chooser = alt.binding_radio(options=findings.methods, name="method ")
    accepted = Counter(map(method_of, filter(is_accepted, rows)))
    most = max(findings.methods, key=lambda name: accepted[name])
    method = alt.param(name="chosen", value=most, bind=chooser)
    return both.transform_filter("datum.method == chosen").add_params(method)


def _names(rows: list[ScoredRow]) -> tuple[list[str], list[str]]:
    bases = dict.fromkeys(row.fields["base"] for row in rows)
    return list(bases), list(dict.fromkeys(row.alignment.target for row in rows))


def _case(row: ScoredRow, links: dict[str, str]) -> dict:
    base, identity = row.fields["base"], _identity(row)
    return {
        "base": base, "target": row.alignment.target, "name": _named(row), "method": method_of(row),
        "accepted": is_accepted(row), "score": row.alignment.score,
        "identity": None if identity is None else round(identity, 1),
        "evalue": row.fields["evalue"], "link": links.get(base, ""),
    }  # fmt: skip


def _score_points(findings: Findings) -> alt.HConcatChart | None:
    """Draw identity and E-value against score, side by side."""
    rows = [row for row in findings.rows if row.alignment.chain]
    rows = sorted(rows, key=lambda row: not is_accepted(row))[:MOST_POINTS]
    if not rows:
        return None
    shades = alt.Scale(domain=["no", "part", "yes"], range=[0.22, 0.5, 0.85])
    points = source([_point(row) for row in rows]).mark_circle(size=48).encode(
        alt.X("score:Q", title="score"), color=_of_methods(map(method_of, rows)),
        opacity=alt.Opacity("accepted:O", title="accepted", scale=shades),
        tooltip=_tips("base", "name", "method", "score", "identity", "evalue"),
    )  # fmt: skip
    identity = alt.Y("identity:Q", title="identity (%)", scale=alt.Scale(zero=False))
    power = alt.Y("power:Q", title="-log10 of the E-value")
    parts = [points.encode(y).properties(width=400, height=260) for y in (identity, power)]
    return alt.hconcat(*parts, spacing=40)


def _point(row: ScoredRow) -> dict:
    evalue = row.alignment.evalue
    power = None if evalue is None else round(-math.log10(max(evalue, _LEAST_EVALUE)), 2)
    return _case(row, {}) | {"accepted": row.fields["accepted"], "power": power}


def _accuracy_bars(findings: Findings) -> alt.FacetChart | None:
    """Draw sensitivity, precision and F1 over all annotated loci together."""
    measures = ["sensitivity", "precision", "F1"]
    values = [
        {"method": f"chains of {row['method']}" if row["exons"] == "chain" else "candidates alone",
         "measure": measure, "level": row["level"], "value": float(row[measure.lower()])}
        for row in findings.accuracy if row["base"] is None
        for measure in measures if row[measure.lower()]
    ]  # fmt: skip
    if not values:
        return None
    methods = list(dict.fromkeys(value["method"] for value in values))
    shades = {f"chains of {name}": colour for name, colour in models.COLOURS.items()}
    colours = [shades.get(method, "#9aa5b1") for method in methods]
    colour = alt.Color("method:N", legend=None, scale=alt.Scale(domain=methods, range=colours))
    y = alt.Y("method:N", sort=methods, title=None)
    rows, percent = source(values), alt.Tooltip("value:Q", format=".1%")
    bars = rows.mark_bar(height=14, cornerRadiusEnd=2).encode(
        alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=_PERCENT),
        y, colour, tooltip=["method:N", "measure:N", "level:N", percent],
    )  # fmt: skip
    texts = rows.mark_text(align="left", dx=4, fontSize=10).encode(
        alt.X("value:Q"), y, text=alt.Text("value:Q", format=".1%")
    )
    header = alt.Header(title=None, labelFontWeight=600, labelAngle=0, labelAlign="left")
    return (bars + texts).properties(width=190, height=alt.Step(22)).facet(
        column=alt.Column("measure:N", sort=measures, header=header),
        row=alt.Row("level:N", sort=["nucleotide", "exon"], header=header),
        spacing={"row": 14, "column": 44},
    )  # fmt: skip


def _job_times(jobs: list[Job]) -> alt.LayerChart | None:
    """Draw a point a job, measured above estimated time, and the line where they are equal."""
    values = [
        {"method": METHODS[job.rule], "batch": job.batch, "device": job.device, "cases": job.cases,
         "estimated": max(job.estimated, _LEAST_SECONDS), "measured": job.busy_seconds}
        for job in jobs if job.estimated is not None and job.busy_seconds
    ]  # fmt: skip
    if not values:
        return None
    seconds = [value[name] for value in values for name in ("estimated", "measured")]
    ends = [{"estimated": s, "measured": s} for s in (min(seconds), max(seconds))]
    equal = source(ends).mark_line(color=models.GREY, strokeDash=[4, 4])
    x = alt.X("estimated:Q", title="estimated (s, logarithmic axis)", scale=alt.Scale(**_LOG))
    y = alt.Y("measured:Q", title="measured (s, logarithmic axis)", scale=alt.Scale(**_LOG))
    points = source(values).mark_circle(size=64, opacity=0.8).encode(
        x, y, color=_of_methods(value["method"] for value in values),
        tooltip=["batch:N", "device:N", "cases:Q", "estimated:Q", "measured:Q"],
    )  # fmt: skip
    return alt.layer(equal.encode(alt.X("estimated:Q"), alt.Y("measured:Q")), points).properties(
        width=400, height=260
    )


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
    drawn = source(values).encode(
        alt.X(
            "case:Q",
            title="case, by sequential time",
            scale=alt.Scale(nice=False, zero=False),
            axis=whole_axis(),
        ),
        alt.Y("seconds:Q", title="time (s, logarithmic axis)", scale=alt.Scale(**_LOG)),
        alt.Color("what:N", title=None, sort=["measured", "estimated"]),
        tooltip=["locus:N", "target:N", "what:N", "seconds:Q"],
    )
    points = drawn.transform_filter("datum.what == 'measured'").mark_circle(size=32)
    line = drawn.transform_filter("datum.what == 'estimated'").mark_line(strokeWidth=1.5)
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
    return source(values).mark_circle(size=36, opacity=0.6).encode(
        alt.X("cells:Q", title="cells (logarithmic axis)", scale=alt.Scale(**_LOG),
              axis=alt.Axis(format="~s")),
        alt.Y("ms:Q", title="estimated on one thread (ms, logarithmic)", scale=alt.Scale(**_LOG)),
        _of_methods(value["method"] for value in values),
        tooltip=["locus:N", "target:N", "method:N", "cells:Q", "ms:Q"],
    ).properties(width=400, height=260)  # fmt: skip


def _histogram(found: Parallelism, name: str) -> alt.Chart:
    """Draw how often lengths of candidates, or sizes of groups, occur."""
    values = [
        {"from": bar.first - 0.5, "to": bar.last + 0.5, "count": bar.count, "base": 0.5,
         "values": f"{bar.first:,}" + (f" to {bar.last:,}" if bar.last > bar.first else "")}
        for bar in found.histograms[name]
    ]  # fmt: skip
    return source(values).mark_bar(color=models.colour_of("candidates")).encode(
        alt.X("from:Q", title=_LABELS[name], scale=alt.Scale(nice=False), axis=whole_axis()),
        x2="to:Q",
        y=alt.Y("count:Q", title="number (logarithmic axis)", axis=_WHOLE_LOG,
                scale=alt.Scale(type="log", domainMin=0.5)), y2="base:Q",
        tooltip=["values:N", "count:Q"],
    ).properties(width=400, height=220)  # fmt: skip
