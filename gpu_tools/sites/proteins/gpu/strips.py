"""How proteins are laid out for the packed kernel: jobs, their strips of columns, and profiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.proteins.gpu.plan import FRAMES, ProteinStrand
from gpu_tools.sites.proteins.gpu.step import HOT_SLOTS, MOST_CODONS
from gpu_tools.sites.proteins.limits import PairBounds, ProteinLimits, pair_bounds, protein_limits
from gpu_tools.splicing.proteins.target_introns import intron_points

# The table of jobs that the kernel of proteins reads: a row of numbers for each job.


class ProteinJobNumbers(NamedTuple):
    """A job's row of the table."""

    steps: int  # steps of three boundaries
    strips: int
    # where the job's part begins in each buffer
    boundaries: int
    operations: int
    columns: int
    cells: int
    borders: int
    ends: int
    checkpoints: int
    exits: int
    # words of a strip's columns and cells, and of a checkpoint of a strip
    column_stride: int
    cell_stride: int
    checkpoint_stride: int
    residues: int
    final: int  # the first column in which a chain may end
    codons: int  # rows of the profile
    symbols: int  # symbols of the strand
    slots: int
    ring: int  # exits whose rows there are
    every: int  # boundaries between checkpoints
    block: int  # boundaries that a traceback computes again at a time
    placed: int  # rows of points of introns at their places, one a phase, or none
    none: int  # the lowest cell
    never: int  # added to a chain that may not begin


(
    STEPS, STRIPS, BOUNDARIES, OPERATIONS, COLUMNS, CELLS, BORDERS, ENDS,
    CHECKPOINTS, EXITS, COLUMN_STRIDE, CELL_STRIDE, CHECKPOINT_STRIDE, RESIDUES, FINAL_COLUMN,
    CODONS, SYMBOLS, SLOTS, RING, EVERY, BLOCK, PLACED_ROWS, NONE, NEVER_BEGUN,
) = range(24)  # fmt: skip


_MOST = 32_000
"""Cells of the packed kernel stay below this magnitude: there is a word that no cells make."""
_LEAST_SCORE, _MOST_SCORE = -128, 127
ROWS_AGAIN = 1056
"""Boundaries of a block that a traceback computes again; a multiple of three and of `WARP`."""


STRIP_COLUMNS = 2 * WIDE * WARP - 1
"""New columns of a strip: its first one is the last one of the strip before."""


