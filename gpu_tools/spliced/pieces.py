"""A sweep program as the pieces that the packed GPU kernel works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.spliced.program import SweepProgram


class Pieces(NamedTuple):
    """Pieces of one program, in an order in which each needs earlier ones only.

    Attributes
    ----------
    lengths, offsets : ndarray of int32, shape (P,)
        Rows of each piece and where they begin in the program's stream.
    tracks : ndarray of int32, shape (P,)
        Track that begins with the piece, or -1 if it goes on where the piece before ends.
    of_exon : ndarray of int32, shape (B,)
        Piece whose last row is the last row of each exon.
    commits : ndarray of int32, shape (T,)
        Exons that end at or before each track's start.
    by_end : ndarray of int32, shape (B,)
        Exons ordered by end.
    """

    lengths: NDArray[np.int32]
    offsets: NDArray[np.int32]
    tracks: NDArray[np.int32]
    of_exon: NDArray[np.int32]
    commits: NDArray[np.int32]
    by_end: NDArray[np.int32]


def cut_into_pieces(program: SweepProgram, longest: int) -> Pieces:
    """Cut the tracks of a program at its exons' ends, and what is longer than `longest` rows."""
    lengths, offsets, tracks, of_exon = _cut(
        program.track_rows, program.exit_rows, program.exit_tracks, longest
    )
    by_end = np.argsort(program.exit_ends, kind="stable").astype(np.int32)
    commits = np.searchsorted(program.exit_ends[by_end], program.track_commits)
    return Pieces(lengths, offsets, tracks, of_exon, commits.astype(np.int32), by_end)


@njit(cache=True)
def _cut(track_rows, exit_rows, exit_tracks, longest):
    most = len(exit_rows) + track_rows[-1] // longest + 1
    lengths, offsets = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    tracks, of_exon = np.empty(most, dtype=np.int32), np.empty(len(exit_rows), dtype=np.int32)
    n, row, current = 0, 0, -1
    for exon in range(len(exit_rows)):
        track = exit_tracks[exon]
        opening = track if track != current else -1
        current = track
        while row <= exit_rows[exon]:
            length = min(exit_rows[exon] + 1 - row, longest)
            lengths[n], offsets[n], tracks[n] = length, row, opening
            opening, row, n = -1, row + length, n + 1
        of_exon[exon] = n - 1
    return lengths[:n], offsets[:n], tracks[:n], of_exon
