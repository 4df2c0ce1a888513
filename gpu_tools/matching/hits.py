"""What a search for approximate matches finds on any device, and the limits that bound it.

Hits are the ends of matches: an array of int64, shape (k, 4), in any order, with the number of the
probe, the number of the range in the text block, the end in the block's codes, and the distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_tools.matching.text_blocks import TextBlock

PROBE, RANGE, END, DISTANCE = range(4)
"""Columns of hits."""
NO_HITS = np.empty((0, 4), np.int64)
Find = Callable[[TextBlock], NDArray[np.int64]]
"""Returns the hits of a text block."""


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
