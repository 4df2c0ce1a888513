"""The figure of a locus: its data, and the Vega-Lite template that draws them.

`model_figure` turns a locus into data sets: pixels, colours and texts of exons, introns, axis and
candidates. `template` is one specification for all loci, so that a page holds it once. Exons are
drawn to scale on a `ShortenedAxis`. Colours and fonts are those of every figure of the report.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import altair as alt

from gpu_tools.formats.exons.gff import merged
from gpu_tools.formats.matches import ScoredRow
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.report.findings import (
    CANONICAL,
    DrawnLocus,
    Findings,
    Interval,
    method_of,
    ratio_of,
    splice_sites,
)

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
INK, GREY, FAINT, RULE = "#1f2933", "#6b7785", "#eef1f4", "#c5ccd3"
WRONG = "#c62828"
COLOURS = {
    "annotation": "#4a5560",
    "candidates": "#0072b2",
    "sites": "#d55e00",
    "proteins": "#009e73",
    "cDNAs": "#0072b2",
    "chain": "#0072b2",
}
"""Of annotation and methods; they stay apart for colour-blind readers."""
CONFIG = {
    "background": "white",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelSeparation": 4, "labelColor": INK,
        "titleColor": GREY, "titleFontWeight": "normal", "gridColor": FAINT,
        "domainColor": RULE, "tickColor": RULE, "labelFontSize": 11, "titleFontSize": 11,
    },
    "legend": {
        "titleFontWeight": "normal", "titleColor": GREY, "labelColor": INK, "orient": "top",
        "symbolLimit": 0,
    },
    "title": {"color": INK, "anchor": "start", "fontSize": 13, "fontWeight": 600},
    "text": {"color": INK},
}  # fmt: skip
"""Vega-Lite's configuration of every figure."""

AXIS_WIDTH = 760.0
"""Pixels of an axis."""
_SIDE = 22.0
"""Pixels at either end of the axis, for what lies beside the exons."""
_GAPS = 0.4
"""Largest part of the axis for what is shortened."""
_MOST_PER_NUCLEOTIDE = 1.0
"""Largest number of pixels of a nucleotide, so that a short exon does not fill the axis."""
JOINED = 12
"""Gaps of fewer nucleotides are drawn to scale."""
HEADER, LANE, HALF = 20, 20, 6
"""Pixels: a group's header, a lane, half of an exon's height."""
MOST_CANDIDATES = 300
MOST_JUNCTIONS = 60
"""Introns that were seen and are drawn, those that were seen most often."""
_JUNCTION = 13
"""Pixels of a row of junctions."""
_CANDIDATES_HEIGHT = 84
_CHEVRON = 9.0
"""Pixels that an intron needs for the sign of its strand."""
_CHEVRONS = {"+": "M-0.5,-0.8L0.4,0L-0.5,0.8", "-": "M0.5,-0.8L-0.4,0L0.5,0.8"}
_COLUMNS = {"score": -122, "identity": -72, "E-value": -10}
"""Pixels at which columns of numbers end, left of the axis."""
_NAMES = -168
SIGNS = {"+": "+", "-": "\N{MINUS SIGN}"}
"""Strands as they are shown."""
_TITLES = {
    "annotation": "annotation",
    "candidates": "chains of candidate exons",
    "sites": "chains of any exons that splice sites allow",
    "proteins": "chains of proteins",
    "cDNAs": "chains of cDNAs",
    "chain": "chains",
}


class ModelFigure(NamedTuple):
    """A figure of a locus: data by their names in the template, and its height in pixels."""

    datasets: dict[str, list[dict]]
    height: int


