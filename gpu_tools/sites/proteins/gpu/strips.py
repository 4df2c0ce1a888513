"""How proteins are laid out for the packed kernel: jobs, and their strips of columns."""

from __future__ import annotations

from dataclasses import dataclass
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

# The table of jobs that the kernel of proteins reads: a row of numbers for each job.


class ProteinJobNumbers(NamedTuple):
    """A job's row of the table."""

    steps: int  # steps of three boundaries
    strips: int
    # where the job's part begins in each buffer
    boundaries: int
    operations: int
    residues_at: int
    points: int
    cells: int
    borders: int
    ends: int
    checkpoints: int
    exits: int
    # words of a strip's cells, and of a checkpoint of a strip
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
    bias: int  # what is taken off all cells
    before_first: int  # what a chain that begins has before the first column


(
    STEPS, STRIPS, BOUNDARIES, OPERATIONS, TARGET, POINTS, CELLS, BORDERS, ENDS, CHECKPOINTS, EXITS,
    CELL_STRIDE, CHECKPOINT_STRIDE, RESIDUES, FINAL_COLUMN, CODONS, SYMBOLS, SLOTS, RING, EVERY,
    BLOCK, PLACED_ROWS, NONE, NEVER_BEGUN, BIAS, BEFORE_FIRST,
) = range(26)  # fmt: skip


_MOST = 32_000
"""Cells of the packed kernel stay below this magnitude: there is a word that no cells make."""
LEAST_SCORE, _MOST_SCORE = -128, 127
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
    def placed_rows(self) -> int:
        """Rows of points of introns at their places."""
        return FRAMES if self.placed else 0

    @cached_property
    def pairs(self) -> PairBounds:
        """Bounds of the scores of pairs."""
        return pair_bounds(self.codes, self.scoring, self.introns)

    @property
    def fits(self) -> bool:
        """Whether the packed kernel takes the protein's scores."""
        few = len(self.scoring.codon_numbers) <= MOST_CODONS
        return few and self.pairs.largest <= _MOST_SCORE


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
        words = self.cell_words + self.checkpoint_words + self.exit_words
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
            boundaries=0, operations=0, residues_at=0, points=0, cells=0, borders=0, ends=0,
            checkpoints=0, exits=0, cell_stride=self._cell_stride,
            checkpoint_stride=self.checkpoint_stride, residues=len(target),
            final=0 if scoring.free else len(target), codons=len(scoring.codon_numbers),
            symbols=strand.symbols, slots=strand.n_slots, ring=strand.ring, every=strand.every,
            block=strand.block, placed=target.placed_rows,
            none=self.limits.none - self.bias, never=self.limits.none, bias=self.bias,
            before_first=self._before_first,
        )  # fmt: skip

    @property
    def _before_first(self) -> int:
        """What a chain that begins has before the first column: as low as cells are."""
        return self.limits.none - self.strand.table.first.usual
