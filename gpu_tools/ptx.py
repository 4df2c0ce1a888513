"""Warp and packed 16-bit intrinsics, each with a twin for numba's CUDA simulator.

The only room with assembly, and the only one that knows whether a GPU or the simulator runs.
Packed values are two int16 in an int32, the low half first. The packed additions and maxima need
compute capability 9.0.
"""

from __future__ import annotations

from llvmlite import ir
from numba import cuda, int32, types

from gpu_tools.device import simulated

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
_ALL_LANES = 0xFFFFFFFF
_I32 = ir.IntType(32)


def _shuffle_up_twin(value, scratch):
    return _exchange(value, max(cuda.threadIdx.x - 1, 0), scratch)


def _shuffle_twin(value, lane, scratch):
    return _exchange(value, lane, scratch)


def _exchange(value, source, scratch):
    cuda.syncthreads()
    scratch[cuda.threadIdx.x] = value
    cuda.syncthreads()
    return scratch[source]


def _shuffle_up(value, scratch):
    return cuda.shfl_up_sync(_ALL_LANES, value, 1)


def _shuffle(value, lane, scratch):
    return cuda.shfl_sync(_ALL_LANES, value, lane)


def _packed(low: int, high: int) -> int:
    word = (low & 0xFFFF) | ((high & 0xFFFF) << 16)
    return word - (1 << 32) if word >> 31 else word


def _signed16(value: int) -> int:
    return ((value + 0x8000) & 0xFFFF) - 0x8000


def _split(packed) -> tuple[int, int]:
    return _signed16(int(packed)), _signed16(int(packed) >> 16)


def _add2_twin(left, right):
    (a, b), (c, d) = _split(left), _split(right)
    return _packed(a + c, b + d)


def _max2_twin(left, right):
    (a, b), (c, d) = _split(left), _split(right)
    return _packed(max(a, c), max(b, d))


def _permute_twin(low, high, selector):
    pool = (int(low) & 0xFFFFFFFF) | ((int(high) & 0xFFFFFFFF) << 32)
    word = 0
    for k in range(4):
        nibble = (int(selector) >> (4 * k)) & 0xF
        byte = (pool >> (8 * (nibble & 7))) & 0xFF
        byte = (0xFF if byte & 0x80 else 0) if nibble & 8 else byte
        word |= byte << (8 * k)
    return word - (1 << 32) if word >> 31 else word


def _load_relaxed_twin(array, index):
    return int(array[index])


def _store_relaxed_twin(array, index, value):
    array[index] = _signed16(int(value))


def _of_words(text: str, count: int):
    """Return an intrinsic of `count` int32 arguments and an int32 result, one instruction."""
    function_type = ir.FunctionType(_I32, [_I32] * count)
    constraints = ",".join(["=r"] + ["r"] * count)

    def generate(context, builder, signature, arguments):
        return builder.call(ir.InlineAsm(function_type, text, constraints), arguments)

    return generate


def _element(context, builder, signature, arguments):
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.ptrtoint(builder.gep(array.data, [arguments[1]]), ir.IntType(64))


def _generate_load(context, builder, signature, arguments):
    function_type = ir.FunctionType(_I32, [ir.IntType(64)])
    text = "{ .reg .b16 half; ld.relaxed.gpu.global.b16 half, [$1]; cvt.s32.s16 $0, half; }"
    call = ir.InlineAsm(function_type, text, "=r,l,~{memory}", side_effect=True)
    return builder.call(call, [_element(context, builder, signature, arguments)])


def _generate_store(context, builder, signature, arguments):
    function_type = ir.FunctionType(ir.VoidType(), [ir.IntType(64), _I32])
    text = "{ .reg .b16 half; cvt.u16.u32 half, $1; st.relaxed.gpu.global.b16 [$0], half; }"
    call = ir.InlineAsm(function_type, text, "l,r,~{memory}", side_effect=True)
    builder.call(call, [_element(context, builder, signature, arguments), arguments[2]])
    return context.get_dummy_value()


if simulated():
    shuffle_up, shuffle = (cuda.jit(device=True)(f) for f in (_shuffle_up_twin, _shuffle_twin))
    add2, max2, permute = (
        cuda.jit(device=True)(f) for f in (_add2_twin, _max2_twin, _permute_twin)
    )
    load_relaxed, store_relaxed = (
        cuda.jit(device=True)(f) for f in (_load_relaxed_twin, _store_relaxed_twin)
    )
else:
    from numba.cuda.extending import intrinsic

    shuffle_up, shuffle = (cuda.jit(device=True)(f) for f in (_shuffle_up, _shuffle))

    @intrinsic
    def add2(typing_context, left, right):
        """Return the sums of two packed pairs, wrapping around."""
        return int32(int32, int32), _of_words("add.s16x2 $0, $1, $2;", 2)

    @intrinsic
    def max2(typing_context, left, right):
        """Return the maxima of two packed pairs."""
        return int32(int32, int32), _of_words("max.s16x2 $0, $1, $2;", 2)

    @intrinsic
    def permute(typing_context, low, high, selector):
        """Return four of the eight bytes of `low` and `high`, or their signs, by nibbles."""
        return int32(int32, int32, int32), _of_words("prmt.b32 $0, $1, $2, $3;", 3)

    @intrinsic
    def load_relaxed(typing_context, array, index):
        """Return an int16 element as int32, as the whole GPU sees it now."""
        return int32(array, types.uint32), _generate_load

    @intrinsic
    def store_relaxed(typing_context, array, index, value):
        """Write the low half of `value` to an int16 element, for the whole GPU to see."""
        return types.void(array, types.uint32, int32), _generate_store
