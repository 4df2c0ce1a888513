"""Draw the best chain of each locus by method; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.batch import exons_of_batches
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.matches import read_scores
from gpu_tools.report.files import write_svg
from gpu_tools.report.findings import drawn_bases, findings_of
from gpu_tools.report.models import structures

FILES = {"multiple": True, "metavar": "FILE"}


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
    if (len(candidates), len(truth)) != (len(cases), len(annotated)):
        raise click.UsageError("a --cases for each --candidates, an --annotated for each --truth")
    _, rows = read_scores(best)
    chosen = [row for row in rows if row.fields["base"] in base and row.alignment.chain]
    listed = exons_of_batches(candidates, cases)
    known = exons_of_batches(truth, annotated, read_annotated_exons)
    findings = findings_of(chosen, listed, known)
    write_svg(output, structures(findings, drawn_bases(findings)))


run_rule(command, globals().get("snakemake"))