def model_figure(locus: DrawnLocus, findings: Findings) -> ModelFigure:
    """Return what is drawn of a locus."""
    groups = [("annotation", _annotated(locus.within(findings.annotation)))]
    methods = dict.fromkeys(map(method_of, locus.rows))
    groups += [(method, _chains(locus, method)) for method in methods]
    headers, lanes, height = _stacked([(name, lanes) for name, lanes in groups if lanes])
    axis = ShortenedAxis([exon for lane in lanes for exon in lane.exons], locus.shown)
    sites, seen = _sites(locus, lanes, findings), _seen(locus, findings)
    junctions, height = _junctions(seen, locus, lanes, axis, headers, height)
    titles = _COLUMNS.items()
    heads = [{"x": x, "y": HEADER / 2, "text": text, "kind": "head"} for text, x in titles]
    datasets = {
        "headers": headers,
        "labels": [*heads, *(label for lane in lanes for label in _labels(lane))],
        "bands": [
            {"x": s.left, "x2": s.right, "y": 0, "y2": height} for s in axis.stretches if s.to_scale
        ],
        "exons": [bar for lane in lanes for bar in _exons(lane, axis, findings)],
        "introns": [line for lane in lanes for line in _introns(lane, axis, sites, seen)],
        "junctions": junctions,
        "signs": [sign for lane in lanes for sign in _signs(lane, axis)],
        "axis": [
            {"x": s.left, "x2": s.right, "y": height + 4, "to_scale": s.to_scale}
            for s in axis.stretches
        ],
        "ticks": [
            {"x": x, "y": height + 4, "y2": height + 8, "label": f"{position:,}"}
            for x, position in axis.labels(84)
        ],
        "notes": _notes(axis, height),
        "candidates": _candidates(locus.within(findings.candidates), lanes, axis),
    }
    return ModelFigure(datasets, height + 34)


def template(candidates: bool) -> dict:
    """Return the specification of a locus's figure without its data."""
    marks = [*_axis_marks(), *_intron_marks(), *_junction_marks(), *_exon_marks(), *_text_marks()]
    models = alt.layer(*marks).properties(width=AXIS_WIDTH, height=100)
    parts = [models, _candidate_panel()] if candidates else [models]
    return alt.vconcat(*parts, spacing=14).configure(**CONFIG).to_dict()


def locus_figure(locus: DrawnLocus, findings: Findings) -> dict:
    """Return the figure of a locus with its title, as Vega-Lite that needs nothing else."""
    figure = model_figure(locus, findings)
    found = template(bool(figure.datasets["candidates"]))
    found["vconcat"][0]["height"] = figure.height
    place = f"{locus.record}:{shown(*locus.interval)}"
    title = f"{locus.base}, {place}" if locus.base != locus.record else place
    return found | {"datasets": figure.datasets, "title": {"text": title, "offset": 12}}


def structures(findings: Findings, loci: list[DrawnLocus]) -> dict:
    """Return the figures of loci as one, one below the other."""
    figures = [locus_figure(locus, findings) for locus in loci]
    parts = [_inlined(figure, figure["datasets"]) for figure in figures]
    inner = [{k: v for k, v in part.items() if k not in ("$schema", "config")} for part in parts]
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


def colour_of(method: str) -> str:
    """Return the colour of a method."""
    return COLOURS.get(method, "#5b4b9a")


def shown(start: int, end: int) -> str:
    """Return an interval as people write it, 1-based and inclusive."""
    return f"{start + 1:,}-{end:,}"


def shown_evalue(text: str) -> str:
    """Return an E-value of a table as it is shown in figures."""
    return {"0.0e+00": "0", ".": ""}.get(text, text.replace("e-0", "e-"))


def length(nucleotides: int) -> str:
    """Return a length with its unit, short."""
    if nucleotides < 1000:
        return f"{nucleotides} bp"
    if nucleotides < 1_000_000:
        return f"{nucleotides / 1000:.3g} kb"
    return f"{nucleotides / 1e6:.3g} Mb"


# The axis


class Stretch(NamedTuple):
    """A part of the axis: nucleotides, pixels, and whether it is to scale."""

    start: int
    end: int
    left: float
    right: float
    to_scale: bool


