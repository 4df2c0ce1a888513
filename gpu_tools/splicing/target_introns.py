"""Points of introns that lie where the gene of a cDNA has one, as those of proteins do.

See `gpu_tools.splicing.proteins.target_introns`; here positions are nucleotides of the cDNA.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd

POINTS = 4, 2
"""Points of an intron at the same place, and up to three nucleotides beside it.

With 12 points, as for proteins, introns of diverged cDNAs are made up around short exons.
"""
_BESIDE_BY = 3


def cdna_intron_points(introns: tuple[int, ...], length: int) -> NDArray[np.int64]:
    """Return the points of introns by the nucleotides of the cDNA before them, none without any."""
    if not introns:
        return np.empty(0, np.int64)
    points, places = np.zeros(length + 1, np.int64), np.array(introns, np.int64)
    for shift in range(-_BESIDE_BY, _BESIDE_BY + 1):
        beside = places[(places > 0) & (places < length)] + shift
        inside = beside[(beside >= 0) & (beside <= length)]
        np.maximum.at(points, inside, POINTS[shift != 0])
    return points


@njit(nogil=True, error_model="numpy")
def fill_points(row, points, first):
    """Fill in a strip's row of points, from column `first` on."""
    lanes = simd.VECTOR_BYTES // row.itemsize
    each = len(row) // lanes
    for place in range(len(row)):
        column = first + place
        at = place % each * lanes + place // each
        row[at] = points[column] if column < len(points) else 0


@njit(nogil=True)
def add_points(rows, row, points, floor, lanes):
    """Add points to a row by columns; what follows may leave out symbols of the target."""
    width, low = rows.shape[1], simd.splat(floor)
    best = low
    for k in range(0, width, lanes):
        best = simd.maximum(best, simd.add(simd.load(rows, row * width + k), simd.load(points, k)))
        simd.store(rows, row * width + k, best)
    carry = simd.maximum(simd.prefix_maximum(simd.shift_in(best, floor)), low)
    for k in range(row * width, (row + 1) * width, lanes):
        simd.store(rows, k, simd.maximum(simd.load(rows, k), carry))
