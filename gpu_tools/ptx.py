"""Warp intrinsics, each with a twin for numba's CUDA simulator.

The only room with assembly, and the only one that knows which of the two runs.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import cuda, types

from gpu_tools.device import simulated

if not simulated():
    from numba.cuda import extending

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
_ALL_LANES = 0xFFFFFFFF
_INDEX = ir.IntType(32)


def _shift_up_twin(value, scratch):
    lane = cuda.threadIdx.x
    scratch[lane] = value
    cuda.syncthreads()
    shifted = scratch[max(lane - 1, 0)]
    cuda.syncthreads()
    return shifted


def _shift_up(value, scratch):
    return cuda.shfl_up_sync(_ALL_LANES, value, 1)


shift_up = cuda.jit(device=True)(_shift_up_twin if simulated() else _shift_up)
"""``shift_up(value, scratch)``: the int32 `value` of the lane before; lane 0 keeps its own.

All lanes of a one-warp block must call it. `scratch` is a shared int32 array of `WARP`
elements, used by the twin only.
"""


def _load4_twin(array, index):
    return array[index], array[index + 1], array[index + 2], array[index + 3]


def _load4_intrinsic(typing_context, array, index):
    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        element = context.get_data_type(array.dtype)
        vector = ir.VectorType(element, 4)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        four = builder.load(pointer, align=16)
        return _pack(builder, [builder.extract_element(four, _INDEX(k)) for k in range(4)])

    return types.UniTuple(array.dtype, 4)(array, types.int64), generate


load4 = _load4_twin if simulated() else extending.intrinsic(_load4_intrinsic)
"""``load4(array, index)``: four neighbouring elements that begin at a multiple of 16 bytes."""


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
            cells, largest, low, high = (_unpack(builder, part) for part in arguments)
            for k, j in _pairs(len(low), len(high), above):
                at, into = k * len(high) + j, j % len(largest)
                cells[at] = _STEPS[lows.dtype](builder, cells[at], high[j], low[k])
                largest[into] = _larger(builder, largest[into], cells[at])
            packed = [_pack(builder, cells), _pack(builder, largest)]
            return context.make_tuple(builder, signature.return_type, packed)

        return types.Tuple((running, best))(running, best, lows, highs), generate

    return step


def _float_step(builder, running, high, low):
    # the saturating sum stays within 0 and 1: it needs no maximum, which another unit computes
    difference = builder.fsub(high, low)
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), ir.FloatType()])
    return builder.asm(kind, "add.sat.f32 $0, $1, $2;", "=f,f,f", [running, difference], False)


def _integer_step(builder, running, high, low):
    total = builder.add(running, builder.sub(high, low))
    return _larger(builder, total, ir.Constant(total.type, 0))


def _larger(builder, left, right):
    if isinstance(left.type, ir.FloatType):
        kind = ir.FunctionType(left.type, [left.type, left.type])
        return builder.asm(kind, "max.f32 $0, $1, $2;", "=f,f,f", [left, right], False)
    return builder.select(builder.icmp_signed(">", left, right), left, right)


def _unpack(builder, values) -> list:
    return [builder.extract_value(values, k) for k in range(values.type.count)]


def _pack(builder, values: list):
    packed = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        packed = builder.insert_value(packed, value, k)
    return packed


_STEPS = {types.float32: _float_step, types.int32: _integer_step, types.int64: _integer_step}


def _kadane(above: bool):
    return _kadane_twin(above) if simulated() else extending.intrinsic(_kadane_intrinsic(above))


kadane = _kadane(above=False)
"""``kadane(running, best, lows, highs)``: one step of the sums of all pairs of a low and a high.

`running` holds a sum a pair, low by low; it grows by high - low, but never falls below 0. `best`
holds maxima of the running sums; which pairs share one has no meaning. Both are returned. In
float32 a sum that reaches 1 goes no higher.
"""
kadane_above = _kadane(above=True)
"""`kadane` for the pairs alone whose high stands behind the low; the others stay as they are."""
