"""Exon F1 against divergence as an SVG."""

from __future__ import annotations

from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 760, 420, 60, 40, 440, 320
COLOURS = ("#0b6e4f", "#5fb49c", "#d1495b", "#edae49", "#66635b", "#30638e", "#8d6a9f")


def figure(rows: list[dict], mutations: str = "uniform") -> str:
    """Draw one line a method.

    Parameters
    ----------
    rows : list of dict
        Rows of bench_accuracy.py.
    mutations : str
        Which kind of mutations.

    Returns
    -------
    str
        The SVG.
    """
    rows = [row for row in rows if row["mutations"] == mutations]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    divergences = sorted({row["divergence"] for row in rows})
    lines = [
        _method([r for r in rows if r["method"] == method], divergences, COLOURS[k], k)
        for k, method in enumerate(methods)
    ]
    body = [*_axes(divergences), *lines]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _x(divergence: float, divergences: list[int]) -> float:
    span = max(divergences[-1] - divergences[0], 1)
    return LEFT + PLOT_WIDTH * (divergence - divergences[0]) / span


def _y(f1: float) -> float:
    return TOP + PLOT_HEIGHT * (1 - f1)


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _axes(divergences: list[int]) -> list[str]:
    parts = [_text(LEFT, TOP - 16, "exon F1 (both ends exact)")]
    for f1 in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = _y(f1)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + PLOT_WIDTH}" stroke="#dddddd"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{f1:.1f}", "end"))
    for divergence in divergences:
        parts.append(
            _text(_x(divergence, divergences), TOP + PLOT_HEIGHT + 20, f"{divergence}", "middle")
        )
    middle = LEFT + PLOT_WIDTH / 2
    parts.append(
        _text(middle, TOP + PLOT_HEIGHT + 44, "substituted bases of the target, %", "middle")
    )
    return parts


def _method(rows: list[dict], divergences: list[int], colour: str, number: int) -> str:
    points = [(_x(r["divergence"], divergences), _y(r["exon_f1"])) for r in rows]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    y = TOP + 16 + 24 * number
    legend = LEFT + PLOT_WIDTH + 24
    return "\n".join(
        (
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>',
            *(f'<circle cx="{x:.1f}" cy="{v:.1f}" r="3.5" fill="{colour}"/>' for x, v in points),
            f'<path d="M{legend} {y - 4}h24" stroke="{colour}" stroke-width="2.5"/>',
            _text(legend + 32, y, f"{rows[0]['method']} ({rows[0]['genes']} genes)"),
        )
    )
