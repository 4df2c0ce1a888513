"""The recurrences of maximum segments, written once and compiled for CPU and GPU.

Positions are *prefix indices*: index i stands before value i, so that the segment (i, j) holds the
values i to j - 1 and its sum is ``prefix[j] - prefix[i]``.
"""

from __future__ import annotations

import numpy as np


def to_units(value, scale):
    """Return a value as a whole number of units, cut towards zero; integers have scale 1."""
    return np.int64(value * scale)


def extend(total, prefix, suffix, best, value):
    """Append one value to a run.

    Parameters
    ----------
    total : int
        Sum of the run.
    prefix, suffix, best : int
        Largest sum of a beginning, of an end and of any part of the run; 0 for the empty part.
    value : int
        The value that follows.

    Returns
    -------
    tuple of int
        The four numbers of the longer run.
    """
    total += value
    suffix = max(suffix + value, 0)
    return total, max(prefix, total), suffix, max(best, suffix)


def join(left, right):
    """Return the four numbers of two neighbouring runs taken together; see `extend`."""
    return (
        left[0] + right[0],
        max(left[1], left[0] + right[1]),
        max(right[2], right[0] + left[2]),
        max(max(left[3], right[3]), left[2] + right[1]),
    )


def push(prefix, starts, ends, links, count, start, end):
    """Append a segment to Ruzzo and Tompa's list of segments that are maximal so far.

    Parameters
    ----------
    prefix : array
        Sums before each index that `starts` and `ends` hold.
    starts, ends, links : array
        The list. ``links`` holds for each segment the nearest earlier one that starts from a
        smaller sum, -1 if there is none.
    count : int
        How long the list is.
    start, end : int
        The segment, of positive sum, behind all others.

    Returns
    -------
    int
        The list's new length: the segment stands last, merged with those that it makes part of a
        longer maximal one.
    """
    low, high = prefix[start], prefix[end]
    k = count - 1
    while k >= 0 and prefix[starts[k]] >= low:
        k = links[k]
    while k >= 0 and prefix[ends[k]] < high:
        start, count = starts[k], k
        k = links[k]
    starts[count] = start
    ends[count] = end
    links[count] = k
    return count + 1
