"""The sweep of a strand's candidates with a protein, and where its best chain ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.scoring import LIMIT_INT32
from gpu_tools.spliced.proteins.cpu.sweep import (
    BEFORE_STOP,
    EXITS,
    best_ends,
    sweep_tracks,
)
from gpu_tools.spliced.proteins.limits import protein_limits
from gpu_tools.spliced.proteins.tracks import Candidates
from gpu_tools.splicing.proteins.columns import ProteinColumns, lay_out
from gpu_tools.splicing.proteins.rows import PHASES, RECENT, SPLITS
from gpu_tools.splicing.rows import aligned_full, by_column, by_lane

CELLS_PER_CALL = 1 << 28
"""A call of compiled code sweeps about so many cells: some tenths of a second."""


class ChainEnd(NamedTuple):
    """Where the best chain ends: its score, the index of the end, and the residues.

    `back` is 3 in front of a stop codon, else 0; `value` is H' there, the exon's bonus included.
    """

    score: int
    end: int
    back: int
    column: int
    value: int


class TrackRows(NamedTuple):
    """All rows of a track, laid out as `ProteinColumns`: row 3 + k is that of its boundary k.

    `inside` are rows of H before the track is entered, `whole` those behind, and `codon_gaps` those
    of chains that leave out the codon that ends there.
    """

    inside: NDArray
    whole: NDArray
    codon_gaps: NDArray


@dataclass
class CandidateSweep:
    """Candidates and a protein, swept; some candidate may begin a chain.

    `done` is called with the part of the sweep that is done since its last call, 1 in all.
    """

    candidates: Candidates
    target: NDArray[np.uint8]
    scoring: ProteinScoring
    done: InitVar[Callable[[float], None]] = lambda part: None
    columns: ProteinColumns = field(init=False)
    exits: NDArray = field(init=False)
    entries: NDArray = field(init=False)

    def __post_init__(self, done: Callable[[float], None]):
        codes, tracks = self.candidates.codes, self.candidates.tracks
        limits = protein_limits(tracks, self.target, self.scoring)
        symbols = int(codes.max(initial=0)) + 1
        self.columns = lay_out(self.target, self.scoring, symbols, limits)
        self.exits = self._rows(EXITS * len(tracks.ends))
        self.entries = self._rows(PHASES * len(tracks.starts))
        work, nothing = self._rows(SPLITS + RECENT + PHASES), (self.exits[:0], self.exits[:0])
        lengths = tracks.lasts - tracks.starts + 1
        for first, past in _parts(lengths * self.columns.width):
            self._sweep((first, past), work, nothing)
            done(lengths[first:past].sum() / lengths.sum())

    def _sweep(self, part: tuple[int, int], work: NDArray, record: tuple[NDArray, NDArray]) -> None:
        sweep_tracks(
            self.candidates.codes, self.candidates.tracks, part, self.columns, self.scoring.codons,
            self.scoring.intron_penalty, self.exits, self.entries, work, record,
        )  # fmt: skip

    def _rows(self, count: int) -> NDArray:
        return aligned_full((count, self.columns.width), self.columns.none)

    @cached_property
    def best(self) -> ChainEnd:
        """The best chain's end; of equals the first, in front of its stop codon, then the column.

        The score is that of the definition.
        """
        size, columns = len(self.target), np.arange(self.columns.width)
        final = columns <= size if self.scoring.free else columns == size
        lifts = np.where(final, self.scoring.gap_extend * columns, LIMIT_INT32)
        laid_out = by_lane(lifts[None], self.columns.lanes, np.int32)[0]
        scores = best_ends(self.exits, laid_out)
        end, k = divmod(int(scores.argmax()), 2)
        row = end * EXITS + (BEFORE_STOP, 0)[k]
        values = by_column(self.exits[row : row + 1], self.columns.lanes)[0].astype(np.int64)
        column = int((values - lifts).argmax())
        score = int(scores[end, k])
        return ChainEnd(score, end, (PHASES, 0)[k], column, int(values[column]))

    def exit_values(self, ends: slice, phase: int, column: int) -> NDArray[np.int64]:
        """Return H' of exits with a phase, of one column."""
        rows = self.exits.reshape(-1, EXITS, self.columns.width)
        return rows[ends, phase, self.columns.place(column)].astype(np.int64)

    def rows_of(self, track: int) -> TrackRows:
        """Return all rows of a track, computed again."""
        tracks = self.candidates.tracks
        count = PHASES + int(tracks.lasts[track] - tracks.starts[track]) + 1
        whole, gaps = self._rows(count), self._rows(count)
        work = self._rows(SPLITS + RECENT + PHASES)
        self._sweep((track, track + 1), work, (whole, gaps))
        inside = whole.copy()
        inside[PHASES] = self.columns.none
        return TrackRows(inside, whole, gaps)


def _parts(cells: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut tracks, by their cells, into ranges for calls of compiled code."""
    past = np.cumsum(cells)
    numbers = past // CELLS_PER_CALL
    bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(cells)]
    return list(pairwise(bounds))
