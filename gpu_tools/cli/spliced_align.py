"""``gpu-tools spliced-align``: the best chain of candidate exons for each pair of sequences."""

from __future__ import annotations

import math
from collections.abc import Iterator

import click

from gpu_tools import spliced_align
from gpu_tools.cli import options
from gpu_tools.cli.cases import CaseFiles, read_cases
from gpu_tools.cli.progress import progress
from gpu_tools.formats import intervals, tables
from gpu_tools.formats.alignments import SUFFIXES, write_alignments
from gpu_tools.formats.files import check_writable
from gpu_tools.results import SplicedAlignment
from gpu_tools.scoring import ENDS, SplicedScoring

COLUMNS = (
    "base", "target", "strand", "score", "base_length", "target_length", "n_exons", "n_chain",
    "chain", "identity", "cells",
)  # fmt: skip


def _known_suffixes(context, parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if not path.lower().endswith(SUFFIXES):
            raise click.BadParameter(f"{path!r} does not end in one of {', '.join(SUFFIXES)}")
    return paths


def _finite(context, parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


@click.command("spliced-align")
@click.option("--base", required=True, metavar="FASTA", help="Genomic sequences.")
@click.option(
    "--exons", required=True, metavar="FILE",
    help="Candidate exons by sequence name: GENSCAN report, GFF3, GTF, BED or TSV.",
)  # fmt: skip
@click.option("--targets", required=True, metavar="FASTA", help="cDNAs of homologous genes.")
@click.option(
    "--pairs", metavar="TSV",
    help="Columns base and target: the cases to do.  [default: every target on every base]",
)  # fmt: skip
@click.option(
    "--exons-format", default=intervals.AUTO, show_default=True,
    type=click.Choice((intervals.AUTO, *intervals.FORMATS)),
    help="Format of the exons; auto tells it from content, then suffix.",
)  # fmt: skip
@click.option("--match", type=int, default=1, show_default=True, help="Score of equal nucleotides.")
@click.option(
    "--mismatch", type=int, default=-1, show_default=True, help="Score of unequal nucleotides."
)
@click.option(
    "--gap", type=int, default=-2, show_default=True, help="Score added for each gap symbol."
)
@click.option(
    "--exon-weight", type=float, default=0.0, show_default=True, callback=_finite, metavar="W",
    help="Add round(W * candidate's own score) for each exon of the chain.",
)  # fmt: skip
@click.option(
    "--intron-penalty", type=int, default=0, show_default=True, metavar="N",
    help="Subtract N for each exon after the chain's first.",
)  # fmt: skip
@click.option(
    "--ends", type=click.Choice(ENDS), default="global", show_default=True,
    help="free-target: the target's ends may stay unaligned at no cost.",
)  # fmt: skip
@click.option(
    "--alignments", multiple=True, metavar="FILE", callback=_known_suffixes,
    help=f"Also write the alignments; the suffix ({', '.join(SUFFIXES)}) chooses the format. "
    "May be given several times.",
)  # fmt: skip
@options.output
@options.device
@options.common
def command(
    base, exons, targets, pairs, exons_format, alignments, output, device, threads, quiet, **scores
) -> None:
    """Find the chain of candidate exons that aligns best to each target, exactly.

    A chain is a list of candidate exons of one strand that do not overlap. Its score is that of
    the best global alignment of the exons' concatenation with the target. FASTA files may be
    compressed and hold many records. The table has one row a case, with 1-based inclusive
    positions on the forward strand.
    """
    for path in (output, *alignments):
        check_writable(path)
    scoring = SplicedScoring(**scores)
    inputs = read_cases(CaseFiles(base, exons, targets, pairs, exons_format))
    total = sum(case.cells for case in inputs.cases)
    with progress("aligning", total, quiet) as done:
        results = spliced_align(
            inputs.cases, scoring, device=device, threads=threads, progress=done
        )
    lengths = {name: len(sequence) for name, sequence in inputs.bases.items()}
    for path in alignments:
        write_alignments(path, results, lengths, inputs.targets)
    tables.write_table(output, COLUMNS, _rows(results))


def _rows(results: list[SplicedAlignment]) -> Iterator[tuple]:
    for result in results:
        chain = ",".join(f"{start + 1}-{end}" for start, end in result.chain)
        identity = None if result.identity is None else f"{result.identity:.4f}"
        yield (
            result.base, result.target, result.strand, result.score, result.base_length,
            result.target_length, result.n_exons, result.n_chain, chain or None, identity,
            result.cells,
        )  # fmt: skip
