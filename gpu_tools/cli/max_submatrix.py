"""``gpu-tools max-submatrix``: the rectangle of a matrix with the largest sum."""

from __future__ import annotations

import click

from gpu_tools import max_submatrix
from gpu_tools.cli import options
from gpu_tools.errors import InputError
from gpu_tools.formats.files import check_writable
from gpu_tools.formats.numbers import read_matrix
from gpu_tools.formats.tables import write_table
from gpu_tools.results import Submatrix

COLUMNS = ("row_start", "row_end", "column_start", "column_end", "score")


@click.command("max-submatrix")
@click.option(
    "--matrix", required=True, metavar="FILE",
    help="Numbers: .npy, or a text of a row a line with tabs between the columns.",
)  # fmt: skip
@options.output
@options.device
@options.common
def command(matrix, output, device, threads, quiet) -> None:
    """Find the rectangle of neighbouring rows and columns with the largest sum, exactly.

    The table has one row, with 1-based inclusive positions, or none if no value is positive.
    """
    check_writable(output)
    values = read_matrix(matrix)
    try:
        found = max_submatrix(values, device=device, threads=threads)
    except InputError as error:
        raise error.located(path=matrix) from None
    write_table(output, COLUMNS, [] if found is None else [_row(found)])


def _row(found: Submatrix) -> tuple:
    score = found.score if isinstance(found.score, int) else f"{found.score:.15g}"
    return (
        found.row_start + 1, found.row_end, found.column_start + 1, found.column_end, score,
    )  # fmt: skip
