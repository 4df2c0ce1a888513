"""Tab-separated tables with one header line."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.fields import fields_of
from gpu_tools.formats.files import open_output, read_lines

MISSING = "."


def write_table(
    path: str | os.PathLike, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Write a table; the file appears only when complete.

    Parameters
    ----------
    path : str or PathLike
        File to write; ``-`` is standard output.
    columns : sequence of str
        Names for the header line.
    rows : iterable of sequences
        One value a column: None is written as ``.``, everything else as its text.

    Raises
    ------
    OutputError
        If the file cannot be written, or a value holds a tab or a line end.
    ValueError
        If a row has not one value a column.
    """
    with open_output(path) as stream:
        table = csv.writer(
            stream, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None
        )
        table.writerow(columns)
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f"{len(row)} values in a row of {len(columns)} columns")
            try:
                table.writerow([MISSING if value is None else value for value in row])
            except csv.Error:
                raise OutputError(f"{path}: a value of {row!r} holds a tab or a line end") from None


def read_table(
    path: str | os.PathLike,
    required_columns: Sequence[str],
    optional_columns: Sequence[str] = (),
    comments: bool = True,
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the rows of a table with a header line.

    Blank lines are skipped, other columns are ignored. Of a table that another program may
    have written, blanks and quotes around fields, and tabs behind the last column, are left out.

    Parameters
    ----------
    path : str or PathLike
        Plain or compressed file; ``-`` is standard input.
    required_columns, optional_columns : sequence of str
        Columns to take, in any order in the file.
    comments : bool
        Whether others may have written it: skip lines that begin with ``#``. A table of this
        package's has none, but may have a row whose first name begins so.

    Yields
    ------
    (int, dict)
        1-based line number and text by column. An optional column is None where the file lacks
        it, the field is empty or is ``.``.

    Raises
    ------
    InputError
        For a file without a header line, a required column that is missing or empty, a column
        that occurs twice, or a line whose number of fields differs from the header's.
    """
    yield from parse_table(path, read_lines(path), required_columns, optional_columns, comments)


def parse_table(
    path: str | os.PathLike,
    lines: Iterable[tuple[int, str]],
    required_columns: Sequence[str],
    optional_columns: Sequence[str] = (),
    comments: bool = True,
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the rows of numbered lines as `read_table` does; `path` is named in errors."""
    comment = "#" if comments else "\n"  # no line holds its end
    filled = ((n, line) for n, line in lines if line.strip() and not line.startswith(comment))
    number, header = next(filled, (None, None))
    if header is None:
        raise InputError(
            "no header line", path=path, expected=f"columns {', '.join(required_columns)}"
        )
    names = fields_of(header, 1) if comments else header.split("\t")
    _check_header(names, required_columns, path, number)
    for number, line in filled:
        fields = fields_of(line, len(names)) if comments else line.split("\t")
        if len(fields) != len(names):
            raise InputError(
                f"{len(fields)} fields", path=path, line=number,
                expected=f"{len(names)} tab-separated fields as in the header",
            )  # fmt: skip
        row = dict(zip(names, fields, strict=True))
        yield number, _chosen(row, required_columns, optional_columns, path, number)


def _check_header(names, required_columns, path, line) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"column {name!r} occurs twice", path=path, line=line)
    missing = [name for name in required_columns if name not in names]
    if missing:
        raise InputError(
            f"column {missing[0]!r} is missing", path=path, line=line,
            expected=f"a tab-separated header with {', '.join(required_columns)}",
        )  # fmt: skip


def _chosen(row, required_columns, optional_columns, path, line) -> dict[str, str | None]:
    for name in required_columns:
        if not row[name].strip():
            raise InputError(f"column {name!r} is empty", path=path, line=line)
    chosen = {name: row[name] for name in required_columns}
    for name in optional_columns:
        text = row.get(name, MISSING)
        chosen[name] = None if text.strip() in ("", MISSING) else text
    return chosen
