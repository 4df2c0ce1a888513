"""Warp intrinsics, each with a twin for numba's CUDA simulator.

The only room with assembly, and the only one that knows which of the two runs.
"""

from __future__ import annotations

from numba import cuda, uint32

from gpu_tools.device import simulated

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
_ALL_LANES = 0xFFFFFFFF


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


def _assembly(text: str, n_operands: int, operation):
    """Return an intrinsic of uint32 values, or in the simulator the plain function `operation`."""
    if simulated():
        return operation
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    word = ir.IntType(32)

    def typed(typing_context, *operands):
        def generate(context, builder, signature, arguments):
            function = ir.FunctionType(word, [word] * n_operands)
            constraints = ",".join(["=r"] + ["r"] * n_operands)
            return builder.call(ir.InlineAsm(function, text, constraints), arguments)

        return types.uint32(*[types.uint32] * n_operands), generate

    if n_operands == 2:
        return intrinsic(lambda typing_context, a, b: typed(typing_context, a, b))
    return intrinsic(lambda typing_context, a, b, c: typed(typing_context, a, b, c))


def _halves(value):
    """Return the two signed 16-bit halves of a word."""
    low, high = int(value) & 0xFFFF, int(value) >> 16 & 0xFFFF
    return (low ^ 0x8000) - 0x8000, (high ^ 0x8000) - 0x8000


def _joined(low, high):
    return uint32((low & 0xFFFF) | (high & 0xFFFF) << 16)


def _add_halves(a, b):
    return _joined(*(x + y for x, y in zip(_halves(a), _halves(b), strict=True)))


def _least_halves(a, b):
    return _joined(*(min(x, y) for x, y in zip(_halves(a), _halves(b), strict=True)))


def _permuted_bytes(a, b, selector):
    table = [int(word) >> 8 * k & 0xFF for word in (a, b) for k in range(4)]
    result = 0
    for k in range(4):
        choice = int(selector) >> 4 * k & 0xF
        byte = table[choice & 7]
        result |= (byte if choice < 8 else 0xFF * (byte >> 7)) << 8 * k
    return uint32(result)


def _product(a, b):
    return uint32(int(a) * int(b) & 0xFFFFFFFF)


def _funnel(low, high, distance):
    return uint32(((int(high) << 32 | int(low)) >> (int(distance) & 31)) & 0xFFFFFFFF)


product = _assembly("mul.lo.u32 $0, $1, $2;", 2, _product)
"""``product(a, b)``: the lower 32 bits of the product; plain Python would compute all 64."""
funnel = _assembly("shf.r.wrap.b32 $0, $1, $2, $3;", 3, _funnel)
"""``funnel(low, high, distance)``: two words shifted down by `distance` modulo 32, the lower."""
add_halves = _assembly("add.s16x2 $0, $1, $2;", 2, _add_halves)
"""``add_halves(a, b)``: the sums of two words' signed 16-bit halves; wraps around."""
least_halves = _assembly("min.s16x2 $0, $1, $2;", 2, _least_halves)
"""``least_halves(a, b)``: the smaller of two words' signed 16-bit halves, each for itself."""
permuted_bytes = _assembly("prmt.b32 $0, $1, $2, $3;", 3, _permuted_bytes)
"""``permuted_bytes(a, b, selector)``: each nibble of `selector` takes a byte of `a` (0 to 3) or `b`
(4 to 7), or with 8 added the byte's sign, eight times.
"""
