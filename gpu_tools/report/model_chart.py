"""The figure of a locus in Vega-Lite: a template, whose named data `models` makes."""

from __future__ import annotations

import copy

import altair as alt

from gpu_tools.report.axis import AXIS_WIDTH
from gpu_tools.report.models import ModelFigure
from gpu_tools.report.theme import CONFIG, FAINT, GREY, RULE

_CANDIDATES_HEIGHT = 84
_CHEVRONS = {"+": "M-0.5,-0.8L0.4,0L-0.5,0.8", "-": "M0.5,-0.8L-0.4,0L0.5,0.8"}


def template(candidates: bool) -> dict:
    """Return the specification of a locus's figure without its data.

    Parameters
    ----------
    candidates : bool
        Whether there is a panel of candidates below.

    Returns
    -------
    dict
        Vega-Lite. Positions of its data are pixels.
    """
    layers = [_bands(), *_axis(), _introns(), _signs(), _exons(), _numbers(), *_texts()]
    models = alt.layer(*layers).properties(width=AXIS_WIDTH, height=100)
    parts = [models, _candidates()] if candidates else [models]
    return alt.vconcat(*parts, spacing=14).configure(**CONFIG).to_dict()


def filled(specification: dict, figure: ModelFigure, title: str = "") -> dict:
    """Return a template with the data of a locus, and a title.

    Parameters
    ----------
    specification : dict
        What `template` returns.
    figure : ModelFigure
    title : str
        Without one there is none.

    Returns
    -------
    dict
        Vega-Lite that needs nothing else.
    """
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
