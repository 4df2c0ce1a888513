"""Figures of pages as SVG, the same for the same record.

Run ``python -m benchmarks.figures``: docs/accuracy.svg is drawn from the records ``accuracy`` and
``accuracy-proteins``, docs/exons.svg from ``exons-cpu``. `benchmarks.reproduce` draws the others.
"""

from __future__ import annotations

import io

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.accuracy import comparison
from gpu_tools import Histogram

OURS = "gpu-tools"
"""How the names of site mode's rows begin."""
LINES = (("all", "o-", "all coding segments"), ("internal", "s--", "internal ones"))


def _to_svg(drawn: Figure) -> str:
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "gpu-tools", "svg.fonttype": "none"}):
        FigureCanvasSVG(drawn).print_svg(stream, metadata={"Date": None})
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _drawn(width: float, height: float, grid: str = "", **titles) -> tuple[Figure, object]:
    """Return a figure and its axes; logarithmic ones are labelled 1, 2, 5, 10 and so on."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    axes = drawn.subplots()
    axes.set(**titles)
    if titles.get("yscale") == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if grid:
        axes.grid(axis=grid, alpha=0.4)
    return drawn, axes


def accuracy(cdnas: list[dict], proteins: dict, mutations: str = "uniform") -> str:
    """Draw exon F1 of cDNAs and of proteins, a line for each program, the same genes for all.

    Parameters
    ----------
    cdnas, proteins
        Figures of the records ``accuracy`` and ``accuracy-proteins``.
    """
    fewest = min(row["genes"] for row in cdnas)
    of_cdnas = [
        (name.replace("`", ""), row["divergence"], row["exon_f1"])
        for name, own in comparison.named(cdnas).items()
        for row in own
        if row["mutations"] == mutations
    ]
    own = [row for rows in comparison.of_identities(proteins).values() for row in rows]
    of_proteins = [(row["method"], row["identity"], row["exon_f1"]) for row in own]
    tab20 = colormaps["tab20"].colors
    methods = sorted(
        {name for name, *_ in [*of_cdnas, *of_proteins]}, key=lambda name: (OURS not in name, name)
    )
    colors = dict(
        zip(methods, [*tab20[::2], *tab20[1::2]], strict=False)
    )  # the same in both halves
    drawn = Figure(figsize=(11, 8.5), layout="constrained")
    upper, lower = drawn.subplots(2)
    for axes, rows, title, label in (
        (upper, of_cdnas, f"cDNAs, {fewest} human genes", "substituted nucleotides of the cDNA, %"),
        (lower, of_proteins, f"proteins, {own[0]['proteins']} genes of Arabidopsis on 1.2 Mb",
         "identity of the protein, %"),
    ):  # fmt: skip
        axes.set(xlabel=label, ylabel="exon F1 (both ends right)", ylim=(0, 1.02))
        axes.set_title(title, loc="left")
        axes.grid(axis="y", alpha=0.4)
        for method in filter({name for name, *_ in rows}.__contains__, methods):
            points = zip(*((x, y) for name, x, y in rows if name == method), strict=True)
            width = 2.8 if method.startswith(OURS) else 1.2
            axes.plot(*points, "o-", label=method, linewidth=width, color=colors[method])
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    lower.invert_xaxis()  # diverged targets are on the right of both
    return _to_svg(drawn)


def candidates(rows: list[dict]) -> str:
    """Draw sensitivity against density, a line for each order of candidates and kind of segment."""
    titles = "candidates per kb and strand", "exact segments among the candidates"
    drawn, axes = _drawn(9, 4.5, "both", xlabel=titles[0], ylabel=titles[1])
    for color, ranked_by in (("C0", "probability"), ("C1", "score"), ("C2", "both")):
        own = [row for row in rows if row["ranked_by"] == ranked_by]
        for column, style, label in LINES:
            values = [row["density"] for row in own], [row[column] for row in own]
            axes.plot(*values, style, color=color, label=f"{label}, ranked by {ranked_by}")
    drawn.legend(loc="outside right upper", frameon=False)
    return _to_svg(drawn)


def histogram(counted: Histogram, label: str, number: str = "number") -> str:
    """Draw how often values of each bin occur, on a logarithmic scale."""
    drawn, axes = _drawn(7, 3, xlabel=label, ylabel=number, yscale="log")
    lefts = [1 + number * counted.width for number in counted.counts]
    axes.bar(lefts, counted.counts.values(), width=counted.width, align="edge")
    return _to_svg(drawn)


def by_case(cells: list[int], named: dict[str, tuple[str, list[float]]], unit: str) -> str:
    """Draw series of marker and a value a case, the cases by their sequential time, the cells."""
    order = np.argsort(cells, kind="stable")
    drawn, axes = _drawn(7, 3, xlabel="case, by sequential time", ylabel=unit, yscale="log")
    for name, (marker, values) in named.items():
        axes.plot(np.array(values)[order], marker, label=name, linewidth=1, markersize=3)
    axes.legend(frameon=False)
    return _to_svg(drawn)


def sizes(named: dict[str, tuple[list[int], list[float]]]) -> str:
    """Draw measured seconds of each mode's cases against base length times target length."""
    drawn, axes = _drawn(7, 3.5, xlabel="m x n", ylabel="ms", xscale="log", yscale="log")
    for name, (size, measured) in named.items():
        axes.plot(np.array(size, dtype=float), 1e3 * np.array(measured), ".", label=name)
    axes.legend(frameon=False)
    return _to_svg(drawn)


if __name__ == "__main__":
    from benchmarks import tables

    for page, drawing in (
        (
            "accuracy",
            accuracy(
                tables.read("accuracy")["figures"]["accuracy"],
                tables.read("accuracy-proteins")["figures"],
            ),
        ),
        ("exons", candidates(tables.read("exons-cpu")["figures"]["exons"]["curve"])),
    ):
        (tables.ROOT / "docs" / f"{page}.svg").write_text(drawing, encoding="utf-8")
