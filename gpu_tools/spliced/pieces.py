"""A sweep program as the pieces that the packed GPU kernel works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.spliced.program import SweepProgram


class Capacity(NamedTuple):
    """What one warp holds: so many virtual lanes, each with one of these numbers of rows."""

    lanes: int
    slots: tuple[int, ...]


class Pieces(NamedTuple):
    """Pieces of one program, in an order in which each needs earlier ones only.

    A *stop* is a row whose values are kept: the last of an exon, or one at which a track that is
    too long for a warp is cut. A piece is a run of rows that ends with a stop and may have more
    inside; a stop is always the last row of its virtual lane.

    Attributes
    ----------
    first_rows, slots, tracks : ndarray of int32, shape (P,)
        Stream row that each piece begins with, rows of its virtual lanes, and the track that
        begins with it, or -1 if it goes on where the piece before ends.
    first_stops : ndarray of int32, shape (P + 1,)
        First stop of each piece; last, the number of stops.
    stops : ndarray of int32, shape (S,)
        Stream rows, rising.
    of_exon : ndarray of int32, shape (B,)
        Stop that is the last row of each exon.
    commits : ndarray of int32, shape (T,)
        Exons that end at or before each track's start.
    by_end : ndarray of int32, shape (B,)
        Exons ordered by end.
    """

    first_rows: NDArray[np.int32]
    slots: NDArray[np.int32]
    tracks: NDArray[np.int32]
    first_stops: NDArray[np.int32]
    stops: NDArray[np.int32]
    of_exon: NDArray[np.int32]
    commits: NDArray[np.int32]
    by_end: NDArray[np.int32]


def cut_into_pieces(program: SweepProgram, capacity: Capacity) -> Pieces:
    """Cut the tracks of a program into pieces that a warp can hold, each as long as it gets."""
    stops, of_exon, of_track = _find_stops(
        program.track_rows, program.exit_rows, program.exit_tracks,
        capacity.lanes * capacity.slots[-1],
    )  # fmt: skip
    slots = np.array(capacity.slots, dtype=np.int32)
    first_rows, chosen, tracks, first_stops = _pack(
        program.track_rows, stops, of_track, capacity.lanes, slots
    )
    by_end = np.argsort(program.exit_ends, kind="stable").astype(np.int32)
    commits = np.searchsorted(program.exit_ends[by_end], program.track_commits)
    return Pieces(
        first_rows, chosen, tracks, first_stops, stops, of_exon, commits.astype(np.int32), by_end
    )


@njit(cache=True)
def _find_stops(track_rows, exit_rows, exit_tracks, longest):
    """Return the stops' rows, each exon's stop and each stop's track."""
    most = len(exit_rows) + track_rows[-1] // longest + 1
    stops, of_track = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    of_exon = np.empty(len(exit_rows), dtype=np.int32)
    n, row = 0, 0
    for exon in range(len(exit_rows)):
        while row <= exit_rows[exon]:
            stops[n] = min(exit_rows[exon], row + longest - 1)
            of_track[n] = exit_tracks[exon]
            row = stops[n] + 1
            n += 1
        of_exon[exon] = n - 1
    return stops[:n], of_exon, of_track[:n]


@njit(cache=True)
def _pack(track_rows, stops, of_track, lanes, slots):
    """Put stops of a track together as long as the most rows a lane leave them room."""
    first_rows, chosen = np.empty(len(stops), dtype=np.int32), np.empty(len(stops), dtype=np.int32)
    tracks = np.empty(len(stops), dtype=np.int32)
    first_stops = np.empty(len(stops) + 1, dtype=np.int32)
    n, stop, row = 0, 0, 0
    while stop < len(stops):
        first_rows[n], first_stops[n] = row, stop
        opens = row == track_rows[of_track[stop]]
        tracks[n] = of_track[stop] if opens else -1
        last = stop + 1
        while last < len(stops) and of_track[last] == of_track[stop]:
            if _lanes_used(row, stops[stop : last + 1], slots[-1]) > lanes:
                break
            last += 1
        for k in range(len(slots)):
            chosen[n] = slots[k]
            if _lanes_used(row, stops[stop:last], slots[k]) <= lanes:
                break
        row, stop, n = stops[last - 1] + 1, last, n + 1
    first_stops[n] = stop
    return first_rows[:n], chosen[:n], tracks[:n], first_stops[: n + 1]


@njit(cache=True)
def _lanes_used(row, stops, slots):
    used = 0
    for stop in stops:
        used += (stop + 1 - row + slots - 1) // slots
        row = stop + 1
    return used
