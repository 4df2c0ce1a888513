"""Running sums of pairs that stay in registers."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from gpu_tools.hardware.gpu.intrinsics.assembly import emit, pack, unpack, with_twin


def _pairs(lows, highs, above: bool) -> list[tuple[int, int]]:
    """Return the pairs to work on; `above`: only those whose high stands behind the low."""
    return [(k, j) for k in range(lows) for j in range(highs) if j > k or not above]


def _kadane_twin(above: bool):
    def step(running, best, lows, highs):
        updated, largest = list(running), list(best)
        for k, j in _pairs(len(lows), len(highs), above):
            at, into = k * len(highs) + j, j % len(best)
            value = max(running[at] + (highs[j] - lows[k]), 0)
            updated[at] = min(value, 1.0) if isinstance(highs[j], np.float32) else value
            largest[into] = max(largest[into], updated[at])
        return tuple(updated), tuple(largest)

    return step


def _kadane_intrinsic(above: bool):
    def step(typing_context, running, best, lows, highs):
        """Return code without a loop: all values stay in registers, as all indices are constant."""

        def generate(context, builder, signature, arguments):
            cells, largest, low, high = (unpack(builder, part) for part in arguments)
            for k, j in _pairs(len(low), len(high), above):
                at, into = k * len(high) + j, j % len(largest)
                cells[at] = _STEPS[lows.dtype](builder, cells[at], high[j], low[k])
                largest[into] = _larger(builder, largest[into], cells[at])
            packed = [pack(builder, cells), pack(builder, largest)]
            return context.make_tuple(builder, signature.return_type, packed)

        return types.Tuple((running, best))(running, best, lows, highs), generate

    return step


def _float_step(builder, running, high, low):
    # the saturating sum stays within 0 and 1: it needs no maximum, which another unit computes
    difference = builder.fsub(high, low)
    return emit(builder, "add.sat.f32 $0, $1, $2;", running, difference, result=running.type)


def _integer_step(builder, running, high, low):
    total = builder.add(running, builder.sub(high, low))
    return _larger(builder, total, ir.Constant(total.type, 0))


def _larger(builder, left, right):
    if isinstance(left.type, ir.FloatType):
        return emit(builder, "max.f32 $0, $1, $2;", left, right, result=left.type)
    return builder.select(builder.icmp_signed(">", left, right), left, right)


_STEPS = {types.float32: _float_step, types.int32: _integer_step, types.int64: _integer_step}


def _kadane(above: bool):
    return with_twin(_kadane_twin(above))(_kadane_intrinsic(above))


kadane = _kadane(above=False)
"""``kadane(running, best, lows, highs)``: one step of the sums of all pairs of a low and a high.

`running` holds a sum a pair, low by low; it grows by high - low, but never falls below 0. `best`
holds maxima of the running sums; which pairs share one has no meaning. Both are returned. In
float32 a sum that reaches 1 goes no higher.
"""
kadane_above = _kadane(above=True)
"""`kadane` for the pairs alone whose high stands behind the low; the others stay as they are."""
