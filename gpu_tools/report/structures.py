"""One figure of several loci, one below the other."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from gpu_tools.report.findings import Findings
from gpu_tools.report.loci import DrawnLocus
from gpu_tools.report.model_chart import filled, template
from gpu_tools.report.models import model_figure, title_of
from gpu_tools.report.theme import CONFIG

_OUTERMOST = ("$schema", "config", "datasets")


def locus_figure(locus: DrawnLocus, findings: Findings) -> dict:
    """Return the figure of a locus with its title.

    Parameters
    ----------
    locus : DrawnLocus
    findings : Findings

    Returns
    -------
    dict
        Vega-Lite that needs nothing else.
    """
    figure = model_figure(locus, findings)
    return filled(template(bool(figure.datasets["candidates"])), figure, title_of(locus))


def structures(findings: Findings, loci: list[DrawnLocus]) -> dict:
    """Return the figures of loci as one.

    Parameters
    ----------
    findings : Findings
    loci : list of DrawnLocus
        From top to bottom.

    Returns
    -------
    dict
        Vega-Lite that needs nothing else.
    """
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