class ShortenedAxis:
    """Pixels of positions, with exons to scale and what lies between them shortened.

    It reaches over an interval `shown` around at least one exon, 0-based half-open.
    """

    def __init__(self, exons: Iterable[Interval], shown: Interval):
        covered = merged(exons, JOINED)
        gaps = [(a[1], b[0]) for a, b in pairwise(covered)]
        nucleotides = sum(end - start for start, end in covered)
        width = AXIS_WIDTH - 2 * _SIDE
        weights = [math.log2(1 + (end - start) / 40) + 1 for start, end in gaps]
        budget = min(width * _GAPS, 45.0 * len(gaps))
        self.scale = min((width - budget) / nucleotides, _MOST_PER_NUCLEOTIDE)
        """Pixels of a nucleotide of an exon."""
        widths = [
            min(budget * weight / sum(weights), self.scale * (end - start))
            for weight, (start, end) in zip(weights, gaps, strict=True)
        ]
        self.stretches = self._laid_out(covered, widths, shown)
        """Parts of the axis from left to right."""

    def _laid_out(self, covered, widths, shown) -> list[Stretch]:
        stretches = [Stretch(min(shown[0], covered[0][0]), covered[0][0], 0.0, _SIDE, False)]
        for k, (start, end) in enumerate(covered):
            left = stretches[-1].right
            right = left + self.scale * (end - start)
            stretches.append(Stretch(start, end, left, right, True))
            if k < len(widths):
                stretches.append(Stretch(end, covered[k + 1][0], right, right + widths[k], False))
        last = stretches[-1]
        side = Stretch(last.end, max(shown[1], last.end), last.right, last.right + _SIDE, False)
        return [*stretches, side]

    def __call__(self, position: int) -> float:
        """Return the pixel of a position between two nucleotides, within the axis."""
        k = bisect_right(self.stretches, position, key=lambda stretch: stretch.start) - 1
        s = self.stretches[max(k, 0)]
        if s.end == s.start:
            return round(s.right, 1)
        part = min(max((position - s.start) / (s.end - s.start), 0.0), 1.0)
        return round(s.left + part * (s.right - s.left), 1)

    def labels(self, apart: float) -> list[tuple[float, int]]:
        """Return pixels and 1-based positions of first nucleotides of exons, for labels.

        They are at least `apart` pixels apart; the last exon's end is one of them.
        """
        exons = [stretch for stretch in self.stretches if stretch.to_scale]
        last = exons[-1].right, exons[-1].end
        chosen: list[tuple[float, int]] = []
        for stretch in exons:
            far = not chosen or stretch.left - chosen[-1][0] >= apart
            if far and (not chosen or last[0] - stretch.left >= apart):
                chosen.append((round(stretch.left, 1), stretch.start + 1))
        return [*chosen, (round(last[0], 1), last[1])]


def _notes(axis: ShortenedAxis, height: int) -> list[dict]:
    """Return the lengths of shortened stretches wide enough for a text, and the scale."""
    notes = [
        {"x": (s.left + s.right) / 2, "y": height - 3, "text": length(s.end - s.start)}
        for s in axis.stretches[1:-1]
        if not s.to_scale and s.right - s.left >= 34
    ]
    size = next(n for n in (1000, 500, 200, 100, 50, 20, 10, 1) if n * axis.scale <= 110 or n == 1)
    bar = {"x": 0, "x2": size * axis.scale, "y": height + 26, "text": f"{size:,} bp of an exon"}
    return [*notes, bar]


# Lanes: a chain each, below the annotation


class FigureLane(NamedTuple):
    """A lane of the figure: the annotation of a strand, or the chain of a row.

    `y` is its middle in pixels from the top, `method` ``annotation`` or the chain's. Exons rise;
    a chain that is not accepted is faint.
    """

    y: float
    method: str
    strand: str
    exons: list[Interval]
    row: ScoredRow | None = None
    faint: bool = False

    @property
    def introns(self) -> list[Interval]:
        """What lies between the exons."""
        return [(a[1], b[0]) for a, b in pairwise(self.exons)]

    @property
    def target(self) -> str:
        """The target's name."""
        return self.row.alignment.target if self.row else "annotated"


def _annotated(exons: ExonSet) -> list[FigureLane]:
    """Return a lane of each strand with annotated exons; those that overlap are joined."""
    lanes = []
    for strand in "+-":
        of_strand = exons.take(exons.reverse == (strand == "-"))
        pairs = zip(of_strand.starts.tolist(), of_strand.ends.tolist(), strict=True)
        if len(of_strand.starts):
            lanes.append(FigureLane(0, "annotation", strand, merged(pairs, gap=0)))
    return lanes


def _chains(locus: DrawnLocus, method: str) -> list[FigureLane]:
    chains = [(row, row.alignment) for row in locus.rows if method_of(row) == method]
    return [
        FigureLane(0, method, chain.strand, sorted(chain.chain), row, not locus.accepted)
        for row, chain in chains
    ]


