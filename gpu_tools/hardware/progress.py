"""Progress within a case: cells that threads and compiled functions have done so far."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")
CELLS_PER_REPORT = 1 << 28
"""Progress is reported after so many cells of a case: some tenths of a second of one core."""
SECONDS_PER_LOOK = 0.5
"""How often the counter of a compiled function is read."""


class CaseProgress:
    """Reports how many cells of a case are done; threads may share it.

    Parameters
    ----------
    cells : int
        Nominal cells of the case: the sum of what is reported.
    done : callable
        Called with the number of cells that are done since its last call.
    least : int
        About so many cells are reported at a time.
    """

    def __init__(self, cells: int, done: Callable[[int], None], least: int = CELLS_PER_REPORT):
        self.left, self.done, self.new, self.least, self.lock = cells, done, 0, least, Lock()

    def add(self, cells: int) -> None:
        """Count cells of a sweep."""
        with self.lock:
            self.new += cells
            if self.new >= self.least:
                self._report(self.new)

    def finish(self) -> None:
        """Report all cells that are left: the case is done."""
        with self.lock:
            self._report(self.left)

    def _report(self, cells: int) -> None:
        cells = min(cells, self.left)
        self.left, self.new = self.left - cells, 0
        if cells:
            self.done(cells)


def watched(
    call: Callable[[NDArray[np.int64]], Result], done: Callable[[int], None]
) -> Result:  # fmt: skip
    """Call a function that takes long, and report what it counts while it works.

    Parameters
    ----------
    call : callable
        Takes an array of one counter, which it raises; compiled code that holds no lock of Python.
    done : callable
        Called with what was counted since its last call.

    Returns
    -------
    object
        What `call` returns; what it raises is raised here.
    """
    counter, seen = np.zeros(1, dtype=np.int64), 0
    with ThreadPoolExecutor(1, "gpu-tools") as pool:
        working = pool.submit(call, counter)
        while not working.done():
            try:
                working.exception(SECONDS_PER_LOOK)
            except TimeoutError:
                now = int(counter[0])
                done(now - seen)
                seen = now
        return working.result()
