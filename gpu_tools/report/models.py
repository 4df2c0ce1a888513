"""What is drawn of a locus: pixels and texts of exons, introns, axis and candidates."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from gpu_tools.formats.scores import ScoredRow
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.report.findings import CANONICAL, Findings, method_of, splice_sites
from gpu_tools.report.loci import DrawnLocus

# Colours and fonts of all figures.


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


# An axis of a record on which exons are drawn to scale and what lies between them is shortened.


Interval = tuple[int, int]
AXIS_WIDTH = 860.0
"""Pixels of an axis."""
_SIDE = 22.0
"""Pixels at either end, for what lies beside the exons."""
_GAPS = 0.4
"""Largest part of the axis for what is shortened."""
_MOST_PER_NUCLEOTIDE = 1.0
"""Pixels of a nucleotide at most, so that a short exon does not fill the axis."""
_JOINED = 12
"""Gaps of fewer nucleotides are drawn to scale."""


class Stretch(NamedTuple):
    """A part of the axis: nucleotides, pixels, and whether it is to scale."""

    start: int
    end: int
    left: float
    right: float
    to_scale: bool


class ShortenedAxis:
    """Pixels of positions.

    Parameters
    ----------
    exons : iterable of (int, int)
        At least one interval, 0-based half-open; what they cover is drawn to one scale.
    shown : (int, int)
        Interval around them that the axis reaches over.
    """

    def __init__(self, exons: Iterable[Interval], shown: Interval):
        covered = merged(exons)
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
                after = Stretch(end, covered[k + 1][0], right, right + widths[k], False)
                stretches.append(after)
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


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return what intervals cover, those joined that fewer than `_JOINED` nucleotides part."""
    covered: list[Interval] = []
    for start, end in sorted(intervals):
        if covered and start - covered[-1][1] < _JOINED:
            covered[-1] = covered[-1][0], max(covered[-1][1], end)
        else:
            covered.append((start, end))
    return covered


HEADER, LANE, HALF = 20, 20, 6
"""Pixels: a group's header, a lane, half of an exon's height."""
MOST_CANDIDATES = 300
_CHEVRON = 9.0
"""Pixels that an intron needs for the sign of its strand."""
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
    "chain": "chains",
}


class FigureRow(NamedTuple):
    """A row of the figure.

    Attributes
    ----------
    y : float
        Pixels from the top to the middle.
    method : str
        ``annotation`` or the chain's method.
    strand : str
    exons : list of (int, int)
        From low to high positions.
    row : ScoredRow or None
        The chain's row.
    faint : bool
        Whether the chain is not accepted.
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
    sites = _sites(locus, lanes, findings)
    candidates = locus.within(findings.candidates)
    bars = [bar for lane in lanes for bar in _exons(lane, axis, findings)]
    datasets = {
        "headers": headers,
        "labels": [*_heads(), *(label for lane in lanes for label in _labels(lane))],
        "bands": _bands(axis, height),
        "exons": bars,
        "introns": [line for lane in lanes for line in _introns(lane, axis, sites)],
        "signs": [sign for lane in lanes for sign in _signs(lane, axis)],
        "axis": _stretches(axis, height),
        "ticks": _ticks(axis, height),
        "notes": _notes(axis, height),
        "candidates": _candidates(candidates, lanes, axis),
    }
    return ModelFigure(datasets, height + 34)


def title_of(locus: DrawnLocus) -> str:
    """Return the title of a locus's figure: where it is, and its name if that says more."""
    place = f"{locus.record}:{shown(*locus.interval)}"
    return f"{locus.base}, {place}" if locus.base != locus.record else place


def _annotated(exons: ExonSet) -> list[FigureRow]:
    lanes = []
    for strand in "+-":
        of_strand = exons.take(exons.reverse == (strand == "-"))
        pairs = zip(of_strand.starts.tolist(), of_strand.ends.tolist(), strict=True)
        if len(of_strand.starts):
            lanes.append(FigureRow(0, "annotation", strand, _disjoint(pairs)))
    return lanes


def _disjoint(intervals) -> list[Interval]:
    """Return what intervals of several transcripts cover."""
    covered: list[Interval] = []
    for start, end in sorted(intervals):
        if covered and start < covered[-1][1]:
            covered[-1] = covered[-1][0], max(end, covered[-1][1])
        else:
            covered.append((start, end))
    return covered


def _chains(locus: DrawnLocus, method: str) -> list[FigureRow]:
    rows = [row for row in locus.rows if method_of(row) == method]
    return [
        FigureRow(
            0, method, row.alignment.strand, sorted(row.alignment.chain), row, not locus.accepted
        )
        for row in rows
    ]


def _stacked(groups) -> tuple[list[dict], list[FigureRow], int]:
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


def _sites(locus: DrawnLocus, lanes: list[FigureRow], findings: Findings) -> dict:
    if locus.base not in findings.sequences:
        return {}
    introns = [(intron, lane.strand) for lane in lanes if lane.row for intron in lane.introns]
    return splice_sites(findings.sequences[locus.base], introns)


