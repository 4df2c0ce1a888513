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
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.files import read_lines, replaced_when_complete
from gpu_tools.formats.sequences.fasta import whole_records
from gpu_tools.model.locus import Locus

ROW, MARGIN = 0.32, 1.3  # inches
THIN = 1.2  # points: a segment is seen however short it is


class Drawn(NamedTuple):
    """A segment, 0-based half-open, and its score."""

    start: int
    end: int
    score: float


def read_loci(paths):
    """Return where the sequences of FASTA files lie on their records."""
    records = (record for path in paths for record in whole_records(path))
    return [Locus.of_header(r.name, r.description, len(r.symbols)) for r in records]


def read_segments(path):
    """Return the segments of a GFF3 file by record."""
    segments = {}
    for feature in features(path, read_lines(path)):
        drawn = Drawn(*feature.interval, feature.location.score(feature.score))
        segments.setdefault(unquote(feature.seqid), []).append(drawn)
    return segments


def within(locus, segments):
    """Return the segments that lie in a locus, in its coordinates."""
    found = (s for s in segments if locus.start <= s.start and s.end <= locus.end)
    return [s._replace(start=s.start - locus.start, end=s.end - locus.start) for s in found]


def label(locus):
    """Return the name of a sequence: of its record, if it is all of it."""
    return locus.record if locus.is_all_of(locus.record) else locus.name


def draw(loci, segments):
    """Return a figure with a row for each sequence that has a segment."""
    rows = [(locus, within(locus, segments.get(locus.record, ()))) for locus in loci]
    rows = [(locus, found) for locus, found in rows if found]
    figure = Figure(figsize=(10, MARGIN + ROW * max(len(rows), 1)), layout="constrained")
    axes = figure.subplots()
    norm = Normalize(0, max((s.score for _, found in rows for s in found), default=1))
    for row, (locus, found) in enumerate(rows):
        axes.plot([0, locus.end - locus.start], [row, row], color="0.75", linewidth=1, zorder=1)
        colors = colormaps["viridis_r"](norm([segment.score for segment in found]))
        bars = [(segment.start, segment.end - segment.start) for segment in found]
        axes.broken_barh(
            bars, (row - 0.3, 0.6), facecolors=colors, edgecolors=colors, linewidth=THIN, zorder=2
        )
    names = [label(locus) for locus, _ in rows]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("position in the sequence drawn")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.colorbar(ScalarMappable(norm, "viridis_r"), ax=axes, label="score")
    return figure


@click.command("segments_plot")
@click.option("--gff3", required=True, metavar="FILE", help="Segments, GFF3 of max-segments.")
@click.option(
    "--sequence", multiple=True, required=True, metavar="FILE", help="Sequences, FASTA; repeatable."
)
@click.option("--output", required=True, metavar="FILE", help="SVG to write.")
@options.common
def command(gff3, sequence, output, quiet):
    """Draw the segments of each sequence, one row a sequence; those without any are left out."""
    figure = draw(read_loci(sequence), read_segments(gff3))
    # the same file for the same segments: no random names, no date
    with rc_context({"svg.hashsalt": "gpu-tools", "svg.fonttype": "none"}):
        with replaced_when_complete(output) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})


run_rule(command, globals().get("snakemake"))
