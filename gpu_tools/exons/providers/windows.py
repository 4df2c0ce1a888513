"""Long sequences in overlapping windows, and the exons of windows joined again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpu_tools.model.exon_set import ExonSet


def windows(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Split a sequence into windows that overlap.

    Parameters
    ----------
    length : int
        Of the sequence.
    size : int
        Of a window at most, more than `overlap`.
    overlap : int
        Nucleotides, at least, that a window has in common with the next.

    Returns
    -------
    list of (int, int)
        0-based half-open windows, rising; one if the sequence is no longer than `size`, else all
        of that size, the last one moved back to end with the sequence.
    """
    if length <= size:
        return [(0, length)]
    starts = range(0, length - size, size - overlap)
    return [(start, start + size) for start in (*starts, length - size)]


def join_windows(parts: Sequence[tuple[tuple[int, int], ExonSet]]) -> ExonSet:
    """Return the exons of overlapping windows in the coordinates of the sequence.

    Parameters
    ----------
    parts : sequence of ((int, int), ExonSet)
        Each window, as `windows` gives them, and its exons, in its coordinates.

    Returns
    -------
    ExonSet
        Sorted by strand (+ first), start, end and type, of which no two are equal: of equal
        exons the one from the window in which it lies farthest from an end stays, because a
        program sees most of its surroundings there; on equal distances the first in `parts`.
    """
    exons = ExonSet.concatenate(
        replace(found, starts=found.starts + window[0], ends=found.ends + window[0])
        for window, found in parts
    )
    # an end of the sequence is no harm, but may count as an end of a window: of two windows with
    # an exon, the one that reaches an end of the sequence retains it in either case
    depths = [np.minimum(found.starts, b - a - found.ends) for (a, b), found in parts]
    depth = np.concatenate([np.zeros(0, dtype=np.int64), *depths])
    keys = np.stack([exons.reverse, exons.starts, exons.ends, exons.types]).astype(np.int64)
    order = np.lexsort((-depth, *keys[::-1]))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(keys[:, order]) != 0).any(axis=0)
    return exons.take(order[new])