def _stacked(groups) -> tuple[list[dict], list[FigureLane], int]:
    """Return headers, lanes with their heights, and the height of all."""
    headers, lanes, y = [], [], 0
    for method, of_group in groups:
        rejected = ", not accepted" if of_group[0].faint else ""
        text = _TITLES.get(method, method) + rejected
        headers.append({"y": y + HEADER / 2, "text": text, "colour": colour_of(method)})
        y += HEADER
        for lane in of_group:
            lanes.append(lane._replace(y=y + LANE / 2))
            y += LANE
        y += 4
    return headers, lanes, y


def _sites(locus: DrawnLocus, lanes: list[FigureLane], findings: Findings) -> dict:
    if locus.base not in findings.sequences:
        return {}
    introns = [(intron, lane.strand) for lane in lanes if lane.row for intron in lane.introns]
    return splice_sites(findings.sequences[locus.base], introns)


def _labels(lane: FigureLane) -> Iterator[dict]:
    """Yield the texts left of a lane: name and strand, score, identity and E-value."""
    name = f"{lane.target} ({SIGNS[lane.strand]})"
    yield {"x": _NAMES, "y": lane.y, "text": name, "kind": "name"}
    if lane.row:
        identity = ratio_of(lane.row, "identity")
        percent = "" if identity is None else f"{100 * identity:.0f} %"
        texts = str(lane.row.alignment.score), percent, shown_evalue(lane.row.fields["evalue"])
        for x, text in zip(_COLUMNS.values(), texts, strict=True):
            yield {"x": x, "y": lane.y, "text": text, "kind": "number"}


def _exons(lane: FigureLane, axis: ShortenedAxis, findings: Findings) -> Iterator[dict]:
    ordered = lane.exons if lane.strand == "+" else lane.exons[::-1]
    for k, (start, end) in enumerate(ordered, start=1):
        x, x2 = axis(start), axis(end)
        phase = findings.phases.get((lane.target, start, end)) if lane.row else None
        yield {
            "x": x, "x2": max(x2, x + 1.5), "y": lane.y - HALF, "y2": lane.y + HALF,
            "middle": round((x + x2) / 2, 1), "centre": lane.y + 0.5,
            "colour": colour_of(lane.method), "faint": 0.35 if lane.faint else 1,
            "number": str(k) if lane.row and x2 - x >= 13 else "",
            "what": f"{lane.target}, exon {k} of {len(ordered)}", "position": shown(start, end),
            "length": f"{end - start:,} bp", "phase": "." if phase is None else phase,
        }  # fmt: skip


def _seen(locus: DrawnLocus, findings: Findings) -> Mapping | None:
    """Return how often introns of a locus' record were seen, None without junctions."""
    return None if findings.junctions is None else findings.junctions.get(locus.record, {})


def _introns(
    lane: FigureLane, axis: ShortenedAxis, sites: dict, seen: Mapping | None
) -> Iterator[dict]:
    """Yield lines of introns; where junctions are known, those that were not seen are faint."""
    for start, end in lane.introns:
        site = sites.get(((start, end), lane.strand), "")
        unusual, evidence, faint = bool(site) and site not in CANONICAL, "", lane.faint
        count = 0 if seen is None else seen.get((start, end, lane.strand), 0)
        if seen is not None:
            evidence, faint = f"; seen {count:,} times" if count else "; not seen", not count
        x, x2 = axis(start), axis(end)
        yield {
            "x": x, "x2": x2, "y": lane.y, "size": 2.6 if count else 1.3,
            "colour": WRONG if unusual else colour_of(lane.method),
            "faint": 0.35 if faint else 0.8, "what": f"{lane.target}, intron",
            "position": shown(start, end), "length": f"{end - start:,} bp",
            "sites": (site or ".") + (", unusual" if unusual else "") + evidence,
        }  # fmt: skip


