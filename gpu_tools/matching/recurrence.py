"""The recurrence of approximate matching. The scans restate it for vectors and bit vectors."""

from __future__ import annotations


def cell(diagonal, up, left, pair, deletion, insertion):
    """Return c(i, j), the least cost of the first i pattern symbols against text ending at j.

    Parameters
    ----------
    diagonal, up, left : int
        c(i-1, j-1), c(i-1, j) and c(i, j-1).
    pair : int
        Cost of aligning pattern symbol i to text symbol j.
    deletion, insertion : int
        Costs of an unaligned pattern symbol and of an unaligned text symbol.

    Returns
    -------
    int
        The least cost of the three moves into the cell.
    """
    return min(min(diagonal + pair, up + deletion), left + insertion)
