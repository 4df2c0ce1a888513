"""The table of jobs that the kernels of site mode read: a row of numbers for each job."""

from __future__ import annotations

from typing import NamedTuple


class JobNumbers(NamedTuple):
    """A job's row of the table.

    Attributes
    ----------
    floor : int
        Value of cells that nothing has reached, in both halves for the packed kernel.
    rows : int
        Boundaries; for the packed kernel border words of a strip, two a step.
    strips : int
        Strips of target columns.
    boundaries, operations, target, cells, borders, ends : int
        Where the job's part begins in the buffer of that name; the targets are symbols.
    stride : int
        Words of a strip's cells.
    columns : int
        Columns of the target.
    first_stored : int
        Where the rows for the traceback begin among a strip's rows.
    size, last_size : int
        Packed kernel: registers a lane of all strips but the last one, and of the last one.
    lifting : int
        Packed kernel: what S' is more than a cell, for each strip before the cell's.
    slots, advances, tracks, row, start : int
        32-bit kernel: slots; how often a row is advanced; current rows; the slots of the first
        current row and of the empty chain's row. Packed kernel of chains that translate: slots is
        the number of the row where slots in device memory begin; advances and start are the same.
    first_step : int
        This and all others are for the packed kernel of chains that translate: the step to begin
        with; `rows` is the step to end before.
    operands : int
        Steps of the plan, behind which operands stand.
    mask, exit_base, copy_base : int
        An exit's number less the second one is masked with the first one to find its rows; an
        entry's stored rows come so many numbers sooner than the plan says.
    checkpoints, every, checkpoint_stride : int
        Where the job's checkpoints begin in their buffer, in what distance of steps they are
        written, 0 for none, and their words.
    n_slots, ring : int
        Slots, and exits whose rows a checkpoint has.
    """

    floor: int
    rows: int
    strips: int
    boundaries: int = 0
    operations: int = 0
    target: int = 0
    cells: int = 0
    borders: int = 0
    ends: int = 0
    stride: int = 0
    columns: int = 0
    first_stored: int = 0
    size: int = 0
    last_size: int = 0
    lifting: int = 0
    slots: int = 0
    advances: int = 0
    tracks: int = 0
    row: int = 0
    start: int = 0
    first_step: int = 0
    operands: int = 0
    mask: int = 0
    exit_base: int = 0
    copy_base: int = 0
    checkpoints: int = 0
    every: int = 0
    checkpoint_stride: int = 0
    n_slots: int = 0
    ring: int = 0


FLOOR, ROWS, STRIPS = range(3)
BOUNDARIES, OPERATIONS, TARGET, CELLS, BORDERS, ENDS = range(3, 9)
STRIDE, COLUMNS, FIRST_STORED, SIZE, LAST_SIZE, LIFTING = range(9, 15)
SLOTS, ADVANCES, TRACKS, ROW, START = range(15, 20)
FIRST_STEP, OPERANDS, MASK, EXIT_BASE, COPY_BASE = range(20, 25)
CHECKPOINTS, EVERY, CHECKPOINT_STRIDE, N_SLOTS, RING = range(25, 30)
