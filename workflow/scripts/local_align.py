"""Align each target of a batch locally with its locus; also runs by hand, see --help."""

import tempfile
from pathlib import Path

import click

from gpu_tools.cli.common.rule import run_rule
from gpu_tools.cli.local_align import command as local_align
from gpu_tools.formats.alignments.dot_plot import MOST_PANELS
from gpu_tools.formats.batch import read_case_rows
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta

FILE = {"required": True, "metavar": "FILE"}


def align_base(subject, queries, results, arguments):
    """Write a base's table, PAF and, of at most 64 targets, dot plot."""
    with tempfile.TemporaryDirectory() as folder:
        query, base = Path(folder) / "targets.fa", Path(folder) / "base.fa"
        write_fasta(query, queries)
        write_fasta(base, [subject])
        names = {"--query": query, "--subject": base, "--output": results / f"{subject.name}.tsv"}
        names["--alignments"] = results / f"{subject.name}.paf"
        if len(queries) <= MOST_PANELS:
            names["--dot-plot"] = results / f"{subject.name}.svg"
        words = [str(word) for pair in names.items() for word in pair]
        local_align.main([*words, *arguments], standalone_mode=False)


@click.command("local_align", context_settings={"ignore_unknown_options": True})
@click.option("--bases", **FILE, help="FASTA of the loci.")
@click.option("--targets", **FILE, help="FASTA of the targets.")
@click.option("--cases", **FILE, help="Table of the cases.")
@click.option("--results", required=True, metavar="FOLDER", help="Folder to write.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(bases, targets, cases, results, arguments):
    """Align the targets of each base with it; ARGUMENTS are further ones of local-align."""
    loci, others = ({s.name: s for s in read_fasta(path)} for path in (bases, targets))
    queries = {}
    for row in read_case_rows(cases):
        queries.setdefault(row.base, []).append(others[row.target])
    results = Path(results)
    results.mkdir(parents=True, exist_ok=True)
    for base, of_base in queries.items():
        align_base(loci[base], of_base, results, arguments)


run_rule(command, globals().get("snakemake"))
