"""Loops for compiled functions: numba compiles them much sooner than what numpy calls so."""

from __future__ import annotations

from gpu_tools.hardware.compiled import njit


@njit(nogil=True)
def largest_of(values):
    """Return the largest of some values, of which there is at least one."""
    largest = values[0]
    for k in range(1, len(values)):
        largest = max(largest, values[k])
    return largest


@njit(nogil=True)
def largest_in(table):
    """Return the largest number of a table in C's order."""
    return largest_of(table.reshape(table.size))


@njit(nogil=True)
def first_from(positions, position):
    """Return the number of the first of some positions, which rise, that is not before another."""
    low, high = 0, len(positions)
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < position:
            low = middle + 1
        else:
            high = middle
    return low
