"""Colours and fonts of all figures."""

from __future__ import annotations

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
INK, GREY, FAINT, RULE = "#1f2933", "#6b7785", "#eef1f4", "#c5ccd3"
WRONG = "#c62828"
COLOURS = {
    "annotation": "#4a5560",
    "candidates": "#0072b2",
    "sites": "#d55e00",
    "proteins": "#009e73",
    "chain": "#0072b2",
}
"""Of annotation and methods; they stay apart for colour-blind readers."""
CONFIG = {
    "background": "white",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": GREY, "titleFontWeight": "normal", "gridColor": FAINT,
        "domainColor": RULE, "tickColor": RULE, "labelFontSize": 11, "titleFontSize": 11,
    },
    "legend": {"titleFontWeight": "normal", "titleColor": GREY, "labelColor": INK},
    "title": {"color": INK, "anchor": "start", "fontSize": 13, "fontWeight": 600},
    "text": {"color": INK},
}  # fmt: skip
"""Vega-Lite's configuration of every figure."""


def colour_of(method: str) -> str:
    """Return the colour of a method."""
    return COLOURS.get(method, "#5b4b9a")
