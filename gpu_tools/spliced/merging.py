"""Tracks that have become alike go on as one: the rows that a sweep need not compute twice.

What lies below a row depends on the row and on the exits still to come. So where two tracks cover
a position and the ends behind it are the same, with bonuses that differ by the same number, the
rows of the earlier track, that number added, may be joined to the later one by maximum, and the
earlier one ends there: the recurrence is linear in maximum and sum, so every end has the value it
has with both. The later track goes on, because it is the one that comes later in the stream.

The rows above tracks are kept without what joins them. So whoever follows a chain back sees the
entries and ends of an unmerged sweep, to the last bit, and need not know of merging.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAST_ROWS = 16
"""Tracks that have fewer rows left are not worth a join."""
_NONE = -1


class Runs(NamedTuple):
    """The rows that are really swept, in one stream: of each track those before it joins another.

    Attributes
    ----------
    codes : ndarray of uint8, shape (R,)
        Base symbols of the rows.
    top_rows : ndarray of int64, shape (N,)
        Rows above which something comes in, rising: a track's entry, what joins it, or both.
    top_tracks, top_joins : ndarray of int64, shape (N,)
        The track that begins there, and the number of what joins, -1 where there is none.
    exit_rows, exit_ends, exit_bonus : ndarray of int64, shape (X,)
        Where rows leave, rising, what for, and the score that is added: the index of an end, or
        behind the last end, the number of what joins another track.
    n_joins : int
    """

    codes: NDArray[np.uint8]
    top_rows: NDArray[np.int64]
    top_tracks: NDArray[np.int64]
    top_joins: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    n_joins: int


class Exits(NamedTuple):
    """Tracks and exits of a program, see `program.ExonGraph`."""

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    track_rows: NDArray[np.int64]
    ends: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_tracks: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    by_end: NDArray[np.int64]


class Flows(NamedTuple):
    """Which track each one joins, or -1, at which position, and what is added to its row."""

    into: NDArray[np.int64]
    at: NDArray[np.int64]
    bonus: NDArray[np.int64]


@njit(cache=True, nogil=True)
def merge(program, least):
    """Work out the rows to sweep.

    Parameters
    ----------
    program : Exits
    least : int
        Rows that a track must have left to be merged with another, at least 1.

    Returns
    -------
    Runs
    """
    return _runs(program, _find_flows(program, _number_tails(program), least))


@njit(cache=True, nogil=True)
def _number_tails(program):
    """Return the same number for exits behind which a track has the same exits.

    Their bonuses may differ by a number that is the same for all.
    """
    tracks, ends, bonus = program.exit_tracks, program.exit_ends, program.exit_bonus
    numbers = np.empty(len(ends), dtype=np.int64)
    seen = {(np.int64(_NONE), np.int64(_NONE), np.int64(0)): np.int64(_NONE)}
    for k in range(len(ends) - 1, -1, -1):
        key = ends[k], np.int64(_NONE), np.int64(0)
        if k + 1 < len(ends) and tracks[k + 1] == tracks[k]:
            key = ends[k], numbers[k + 1], bonus[k + 1] - bonus[k]
        if key not in seen:
            seen[key] = np.int64(len(seen) - 1)
        numbers[k] = seen[key]
    return numbers


@njit(cache=True, nogil=True)
def _find_flows(program, tails, least):
    """Go through starts and ends by position and find the tracks that join others.

    `following` is the next exit of each track, `owner` the track that has a tail at the position.
    """
    n, n_exons = len(program.starts), len(tails)
    flows = Flows(np.full(n, _NONE), np.zeros(n, np.int64), np.zeros(n, np.int64))
    following = np.searchsorted(program.exit_tracks, np.arange(n))
    owner, done = np.full(n_exons, _NONE), np.int64(0)
    for track in range(n):
        start = program.starts[track]
        while done < n_exons and program.ends[program.exit_ends[program.by_end[done]]] < start:
            done = _pass_end(program, tails, following, owner, done, least, flows)
        _meet(program, tails, following, owner, track, start, least, flows)
    while done < n_exons:
        done = _pass_end(program, tails, following, owner, done, least, flows)
    return flows


@njit(cache=True, nogil=True)
def _pass_end(program, tails, following, owner, first, least, flows):
    """Take the tracks of the exons with an end, `first` by end, past it; return the next exon."""
    end, past = program.exit_ends[program.by_end[first]], first
    while past < len(tails) and program.exit_ends[program.by_end[past]] == end:
        past += 1
    # a track that others join at a position must not join one there itself: last ones first
    for place in range(past - 1, first - 1, -1):
        exon = program.by_end[place]
        track = program.exit_tracks[exon]
        following[track] = exon + 1
        goes_on = exon + 1 < len(tails) and program.exit_tracks[exon + 1] == track
        if goes_on and flows.into[track] == _NONE:
            _meet(program, tails, following, owner, track, program.ends[end], least, flows)
    return past


@njit(cache=True, nogil=True)
def _meet(program, tails, following, owner, track, position, least, flows):
    """Let a track that has come to a tail go on as one with the track that has it, if any."""
    tail = tails[following[track]]
    other = owner[tail]
    if other == _NONE:
        owner[tail] = track
        return
    rows = program.track_rows
    if program.starts[track] + rows[track + 1] - rows[track] - position < least:
        return
    one, two = min(track, other), max(track, other)
    flows.into[one], flows.at[one] = two, position
    flows.bonus[one] = program.exit_bonus[following[one]] - program.exit_bonus[following[two]]
    owner[tail] = two


@njit(cache=True, nogil=True)
def _runs(program, flows):
    """Lay out the runs of the tracks."""
    starts, n_tracks = program.starts, len(program.starts)
    rows, joined_rows = np.zeros(n_tracks + 1, np.int64), np.full(n_tracks, _NONE)
    for track in range(n_tracks):
        length = program.track_rows[track + 1] - program.track_rows[track]
        if flows.into[track] != _NONE:
            length = flows.at[track] - starts[track]
        rows[track + 1] = rows[track] + length
    codes = np.empty(rows[-1], dtype=np.uint8)
    for track in range(n_tracks):
        first, into = program.track_rows[track] - rows[track], flows.into[track]
        for row in range(rows[track], rows[track + 1]):
            codes[row] = program.codes[first + row]
        if into != _NONE:
            joined_rows[track] = rows[into] + flows.at[track] - starts[into]
    tops, join_at, n_joins = _find_tops(rows, joined_rows)
    exits = _find_exits(program, flows, rows, join_at[joined_rows])
    return Runs(codes, *tops, *exits, n_joins)


@njit(cache=True, nogil=True)
def _find_tops(rows, joined_rows):
    """Return row, track and join of each top, the join above each row, and how many there are."""
    track_at, join_at = np.full(rows[-1], _NONE), np.full(rows[-1], _NONE)
    for track in range(len(joined_rows)):
        track_at[rows[track]] = track
    for row in joined_rows:
        if row != _NONE:
            join_at[row] = 0
    n_joins, n, most = 0, 0, 2 * len(joined_rows)
    tops = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    for row in range(len(join_at)):
        if join_at[row] != _NONE:
            join_at[row] = n_joins
            n_joins += 1
        if track_at[row] != _NONE or join_at[row] != _NONE:
            tops[0][n], tops[1][n], tops[2][n] = row, track_at[row], join_at[row]
            n += 1
    return (tops[0][:n], tops[1][:n], tops[2][:n]), join_at, n_joins


@njit(cache=True, nogil=True)
def _find_exits(program, flows, rows, joins):
    """Return row, end and bonus of each exit; `joins` is what each track takes part in, if any."""
    size, n, exon = len(program.exit_tracks) + len(flows.into), 0, 0
    exit_rows, exit_ends = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    exit_bonus = np.empty(size, dtype=np.int64)
    for track in range(len(flows.into)):
        while exon < len(program.exit_tracks) and program.exit_tracks[exon] == track:
            end = program.exit_ends[exon]
            row = rows[track] + program.ends[end] - program.starts[track] - 1
            if row < rows[track + 1]:
                exit_rows[n], exit_ends[n], exit_bonus[n] = row, end, program.exit_bonus[exon]
                n += 1
            exon += 1
        if flows.into[track] != _NONE:
            exit_rows[n], exit_ends[n] = rows[track + 1] - 1, len(program.ends) + joins[track]
            exit_bonus[n] = flows.bonus[track]
            n += 1
    return exit_rows[:n], exit_ends[:n], exit_bonus[:n]
