"""How jobs whose chains translate are cut into strips for their packed kernel.

A short job stores the rows of all sites at once. A long one is swept for its best end first, and
leaves checkpoints. Then *windows* of it are swept, from a checkpoint up to the best end, which
store rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.sites.gpu.codon_plan import FIRST_STORED, CodonPlan
from gpu_tools.sites.gpu.codon_rows import HOT_SLOTS, NUMBERS, rows_of_checkpoint
from gpu_tools.sites.gpu.job import PackedStrips, SiteJob
from gpu_tools.sites.gpu.job_table import JobNumbers, RowsInMemory
from gpu_tools.sites.gpu.packed_strip import NARROW
from gpu_tools.splicing.reading import FRAMES

_SHORT = 1 << 16
"""Steps of a job that stores all rows, at most."""
_LEAST_EVERY, _MOST_CHECKPOINTS = 1 << 14, 512
_CODONS = 125


@dataclass(frozen=True, eq=False)
class CodonStrips(PackedStrips):
    """A job's strips, and the registers a lane of each strip, for each of the three rows."""

    every: int = 0  # steps between checkpoints; 0 if the job stores all rows
    first_step: int = 0
    end_step: int = 0  # the first step that is not swept
    checkpoint: int = 0  # where the first step's checkpoint begins in the buffer

    border_bytes = 8

    @property
    def compiled(self) -> CodonPlan:
        """The plan, which jobs of one strand share."""
        return self.job.strand.codon_plan

    @property
    def border_words(self) -> int:
        """Pairs of border words of all strips."""
        return self._advances * len(self.sizes)

    @property
    def cell_words(self) -> int:
        """Words of all strips' cells in device memory."""
        return self._rows_in_memory * sum(self.sizes) * WARP

    @property
    def checkpoint_words(self) -> int:
        """Words of all checkpoints that the job writes."""
        count = (self.end_step - 1) // self.every if self.every else 0
        return count * len(self.sizes) * self._checkpoint_stride

    @property
    def duration(self) -> int:
        """What the time of a strip is proportional to."""
        return self._rows * self.sizes[0]

    @cached_property
    def numbers(self) -> JobNumbers:
        """The job's row of the table, without where its parts begin."""
        plan = self.compiled
        return self._numbers_with(
            rows=self.end_step, first_step=self.first_step, operands=len(plan.words),
            stride=self._rows_in_memory * self.sizes[0] * WARP, advances=self._advances,
            slots=self._first_slot, start=plan.start, n_slots=plan.n_slots, ring=plan.ring,
            mask=plan.ring - 1 if self.every else -1, exit_base=self._first_exit,
            copy_base=self.rows_in_memory.entry_rows, checkpoints=self.checkpoint,
            every=self.every, checkpoint_stride=self._checkpoint_stride,
        )  # fmt: skip

    @cached_property
    def rows_in_memory(self) -> RowsInMemory:
        """Which of the plan's stored rows there are, if any are stored."""
        entry_rows = FRAMES * (self._first_entry + self.compiled.stored.n_exits - self._exits)
        return RowsInMemory(
            FRAMES * self.first_step, self._donors_before(self.first_step),
            FRAMES * self._first_exit, entry_rows,
        )  # fmt: skip

    def window(self, length: int, end: int, checkpoints: int) -> CodonStrips:
        """Return the strips of a window that ends with a boundary, of at least `length` steps.

        `checkpoints` is where the job's checkpoints begin.
        """
        end_step = end // FRAMES + 1
        number = max(end_step - length, 0) // self.every
        before = max(number - 1, 0) * len(self.sizes) * self._checkpoint_stride
        return CodonStrips(
            self.job, self.sizes, 0, number * self.every, end_step, checkpoints + before
        )

    def _donors_before(self, step: int) -> int:
        boundaries = self.job.table.donors.boundaries
        return int(np.searchsorted(boundaries, boundaries.dtype.type(FRAMES * step)))

    def _acceptors_before(self, step: int) -> int:
        boundaries = self.job.table.acceptors.boundaries
        return int(np.searchsorted(boundaries, boundaries.dtype.type(FRAMES * step)))

    @property
    def _first_exit(self) -> int:
        """The first exit whose rows are there: some before the window may be needed."""
        if not self.first_step:
            return 0
        return max(self._donors_before(self.first_step) - self.compiled.ring, 0)

    @property
    def _exits(self) -> int:
        """Exits whose rows are there at a time."""
        if self.every:
            return self.compiled.ring
        return self._donors_before(self.end_step) - self._first_exit

    @property
    def _first_entry(self) -> int:
        return self._acceptors_before(self.first_step)

    @property
    def _entries(self) -> int:
        """Entries of the window."""
        return self._acceptors_before(self.end_step) - self._first_entry

    @property
    def _rows(self) -> int:
        return FRAMES * (self.end_step - self.first_step)

    @property
    def _advances(self) -> int:
        """Advances, at least; a whole number of groups."""
        most = self._rows + FRAMES * (self._entries + _CODONS)
        return -(-most // WARP) * WARP

    @property
    def _first_slot(self) -> int:
        """Number of the row of the first slot in device memory."""
        return FIRST_STORED + FRAMES * (self._exits + (0 if self.every else self._entries))

    @property
    def _rows_in_memory(self) -> int:
        return self._first_slot + max(self.compiled.n_slots - HOT_SLOTS, 0)

    @property
    def _checkpoint_stride(self) -> int:
        rows = rows_of_checkpoint(self.compiled.n_slots, self.compiled.ring)
        return (NUMBERS + rows * self.sizes[0]) * WARP


def codon_strips(job: SiteJob, size: int, every: int | None = None) -> CodonStrips:
    """Cut a job into strips of `size` registers a lane and row.

    The last strip is a narrow one if that holds the columns that are left. A long job leaves
    checkpoints, and any job in a distance `every` of steps, if given.
    """
    whole, left = divmod(job.columns, 2 * WARP * size)
    last = (NARROW if left <= 2 * WARP * NARROW else size,) if left else ()
    steps = len(job.strand.codon_plan.words)
    if every is None:
        every = max(_LEAST_EVERY, -(-steps // _MOST_CHECKPOINTS)) if steps > _SHORT else 0
    return CodonStrips(job, (size,) * whole + last, every, 0, steps)
