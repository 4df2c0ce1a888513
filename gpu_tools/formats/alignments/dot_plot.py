"""Dot plots: the positions of the alignments of pairs of sequences as lines in an image."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import PurePath

from gpu_tools.errors import InputError
from gpu_tools.formats.files import replaced_when_complete, suffix_of
from gpu_tools.model.resources import how_to_install
from gpu_tools.model.results import PairLoci, PairwiseAlignment

_log = logging.getLogger(__name__)

SUFFIXES = (".svg", ".png")
MOST_PANELS = 64
MOST_LINES = 5000
"""Lines of a panel, those of the best alignments: more make no picture that can be read."""
_ACROSS, _INCHES, _DOTS_PER_INCH = 4, 4.0, 120
_COLOURS = {"+": "tab:blue", "-": "tab:orange"}
Line = list[tuple[int, int]]


def write_dot_plot(
    path: str | os.PathLike,
    alignments: Iterable[PairwiseAlignment],
    pairs: Iterable[tuple[str, str]],
    loci: PairLoci,
) -> None:
    """Draw alignments as lines, a panel a pair of sequences: subject across, query down."""
    pairs = list(pairs)
    check_dot_plot(path, len(pairs))
    figure = _draw(list(alignments), pairs, loci)
    _save(figure, path)


def check_dot_plot(path: str | os.PathLike, pairs: int) -> None:
    """Raise `InputError` if a dot plot of so many pairs of sequences cannot be drawn.

    That is, if the suffix is no image format's, there are more than `MOST_PANELS` pairs, or
    matplotlib is not installed.
    """
    suffix_of(path, SUFFIXES, "image")
    if pairs > MOST_PANELS:
        raise InputError(
            f"a dot plot of {pairs} pairs of sequences", path=path,
            expected=f"no more than {MOST_PANELS}",
        )  # fmt: skip
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "a dot plot needs the package matplotlib", path=path,
            expected=f"an installation of gpu-tools with it: {how_to_install('workflow')}",
        ) from None  # fmt: skip


def path_of(alignment: PairwiseAlignment) -> Line:
    """Return the corners of an alignment's line as (subject, query) positions, 0-based.

    On ``-`` the query's position falls.
    """
    step = 1 if alignment.strand == "+" else -1
    x = alignment.subject_start
    y = alignment.query_start if step > 0 else alignment.query_end
    corners = [(x, y)]
    for operation, n in alignment.cigar:
        x += n if operation in "=XD" else 0
        y += n * step if operation in "=XI" else 0
        corners.append((x, y))
    return corners


def _draw(alignments: list[PairwiseAlignment], pairs: list[tuple[str, str]], loci: PairLoci):
    from matplotlib.figure import Figure

    across = max(min(len(pairs), _ACROSS), 1)
    down = max(-(-len(pairs) // across), 1)
    figure = Figure(figsize=(across * _INCHES, down * _INCHES), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(pairs) :]:
        panel.set_axis_off()
    for panel, (query, subject) in zip(panels, pairs, strict=False):
        _draw_panel(panel, [loci.moved(a) for a in _best(alignments, query, subject)])
        columns, rows = loci.subjects[subject].bounds, loci.queries[query].bounds
        panel.set(xlabel=subject, ylabel=query, xlim=columns, ylim=rows[::-1])
        panel.tick_params(labelsize="small")
    return figure


def _best(alignments: list[PairwiseAlignment], query: str, subject: str) -> list[PairwiseAlignment]:
    """Return the alignments of a pair of sequences that are drawn."""
    own = [a for a in alignments if (a.query, a.subject) == (query, subject)]
    if len(own) > MOST_LINES:
        _log.warning(
            "%s with %s: the %d best of %d alignments are drawn",
            query, subject, MOST_LINES, len(own),
        )  # fmt: skip
        own = sorted(own, key=lambda a: -a.score)[:MOST_LINES]
    return own


def _draw_panel(panel, alignments: list[PairwiseAlignment]) -> None:
    from matplotlib.collections import LineCollection

    best = max((a.score for a in alignments), default=1)
    panel.add_collection(
        LineCollection(
            [path_of(a) for a in alignments],
            colors=[_COLOURS[a.strand] for a in alignments],
            linewidths=[1 + 2 * a.score / best for a in alignments],
            capstyle="round",
        )
    )


def _save(figure, path) -> None:
    from matplotlib import rc_context

    # nothing of the day or the process, so that the same alignments make the same file
    settings = {"svg.hashsalt": "gpu-tools", "svg.fonttype": "none"}
    kind = PurePath(path).suffix.lower()[1:]
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with replaced_when_complete(path) as temporary, rc_context(settings):
        figure.savefig(str(temporary), format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)
