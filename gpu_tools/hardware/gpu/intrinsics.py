"""Warp and packed 16-bit intrinsics, each with a twin for numba's CUDA simulator.

The only room with assembly, and the only one that knows whether a GPU or the simulator runs.
Packed values are two int16 in an int32, the low half first. The packed additions, maxima and
minima need compute capability 9.0.
"""

from __future__ import annotations

from llvmlite import ir
from numba import cuda, int32, int64, types, uint32

from gpu_tools.hardware.compile_cache import load_one_by_one, serialise
from gpu_tools.hardware.device import simulated

if not simulated():
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.core.caching import IndexDataCacheFile

    serialise(IndexDataCacheFile)
    load_one_by_one(CUDACodeLibrary)

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
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


def _times_plus_twin(left, right, added):
    return signed32(int(left) * int(right) + int(added))


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
    return array, 0


def _moved_twin(address, count):
    array, first = address
    return array, first + int(count)


def _look_around_twin(address, index):
    array, first = _moved_twin(address, int(index) & ~1)
    return tuple(_packed(int(array[k]), int(array[k + 1])) for k in range(first, first + 6, 2))


def _put_four_twin(address, first, second):
    array, index = address
    for k, value in enumerate((*_split(first), *_split(second))):
        array[index + k] = value


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


def _generate_look_around(context, builder, signature, arguments):
    words = ir.LiteralStructType([_I32] * 3)
    function_type = ir.FunctionType(words, [ir.IntType(64), _I32])
    text = "{ .reg .b32 even; .reg .b64 at; and.b32 even, $4, -2; mad.wide.s32 at, even, 2, $3; "
    text += "".join(f"ld.relaxed.gpu.global.b32 ${k}, [at+{4 * k}]; " for k in range(3)) + "}"
    call = ir.InlineAsm(function_type, text, "=&r,=&r,=&r,l,r,~{memory}", side_effect=True)
    three = builder.call(call, arguments)
    return pack(builder, [builder.extract_value(three, k) for k in range(3)])


def _generate_put_four(context, builder, signature, arguments):
    function_type = ir.FunctionType(ir.VoidType(), [ir.IntType(64), _I32, _I32])
    text = "st.relaxed.gpu.global.v2.b32 [$0], {$1, $2};"
    call = ir.InlineAsm(function_type, text, "l,r,r,~{memory}", side_effect=True)
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
    product, times_plus, funnel = (
        cuda.jit(device=True)(f) for f in (_product_twin, _times_plus_twin, _funnel_twin)
    )
    address, moved, look_around, put_four = (
        cuda.jit(device=True)(f)
        for f in (_address_twin, _moved_twin, _look_around_twin, _put_four_twin)
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
    def times_plus(typing_context, left, right, added):
        """Return the lower 32 bits of a product and a sum, in one instruction of the multiplier."""
        return int32(int32, int32, int32), _of_words("mad.lo.s32 $0, $1, $2, $3;")

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
        """Return where an int16 array lies, for `moved`, `look_around` and `put_four`."""
        return types.int64(array), _generate_address

    @cuda.jit(device=True)
    def moved(address, count):
        """Return the address so many int16 elements further on."""
        return address + int64(2) * count

    @intrinsic
    def look_around(typing_context, address, index):
        """Return three packed pairs of int16 elements as the whole GPU sees them now.

        The first pair holds the element with the index and begins at an even one. Looks wait for
        each other only where their values are used.
        """
        return types.UniTuple(int32, 3)(types.int64, int32), _generate_look_around

    @intrinsic
    def put_four(typing_context, address, first, second):
        """Write two packed pairs, for the whole GPU, from an address that is a multiple of four."""
        return types.void(types.int64, int32, int32), _generate_put_four


FOUR_WORDS = None if simulated() else 16
"""Alignment in bytes that a shared array needs for `load4`; the simulator knows none."""


def _load_twin(count: int):
    return lambda array, index: tuple(array[index + k] for k in range(count))


def _load_intrinsic(count: int, alignment: int):
    def load(typing_context, array, index):
        def generate(context, builder, signature, arguments):
            pointer = _pointer_to(count, context, builder, array, arguments)
            words = builder.load(pointer, align=alignment)
            return pack(builder, [builder.extract_element(words, _I32(k)) for k in range(count)])

        return types.UniTuple(array.dtype, count)(array, types.int64), generate

    return load


def _pointer_to(count: int, context, builder, array, arguments):
    """Return a pointer to so many neighbouring elements of an array, given it and an index."""
    data = context.make_array(array)(context, builder, arguments[0]).data
    vector = ir.VectorType(context.get_data_type(array.dtype), count)
    return builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())


def _store4_twin(array, index, words):
    array[index : index + 4] = words


def _store4_intrinsic(typing_context, array, index, words):
    def generate(context, builder, signature, arguments):
        pointer = _pointer_to(4, context, builder, array, arguments)
        vector = ir.Constant(ir.VectorType(_I32, 4), ir.Undefined)
        for k, word in enumerate(unpack(builder, arguments[2])):
            vector = builder.insert_element(vector, word, _I32(k))
        builder.store(vector, pointer, align=16)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.UniTuple(types.int32, 4)), generate


# ``load4(array, index)`` returns four neighbouring elements that begin at a multiple of 16 bytes,
# `load2` two at a multiple of 8; ``store4(array, index, words)`` writes four int32
if simulated():
    load2, load4 = _load_twin(2), _load_twin(4)
    store4 = _store4_twin
else:
    load2, load4 = intrinsic(_load_intrinsic(2, 8)), intrinsic(_load_intrinsic(4, 16))
    store4 = intrinsic(_store4_intrinsic)


def unpack(builder, values) -> list:
    """Return the elements of a tuple, in code that generates code."""
    return [builder.extract_value(values, k) for k in range(len(values.type.elements))]


def pack(builder, values: list):
    """Return a tuple of equal types, in code that generates code."""
    packed = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        packed = builder.insert_value(packed, value, k)
    return packed
