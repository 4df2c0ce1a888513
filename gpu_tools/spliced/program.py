"""What a sweep has to do for one strand of one case, worked out before any cell is computed.

All exons that start at the same place share their rows: a *track* is the longest of them, and
each shorter one leaves the track at a row of its own. This is exact, because a cell depends on
an exon only through its start; whatever depends on its end is added when it leaves.
The tracks lie back to back in one *stream* of rows, ordered by start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons import ExonSet
from gpu_tools.scoring import SplicedScoring
from gpu_tools.sequences import reverse_complement


@dataclass(frozen=True, eq=False)
class SweepProgram:
    """The stream of one strand, in transcript direction.

    Attributes
    ----------
    length : int
        Length of the base sequence.
    reverse : bool
        Whether positions count on the reverse complement.
    codes : ndarray of uint8, shape (R,)
        Base symbols of the stream's rows.
    starts : ndarray of int64, shape (T,)
        Position of each track's first row, rising.
    track_rows : ndarray of int64, shape (T + 1,)
        Stream row at which each track begins; last, R.
    track_commits : ndarray of int64, shape (T,)
        How many of `ends` lie at or before each track's start: those may precede it.
    ends : ndarray of int64, shape (D,)
        Distinct exon ends, exclusive, rising.
    exit_rows, exit_ends, exit_tracks : ndarray of int64, shape (B,)
        For each exon, ordered by start then end: its last stream row, its index into `ends`,
        its track.
    exit_bonus : ndarray of int64, shape (B,)
        Score added once when the exon is taken.
    exon_scores : ndarray of float64, shape (B,)
        The candidates' own scores.
    """

    length: int
    reverse: bool
    codes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    track_rows: NDArray[np.int64]
    track_commits: NDArray[np.int64]
    ends: NDArray[np.int64]
    exit_rows: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_tracks: NDArray[np.int64]
    exit_bonus: NDArray[np.int64]
    exon_scores: NDArray[np.float64]

    @cached_property
    def by_end(self) -> NDArray[np.int64]:
        """The exons ordered by end, those with equal ends by start, shape (B,)."""
        return np.argsort(self.exit_ends, kind="stable")

    @cached_property
    def first_by_end(self) -> NDArray[np.int64]:
        """Where each end's exons begin in `by_end`, and last, their number, shape (D + 1,)."""
        counts = np.bincount(self.exit_ends, minlength=len(self.ends))
        return np.concatenate(([0], np.cumsum(counts)))

    @property
    def n_exons(self) -> int:
        """Number of distinct exons."""
        return len(self.exit_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows really swept."""
        return len(self.codes)

    @property
    def nominal_rows(self) -> int:
        """Sum of the exons' lengths."""
        return int((self.ends[self.exit_ends] - self.starts[self.exit_tracks]).sum())

    def exon(self, index: int) -> tuple[int, int]:
        """Return one exon as a 0-based half-open interval of the forward strand."""
        start = int(self.starts[self.exit_tracks[index]])
        end = int(self.ends[self.exit_ends[index]])
        return (self.length - end, self.length - start) if self.reverse else (start, end)


def compile_program(
    codes: NDArray[np.uint8], exons: ExonSet, scoring: SplicedScoring, reverse: bool
) -> SweepProgram:
    """Work out the stream of one strand.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        Forward strand of the base sequence.
    exons : ExonSet
        Unique candidate exons of the strand, within the sequence.
    scoring : SplicedScoring
        For the exons' bonuses.
    reverse : bool
        Whether to work on the reverse strand.

    Returns
    -------
    SweepProgram
    """
    length = len(codes)
    left, right = (length - exons.ends, length - exons.starts) if reverse else (
        exons.starts, exons.ends,
    )  # fmt: skip
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    starts, first_exon, exit_tracks = np.unique(left, return_index=True, return_inverse=True)
    last_exon = np.append(first_exon[1:], len(left))[: len(starts)] - 1
    ends, exit_ends = np.unique(right, return_inverse=True)
    track_rows = np.concatenate(([0], np.cumsum(right[last_exon] - starts)))
    stream = reverse_complement(codes) if reverse else codes
    return SweepProgram(
        length=length,
        reverse=reverse,
        codes=stream[_stream_positions(starts, track_rows)],
        starts=starts,
        track_rows=track_rows,
        track_commits=np.searchsorted(ends, starts, side="right"),
        ends=ends,
        exit_rows=track_rows[exit_tracks] + (right - left) - 1,
        exit_ends=exit_ends,
        exit_tracks=exit_tracks,
        exit_bonus=scoring.exon_bonus(exons.scores[order]),
        exon_scores=exons.scores[order],
    )


def _stream_positions(starts, track_rows) -> NDArray[np.int64]:
    lengths = np.diff(track_rows)
    return np.arange(track_rows[-1]) + np.repeat(starts - track_rows[:-1], lengths)
