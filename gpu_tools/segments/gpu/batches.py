"""Values of the host in batches: threads copy several to a GPU while it works on others."""

from __future__ import annotations

from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated

BATCH_BYTES = 512 if simulated() else (1 << 24) - 1
"""The values of a batch take at most so many; pinned arrays are a power of two that is larger."""


def batches_of(values: NDArray, length: int) -> list[tuple[int, int]]:
    """Return the first run, or tile, of each batch and the one behind its last.

    Parameters
    ----------
    values : ndarray
    length : int
        Values of a run; the last one may have fewer.

    Returns
    -------
    list of (int, int)
    """
    runs = -(-len(values) // length)
    size = max(BATCH_BYTES // (length * values.itemsize), 1)
    return [(first, min(first + size, runs)) for first in range(0, runs, size)]
