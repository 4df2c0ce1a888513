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


def push(lists, count, segment):
    """Append a segment to Ruzzo and Tompa's list of segments that are maximal so far.

    Parameters
    ----------
    lists : tuple of arrays
        The list: starts, ends, sums before and after each segment, and links. ``links`` holds for
        each segment the nearest earlier one that starts from a smaller sum, -1 if there is none.
    count : int
        How long the list is.
    segment : tuple of int
        Start, end, the sums before and after; of positive sum, behind all others.

    Returns
    -------
    int
        The list's new length: the segment stands last, merged with those that it makes part of a
        longer maximal one.
    """
    starts, ends, lows, highs, links = lists
    start, end, low, high = segment
    k = count - 1
    while k >= 0 and lows[k] >= low:
        k = links[k]
    while k >= 0 and highs[k] < high:
        start, low, count = starts[k], lows[k], k
        k = links[k]
    starts[count], ends[count] = start, end
    lows[count], highs[count] = low, high
    links[count] = k
    return count + 1


def mark_open(lows, highs, count, total, marks):
    """Mark the segments of a run that may be part of a longer one which crosses an end of the run.

    Parameters
    ----------
    lows, highs : array
        Sums before and after each segment that is maximal in the run, from the run's start.
    count : int
        How many they are.
    total : int
        Sum of the run.
    marks : array
        Filled with 1 for open segments and 0 for others.

    Returns
    -------
    int
        How many are open.
    """
    found, lowest, leaving = 0, total, count
    for k in range(count - 1, -1, -1):
        marks[k] = 0
        if lows[k] < lowest:
            found, lowest, leaving, marks[k] = found + 1, lows[k], k, 1
    highest = np.int64(0)
    for k in range(leaving):
        if highs[k] > highest:
            found, highest, marks[k] = found + 1, highs[k], 1
    return found


def count_before(starts, count, position):
    """Return how many of the first `count` starts, which rise, lie before a position."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if starts[middle] < position:
            low = middle + 1
        else:
            high = middle
    return low
