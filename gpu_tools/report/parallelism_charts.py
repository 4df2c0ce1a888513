"""Charts of parallelism and time: estimated against measured, histograms, cells."""

from __future__ import annotations

import altair as alt

from gpu_tools.report.charts import MOST_POINTS
from gpu_tools.report.findings import METHODS, Findings, Job
from gpu_tools.report.parallelism import CaseParallelism, Parallelism
from gpu_tools.report.theme import CONFIG, GREY, colour_of

_LABELS = {"exon_length": "length of candidates", "group_size": "candidates of a group"}
_LOG = {"type": "log", "nice": False, "padding": 12}
_LEAST_SECONDS = 1e-6


def charts_of(findings: Findings) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    dict of str to dict
    """
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