def _heads() -> list[dict]:
    """Return the titles of the columns of numbers."""
    return [{"x": x, "y": HEADER / 2, "text": text, "kind": "head"} for text, x in _COLUMNS.items()]


def _labels(lane: FigureRow) -> Iterator[dict]:
    """Yield the texts left of a lane: name and strand, score, identity and E-value."""
    name = f"{lane.target} ({SIGNS[lane.strand]})"
    yield {"x": _NAMES, "y": lane.y, "text": name, "kind": "name"}
    if lane.row:
        fields = lane.row.fields
        texts = (str(lane.row.alignment.score), percent(fields.get("identity", ".")),
                 shown_evalue(fields["evalue"]))  # fmt: skip
        for x, text in zip(_COLUMNS.values(), texts, strict=True):
            yield {"x": x, "y": lane.y, "text": text, "kind": "number"}


def shown_evalue(text: str) -> str:
    """Return an E-value of a table as it is shown in figures."""
    return {"0.0e+00": "0", ".": ""}.get(text, text.replace("e-0", "e-"))


def percent(fraction: str) -> str:
    """Return a fraction of a table as a percentage, empty for a missing one."""
    return "" if fraction == "." else f"{100 * float(fraction):.0f} %"


def _bands(axis: ShortenedAxis, height: int) -> list[dict]:
    return [
        {"x": s.left, "x2": s.right, "y": 0, "y2": height} for s in axis.stretches if s.to_scale
    ]


def _exons(lane: FigureRow, axis: ShortenedAxis, findings: Findings) -> Iterator[dict]:
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


def shown(start: int, end: int) -> str:
    """Return an interval as people write it, 1-based and inclusive."""
    return f"{start + 1:,}-{end:,}"


def _introns(lane: FigureRow, axis: ShortenedAxis, sites: dict) -> Iterator[dict]:
    for start, end in lane.introns:
        site = sites.get(((start, end), lane.strand), "")
        unusual = bool(site) and site not in CANONICAL
        yield {
            "x": axis(start), "x2": axis(end), "y": lane.y,
            "colour": WRONG if unusual else colour_of(lane.method),
            "faint": 0.35 if lane.faint else 0.8, "what": f"{lane.target}, intron",
            "position": shown(start, end), "length": f"{end - start:,} bp",
            "sites": (site or ".") + (", unusual" if unusual else ""),
        }  # fmt: skip


def _signs(lane: FigureRow, axis: ShortenedAxis) -> Iterator[dict]:
    """Yield the signs of the strand: in the introns that have space, and at the 3' end."""
    first, last = axis(lane.exons[0][0]), axis(lane.exons[-1][1])
    places = [(axis(a) + axis(b)) / 2 for a, b in lane.introns if axis(b) - axis(a) >= _CHEVRON]
    places.append(last + 6 if lane.strand == "+" else first - 6)
    for x in places:
        yield {"x": round(x, 1), "y": lane.y, "strand": lane.strand,
               "colour": colour_of(lane.method), "faint": 0.35 if lane.faint else 1}  # fmt: skip


def _stretches(axis: ShortenedAxis, height: int) -> list[dict]:
    return [
        {"x": s.left, "x2": s.right, "y": height + 4, "to_scale": s.to_scale}
        for s in axis.stretches
    ]


def _ticks(axis: ShortenedAxis, height: int) -> list[dict]:
    y = height + 4
    return [{"x": x, "y": y, "y2": y + 4, "label": f"{p:,}"} for x, p in axis.labels(84)]


def _notes(axis: ShortenedAxis, height: int) -> list[dict]:
    """Return the lengths of shortened stretches that have space for it, and the scale."""
    notes = [
        {"x": (s.left + s.right) / 2, "y": height - 3, "text": length(s.end - s.start)}
        for s in axis.stretches[1:-1]
        if not s.to_scale and s.right - s.left >= 34
    ]
    size = next(n for n in (1000, 500, 200, 100, 50, 20, 10, 1) if n * axis.scale <= 110 or n == 1)
    bar = {"x": 0, "x2": size * axis.scale, "y": height + 26, "text": f"{size:,} bp of an exon"}
    return [*notes, bar]


def length(nucleotides: int) -> str:
    """Return a length with its unit, short."""
    if nucleotides < 1000:
        return f"{nucleotides} bp"
    return (
        f"{nucleotides / 1000:.3g} kb" if nucleotides < 1_000_000 else f"{nucleotides / 1e6:.3g} Mb"
    )


def _candidates(exons: ExonSet, lanes: list[FigureRow], axis: ShortenedAxis) -> list[dict]:
    """Return the candidates to draw: those in a chain, and the best of the others."""
    chosen = {(e, lane.strand) for lane in lanes if lane.method != "annotation" for e in lane.exons}
    strands = ["-" if reverse else "+" for reverse in exons.reverse.tolist()]
    found = {
        ((start, end), strand): score
        for start, end, strand, score in zip(
            exons.starts.tolist(), exons.ends.tolist(), strands, exons.scores.tolist(), strict=True
        )
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
