"""What local and global alignment share: options of scoring, reading pairs, rows of the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import click

from gpu_tools.cli.common import loci
from gpu_tools.cli.common.options import IntegerRange, added, alignments_of, option
from gpu_tools.errors import InputError, ScoringError
from gpu_tools.formats.alignments.pairwise import SUFFIXES
from gpu_tools.formats.scales import SHIPPED, load_matrix
from gpu_tools.model.results import PairLoci, PairwiseAlignment, cigar_text
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import ProteinSequence, Sequence, encode_protein

COLUMNS = (
    "query", "subject", "rank", "score", "q_start", "q_end", "s_start", "s_end", "identity",
    "columns", "gaps", "cigar",
)  # fmt: skip

options = added(
    option("--query FASTA", "Queries; may be given several times.", multiple=True, required=True),
    option("--subject FASTA", "Subjects; every query meets each.", required=True),
    option("--match N", f"Score of equal nucleotides.  [default: {AffineScoring.match}]", type=int),
    option(
        "--mismatch N", type=int,
        help=f"Score of unequal nucleotides.  [default: {AffineScoring.mismatch}]",
    ),
    option(
        "--matrix NAME|FILE",
        f"Align proteins, scored by {', '.join(SHIPPED)} or a file in NCBI's format.",
    ),
    option(
        "--gap-open N", type=IntegerRange(min=0), of=AffineScoring,
        help="Penalty of a gap's first symbol.",
    ),
    option(
        "--gap-extend N", type=IntegerRange(min=0), of=AffineScoring,
        help="Penalty of each further symbol; at most --gap-open.",
    ),
    alignments_of(SUFFIXES, "; .sam is for nucleotides"),
    loci.coordinates,
)  # fmt: skip
"""Adds the shared options; see `scoring_of` and `read_pairs` for what they become."""


def scoring_of(match, mismatch, matrix, gap_open, gap_extend) -> AffineScoring:
    """Return the scoring that the options stand for."""
    if matrix is not None and (match is not None or mismatch is not None):
        raise click.UsageError("--matrix replaces --match and --mismatch; give one or the other")
    try:
        return AffineScoring(
            AffineScoring.match if match is None else match,
            AffineScoring.mismatch if mismatch is None else mismatch,
            gap_open, gap_extend, None if matrix is None else load_matrix(matrix),
        )  # fmt: skip
    except ScoringError as error:
        raise click.UsageError(str(error)) from None


class PairInputs(NamedTuple):
    """Every query with every subject, and where both lie."""

    pairs: list[tuple[Sequence, Sequence]]
    loci: PairLoci
    names: dict[str, list[str]]


def read_pairs(
    queries: Iterable[str],
    subject: str,
    scoring: AffineScoring,
    coordinates: str,
    regions: Iterable[loci.Region] = (),
) -> PairInputs:
    """Read all files; of the subject's the regions, if there are any."""
    if [*queries, subject].count("-") > 1:
        raise InputError("more than one input is standard input", path="-")
    subjects, found = _read(subject, scoring, regions), {}
    names = {subject: [record.name for record in subjects]}
    for path in queries:
        for query in _read(path, scoring):
            if query.name in found:
                raise InputError(
                    "a query of that name has been read from another file", path=path,
                    record=query.name, expected="a name for each query",
                )  # fmt: skip
            found[query.name] = query
            names.setdefault(path, []).append(query.name)
    placed = PairLoci(
        loci.place(" ".join(queries), found.values(), coordinates),
        loci.place(subject, subjects, coordinates),
    )
    return PairInputs([(q, s) for q in found.values() for s in subjects], placed, names)


def _read(path: str, scoring: AffineScoring, regions=()) -> list[Sequence]:
    if scoring.matrix is None:
        try:
            return loci.read_loci(path, regions)
        except InputError as error:
            raise error.hinted("proteins need --matrix, such as BLOSUM62") from None
    records = loci.read_loci(path, regions, encode_protein)
    return [ProteinSequence(s.name, s.codes, s.description) for s in records]


def rows(alignments: Iterable[PairwiseAlignment], placed: PairLoci) -> Iterator[tuple]:
    """Yield the table's rows."""
    for a in map(placed.moved, alignments):
        yield (
            a.query, a.subject, a.rank, a.score, a.query_start + 1, a.query_end,
            a.subject_start + 1, a.subject_end, f"{a.identity:.4f}", a.columns, a.gaps,
            cigar_text(a.cigar),
        )  # fmt: skip
