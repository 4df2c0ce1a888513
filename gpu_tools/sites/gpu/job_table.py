"""The table of jobs that both kernels of site mode read: a row of numbers for each job."""

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
    boundaries, operations, symbols, cells, borders, ends : int
        Where the job's part begins in the buffer of that name.
    stride : int
        Words of a strip's cells.
    size, last_size : int
        Packed kernel: registers a lane of all strips but the last one, and of the last one.
    slots, advances, tracks, columns, row, start : int
        32-bit kernel: slots; how often a row is advanced; current rows; columns; the slots of the
        first current row and of the empty chain's row.
    """

    floor: int
    rows: int
    strips: int
    boundaries: int = 0
    operations: int = 0
    symbols: int = 0
    cells: int = 0
    borders: int = 0
    ends: int = 0
    stride: int = 0
    size: int = 0
    last_size: int = 0
    slots: int = 0
    advances: int = 0
    tracks: int = 0
    columns: int = 0
    row: int = 0
    start: int = 0


FLOOR, ROWS, STRIPS = range(3)
BOUNDARIES, OPERATIONS, SYMBOLS, CELLS, BORDERS, ENDS = range(3, 9)
STRIDE, SIZE, LAST_SIZE = range(9, 12)
SLOTS, ADVANCES, TRACKS, COLUMNS, ROW, START = range(12, 18)
