"""What a call needs: the narrowest integers that hold its cells, and the device for its size.

Estimated times are by figures of the time model that `gpu_tools.estimate` ships.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.device import Device, unless_small, with_enough_work
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
    """The terms of a scoring that bound cells."""

    gap: int
    pair: int  # largest lifted score of a pair, at least 0
    most: int  # largest magnitude of what one operation adds
    free: bool  # whether target ends are free


def costs_of(scoring: SplicedScoring) -> Costs:
    """Return the terms of a scoring that bound cells."""
    gap, (low, high) = scoring.gap, scoring.lifted_range
    most = max(-low, high, abs(gap), abs(scoring.intron_penalty))
    return Costs(gap, max(high, 0), most, scoring.ends != "global")


def narrowest(bound: Bounds) -> np.dtype:
    """Return int16 if every value fits, else int32."""
    _check_int32(bound.magnitude)
    return _INT16 if bound.magnitude < LIMIT_INT16 else _INT32


def check_cells(magnitude: int) -> None:
    """Raise `ScoringError` if a cell or a step of a sweep in 32 bits could reach the limit."""
    if magnitude >= CELL_LIMIT:
        raise ScoringError(f"scores up to {magnitude} could arise; expected less than 2^28")


def fit_int16(magnitudes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether 16-bit cells suffice, per sweep, given the largest magnitude of its values."""
    for magnitude in magnitudes[magnitudes >= LIMIT_INT32]:
        _check_int32(magnitude)
    return magnitudes < LIMIT_INT16


def _check_int32(magnitude: int) -> None:
    """Raise `ScoringError` if 32 bits could overflow."""
    if magnitude >= LIMIT_INT32:
        raise ScoringError(
            f"scores up to {magnitude} could arise for these lengths; expected less than 2^30"
        )


CELLS_A_GPU = {"list": 10**12, "site": 10**12, "proteins": 10**11}
"""Cells for which one of several GPUs is used, at least, by mode. Two H200 were 1.04 to 1.6 times
as fast as one with fewer, and with more 1.6 times in site mode, 2.1 times with proteins."""


def device_for(where: Device, mode: str, cases: int, cells: int, threads: int) -> Device:
    """Return a device without GPUs that have little to do, or the CPU if it is done sooner."""
    where = with_enough_work(where, cells, CELLS_A_GPU[mode])
    return unless_small(where, cpu_seconds(mode, cases, cells) / threads, _figures()["start"])


def cpu_seconds(mode: str, cases: int, cells: int) -> float:
    """Estimate the seconds that one CPU thread takes for cases of the usual shape."""
    own = _figures()[mode]
    return cases * own["case"] + cells * own["cell"]


@cache
def _figures() -> dict:
    return json.loads(resource_path("estimate", "small.json").read_text(encoding="utf-8"))
