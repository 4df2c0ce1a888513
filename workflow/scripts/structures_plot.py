"""Draw the best chain of each locus by method; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.batch import exons_of_batches
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.files import replaced_when_complete
from gpu_tools.formats.tables import read_table
from gpu_tools.model.locus import Locus

FILES = {"multiple": True, "metavar": "FILE"}
COLOURS = {"annotation": "#555555", "candidates": "#0072b2", "sites": "#d55e00"}
INCHES = 1.3


def intervals(exons):
    """Return start and length of what the exons of a set cover together."""
    covered = []
    for start, end in sorted(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True)):
        if covered and start <= covered[-1][1]:
            covered[-1][1] = max(covered[-1][1], end)
        else:
            covered.append([start, end])
    return [(start, end - start) for start, end in covered]


def chain(text):
    """Return start and length of each exon of a chain, 1-based and inclusive in its text."""
    pairs = [tuple(map(int, part.split("-"))) for part in (text or "").split(",") if part]
    return [(start - 1, end - start + 1) for start, end in pairs]


def drawn(sets):
    """Return what the exons of each base cover, by the base."""
    return {base: intervals(exons) for base, exons in sets.items()}


def draw_locus(axes, rows, candidates, truth):
    """Draw a locus: candidates as a thin grey line, then annotation and each method's chain."""
    base, locus = rows[0]["base"], Locus.parse(rows[0]["locus"])
    lanes = [("annotation", truth)] if truth else []
    lanes += [(row["method"], chain(row["chain"])) for row in rows]
    axes.broken_barh(candidates, (len(lanes) - 0.15, 0.3), facecolors="#bbbbbb")
    for k, (name, exons) in enumerate(lanes):
        if exons:
            ends = min(start for start, _ in exons), max(start + n for start, n in exons)
            axes.hlines(k, *ends, colors=COLOURS[name], linewidth=0.8)
        axes.broken_barh(exons, (k - 0.3, 0.6), facecolors=COLOURS[name])
    axes.set_xlim(*locus.bounds)
    axes.set_ylim(len(lanes) + 0.5, -0.6)
    labels = [name for name, _ in lanes] + (["all candidates"] if candidates else [])
    axes.set_yticks(range(len(labels)), labels)
    targets = ", ".join(dict.fromkeys(row["target"] for row in rows))
    axes.set_title(f"{base} with {targets}", loc="left", fontsize="medium")


@click.command("structures_plot")
@click.option("--best", required=True, metavar="FILE", help="Table of the best chains.")
@click.option("--base", multiple=True, required=True, help="Base to draw; repeatable.")
@click.option("--candidates", **FILES, help="Candidate exons of a batch's bases; repeatable.")
@click.option("--cases", **FILES, help="Table of the cases of this batch; repeatable.")
@click.option("--truth", **FILES, help="Annotation of a batch's bases; repeatable.")
@click.option("--annotated", **FILES, help="Table of the cases of this batch; repeatable.")
@options.output
@options.common
def command(best, base, candidates, cases, truth, annotated, output, quiet):
    """Draw the best chain of each locus by method, with candidates and annotation, as SVG."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    if (len(candidates), len(truth)) != (len(cases), len(annotated)):
        raise click.UsageError("a --cases for each --candidates, an --annotated for each --truth")
    loci = {}
    for _, row in read_table(best, ("base", "target", "method", "locus"), ("chain",)):
        loci.setdefault(row["base"], []).append(row)
    shown = [name for name in loci if name in base]
    listed = drawn(exons_of_batches(candidates, cases))
    known = drawn(exons_of_batches(truth, annotated, read_annotated_exons))
    figure = Figure(figsize=(11, INCHES * len(shown) + 0.3), layout="constrained")
    for name, axes in zip(shown, figure.subplots(len(shown), squeeze=False)[:, 0], strict=True):
        draw_locus(axes, loci[name], listed.get(name, []), known.get(name))
    # the same file for the same table
    with rc_context({"svg.hashsalt": "gpu-tools"}), replaced_when_complete(output) as temporary:
        FigureCanvasSVG(figure).print_svg(temporary, metadata={"Date": None})


run_rule(command, globals().get("snakemake"))
