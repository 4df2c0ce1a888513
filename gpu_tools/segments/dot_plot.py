"""Dot plots: a score for each pair of symbols of two sequences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.memory import check_memory

_BYTES_PER_CELL = 3
"""Of the dot plot, and of the symbols that are equal."""
LARGEST = 2**15
"""Scores stay below this magnitude, so that a cell takes 16 bits."""


def dot_plot(
    rows: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    match: int = 1,
    mismatch: int = -1,
    never: int | None = None,
) -> NDArray[np.int16]:
    """Return the dot plot of two encoded sequences, for `gpu_tools.max_submatrix`.

    Parameters
    ----------
    rows, columns : ndarray of uint8, shape (n,) and (m,)
        Encoded symbols.
    match, mismatch : int
        Scores of two equal and of two unequal symbols.
    never : int, optional
        Code that matches nothing, itself included; `sequences.OTHER` for nucleotides.

    Returns
    -------
    ndarray of int16, shape (n, m)

    Raises
    ------
    InputError
        If a score does not fit into 16 bits, or the dot plot does not fit into memory.

    Examples
    --------
    >>> from gpu_tools.model.sequences import encode
    >>> dot_plot(encode("AC"), encode("CCA"))
    array([[-1, -1,  1],
           [ 1,  1, -1]], dtype=int16)
    """
    for score in (match, mismatch):
        if abs(score) >= LARGEST:
            raise InputError(f"score {score}", expected=f"a magnitude below {LARGEST}")
    cells = f"{len(rows):,} times {len(columns):,} cells"
    check_memory(_BYTES_PER_CELL * len(rows) * len(columns), cells)
    equal = rows[:, None] == columns
    if never is not None:
        equal &= columns != never
    return np.where(equal, np.int16(match), np.int16(mismatch))
