"""Draw where the segments of sequences lie; also runs by hand, see --help."""

from typing import NamedTuple
from urllib.parse import unquote

import click
from matplotlib import colormaps, rc_context
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.errors import InputError
from gpu_tools.formats.fields import Location
from gpu_tools.formats.files import read_lines, replaced_when_complete

REGION = "##sequence-region "
ROW, MARGIN = 0.32, 1.3  # inches
THIN = 1.2  # points: a segment is seen however short it is


class Drawn(NamedTuple):
    """A segment, 0-based half-open, and its score."""

    start: int
    end: int
    score: float


def read_segments(path):
    """Return the lengths and the segments of the sequences of a GFF3 file, by name."""
    lengths, segments = {}, {}
    for number, line in read_lines(path):
        location = Location(path, number)
        if line.startswith(REGION):
            name, _, length = line.removeprefix(REGION).split()
            lengths[unquote(name)] = location.integer(length, "length")
        elif line and not line.startswith("#"):
            name, start, end, score = (line.split("\t")[k] for k in (0, 3, 4, 5))
            bounds = location.closed_interval(start, end)
            segments.setdefault(unquote(name), []).append(Drawn(*bounds, location.score(score)))
    if not segments.keys() <= lengths.keys():
        raise InputError("a sequence without its length", path=path, expected=REGION + "lines")
    return lengths, segments


def draw(lengths, segments):
    """Return a figure with a row for each sequence that has a segment."""
    names = [name for name in lengths if name in segments]
    figure = Figure(figsize=(10, MARGIN + ROW * max(len(names), 1)), layout="constrained")
    axes = figure.subplots()
    scores = [segment.score for name in names for segment in segments[name]]
    norm = Normalize(0, max(scores, default=1))
    for row, name in enumerate(names):
        axes.plot([0, lengths[name]], [row, row], color="0.75", linewidth=1, zorder=1)
        colors = colormaps["viridis_r"](norm([segment.score for segment in segments[name]]))
        bars = [(segment.start, segment.end - segment.start) for segment in segments[name]]
        axes.broken_barh(
            bars, (row - 0.3, 0.6), facecolors=colors, edgecolors=colors, linewidth=THIN, zorder=2
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("position")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.colorbar(ScalarMappable(norm, "viridis_r"), ax=axes, label="score")
    return figure


@click.command("segments_plot")
@click.option("--gff3", required=True, metavar="FILE", help="Segments, GFF3 of max-segments.")
@click.option("--output", required=True, metavar="FILE", help="SVG to write.")
@options.common
def command(gff3, output, quiet):
    """Draw the segments of each sequence, one row a sequence; those without any are left out."""
    figure = draw(*read_segments(gff3))
    # the same file for the same segments: no random names, no date
    with rc_context({"svg.hashsalt": "gpu-tools", "svg.fonttype": "none"}):
        with replaced_when_complete(output) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})


run_rule(command, globals().get("snakemake"))
