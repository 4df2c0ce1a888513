"""Numbers from files: sequences of values and matrices, in .npy or in tables without a header."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.fields import Location, fields_of
from gpu_tools.formats.files import read_lines

BINARY_SUFFIX = ".npy"


def read_values(path: str | os.PathLike) -> NDArray:
    """Read a sequence of numbers.

    Parameters
    ----------
    path : str or PathLike
        One ending in ``.npy`` is mapped into memory, not read. Any other is a text of one number a
        line, plain or compressed; ``-`` is standard input.

    Returns
    -------
    ndarray, shape (n,)
        Of a text int64, or float64 if a number is not an integer.

    Raises
    ------
    InputError
        If the file cannot be read, has another shape, holds no number, or a line is no number.
    """
    if str(path).endswith(BINARY_SUFFIX):
        return _map(path, 1, "one dimension")
    matrix = read_matrix(path)
    if matrix.shape[1] != 1:
        raise InputError(f"{matrix.shape[1]} columns", path=path, line=1, expected="one number")
    return matrix[:, 0]


def read_matrix(path: str | os.PathLike) -> NDArray:
    """Read a matrix of numbers from a file as for `read_values`; a text has tabs between columns.

    Returns
    -------
    ndarray, shape (rows, columns)

    Raises
    ------
    InputError
        As `read_values`, or if rows differ in length; the text names row and column.
    """
    if str(path).endswith(BINARY_SUFFIX):
        return _map(path, 2, "two dimensions")
    rows: list[list[float | int]] = []
    for line, text in read_lines(path):
        if not text.strip():
            continue
        fields, location = fields_of(text, len(rows[0]) if rows else 1), Location(path, line)
        if rows and len(fields) != len(rows[0]):
            raise location.error(
                f"row {len(rows) + 1} has {len(fields)} columns", f"{len(rows[0])} as in row 1"
            )
        where = f"row {len(rows) + 1}, column"
        rows.append(
            [location.whole_or_number(word, f"{where} {k}:") for k, word in enumerate(fields, 1)]
        )
    if not rows:
        raise InputError("no numbers", path=path, expected="at least one number")
    whole = all(isinstance(value, int) for row in rows for value in row)
    return np.array(rows, dtype=np.int64 if whole else np.float64)


def _map(path: str | os.PathLike, dimensions: int, expected: str) -> NDArray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None
    except Exception:  # numpy parses the header as Python and raises many kinds of errors
        raise InputError("not an array of numbers", path=path, expected="a .npy file") from None
    if array.ndim != dimensions:
        raise InputError(f"{array.ndim} dimensions", path=path, expected=expected)
    return array
