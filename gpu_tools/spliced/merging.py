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
    exit_of_exon : ndarray of int64, shape (B,)
        The exit that has each exon's value, its track's or that of a track which its own joins.
    shifts : ndarray of int64, shape (T,)
        What makes a row here that of the program's stream, by track.
    n_joins : int
    """

    codes: NDArray[np.uint8]
    top_rows: NDArray[np.int64]
    top_tracks: NDArray[np.int64]
    top_joins: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    exit_of_exon: NDArray[np.int64]
    shifts: NDArray[np.int64]
    n_joins: int


class Exits(NamedTuple):
    """Tracks and exits of a program, see `program.SweepProgram`."""

    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    track_rows: NDArray[np.int64]
    ends: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_tracks: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    by_end: NDArray[np.int64]


class Flows(NamedTuple):
    """Which track each one joins, or -1, and at which position.

    `firsts` are the first exits that it leaves to the other one, `stand_ins` the other one's.
    """

    into: NDArray[np.int64]
    at: NDArray[np.int64]
    firsts: NDArray[np.int64]
    stand_ins: NDArray[np.int64]


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
    bonus, steps = program.exit_bonus, np.zeros_like(program.exit_bonus)
    for k in range(1, len(bonus)):
        if program.exit_tracks[k] == program.exit_tracks[k - 1]:
            steps[k - 1] = bonus[k] - bonus[k - 1]
    return _runs(program, _find_flows(program, _number_tails(program, steps), least))


@njit(cache=True, nogil=True)
def merge_equal(program, least):
    """Work out the rows to sweep as `merge` does, but with nothing added to what joins a track."""
    return _runs(program, _find_flows(program, _number_tails(program, program.exit_bonus), least))


@njit(cache=True, nogil=True)
def _number_tails(program, marks):
    """Return the same number for exits from which on tracks have the same exits, marked alike."""
    tracks, ends = program.exit_tracks, program.exit_ends
    numbers = np.empty(len(ends), dtype=np.int64)
    seen = {(np.int64(_NONE), np.int64(_NONE), np.int64(0)): np.int64(_NONE)}
    for k in range(len(ends) - 1, -1, -1):
        key = ends[k], np.int64(_NONE), marks[k]
        if k + 1 < len(ends) and tracks[k + 1] == tracks[k]:
            key = ends[k], numbers[k + 1], marks[k]
        if key not in seen:
            seen[key] = np.int64(len(seen) - 1)
        numbers[k] = seen[key]
    return numbers


@njit(cache=True, nogil=True)
def _find_flows(program, tails, least):
    """Go through starts and ends by position and find the tracks that join others.

    `following` is the next exit of each track, `owner` the track that has a tail at the position.
    """
    starts, tracks, by_end = program.starts, program.exit_tracks, program.by_end
    n = len(starts)
    flows = Flows(np.full(n, _NONE), np.zeros(n, np.int64), np.full(n, _NONE), np.full(n, _NONE))
    following, owner = np.searchsorted(tracks, np.arange(n)), np.full(len(tails), _NONE)
    done = 0
    for track in range(n + 1):
        while done < len(by_end):
            end = program.exit_ends[by_end[done]]
            position = program.ends[end]
            if track < n and position >= starts[track]:
                break
            past = done
            while past < len(by_end) and program.exit_ends[by_end[past]] == end:
                past += 1
            # a track that others join at a position must not join one there itself: last ones first
            for place in range(past - 1, done - 1, -1):
                exon = by_end[place]
                own = tracks[exon]
                following[own] = exon + 1
                if flows.into[own] == _NONE and exon + 1 < len(tracks) and tracks[exon + 1] == own:
                    _meet(program, tails, following, owner, own, position, least, flows)
            done = past
        if track < n:
            _meet(program, tails, following, owner, track, starts[track], least, flows)
    return flows


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
    flows.firsts[one], flows.stand_ins[one] = following[one], following[two]
    owner[tail] = two


@njit(cache=True, nogil=True)
def _runs(program, flows):
    """Lay out the runs of the tracks."""
    starts, n_tracks, joined = program.starts, len(program.starts), flows.into != _NONE
    rows = np.zeros(n_tracks + 1, dtype=np.int64)
    rows[1:] = np.cumsum(np.where(joined, flows.at - starts, np.diff(program.track_rows)))
    at = rows[flows.into] + flows.at - starts[flows.into]
    joins = np.unique(at[joined])
    top_rows = np.unique(np.concatenate((rows[:-1], joins)))
    top_tracks, top_joins = np.full(len(top_rows), _NONE), np.full(len(top_rows), _NONE)
    top_tracks[np.searchsorted(top_rows, rows[:-1])] = np.arange(n_tracks)
    top_joins[np.searchsorted(top_rows, joins)] = np.arange(len(joins))
    codes = np.empty(rows[-1], dtype=np.uint8)
    for track in range(n_tracks):
        first, past = rows[track], rows[track + 1]
        of_stream = program.track_rows[track]
        codes[first:past] = program.codes[of_stream : of_stream + past - first]
    exit_rows, exit_ends, exit_bonus, exit_of_exon = _leave(
        program, flows, rows, np.searchsorted(joins, at)
    )
    return Runs(
        codes, top_rows, top_tracks, top_joins, exit_rows, exit_ends, exit_bonus, exit_of_exon,
        program.track_rows[:-1] - rows[:-1], len(joins),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _leave(program, flows, rows, joins):
    """Return row, end and bonus of each exit, `joins` the one of each track, and exons' exits."""
    tracks, bonus = program.exit_tracks, program.exit_bonus
    size, n = len(tracks) + len(rows), 0
    exit_rows, exit_ends = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    exit_bonus, exit_of_exon = np.empty(size, dtype=np.int64), np.full(len(tracks), _NONE)
    for exon in range(len(tracks)):
        track, end = tracks[exon], program.exit_ends[exon]
        first = flows.firsts[track]
        if first == _NONE or exon < first:
            exit_rows[n] = rows[track] + program.ends[end] - program.starts[track] - 1
            exit_ends[n], exit_bonus[n], exit_of_exon[exon] = end, bonus[exon], n
            n += 1
        elif exon == first:
            exit_rows[n], exit_ends[n] = rows[track + 1] - 1, len(program.ends) + joins[track]
            exit_bonus[n] = bonus[exon] - bonus[flows.stand_ins[track]]
            n += 1
    for exon in range(len(tracks) - 1, -1, -1):
        if exit_of_exon[exon] == _NONE:  # the stand-in belongs to a later track
            track = tracks[exon]
            stand_in = flows.stand_ins[track] + exon - flows.firsts[track]
            exit_of_exon[exon] = exit_of_exon[stand_in]
    return exit_rows[:n], exit_ends[:n], exit_bonus[:n], exit_of_exon
