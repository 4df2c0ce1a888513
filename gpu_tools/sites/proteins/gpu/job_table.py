"""The table of jobs that the kernel of proteins reads: a row of numbers for each job."""

from __future__ import annotations

from typing import NamedTuple


class ProteinJobNumbers(NamedTuple):
    """A job's row of the table.

    Attributes
    ----------
    steps : int
        Steps of three boundaries.
    strips : int
    boundaries, operations, columns, cells, borders, ends, checkpoints : int
        Where the job's part begins in the buffer of that name.
    column_stride, cell_stride, checkpoint_stride : int
        Words of a strip's columns and cells, and of a checkpoint of a strip.
    residues : int
        Of the protein.
    final : int
        The first column in which a chain may end.
    codons, symbols, slots, ring : int
        Rows of the profile, symbols of the strand, slots, and exits whose rows there are.
    every : int
        Boundaries between checkpoints.
    none, never : int
        The lowest cell, and what is added to a chain that may not begin.
    """

    steps: int
    strips: int
    boundaries: int
    operations: int
    columns: int
    cells: int
    borders: int
    ends: int
    checkpoints: int
    column_stride: int
    cell_stride: int
    checkpoint_stride: int
    residues: int
    final: int
    codons: int
    symbols: int
    slots: int
    ring: int
    every: int
    none: int
    never: int


(
    STEPS, STRIPS, BOUNDARIES, OPERATIONS, COLUMNS, CELLS, BORDERS, ENDS,
    CHECKPOINTS, COLUMN_STRIDE, CELL_STRIDE, CHECKPOINT_STRIDE, RESIDUES, FINAL_COLUMN, CODONS,
    SYMBOLS, SLOTS, RING, EVERY, NONE, NEVER_BEGUN,
) = range(21)  # fmt: skip