def _junctions(
    seen: Mapping | None, locus: DrawnLocus, lanes: list[FigureLane], axis: ShortenedAxis,
    headers: list[dict], height: int,
) -> tuple[list[dict], int]:  # fmt: skip
    """Return bars of introns that were seen, below the lanes, and the height with them.

    They get a header among `headers`; those in no chain are grey.
    """
    first, last = locus.shown
    near = {key: n for key, n in (seen or {}).items() if n and key[0] >= first and key[1] <= last}
    strands: dict[Interval, list[str]] = {}
    for start, end, strand in sorted(near, key=lambda key: (-near[key], key)):
        strands.setdefault((start, end), []).append(strand)
    if not strands:
        return [], height
    chosen = sorted([*strands][:MOST_JUNCTIONS])
    known = {(*intron, lane.strand) for lane in lanes for intron in lane.introns}
    text = "introns that were seen" + (
        f", {len(chosen)} of {len(strands)}" if len(chosen) < len(strands) else ""
    )
    headers.append({"y": height + HEADER / 2, "text": text, "colour": INK})
    ends: list[float] = []  # of what each row holds so far
    found = []
    for start, end in chosen:
        own = [(start, end, strand) for strand in strands[start, end]]
        count, is_known = max(near[key] for key in own), any(key in known for key in own)
        x, x2 = axis(start), max(axis(end), axis(start) + 2)
        row = next((k for k, at in enumerate(ends) if at < x), len(ends))
        ends[row : row + 1] = [x2 + 8 + 6 * len(f"{count:,}")]
        y = height + HEADER + _JUNCTION * (row + 0.5)
        found.append({
            "x": x, "x2": x2, "y": y, "y2": y + 4, "count": f"{count:,}",
            "colour": INK if is_known else GREY, "faint": 0.9 if is_known else 0.5,
            "what": f"intron, seen {count:,} times" + ("" if is_known else ", in no chain"),
            "position": f"{shown(start, end)} ({'/'.join(sorted(strands[start, end]))})",
            "length": f"{end - start:,} bp",
        })  # fmt: skip
    return found, height + HEADER + _JUNCTION * len(ends) + 4


def _signs(lane: FigureLane, axis: ShortenedAxis) -> Iterator[dict]:
    """Yield the signs of the strand: in introns wide enough for one, and at the 3' end."""
    first, last = axis(lane.exons[0][0]), axis(lane.exons[-1][1])
    places = [(axis(a) + axis(b)) / 2 for a, b in lane.introns if axis(b) - axis(a) >= _CHEVRON]
    places.append(last + 6 if lane.strand == "+" else first - 6)
    for x in places:
        yield {"x": round(x, 1), "y": lane.y, "strand": lane.strand,
               "colour": colour_of(lane.method), "faint": 0.35 if lane.faint else 1}  # fmt: skip


def _candidates(exons: ExonSet, lanes: list[FigureLane], axis: ShortenedAxis) -> list[dict]:
    """Return the candidates to draw: those in a chain, and the best of the others."""
    chosen = {(e, lane.strand) for lane in lanes if lane.method != "annotation" for e in lane.exons}
    columns = exons.starts, exons.ends, exons.reverse, exons.scores
    found = {
        ((start, end), "-" if reverse else "+"): score
        for start, end, reverse, score in zip(*(c.tolist() for c in columns), strict=True)
    }
    ordered = sorted(found, key=lambda key: (key not in chosen, -found[key]))[:MOST_CANDIDATES]
    return [_candidate(key, found[key], key in chosen, axis) for key in reversed(ordered)]


def _candidate(key, score: float, chosen: bool, axis: ShortenedAxis) -> dict:
    (start, end), strand = key
    x, x2 = axis(start), axis(end)
    return {
        "x": x, "x2": max(x2, x + 2), "score": round(score, 2), "colour": INK if chosen else GREY,
        "faint": 1 if chosen else 0.3, "what": "in a chain" if chosen else "in no chain",
        "position": f"{shown(start, end)} ({strand})", "length": f"{end - start:,} bp",
    }  # fmt: skip


# Marks of the template, from the lowest to the topmost


def _x(field: str) -> alt.X:
    return alt.X(f"{field}:Q", scale=None, axis=None)


def _y(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=None, axis=None)


def _chart(data: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=data))


def _tips(*fields: str) -> list[alt.Tooltip]:
    titles = {"sites": "splice sites"}
    return [
        alt.Tooltip(f"{field}:N", title=titles.get(field, field))
        for field in ("what", "position", "length", *fields)
    ]


_COLOUR = {
    "color": alt.Color("colour:N", scale=None, legend=None),
    "opacity": alt.Opacity("faint:Q", scale=None, legend=None),
}


