"""``gpu-tools report``: a page of what spliced alignment found."""

from __future__ import annotations

from pathlib import Path

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.completion import completed_files
from gpu_tools.cli.common.options import GENOMIC, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.files import open_binary
from gpu_tools.model.resources import how_to_install

_NEEDED = ("altair", "vl_convert", "jinja2")


@click.command("report")
@click.argument("results", shell_complete=completed_files)
@option("--output -o FILE", "Page to write, HTML.", default="report.html")
@option("--title TEXT", "Title of the page.  [default: what RESULTS are]")
@option(
    "--genome FASTA",
    "Genomic sequences: for splice sites in the figures, and for the session of IGV.",
    aliases=GENOMIC,
)
@option(
    "--candidates FILE", multiple=True,
    help="Candidate exons to draw, beside those of the workflow: GFF3, BED and others; repeatable.",
)  # fmt: skip
@option("--annotation FILE", "Annotation to draw, GFF3 or GTF; repeatable.", multiple=True)
@option(
    "--junctions FILE", multiple=True,
    help="Introns that were seen, as for annotate: figures tell how often, and others are faint; "
    "repeatable.",
)  # fmt: skip
@option(
    "--alignments FILE", multiple=True,
    help="Alignments to link to, and phases from GFF3, beside those of the workflow; repeatable.",
)  # fmt: skip
@option(
    "--track FILE", multiple=True,
    help="File to link to and to show in IGV, such as an annotation; repeatable.",
)  # fmt: skip
@option(
    "--igv FILE", callback=options.one_of_suffixes((".xml",)),
    help="Also write a session for IGV, .xml.",
)  # fmt: skip
@option("--figures FOLDER", "Also write all figures as SVG, PNG and Vega-Lite.")
@option(
    "--loci N", type=options.IntegerRange(min=0), default=100,
    help="Number of loci with a figure, those of the lowest E-values.",
)  # fmt: skip
@option(
    "--conserved FILE",
    "Of a gene set: names of targets that every genome should have, one a line, or family and "
    "target.",
)
@options.common
def command(
    results, output, title, genome, candidates, annotation, junctions, alignments, track, igv,
    figures, loci, conserved, quiet,
) -> None:  # fmt: skip
    """Make a page of results: figures of gene models, tables, links.

    RESULTS is the folder of the workflow's results, or a table of scores that spliced-align wrote;
    or the folder of a gene set, with the files genes.gff3 and targets.tsv of annotate, or that of
    lift, with its table lifted.tsv.
    The page is one file that needs no network and no server.
    """
    if genome is not None:
        with open_binary(genome):  # which figures read, or only IGV does
            pass
    _check_installed()
    from gpu_tools.report.gene_set import is_gene_set

    if is_gene_set(results):
        drawn = annotation, genome, junctions
        _report_genes(results, output, title or "Gene set", figures, conserved, drawn, loci)
        return
    if conserved:
        raise click.UsageError("--conserved needs the folder of a gene set")
    from gpu_tools.report.lifted import is_lift

    if is_lift(results):
        _report_lift(results, output, title or "Lifted annotation", figures)
        return
    from gpu_tools.report.files import session_tracks, write_session
    from gpu_tools.report.findings import Extra, read_findings
    from gpu_tools.report.page import Report, Surroundings, write_page

    findings = read_findings(results, Extra(candidates, annotation, alignments, genome, junctions))
    report, others = Report(findings, loci), tuple(map(Path, (*track, *annotation, *alignments)))
    session = Path(igv) if igv else None
    title = title or "Gene structures"
    around = Surroundings(Path(output), title, others, session, genome is not None)
    write_page(report, around)  # first: it reads the genome, which may fail
    if igv:
        tracks = session_tracks(findings.folder, others)
        write_session(igv, genome, tracks, _first_place(report))
    if figures:
        _write_figures(figures, report)
    note(counted(len(report.drawn), "locus drawn", "loci drawn"))


def _report_genes(folder, output, title, figures, conserved, drawn_too, most) -> None:
    from gpu_tools.report.files import write_figures
    from gpu_tools.report.gene_page import GenePage, write_gene_page
    from gpu_tools.report.gene_set import read_gene_set
    from gpu_tools.report.transcripts import drawn_genes, gene_findings

    findings = read_gene_set(folder, conserved)
    structures = findings.structures
    drawn = drawn_genes(structures, findings.targets, most)
    sources = gene_findings(findings.folder, structures, drawn, *drawn_too)
    page = GenePage(findings, drawn, sources)
    write_gene_page(output, title, page)  # first: it reads the genome, which may fail
    if figures:
        write_figures(figures, page.figures())
    note(counted(len(structures.transcripts), "gene"), f"{len(drawn):,} drawn")


def _report_lift(folder, output, title, figures) -> None:
    from gpu_tools.report.files import write_figures
    from gpu_tools.report.lifted import charts_of_lift, read_lift, write_lift_page

    findings = read_lift(folder)
    write_lift_page(output, title, findings)
    if figures:
        write_figures(figures, charts_of_lift(findings))
    note(f"{counted(len(findings.genes), 'gene')}, {len(findings.lost):,} lost")


def _check_installed() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the Python module {missing[0]} is missing",
            expected=f"an installation of gpu-tools with it: {how_to_install('report')}",
        )


def _first_place(report) -> str:
    if not report.drawn:
        return ""
    locus = report.drawn[0]
    return f"{locus.record}:{locus.shown[0] + 1}-{locus.shown[1]}"


def _write_figures(folder: str, report) -> None:
    from gpu_tools.report.files import write_figures
    from gpu_tools.report.page import locus_figures

    write_figures(folder, report.charts() | locus_figures(report))
