"""Warp and packed 16-bit intrinsics, each with a twin for numba's CUDA simulator.

The only room with assembly, and the only one that knows whether a GPU or the simulator runs.
Packed values are two int16 in an int32, the low half first. The packed additions, maxima and
minima need compute capability 9.0.
"""

from __future__ import annotations

from llvmlite import ir
from numba import cuda, int32, types, uint32

from gpu_tools.device import simulated
from gpu_tools.kernel_cache import load_one_by_one, serialise

if not simulated():
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.core.caching import IndexDataCacheFile

    serialise(IndexDataCacheFile)
    load_one_by_one(CUDACodeLibrary)

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
NOT_LOOKED = -32_640
"""Stands for an element that was not looked at; its two bytes are equal."""
_ALL_LANES = 0xFFFFFFFF
_I32 = ir.IntType(32)


def kernel(*constants, registers: int | None = None):
    """Return a decorator: a kernel made for some constants, compiled once a machine.

    A thread takes at most so many `registers`, so that as many run at once as the launch counts on.

    Each variant has a name of its own. Variants that share one would share an index of numba's
    cache, and two processes that write it at once could take each other's for theirs.
    """

    def decorate(function):
        function.__qualname__ = "_".join(map(str, (function.__name__, *constants)))
        limits = {} if simulated() else {"max_registers": registers}
        return cuda.jit(cache=not simulated(), **limits)(function)

    return decorate


def _shuffle_up_twin(value, scratch):
    return _exchange(value, max(cuda.threadIdx.x - 1, 0), scratch)


def _shuffle_up_by_twin(value, distance, scratch):
    if distance >= WARP:
        return value
    lane = cuda.threadIdx.x
    return _exchange(value, lane - distance if lane >= distance else lane, scratch)


def _shuffle_twin(value, lane, scratch):
    return _exchange(value, lane, scratch)


def _exchange(value, source, scratch):
    cuda.syncthreads()
    scratch[cuda.threadIdx.x] = value
    cuda.syncthreads()
    return scratch[source]


def _shuffle_up(value, scratch):
    return cuda.shfl_up_sync(_ALL_LANES, value, 1)


def _shuffle_up_by(value, distance, scratch):
    return cuda.shfl_up_sync(_ALL_LANES, value, distance)


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


def _min2_twin(left, right):
    (a, b), (c, d) = _split(left), _split(right)
    return _packed(min(a, c), min(b, d))


def _product_twin(left, right):
    return uint32(int(left) * int(right) & 0xFFFFFFFF)


def _funnel_twin(low, high, distance):
    both = int(high) << 32 | int(low)
    return uint32(both >> (int(distance) & 31) & 0xFFFFFFFF)


def _permute_twin(low, high, selector):
    pool = (int(low) & 0xFFFFFFFF) | ((int(high) & 0xFFFFFFFF) << 32)
    word = 0
    for k in range(4):
        nibble = (int(selector) >> (4 * k)) & 0xF
        byte = (pool >> (8 * (nibble & 7))) & 0xFF
        byte = (0xFF if byte & 0x80 else 0) if nibble & 8 else byte
        word |= byte << (8 * k)
    return word - (1 << 32) if word >> 31 else word


def _address_twin(array):
    return array


def _look_twin(address, index, there):
    return int(address[index]) if there else NOT_LOOKED


def _put_twin(address, index, value, there):
    if there:
        address[index] = _signed16(int(value))


def _put_four_twin(address, index, first, second):
    for k, value in enumerate((*_split(first), *_split(second))):
        address[index + k] = value


def signed32(value: int) -> int:
    """Return the lower 32 bits of an integer, signed."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def _any_lane_twin(predicate):
    return bool(cuda.syncthreads_or(1 if predicate else 0))


def _sync_lanes_twin():
    cuda.syncthreads()


def _sync_lanes():
    cuda.syncwarp()


def _any_lane(predicate):
    return cuda.any_sync(_ALL_LANES, predicate)


def instruction(text: str):
    """Return a function that emits one instruction on 32-bit words, in code that generates code."""

    def emit(builder, *words):
        function_type = ir.FunctionType(_I32, [_I32] * len(words))
        constraints = ",".join(["=r"] + ["r"] * len(words))
        return builder.call(ir.InlineAsm(function_type, text, constraints), words)

    return emit


def _of_words(text: str):
    """Return an intrinsic's generator: one instruction on its 32-bit arguments."""
    emit = instruction(text)
    return lambda context, builder, signature, arguments: emit(builder, *arguments)


_ELEMENT_THERE = "{ .reg .pred p; .reg .b64 at; mad.wide.s32 at, $2, 2, $1; setp.ne.s32 p, $3, 0; "


def _generate_look(context, builder, signature, arguments):
    function_type = ir.FunctionType(_I32, [ir.IntType(64), _I32, _I32])
    text = _ELEMENT_THERE + f"mov.b32 $0, {NOT_LOOKED}; "
    text += "@p ld.relaxed.gpu.global.s16 $0, [at]; }"
    call = ir.InlineAsm(function_type, text, "=&r,l,r,r,~{memory}", side_effect=True)
    return builder.call(call, arguments)


