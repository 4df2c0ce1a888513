"""Measure candidates and best chains against annotations; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.exons.accuracy import compare_exons
from gpu_tools.formats.batch import exons_of_batches
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.matches import read_scores
from gpu_tools.formats.tables import write_table
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.report.findings import method_of

FILES = {"multiple": True, "required": True, "metavar": "FILE"}
COLUMNS = (
    "base", "method", "exons", "level", "annotated", "predicted", "true", "sensitivity",
    "precision", "f1",
)  # fmt: skip


def read_chains(path):
    """Return the chains of a table of scores as exons, by method and base sequence."""
    chains = {}
    for row in read_scores(path)[1]:
        of_method, found = chains.setdefault(method_of(row), {}), row.alignment
        if found.chain:
            of_method[row.fields["base"]] = ExonSet.from_intervals(found.chain, found.strand)
    return chains


def compare(what, found, truth, bases):
    """Yield the rows of each base sequence, then of all together, whose base is missing."""
    for base in bases:
        yield from rows(base, what, found, truth, [base])
    yield from rows(None, what, found, truth, bases)


def rows(base, what, found, truth, names):
    """Yield a row for each level; `what` is the method and which of its exons."""
    sides = [{name: side.get(name, ExonSet.empty()) for name in names} for side in (found, truth)]
    for level, counts in compare_exons(*sides).items():
        ratios = (counts.sensitivity, counts.precision, counts.f1)
        shown = (None if ratio is None else f"{ratio:.4f}" for ratio in ratios)
        yield base, *what, level, counts.annotated, counts.predicted, counts.true, *shown


@click.command("exons_compare")
@click.option("--cases", **FILES, help="Table of the cases of a batch; repeatable.")
@click.option("--truth", **FILES, help="Annotation of a batch's bases; repeatable.")
@click.option(
    "--candidates", multiple=True, metavar="FILE",
    help="Candidate exons of a batch's bases; repeatable.",
)  # fmt: skip
@click.option("--best", required=True, metavar="FILE", help="Table of the best chains.")
@click.option("--base", multiple=True, required=True, help="Annotated base; repeatable.")
@options.output
@options.common
def command(cases, truth, candidates, best, base, output, quiet):
    """Compare candidate exons, and the chains chosen from them, with annotated exons."""
    if len(truth) != len(cases) or len(candidates) not in (0, len(cases)):
        raise click.UsageError("as many --truth, and --candidates, as --cases")
    annotated = exons_of_batches(truth, cases, read_annotated_exons)
    found = {(method, "chain"): chains for method, chains in read_chains(best).items()}
    if candidates:
        found = {("candidates", "candidates"): exons_of_batches(candidates, cases)} | found
    tables = (compare(what, sets, annotated, base) for what, sets in found.items())
    write_table(output, COLUMNS, (row for table in tables for row in table))


run_rule(command, globals().get("snakemake"))
