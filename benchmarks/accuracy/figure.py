"""Exon F1 against divergence as an SVG.

Run ``python -m benchmarks.accuracy.figure RECORD.json FIGURE.svg``.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from matplotlib import colormaps
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

OURS = "gpu-tools"
"""How the names of site mode's rows begin."""


def figure(rows: list[dict], mutations: str = "uniform") -> str:
    """Draw one line a method, site mode on all genes thicker than the others on their sample.

    Parameters
    ----------
    rows : list of dict
        Rows of bench_accuracy.py.
    mutations : str
        Which kind of mutations.

    Returns
    -------
    str
        The SVG, the same for the same rows.
    """
    rows = [r for r in rows if r["mutations"] == mutations and not r["method"].endswith("sample")]
    drawn = Figure(figsize=(9, 4.5), layout="constrained")
    axes, colors = drawn.subplots(), colormaps["tab20"].colors
    axes.set_prop_cycle(color=[*colors[::2], *colors[1::2]])
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        label = f"{method} ({own[0]['genes']} genes)"
        width = 2.8 if method.startswith(OURS) else 1.2
        values = [r["divergence"] for r in own], [r["exon_f1"] for r in own]
        axes.plot(*values, "o-", label=label, linewidth=width)
    axes.set(xlabel="substituted nucleotides of the target, %", ylabel="exon F1 (both ends exact)")
    axes.set_ylim(0, 1.02)
    axes.grid(axis="y", alpha=0.4)
    drawn.legend(loc="outside right upper", frameon=False)
    return to_svg(drawn)


def to_svg(drawn: Figure) -> str:
    """Return a figure as an SVG that is the same for the same figure."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "gpu-tools", "svg.fonttype": "none"}):
        FigureCanvasSVG(drawn).print_svg(stream, metadata={"Date": None})
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


if __name__ == "__main__":
    recorded = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(figure(recorded["figures"]["accuracy"]), encoding="utf-8")