def _axis_marks() -> list[alt.Chart]:
    """Return bands behind exons, the axis, its ticks, and notes of lengths."""
    bands = _chart("bands").mark_rect(color=FAINT, opacity=0.75)
    axis, ticks, notes = _chart("axis"), _chart("ticks"), _chart("notes")
    exact = axis.transform_filter("datum.to_scale").mark_rule(color=GREY, size=1.5)
    dashed = {"color": RULE, "strokeDash": [2, 2]}
    shortened = axis.transform_filter("!datum.to_scale").mark_rule(**dashed)
    small = {"fontSize": 9, "color": GREY}
    bar = notes.transform_filter("isValid(datum.x2)")
    gap = notes.transform_filter("!isValid(datum.x2)")
    return [
        bands.encode(_x("x"), _y("y"), x2="x2:Q", y2="y2:Q"),
        *(part.encode(_x("x"), _y("y"), x2="x2:Q") for part in (exact, shortened)),
        ticks.mark_rule(color=GREY).encode(_x("x"), _y("y"), y2="y2:Q"),
        ticks.mark_text(baseline="top", dy=6, fontSize=10).encode(_x("x"), _y("y"), text="label:N"),
        bar.mark_rule(color=GREY, size=2).encode(_x("x"), _y("y"), x2="x2:Q"),
        bar.mark_text(align="left", dx=6, **small).encode(_x("x2"), _y("y"), text="text:N"),
        gap.mark_text(**small).encode(_x("x"), _y("y"), text="text:N"),
    ]


def _intron_marks() -> list[alt.Chart]:
    lines = _chart("introns").mark_rule()
    size = alt.Size("size:Q", scale=None, legend=None)
    points = _chart("signs").mark_point(size=36, strokeWidth=1.3, filled=False)
    shapes = alt.Scale(domain=list(_CHEVRONS), range=list(_CHEVRONS.values()))
    shape = alt.Shape("strand:N", legend=None, scale=shapes)
    return [
        lines.encode(_x("x"), _y("y"), size, x2="x2:Q", tooltip=_tips("sites"), **_COLOUR),
        points.encode(_x("x"), _y("y"), shape=shape, **_COLOUR),
    ]


def _junction_marks() -> list[alt.Chart]:
    """Return brackets of introns that were seen, and how often."""
    seen = _chart("junctions")
    sides = [seen.mark_rule().encode(_x(x), _y("y"), y2="y2:Q", **_COLOUR) for x in ("x", "x2")]
    lines = seen.mark_rule(size=1.6).encode(_x("x"), _y("y"), x2="x2:Q", tooltip=_tips(), **_COLOUR)
    counts = seen.mark_text(align="left", dx=4, dy=1, fontSize=9)
    return [*sides, lines, counts.encode(_x("x2"), _y("y"), text="count:N", **_COLOUR)]


def _exon_marks() -> list[alt.Chart]:
    boxes = _chart("exons").mark_rect(cornerRadius=1.5, stroke="white", strokeWidth=0.6)
    texts = _chart("exons").transform_filter("datum.number").mark_text(color="white", fontSize=9)
    return [
        boxes.encode(_x("x"), _y("y"), x2="x2:Q", y2="y2:Q", tooltip=_tips("phase"), **_COLOUR),
        texts.encode(_x("middle"), _y("centre"), text="number:N"),
    ]


def _text_marks() -> list[alt.Chart]:
    labels, headers = _chart("labels"), _chart("headers")
    name = labels.transform_filter("datum.kind == 'name'").mark_text(align="right", limit=190)
    number = labels.transform_filter("datum.kind != 'name'").mark_text(align="right", color=GREY)
    title = headers.mark_text(align="left", fontWeight=600, x=0)
    return [
        name.encode(_x("x"), _y("y"), text="text:N"),
        number.encode(_x("x"), _y("y"), text="text:N"),
        title.encode(_y("y"), text="text:N", color=_COLOUR["color"]),
    ]


def _candidate_panel() -> alt.Chart:
    scores = alt.Y("score:Q", title="candidates' score", axis=alt.Axis(tickCount=4))
    rules = _chart("candidates").mark_rule(size=3)
    drawn = rules.encode(_x("x"), scores, x2="x2:Q", tooltip=_tips("score"), **_COLOUR)
    return drawn.properties(width=AXIS_WIDTH, height=_CANDIDATES_HEIGHT)
