"""``gpu-tools max-submatrix``: the rectangles of a matrix with the largest sums."""

from __future__ import annotations

import click

import gpu_tools
from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.options import IntegerRange, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.numbers import read_matrix
from gpu_tools.formats.sequences.fasta import read_one
from gpu_tools.formats.tables import write_table
from gpu_tools.hardware.device import resolve
from gpu_tools.model.locus import Locus
from gpu_tools.model.results import Submatrix
from gpu_tools.model.sequences import OTHER, Sequence, encode, encode_protein
from gpu_tools.segments.api import DOT_SCORE_LIMIT as LARGEST
from gpu_tools.segments.api import dot_plot

COLUMNS = ("row_start", "row_end", "column_start", "column_end", "score")
AXES = ("row", "column")
ALPHABETS = {"dna": (encode, OTHER), "protein": (encode_protein, None)}
"""How symbols are encoded, and which code matches nothing."""
_SCORE = IntegerRange(-LARGEST, LARGEST, min_open=True, max_open=True)


@click.command("max-submatrix")
@option(
    "--matrix FILE",
    "Numbers: .npy, or a text with a row on each line and tabs between the columns.",
)
@option(
    "--dot-plot fastas FASTA FASTA", nargs=2,
    help="Instead of a matrix: two files of one sequence each, rows before columns.",
)  # fmt: skip
@option("--match N", "With --dot-plot: score of equal symbols.", type=_SCORE, default=1)
@option("--mismatch N", "With --dot-plot: score of unequal symbols.", type=_SCORE, default=-1)
@option(
    "--count K", type=options.Count(1),
    help="The K best rectangles that share no cell, each the best that is left.  [default: the "
    "best one]",
)  # fmt: skip
@option("--all every", "All such rectangles, until no positive value is left.")
@option("--alphabet", "Of the two sequences.", type=click.Choice(tuple(ALPHABETS)), default="dna")
@loci.coordinates
@options.output
@options.device
@options.common
def command(
    matrix, fastas, match, mismatch, count, every, alphabet, coordinates, output, device, threads,
    quiet,
) -> None:  # fmt: skip
    """Find the rectangle of neighbouring rows and columns with the largest sum, exactly.

    The table has one row, with 1-based inclusive positions, those in a locus in its record's
    coordinates, or none if no value is positive. With --count or --all it has a row for each
    rectangle, the best first, and the column rank.
    """
    if every and count:
        raise click.UsageError("give either --count or --all")
    if (matrix is None) == (fastas is None):
        raise click.UsageError("give either --matrix or --dot-plot")
    resolve(device)
    if matrix is None:
        rows, columns = _sequences(fastas, alphabet)
        placed = _loci(fastas, (rows, columns), coordinates)
        values = dot_plot(rows.codes, columns.codes, match, mismatch, ALPHABETS[alphabet][1])
    else:
        values = read_matrix(matrix)
        placed = [Locus.whole(axis, 0) for axis in AXES]
    try:
        most = None if every else count or 1
        found = gpu_tools.max_submatrices(values, count=most, device=device, threads=threads)
    except InputError as error:
        raise error.located(path=matrix) from None
    columns, rows = COLUMNS, [_row(one, placed) for one in found]
    if every or count:
        columns, rows = ("rank", *COLUMNS), [(k, *row) for k, row in enumerate(rows, 1)]
    write_table(output, columns, rows)
    note(f"{values.shape[0]:,} x {values.shape[1]:,} values", counted(len(found), "rectangle"))


def _sequences(fastas: tuple[str, str], alphabet: str) -> list[Sequence]:
    return [read_one(path, ALPHABETS[alphabet][0]) for path in fastas]


def _loci(fastas, sequences: tuple[Sequence, Sequence], coordinates: str) -> list[Locus]:
    """Return the loci of rows and columns."""
    both = zip(fastas, sequences, strict=True)
    return [loci.place(path, [s], coordinates)[s.name] for path, s in both]


def _row(found: Submatrix, placed: list[Locus]) -> tuple:
    score = found.score if isinstance(found.score, int) else f"{found.score:.15g}"
    rows, columns = placed
    row_start, row_end = rows.to_record((found.row_start, found.row_end))
    column_start, column_end = columns.to_record((found.column_start, found.column_end))
    return row_start + 1, row_end, column_start + 1, column_end, score
