"""How proteins are laid out for the packed kernel: jobs, their strips of columns, and profiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.packed_columns import WIDE
from gpu_tools.sites.proteins.gpu.job_table import ProteinJobNumbers
from gpu_tools.sites.proteins.gpu.operations import HOT_SLOTS, MOST_CODONS
from gpu_tools.sites.proteins.gpu.plan import FRAMES, ProteinStrand
from gpu_tools.sites.proteins.limits import ProteinLimits, protein_limits

_MOST = 32_000
"""Cells of the packed kernel stay below this magnitude: there is a word that no cells make."""
_LEAST_SCORE, _MOST_SCORE = -128, 127
ROWS_AGAIN = 1032
"""Boundaries of a block that the CPU computes again; a multiple of four and of three."""


STRIP_COLUMNS = 2 * WIDE * WARP - 1
"""New columns of a strip: its first one is the last one of the strip before."""


@dataclass(frozen=True, eq=False)
class ProteinJob:
    """A strand and a protein on their way to a GPU.

    Parameters
    ----------
    strand : ProteinStrand
    target : ndarray of uint8, shape (m,)
    """

    strand: ProteinStrand
    target: NDArray[np.uint8]

    @property
    def strips(self) -> int:
        """Strips of columns."""
        return -(-(len(self.target) + 1) // STRIP_COLUMNS)

    @property
    def columns(self) -> int:
        """Columns of all strips."""
        return self.strips * STRIP_COLUMNS

    @cached_property
    def limits(self) -> ProteinLimits:
        """The limits of the sweep."""
        strand = self.strand
        return protein_limits(strand.table, self.target, strand.scoring, self.columns)

    @cached_property
    def bias(self) -> int:
        """What is taken off all cells of a long protein, so that 16 bits hold them."""
        bounds = self.limits.bounds
        return (bounds.lowest + bounds.highest) // 2 if bounds.magnitude >= _MOST else 0

    @property
    def fits(self) -> bool:
        """Whether the packed kernel takes the job."""
        scores, bounds = self._scores, self.limits.bounds
        narrow = scores.min() >= _LEAST_SCORE and scores.max() <= _MOST_SCORE
        codons = len(self.strand.numbers) <= MOST_CODONS
        lowest = min(bounds.lowest, self.limits.none + min(self._before_first, 0)) - self.bias
        few = max(bounds.highest - self.bias, -lowest) < _MOST
        return bool(narrow and codons and few and self.strand.possible)

    @property
    def _scores(self) -> NDArray[np.int64]:
        """Lifted scores of the codons that there are against the residues."""
        scoring = self.strand.scoring
        return scoring.substitution[self.strand.numbers][:, self.target] + scoring.gap_extend

    @property
    def n_checkpoints(self) -> int:
        """Checkpoints that the job writes, none before the first boundary."""
        return (FRAMES * self.steps - 1) // self.strand.every

    @property
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
        return self.checkpoint_stride * self.strips * self.n_checkpoints

    @property
    def checkpoint_stride(self) -> int:
        """Words of a strip's part of a checkpoint."""
        return self.strand.rows_of_checkpoint * WIDE * WARP

    @property
    def checkpoint_words_each(self) -> int:
        """Words of a checkpoint of all strips."""
        return self.checkpoint_stride * self.strips

    @property
    def row_cells(self) -> int:
        """Cells of a strip's row, two a word."""
        return 2 * WIDE * WARP

    @property
    def ends(self) -> int:
        """Best ends that the job notes."""
        return (self.n_checkpoints + 1) * self.strips

    @property
    def n_bytes(self) -> int:
        """Bytes of device memory, those of the strand left out."""
        words = self.cell_words + self.checkpoint_words + self._column_stride * self.strips
        return 4 * (words + self.ends) + 8 * self.border_words

    @property
    def _cell_stride(self) -> int:
        rows = max(self.strand.n_slots - HOT_SLOTS, 0) + FRAMES * self.strand.ring + 1
        return rows * WIDE * WARP

    @property
    def _column_stride(self) -> int:
        return (len(self.strand.numbers) // 2 + 2) * WIDE * WARP

    @property
    def numbers(self) -> ProteinJobNumbers:
        """The job's row of the table, without where its parts begin."""
        strand, scoring = self.strand, self.strand.scoring
        return ProteinJobNumbers(
            steps=self.steps, strips=self.strips,
            boundaries=0, operations=0, columns=0, cells=0, borders=0, ends=0,
            checkpoints=0, column_stride=self._column_stride, cell_stride=self._cell_stride,
            checkpoint_stride=self.checkpoint_stride, residues=len(self.target),
            final=0 if scoring.free else len(self.target), codons=len(strand.numbers),
            symbols=strand.symbols, slots=strand.n_slots, ring=strand.ring, every=strand.every,
            none=self.limits.none - self.bias, never=self.limits.none,
        )  # fmt: skip

    def column_words(self) -> NDArray[np.int32]:
        """Return what strips read of their columns, one strip behind the other."""
        made = np.zeros((self.strips, self._column_stride), np.int32)
        width = self.columns + 1
        profile = np.zeros((len(self.strand.numbers), width), np.int8)
        profile[:, 2 : 2 + len(self.target)] = self._scores
        # a chain begins with the first column: no codon is paired before it
        profile[:, 1] = _LEAST_SCORE
        start = np.concatenate([[self._before_first], self._start(width - 1)]) - self.bias
        for k in range(self.strips):
            own = slice(k * STRIP_COLUMNS, (k + 1) * STRIP_COLUMNS + 1)
            words = profile_words(profile[:, own]), packed(start[None, own])
            together = np.concatenate([part.ravel() for part in words])
            made[k, : len(together)] = together
        return made.ravel()

    @property
    def _before_first(self) -> int:
        """What a chain that begins has before the first column: as low as cells are."""
        return self.limits.none - self.strand.table.first.usual

    def _start(self, width: int) -> NDArray[np.int64]:
        """Return lifted cells of a chain that begins, its points left out."""
        begun, scoring = np.minimum(np.arange(width), len(self.target)), self.strand.scoring
        if scoring.free:
            return begun * scoring.gap_extend
        return np.where(np.arange(width), -scoring.gap_open, 0)


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
