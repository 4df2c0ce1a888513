"""What a search for approximate matches finds on any device, and the limits that bound it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.matching.pattern import Probe
from gpu_tools.matching.text_blocks import TextBlock, TextRange


class Hits(NamedTuple):
    """Ends of matches of one probe in one range of a text block.

    Attributes
    ----------
    probe : int
        Number of the probe.
    text_range : TextRange
    rows : ndarray of int64, shape (k, 2)
        End, in the block's codes, and distance.
    """

    probe: int
    text_range: TextRange
    rows: NDArray[np.int64]


@dataclass
class DistanceLimits:
    """The largest distance of interest of each pattern, and the least to which it may fall."""

    current: NDArray[np.int64]
    floor: NDArray[np.int64]

    def of(self, pattern: int) -> NDArray[np.int64]:
        """Return both of a pattern as a new array."""
        return np.array([self.current[pattern], self.floor[pattern]])

    def lower(self, pattern: int, value: int) -> None:
        """Take a new best distance into account."""
        self.current[pattern] = min(self.current[pattern], value)

    def within(self, found: Iterable[Hits], probes: list[Probe]) -> list[Hits]:
        """Return the hits that are within the current limits."""
        retained = (
            hits._replace(
                rows=hits.rows[hits.rows[:, 1] <= self.current[probes[hits.probe].pattern]]
            )
            for hits in found
        )
        return [hits for hits in retained if len(hits.rows)]


Find = Callable[[TextBlock], list[Hits]]