def _generate_put(context, builder, signature, arguments):
    function_type = ir.FunctionType(ir.VoidType(), [_I32, ir.IntType(64), _I32, _I32])
    text = _ELEMENT_THERE + "@p st.relaxed.gpu.global.u16 [at], $0; }"
    call = ir.InlineAsm(function_type, text, "r,l,r,r,~{memory}", side_effect=True)
    address, index, value, there = arguments
    builder.call(call, [value, address, index, there])
    return context.get_dummy_value()


def _generate_put_four(context, builder, signature, arguments):
    function_type = ir.FunctionType(ir.VoidType(), [ir.IntType(64), _I32, _I32, _I32])
    text = "{ .reg .b64 at; mad.wide.s32 at, $1, 2, $0; "
    text += "st.relaxed.gpu.global.v2.b32 [at], {$2, $3}; }"
    call = ir.InlineAsm(function_type, text, "l,r,r,r,~{memory}", side_effect=True)
    builder.call(call, arguments)
    return context.get_dummy_value()


def _generate_address(context, builder, signature, arguments):
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.ptrtoint(array.data, ir.IntType(64))


if simulated():
    shuffle_up, shuffle_up_by, shuffle = (
        cuda.jit(device=True)(f) for f in (_shuffle_up_twin, _shuffle_up_by_twin, _shuffle_twin)
    )
    add2, max2, min2, permute = (
        cuda.jit(device=True)(f) for f in (_add2_twin, _max2_twin, _min2_twin, _permute_twin)
    )
    product, funnel = (cuda.jit(device=True)(f) for f in (_product_twin, _funnel_twin))
    address, look, put, put_four = (
        cuda.jit(device=True)(f) for f in (_address_twin, _look_twin, _put_twin, _put_four_twin)
    )
    any_lane, sync_lanes = (cuda.jit(device=True)(f) for f in (_any_lane_twin, _sync_lanes_twin))
else:
    from numba.cuda.extending import intrinsic

    shuffle_up, shuffle_up_by, shuffle = (
        cuda.jit(device=True)(f) for f in (_shuffle_up, _shuffle_up_by, _shuffle)
    )

    any_lane, sync_lanes = (cuda.jit(device=True)(f) for f in (_any_lane, _sync_lanes))

    @intrinsic
    def add2(typing_context, left, right):
        """Return the sums of two packed pairs, wrapping around."""
        return int32(int32, int32), _of_words("add.s16x2 $0, $1, $2;")

    @intrinsic
    def max2(typing_context, left, right):
        """Return the maxima of two packed pairs."""
        return int32(int32, int32), _of_words("max.s16x2 $0, $1, $2;")

    @intrinsic
    def min2(typing_context, left, right):
        """Return the minima of two packed pairs."""
        return int32(int32, int32), _of_words("min.s16x2 $0, $1, $2;")

    @intrinsic
    def product(typing_context, left, right):
        """Return the lower 32 bits of a product; plain Python would compute all 64."""
        return uint32(uint32, uint32), _of_words("mul.lo.u32 $0, $1, $2;")

    @intrinsic
    def funnel(typing_context, low, high, distance):
        """Return the lower one of two words that are shifted down by `distance` modulo 32."""
        return uint32(uint32, uint32, uint32), _of_words("shf.r.wrap.b32 $0, $1, $2, $3;")

    @intrinsic
    def permute(typing_context, low, high, selector):
        """Return four of the eight bytes of `low` and `high`, or their signs, by nibbles."""
        return int32(int32, int32, int32), _of_words("prmt.b32 $0, $1, $2, $3;")

    @intrinsic
    def address(typing_context, array):
        """Return where an int16 array lies, for `look`, `put` and `put_four`."""
        return types.int64(array), _generate_address

    @intrinsic
    def look(typing_context, address, index, there):
        """Return an int16 element as the whole GPU sees it now.

        `NOT_LOOKED`, without a look, if `there` is 0. Looks wait for each other only where
        their values are used.
        """
        return int32(types.int64, int32, int32), _generate_look

    @intrinsic
    def put(typing_context, address, index, value, there):
        """Write the low half of `value` to an int16 element for the whole GPU, if `there`."""
        return types.void(types.int64, int32, int32, int32), _generate_put

    @intrinsic
    def put_four(typing_context, address, index, first, second):
        """Write two packed pairs to int16 elements that begin at a multiple of four, likewise."""
        return types.void(types.int64, int32, int32, int32), _generate_put_four


FOUR_WORDS = None if simulated() else 16
"""Alignment in bytes that a shared array needs for `load4`; the simulator knows none."""


def _load4_twin(array, index):
    return array[index], array[index + 1], array[index + 2], array[index + 3]


def _load4_intrinsic(typing_context, array, index):
    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        element = context.get_data_type(array.dtype)
        vector = ir.VectorType(element, 4)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        four = builder.load(pointer, align=16)
        return pack(builder, [builder.extract_element(four, _I32(k)) for k in range(4)])

    return types.UniTuple(array.dtype, 4)(array, types.int64), generate


load4 = _load4_twin if simulated() else intrinsic(_load4_intrinsic)
"""``load4(array, index)``: four neighbouring elements that begin at a multiple of 16 bytes."""


def unpack(builder, values) -> list:
    """Return the elements of a tuple, in code that generates code."""
    return [builder.extract_value(values, k) for k in range(len(values.type.elements))]


def pack(builder, values: list):
    """Return a tuple of equal types, in code that generates code."""
    packed = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        packed = builder.insert_value(packed, value, k)
    return packed
