"""What a warp holds while it sweeps a strip; see `gpu_tools.local.gpu.packed`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Lane(NamedTuple):
    """A lane's number, the tilt of a step in both halves, and its warp's words of shared memory."""

    number: int
    step_up: int
    out: Any
    slot: int
    scratch: Any


class StripState(NamedTuple):
    """What a strip holds between chunks: its base, and each lane's cells, gaps, and cells above."""

    base: int
    cells: tuple
    gaps: tuple
    above: tuple


class Registers(NamedTuple):
    """What a lane holds between steps."""

    cells: tuple
    gaps: tuple
    selectors: tuple
    diagonal: int
    falling: int
    floor: int
    tilted: int


class ChunkColumns(NamedTuple):
    """The columns of the warp's first lane, of the last virtual lane, and of the lane itself."""

    first: int
    last: int
    own: int


class NextCells(NamedTuple):
    """Where the cells of the next chunk come from, and where the threshold is."""

    source: Any
    incoming: int
    limits: Any
    limit_at: int


class Handover(NamedTuple):
    """Where the cells below a chunk go, and the number of the strip that reads them."""

    target: Any
    outgoing: int
    tag: int


class StripConstants(NamedTuple):
    """What does not change while a strip is swept."""

    selectors: tuple
    penalties: tuple
    lane: Lane
    enters: int
    scoring: Any
