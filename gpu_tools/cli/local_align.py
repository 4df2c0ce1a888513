"""``gpu-tools local-align``: the k best local alignments of each pair of sequences."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import click

import gpu_tools
from gpu_tools.cli.common import loci, options, pairwise
from gpu_tools.cli.common.options import note, option, progress
from gpu_tools.errors import counted
from gpu_tools.formats import tables
from gpu_tools.formats.alignments.dot_plot import SUFFIXES as IMAGES
from gpu_tools.formats.alignments.dot_plot import check_dot_plot, write_dot_plot
from gpu_tools.formats.alignments.pairwise import write_alignments
from gpu_tools.model.scoring import AffineScoring

if TYPE_CHECKING:
    from gpu_tools.local.api import KarlinAltschul

_log = logging.getLogger(__name__)


@click.command("local-align")
@pairwise.options
@loci.region_of("the subjects")
@option("--k N", "Most alignments of a pair of sequences.", type=options.Count(1), default=10)
@option(
    "--top N", type=options.Count(1),
    help="Report the N subjects of each query that align best, best first; E-values then count all "
    "symbols of the subjects.",
)  # fmt: skip
@option(
    "--min-score X", "Smallest score of an alignment.", type=options.IntegerRange(min=1), default=1
)
@option(
    "--both-strands",
    "Also align the reverse complement of each query; adds the column strand.",
)
@option(
    "--statistics",
    "Add the columns bits and evalue. The default penalties of gaps are then those of a scoring "
    "with known parameters.",
)
@option(
    "--dot-plot FILE", callback=options.one_of_suffixes(IMAGES),
    help="Also draw where the alignments lie, as .svg or .png, a panel for each pair of sequences.",
)  # fmt: skip
@options.output
@options.device
@options.common
def command(
    query, subject, regions, k, top, min_score, both_strands, statistics, alignments,
    alignments_format, coordinates, dot_plot, output, device, threads, quiet, **scores,
) -> None:  # fmt: skip
    """Find the k best local alignments that share no aligned pair, exactly.

    The first is the best; each next one is the best of those that use no aligned pair of an
    earlier one. A gap of n symbols costs open + (n - 1) * extend. The table has one row an
    alignment, with 1-based inclusive positions on the forward strands, those on a locus in its
    record's coordinates.
    """
    scoring = pairwise.scoring_of(**scores)
    scoring = _with_usual_penalties(scoring) if statistics else scoring
    if both_strands and scoring.matrix is not None:
        raise click.UsageError("--both-strands is for nucleotides; proteins have one strand")
    known = _known_statistics(scoring) if statistics else None
    pairs, placed, names = pairwise.read_pairs(query, subject, scoring, coordinates, regions)
    subjects = {subject.name: len(subject) for _, subject in pairs}
    if dot_plot:
        shown = len(subjects) if top is None else min(top, len(subjects))
        check_dot_plot(dot_plot, len(pairs) // max(len(subjects), 1) * shown)
    cells = sum(len(q) * len(s) for q, s in pairs)
    with progress("aligning", cells, quiet) as done, loci.errors_of_records(names):
        results = gpu_tools.local_align(
            pairs, scoring, k=k, min_score=min_score, both_strands=both_strands, device=device,
            threads=threads, progress=done,
        )  # fmt: skip
    searched = len(pairs)
    if top is not None:
        pairs, results = _best_subjects(pairs, results, top)
    found = [alignment for of_pair in results for alignment in of_pair]
    for path in alignments:
        write_alignments(path, found, pairs, placed, alignments_format)
    if dot_plot:
        names = [(query.name, subject.name) for query, subject in pairs]
        write_dot_plot(dot_plot, found, names, placed)
    columns, rows = pairwise.COLUMNS, pairwise.rows(found, placed)
    if both_strands:
        columns, rows = (*columns, "strand"), _joined(rows, [(a.strand,) for a in found])
    if known:
        columns = (*columns, "bits", "evalue")
        total = None if top is None else sum(subjects.values())
        rows = _joined(rows, [_chances(a, known, 1 + both_strands, total) for a in found])
    tables.write_table(output, columns, rows)
    note(counted(searched, "pair"), counted(len(found), "alignment"))


def _best_subjects(pairs: list, results: list, top: int) -> tuple[list, list]:
    """Return each query's pairs of the best scores, best first, and their alignments."""
    by_query: dict = {}
    for pair, alignments in zip(pairs, results, strict=True):
        if alignments:
            by_query.setdefault(pair[0].name, []).append((pair, alignments))
    best = [
        each
        for several in by_query.values()
        for each in sorted(several, key=lambda own: -own[1][0].score)[:top]
    ]
    return [pair for pair, _ in best], [alignments for _, alignments in best]


def _with_usual_penalties(scoring: AffineScoring) -> AffineScoring:
    """Return the scoring with penalties whose parameters are known, unless options name some."""
    from gpu_tools.local.api import usual_penalties  # imports the compiler

    sources = map(click.get_current_context().get_parameter_source, ("gap_open", "gap_extend"))
    usual = usual_penalties(scoring)
    if usual is None or any(s is not click.core.ParameterSource.DEFAULT for s in sources):
        return scoring
    _log.info("--gap-open %d --gap-extend %d, for which E-values are known", *usual)
    return replace(scoring, gap_open=usual[0], gap_extend=usual[1])


def _known_statistics(scoring) -> KarlinAltschul:
    """Return the scoring's parameters; unknown ones are wrong usage."""
    from gpu_tools.local.api import known_penalties, statistics_of

    known = statistics_of(scoring)
    if known is None:
        which = known_penalties(scoring)
        names = ", ".join(f"--gap-open {opens} --gap-extend {extends}" for opens, extends in which)
        raise click.UsageError(
            "--statistics: the parameters of this scoring are not known; "
            + (f"with these scores those of {names} are" if names else "nor of others like it")
        )
    return known


def _joined(rows, more):
    return ((*row, *further) for row, further in zip(rows, more, strict=True))


def _chances(alignment, known: KarlinAltschul, strands: int, total: int | None) -> tuple[str, str]:
    """Return bits and E-value; `total` counts the symbols of all subjects where they count."""
    cells = alignment.query_length * (total or alignment.subject_length) * strands
    return f"{known.bits(alignment.score):.1f}", f"{known.evalue(alignment.score, cells):.3g}"
