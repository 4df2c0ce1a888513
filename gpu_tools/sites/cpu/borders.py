"""Rising penalties on a CPU: the operations of a border, done on the rows before entries."""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.operations import RAISE
from gpu_tools.sites.rising import most_operations, write_border
from gpu_tools.splicing.rows import lower, raise_to


@njit(nogil=True)
def cross_border(before, rising, boundary, splits, floor, lanes):
    """Bring the rows before entries up to date at a border, all earlier exits being taken."""
    operations = np.empty((splits * most_operations(rising), 4), np.int64)
    width = before.shape[1]
    for k in range(write_border(rising, boundary, splits, 0, operations, 0)):
        to, source, bonus = operations[k, 1], operations[k, 2], operations[k, 3]
        if operations[k, 0] == RAISE:
            raise_to(before, to, before, source, width, lanes, bonus)
        else:
            lower(before, to, before, source, width, lanes, bonus, floor)
