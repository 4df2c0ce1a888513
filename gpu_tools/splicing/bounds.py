"""Bounds on the cells of a sweep, and the narrowest integers that hold them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.device import Device, unless_small
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scoring import LIMIT_INT32, SplicedScoring

LIMIT_INT16 = 2**15 - 1
_INT16, _INT32 = np.dtype(np.int16), np.dtype(np.int32)
CELL_LIMIT = 2**28
"""Cells and steps of a sweep that has only 32 bits stay below this magnitude."""
CELL_FLOOR = -2 * CELL_LIMIT
"""Under every cell of such a sweep, whatever one step adds to it."""


@dataclass(frozen=True)
class Bounds:
    """No cell, exon end or predecessors' maximum of a sweep leaves [lowest, highest]."""

    lowest: int
    highest: int

    @property
    def magnitude(self) -> int:
        """The larger of the two bounds' magnitudes."""
        return max(abs(self.lowest), abs(self.highest))


class Costs(NamedTuple):
    """What a scoring has to do with the bounds of cells.

    `gap` is its gap score, `pair` the most that a pair adds where cells are lifted by columns, at
    least 0, `most` the largest magnitude of what one operation adds, and `free` whether ends are.
    """

    gap: int
    pair: int
    most: int
    free: bool


def costs_of(scoring: SplicedScoring) -> Costs:
    """Return what a scoring has to do with the bounds of cells."""
    gap, (low, high) = scoring.gap, scoring.lifted_range
    most = max(-low, high, abs(gap), abs(scoring.intron_penalty))
    return Costs(gap, max(high, 0), most, scoring.ends != "global")


def narrowest(bound: Bounds, scoring: SplicedScoring) -> np.dtype:
    """Return int16 if every value fits, else int32."""
    _check_int32(bound.magnitude)
    return _INT16 if bound.magnitude < LIMIT_INT16 else _INT32


def check_cells(magnitude: int) -> None:
    """Raise `ScoringError` if a cell or a step of a sweep in 32 bits could reach the limit."""
    if magnitude >= CELL_LIMIT:
        raise ScoringError(f"scores up to {magnitude} could arise; expected less than 2^28")


def fit_int16(magnitudes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell of each of some sweeps whether 16 bits hold every value, given the largest magnitude."""
    for magnitude in magnitudes[magnitudes >= LIMIT_INT32]:
        _check_int32(magnitude)
    return magnitudes < LIMIT_INT16


def _check_int32(magnitude: int) -> None:
    """Raise `ScoringError` if 32 bits could overflow."""
    if magnitude >= LIMIT_INT32:
        raise ScoringError(
            f"scores up to {magnitude} could arise for these lengths; expected less than 2^30"
        )


# About what cases take, by figures of the time model that `gpu_tools.estimate` ships.


def device_for(where: Device, mode: str, cases: int, cells: int, threads: int) -> Device:
    """Return the device for some cases: the CPU instead of a GPU that takes longer to start."""
    return unless_small(where, cpu_seconds(mode, cases, cells) / threads, _figures()["start"])


def cpu_seconds(mode: str, cases: int, cells: int) -> float:
    """Return about what one thread of a CPU takes for cases of the usual shape."""
    own = _figures()[mode]
    return cases * own["case"] + cells * own["cell"]


@cache
def _figures() -> dict:
    return json.loads(resource_path("estimate", "small.json").read_text(encoding="utf-8"))