@dataclass(frozen=True, eq=False)
class LaidOutProtein:
    """A protein laid out for a GPU, for all strands that it is aligned to."""

    codes: NDArray[np.uint8]
    scoring: ProteinScoring
    introns: tuple[int, ...] = ()  # those of the `ProteinSequence`
    placed: bool = False  # whether the plan of the strand is `placed`
    _words: dict[tuple[int, int], NDArray[np.int32]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def strips(self) -> int:
        """Strips of columns."""
        return -(-(len(self.codes) + 1) // STRIP_COLUMNS)

    @property
    def columns(self) -> int:
        """Columns of all strips."""
        return self.strips * STRIP_COLUMNS

    @property
    def column_stride(self) -> int:
        """Words of a strip's columns."""
        return (len(self.scoring.codon_numbers) // 2 + 2 + self.placed_rows) * WIDE * WARP

    @property
    def placed_rows(self) -> int:
        """Rows of points of introns at their places."""
        return FRAMES if self.placed else 0

    @cached_property
    def pairs(self) -> PairBounds:
        """Bounds of the scores of pairs."""
        return pair_bounds(self.codes, self.scoring, self.introns)

    @cached_property
    def fits(self) -> bool:
        """Whether the packed kernel takes the protein's scores."""
        narrow = self._scores.min() >= _LEAST_SCORE and self._scores.max() <= _MOST_SCORE
        return bool(narrow and len(self.scoring.codon_numbers) <= MOST_CODONS)

    @cached_property
    def _scores(self) -> NDArray[np.int64]:
        """Lifted scores of the codons that there are against the residues."""
        rows = self.scoring.substitution[self.scoring.codon_numbers]
        return rows[:, self.codes] + self.scoring.gap_extend

    @cached_property
    def _profiles(self) -> list[NDArray[np.int32]]:
        """The words of each strip's scores."""
        profile = np.zeros((len(self._scores), self.columns + 1), np.int8)
        profile[:, 2 : 2 + len(self.codes)] = self._scores
        # a chain begins with the first column: no codon is paired before it
        profile[:, 1] = _LEAST_SCORE
        return [profile_words(profile[:, own]).ravel() for own in self._slices]

    @property
    def _slices(self) -> list[slice]:
        """The columns of each strip, and the last one of the strip before."""
        firsts = range(0, self.columns, STRIP_COLUMNS)
        return [slice(first, first + STRIP_COLUMNS + 1) for first in firsts]

    def column_words(self, before_first: int, bias: int) -> NDArray[np.int32]:
        """Return what strips read of their columns, one strip behind the other.

        The same array for the same numbers: the cell of a chain that begins before the first
        column, and what is taken off all cells.
        """
        key = before_first, bias
        if key not in self._words:
            self._words[key] = self._laid_out(before_first, bias)
        return self._words[key]

    def _laid_out(self, before_first: int, bias: int) -> NDArray[np.int32]:
        made = np.zeros((self.strips, self.column_stride), np.int32)
        start = np.concatenate([[before_first], self._start()]) - bias
        # the first column of a strip is the last one of the strip before, as that of chains
        points = np.zeros((FRAMES, self.columns + 1), np.int64)
        points[:, 1 : len(self.codes) + 2] = intron_points(self.introns, len(self.codes))
        rows = np.concatenate([start[None], points[: self.placed_rows]])
        for row, profile, own in zip(made, self._profiles, self._slices, strict=True):
            begins = packed(rows[:, own]).ravel()
            row[: len(profile)] = profile
            row[len(profile) : len(profile) + len(begins)] = begins
        return made.ravel()

    def _start(self) -> NDArray[np.int64]:
        """Return lifted cells of a chain that begins, its points left out."""
        left_out = np.minimum(np.arange(self.columns), len(self.codes))
        if self.scoring.free:
            return left_out * self.scoring.gap_extend
        return np.where(left_out, -self.scoring.gap_open, 0)


@dataclass(frozen=True, eq=False)
class ProteinJob:
    """A strand and a protein, laid out for a GPU."""

    strand: ProteinStrand
    target: LaidOutProtein

    @property
    def strips(self) -> int:
        """Strips of columns."""
        return self.target.strips

    @cached_property
    def limits(self) -> ProteinLimits:
        """The limits of the sweep."""
        target = self.target
        return protein_limits(self.strand.table, target.pairs, target.scoring, target.columns)

    @cached_property
    def bias(self) -> int:
        """What is taken off all cells of a long protein, so that 16 bits hold them."""
        bounds = self.limits.bounds
        return (bounds.lowest + bounds.highest) // 2 if bounds.magnitude >= _MOST else 0

    @cached_property
    def fits(self) -> bool:
        """Whether the packed kernel takes the job."""
        bounds = self.limits.bounds
        lowest = min(bounds.lowest, self.limits.none + min(self._before_first, 0)) - self.bias
        few = max(bounds.highest - self.bias, -lowest) < _MOST
        return self.target.fits and few and self.strand.possible

    @cached_property
    def parts(self) -> int:
        """Parts of the strand, each with a checkpoint before it."""
        return -(-FRAMES * self.steps // self.strand.every)

    @cached_property
    def steps(self) -> int:
        """Steps of three boundaries."""
        return -(-(len(self.strand.codes) + 1) // FRAMES)

    @property
    def border_words(self) -> int:
        """Pairs of border words of all strips."""
        return -(-FRAMES * self.steps // WARP) * WARP * self.strips

    @property
    def cell_words(self) -> int:
        """Words of all strips' cells in device memory."""
        return self._cell_stride * self.strips

    @property
    def checkpoint_words(self) -> int:
        """Words of all checkpoints."""
        return self.checkpoint_stride * self.ends

    @property
    def checkpoint_stride(self) -> int:
        """Words of a strip's part of a checkpoint."""
        return self.strand.rows_of_checkpoint * WIDE * WARP

    @property
    def ends(self) -> int:
        """Best ends that the job notes, one a part and strip."""
        return self.parts * self.strips

    @property
    def exit_words(self) -> int:
        """Words of the largest rows of exits, one a part and strip."""
        return self.ends * WIDE * WARP

    @property
    def n_bytes(self) -> int:
        """Bytes of device memory, those of the strand left out."""
        columns = self.target.column_stride * self.strips
        words = self.cell_words + self.checkpoint_words + self.exit_words + columns
        return 4 * (words + self.ends) + 8 * self.border_words

    @property
    def _cell_stride(self) -> int:
        rows = max(self.strand.n_slots - HOT_SLOTS, 0) + FRAMES * self.strand.ring + 1
        return (rows + self.target.placed_rows) * WIDE * WARP

    @property
    def numbers(self) -> ProteinJobNumbers:
        """The job's row of the table, without where its parts begin."""
        strand, target, scoring = self.strand, self.target, self.target.scoring
        return ProteinJobNumbers(
            steps=self.steps, strips=self.strips,
            boundaries=0, operations=0, columns=0, cells=0, borders=0, ends=0,
            checkpoints=0, exits=0,
            column_stride=target.column_stride, cell_stride=self._cell_stride,
            checkpoint_stride=self.checkpoint_stride, residues=len(target),
            final=0 if scoring.free else len(target), codons=len(scoring.codon_numbers),
            symbols=strand.symbols, slots=strand.n_slots, ring=strand.ring, every=strand.every,
            block=strand.block, placed=target.placed_rows,
            none=self.limits.none - self.bias, never=self.limits.none,
        )  # fmt: skip

    def column_words(self) -> NDArray[np.int32]:
        """Return what strips read of their columns; jobs may share it."""
        return self.target.column_words(self._before_first, self.bias)

    @property
    def _before_first(self) -> int:
        """What a chain that begins has before the first column: as low as cells are."""
        return self.limits.none - self.strand.table.first.usual


def packed(rows: NDArray) -> NDArray[np.int32]:
    """Return rows of a strip's columns as words, in the order in which rows are stored."""
    halves = rows.astype(np.int16).reshape(len(rows), WARP, 2, WIDE // 4, 4)
    words = np.ascontiguousarray(halves.transpose(0, 3, 1, 4, 2)).reshape(len(rows), -1)
    return words.view(np.int32)


def profile_words(scores: NDArray[np.int8]) -> NDArray[np.int32]:
    """Return a strip's scores, four a word: of two registers a lane both halves."""
    lanes = scores.reshape(len(scores), WARP, 2, WIDE)
    words = np.ascontiguousarray(lanes.transpose(0, 1, 3, 2)).reshape(len(scores), -1)
    return words.view(np.int32)
