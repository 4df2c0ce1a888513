"""Sensitivity against density of candidate exons as an SVG.

Run ``python -m benchmarks.exons.figure RECORD.json FIGURE.svg``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.accuracy.figure import to_svg

LINES = (("all", "o-", "all coding segments"), ("internal", "s--", "internal ones"))


def figure(rows: list[dict]) -> str:
    """Draw one line for each ranking and kind of segment.

    Parameters
    ----------
    rows : list of dict
        Rows of `bench_exons.curves`.

    Returns
    -------
    str
        The SVG, the same for the same rows.
    """
    drawn = Figure(figsize=(9, 4.5), layout="constrained")
    axes = drawn.subplots()
    for color, ranked_by in (("C0", "probability"), ("C1", "score"), ("C2", "both")):
        own = [row for row in rows if row["ranked_by"] == ranked_by]
        for column, style, label in LINES:
            axes.plot(
                [row["density"] for row in own], [row[column] for row in own], style,
                color=color, label=f"{label}, ranked by {ranked_by}",
            )  # fmt: skip
    axes.set(xlabel="candidates per kb and strand", ylabel="exact segments among the candidates")
    axes.grid(alpha=0.4)
    drawn.legend(loc="outside right upper", frameon=False)
    return to_svg(drawn)


if __name__ == "__main__":
    recorded = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(figure(recorded["figures"]["exons"]["curve"]), encoding="utf-8")
