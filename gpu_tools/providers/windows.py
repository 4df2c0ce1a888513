"""Long sequences in overlapping windows, and the exons of windows joined again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.candidates import ExonSet


def windows(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Split a sequence into windows that overlap.

    Parameters
    ----------
    length : int
        Of the sequence.
    size : int
        Of a window at most, more than `overlap`.
    overlap : int
        Bases, at least, that a window has in common with the next.

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


def join_windows(parts: Sequence[tuple[tuple[int, int], ExonSet]], length: int) -> ExonSet:
    """Return the exons of overlapping windows in the coordinates of the sequence.

    Parameters
    ----------
    parts : sequence of ((int, int), ExonSet)
        Each window and its exons, in its coordinates.
    length : int
        Of the sequence.

    Returns
    -------
    ExonSet
        Sorted by strand (+ first), start, end and type, of which no two are equal: of equal
        exons the one from the window in which it lies deepest stays, because a program sees most
        of its surroundings there; on equal depths the first given.
    """
    exons = ExonSet.concatenate(
        replace(found, starts=found.starts + window[0], ends=found.ends + window[0])
        for window, found in parts
    )
    depths = [_depths(window, found, length) for window, found in parts]
    depth = np.concatenate([np.zeros(0, dtype=np.int64), *depths])
    keys = np.stack([exons.reverse, exons.starts, exons.ends, exons.types]).astype(np.int64)
    order = np.lexsort((-depth, *keys[::-1]))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(keys[:, order]) != 0).any(axis=0)
    return exons.take(order[new])


def _depths(window: tuple[int, int], exons: ExonSet, length: int) -> NDArray[np.int64]:
    """Return each exon's distance from the nearest end of its window that cuts the sequence."""
    left = exons.starts + (0 if window[0] > 0 else length)
    right = window[1] - window[0] - exons.ends + (0 if window[1] < length else length)
    return np.minimum(left, right)
