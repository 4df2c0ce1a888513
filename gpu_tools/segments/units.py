"""Values as whole numbers of units, so that every sum is exact and has no order.

Integers count as units themselves. Floats are cut towards zero to multiples of a power of two, the
smallest one for which no sum can exceed 62 bits. Sums of units are the same on every device and
for every number of threads, which sums of floats are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_tools.errors import InputError

SUM_BITS = 62
_LIMIT = 2**63
_LARGEST_EXPONENT = 1023


@dataclass(frozen=True)
class Units:
    """How values become whole numbers: multiplied by 2^`exponent`, or not at all if None."""

    exponent: int | None = None

    @property
    def scale(self) -> np.int64 | np.float64:
        """The factor, of the type that keeps integers integers."""
        return np.int64(1) if self.exponent is None else np.float64(math.ldexp(1, self.exponent))

    def score(self, sum_of_units: int) -> int | float:
        """Return a sum on the scale of the values; see `scores`."""
        return self.scores(np.array([sum_of_units], np.int64))[0].item()

    def scores(self, sums_of_units: NDArray[np.int64]) -> NDArray:
        """Return sums on the scale of the values."""
        if self.exponent is None:
            return sums_of_units
        with np.errstate(over="ignore"):
            scores = np.ldexp(sums_of_units.astype(np.float64), -self.exponent)
        if not np.isfinite(scores).all():
            raise InputError("a sum exceeds 64-bit floats", expected="smaller values")
        return scores


def as_numbers(values: ArrayLike, dimensions: int) -> NDArray:
    """Return values as a C-contiguous array of int32, int64, float32 or float64.

    Arrays of these types, memory-mapped ones too, are not copied.
    """
    array = np.asarray(values)
    if array.ndim != dimensions:
        raise InputError(f"values of {array.ndim} dimensions", expected=f"an array of {dimensions}")
    if array.size == 0:
        raise InputError("no values", expected="at least one number")
    return np.ascontiguousarray(array, dtype=_number_type(array))


def _number_type(array: NDArray) -> np.dtype:
    kind = array.dtype.kind
    if kind not in "biuf":
        raise InputError(f"values of type {array.dtype}", expected="real numbers")
    if kind == "f":
        if array.dtype.itemsize > 8:
            raise InputError(f"values of type {array.dtype}", expected="at most 64 bits")
        return np.dtype(np.float32 if array.dtype.itemsize < 8 else np.float64)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.max() >= _LIMIT:
        raise InputError("values of 2^63 and more", expected="64-bit signed integers")
    return np.dtype(np.int32 if np.can_cast(array.dtype, np.int32) else np.int64)


def choose_units(values: NDArray) -> Units:
    """Choose units in which no sum of `values` can overflow 64 bits."""
    if values.dtype.kind == "f":
        return _float_units(values)
    if values.dtype.itemsize == 8:
        _check_sums(values)
    return Units()


def _float_units(values: NDArray) -> Units:
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise _not_finite(values)
    peak = max(-low, high)
    if peak == 0:
        return Units(0)
    exponent = SUM_BITS - math.frexp(peak)[1] - (values.size - 1).bit_length()
    return Units(min(exponent, _LARGEST_EXPONENT))


def _not_finite(values: NDArray) -> InputError:
    first = np.unravel_index(int(np.argmin(np.isfinite(values))), values.shape)
    problem = f"value {values[first]} is not a finite number"
    if len(first) == 1:
        return InputError(problem, position=int(first[0]) + 1)
    return InputError(f"row {first[0] + 1}, column {first[1] + 1}: {problem}")


def _check_sums(values: NDArray[np.int64]) -> None:
    low, high = int(values.min()), int(values.max())
    if max(-low, high) * values.size < _LIMIT:
        return
    for part in (values[values > 0], values[values < 0]):
        # halves of 32 bits, whose sums cannot overflow
        total = (int((part >> 32).sum()) << 32) + int((part & 0xFFFFFFFF).sum())
        if abs(total) >= _LIMIT:
            raise InputError("sums could exceed 64-bit integers", expected="smaller values")
