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


def push(prefix, starts, ends, links, base, count, start, end):
    """Append a segment to Ruzzo and Tompa's list of segments that are maximal so far.

    Parameters
    ----------
    prefix : array
        Sums before each index that `starts` and `ends` hold.
    starts, ends, links : array
        The list, from element `base` on. ``links`` holds for each segment the nearest earlier one
        that starts from a smaller sum, -1 if there is none.
    base, count : int
        Where the list begins and how long it is.
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
    while k >= 0 and prefix[starts[base + k]] >= low:
        k = links[base + k]
    while k >= 0 and prefix[ends[base + k]] < high:
        start, count = starts[base + k], k
        k = links[base + k]
    starts[base + count] = start
    ends[base + count] = end
    links[base + count] = k
    return count + 1


def keep_open(prefix, starts, ends, base, count, first, last):
    """Keep of a piece's maximal segments those that may grow beyond the piece.

    A segment that comes in from the left ends where the sum is larger than everywhere before in
    the piece; one that goes out to the right starts where it is smaller than everywhere after. The
    former kind stands before the latter, and one segment may be both.

    Parameters
    ----------
    prefix, starts, ends : array
        As for `push`; the lists are shortened in place.
    base, count : int
        Where the list begins and how long it is.
    first, last : int
        Sums before and after the piece.

    Returns
    -------
    int
        How many are kept.
    """
    lowest, tail, leaving = last, count, count
    for k in range(count - 1, -1, -1):
        if prefix[starts[base + k]] < lowest:
            lowest = prefix[starts[base + k]]
            tail -= 1
            leaving = k
            starts[base + tail] = starts[base + k]
            ends[base + tail] = ends[base + k]
    highest, kept = first, 0
    for k in range(leaving):
        if prefix[ends[base + k]] > highest:
            highest = prefix[ends[base + k]]
            starts[base + kept] = starts[base + k]
            ends[base + kept] = ends[base + k]
            kept += 1
    for k in range(tail, count):
        starts[base + kept] = starts[base + k]
        ends[base + kept] = ends[base + k]
        kept += 1
    return kept


def append_open(rows, at, state, segment):
    """Append a segment to the list of those that may grow beyond what was read.

    A segment that comes in from the left ends where the sum is larger than everywhere before; one
    that goes out to the right starts where it is smaller than everywhere after. The former kind
    stands before the latter, the *chain*, whose starts rise and whose ends do not; one segment may
    be both. Segments of neither kind are not in the list.

    Parameters
    ----------
    rows : array, shape (n, 4)
        Start, end, and the sums before and after, of the segments.
    at : int
        Where the list begins.
    state : tuple of int
        Where in the list the chain begins, how many segments come in from the left, how many there
        are, and the largest sum so far: (0, 0, 0, 0) for the empty list.
    segment : tuple of int
        Start, end, sum before and after; of positive sum, behind all others. Or an end of -1,
        and the last sum of all twice: what begins no lower is taken away, nothing is appended.

    Returns
    -------
    state : tuple of int
        That of the longer list.
    segment : tuple of int
        It starts earlier if others were merged with it.
    """
    base, entered, count, record = state
    start, end, low, high = segment
    while count > base and rows[at + count - 1, 2] >= low:
        if count == base + 1 and entered > base:  # it stays, though not in the chain
            base += 1
        else:
            count -= 1
    if end < 0:
        return (base, entered, count, record), segment
    while count > base and rows[at + count - 1, 3] < high:
        count -= 1
        start, low = rows[at + count, 0], rows[at + count, 2]
    rows[at + count, 0], rows[at + count, 1] = start, end
    rows[at + count, 2], rows[at + count, 3] = low, high
    if high > record:  # nothing of the chain ends as high: it is the chain's first
        entered, record = base + 1, high
    return (base, entered, count + 1, record), (start, end, low, high)
