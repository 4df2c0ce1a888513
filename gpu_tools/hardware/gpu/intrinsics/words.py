"""Kernels, exchanges between the lanes of a warp, and packed pairs of 16-bit values.

A packed value is two int16 in an int32, the low half first. GPUs of compute capability 9.0 have
packed additions, maxima and minima; for others they are some ordinary instructions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import cuda, int32, int64, types, uint32

from gpu_tools.hardware.compiled import listen, stored_in_cache
from gpu_tools.hardware.device import simulated

# What intrinsics are made of: assembly, tuples of words, and twins for the simulator.


I32, I64 = ir.IntType(32), ir.IntType(64)
_CONSTRAINTS = {I32: "r", I64: "l", ir.FloatType(): "f"}


def with_twin(twin: Callable) -> Callable:
    """Return a decorator for the typing function of an intrinsic; the simulator runs `twin`."""

    def choose(typing_function: Callable):
        if simulated():
            return cuda.jit(device=True)(twin)
        from numba.cuda.extending import intrinsic

        return intrinsic(typing_function)

    return choose


def emit(builder, text: str, *words, result=I32, shared: bool = False, early: bool = False):
    """Emit assembly for words as arguments, in code that generates code."""
    outputs = result.elements if isinstance(result, ir.LiteralStructType) else (result,)
    letters = [
        f"={'&' * early}{_CONSTRAINTS[kind]}"
        for kind in outputs
        if not isinstance(kind, ir.VoidType)
    ]
    letters += [_CONSTRAINTS[word.type] for word in words] + ["~{memory}"] * shared
    function_type = ir.FunctionType(result, [word.type for word in words])
    assembly = ir.InlineAsm(function_type, text, ",".join(letters), side_effect=shared)
    return builder.call(assembly, words)


_PACKED_ARCHITECTURE = 900
"""The first architecture with packed additions, maxima and minima: ten times its capability."""
_ARCHITECTURE = b"__CUDA_ARCH\0"
"""What NVVM is asked for; it knows which GPU it compiles for, and drops the other branch."""
_HIGH_HALF = I32(-0x10000)


def sum_by_halves(builder, left, right):
    """Return the sums of two packed pairs in ordinary code: no carry leaves the low half."""
    tops, rest = I32(-0x7FFF8000), I32(0x7FFF7FFF)
    carried = builder.add(builder.and_(left, rest), builder.and_(right, rest))
    return builder.xor(carried, builder.and_(builder.xor(left, right), tops))


def max_by_halves(builder, left, right, larger: str = ">"):
    """Return the maxima of two packed pairs in ordinary code, or with ``<`` the minima.

    The low halves do not matter where the high ones decide.
    """
    halves = [builder.shl(left, I32(16)), builder.shl(right, I32(16))]
    low, high = (
        builder.select(builder.icmp_signed(larger, *pair), *pair)
        for pair in (halves, (left, right))
    )
    return builder.or_(builder.lshr(low, I32(16)), builder.and_(high, _HIGH_HALF))


def min_by_halves(builder, left, right):
    """Return the minima of two packed pairs in ordinary code."""
    return max_by_halves(builder, left, right, "<")


def _global_once(module, name: str, make: Callable):
    """Return what a module has of a name, made if it is not there yet."""
    return module.globals[name] if name in module.globals else make(module, name)


def _architecture_text(module, name: str):
    text = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), len(_ARCHITECTURE)), name)
    text.linkage, text.global_constant = "internal", True
    text.initializer = ir.Constant(text.value_type, bytearray(_ARCHITECTURE))
    return text


def _by_architecture(instruction: str, by_halves: Callable):
    """Return the function that emits an instruction, or ordinary code where GPUs do not have it.

    The generated code asks, rather than this package: GPUs of two generations may share it.
    """
    kind = ir.FunctionType(I32, [I32, I32])
    asked_kind = ir.FunctionType(I32, [ir.IntType(8).as_pointer()])

    def make(module, name: str):
        function = ir.Function(module, kind, name)
        function.linkage = "internal"
        function.attributes.add("alwaysinline")
        builder = ir.IRBuilder(function.append_basic_block())
        text = _global_once(module, "packed_architecture", _architecture_text)
        ask = _global_once(
            module, "__nvvm_reflect", lambda *named: ir.Function(named[0], asked_kind, named[1])
        )
        architecture = builder.call(ask, [builder.bitcast(text, asked_kind.args[0])])
        has_it = builder.icmp_signed(">=", architecture, I32(_PACKED_ARCHITECTURE))
        with builder.if_then(has_it):
            builder.ret(emit(builder, f"{instruction}.s16x2 $0, $1, $2;", *function.args))
        builder.ret(by_halves(builder, *function.args))
        return function

    def emit_packed(builder, left, right):
        """Return what the instruction makes of two packed pairs, in code that generates code."""
        function = _global_once(builder.module, f"packed_{instruction}", make)
        return builder.call(function, [left, right])

    return emit_packed


add_pairs = _by_architecture("add", sum_by_halves)
max_pairs = _by_architecture("max", max_by_halves)
min_pairs = _by_architecture("min", min_by_halves)


def unpack(builder, values) -> list:
    """Return the elements of a tuple, in code that generates code."""
    return [builder.extract_value(values, k) for k in range(len(values.type.elements))]


def pack(builder, values: list):
    """Return a tuple of equal types, in code that generates code."""
    packed = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        packed = builder.insert_value(packed, value, k)
    return packed


def pointer(context, builder, array_type, array, index):
    """Return a pointer to an element of an array."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


def address_of(context, builder, array_type, array, index):
    """Return the address of an element of an array as a number."""
    return builder.ptrtoint(pointer(context, builder, array_type, array, index), I64)


def signed32(value: int) -> int:
    """Return the lower 32 bits of an integer, signed; for twins."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


# Running sums of pairs that stay in registers.


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


if not simulated():
    from numba.cuda.core import config, event

    from gpu_tools.hardware.compiled import load_one_by_one

    listen(event, "numba-cuda:compiler_lock")
    load_one_by_one()

WARP = 4 if simulated() else 32
"""Lanes of a warp; the simulator, a Python thread a lane, gets by with few."""
FOUR_WORDS = None if simulated() else 16
"""Alignment in bytes that a shared array needs for `load4`; the simulator knows none."""
_ALL_LANES = 0xFFFFFFFF


def kernel(*constants, registers: int | None = None):
    """Return a decorator: a kernel made for some constants, compiled once a machine.

    A thread takes at most so many `registers`, so that as many run at once as the launch counts on.

    Each variant has a name of its own. Variants that share one would share an index of numba's
    cache, and two processes that write it at once could take each other's for theirs.
    """

    def decorate(function):
        function.__qualname__ = "_".join(map(str, (function.__name__, *constants)))
        if simulated():
            return cuda.jit(function)
        return stored_in_cache(function, cuda.jit, config, max_registers=registers)

    return decorate


def _exchange(value, source, scratch):
    cuda.syncthreads()
    scratch[cuda.threadIdx.x] = value
    cuda.syncthreads()
    return scratch[source]


def _lane_function(twin):
    """Return a decorator for a device function that the simulator replaces by a twin."""
    return lambda function: cuda.jit(device=True)(twin if simulated() else function)


@_lane_function(lambda value, scratch: _exchange(value, max(cuda.threadIdx.x - 1, 0), scratch))
def shuffle_up(value, scratch):
    """Return the value of the lane before, in lane 0 its own; the simulator needs `scratch`."""
    return cuda.shfl_up_sync(_ALL_LANES, value, 1)


def _shuffle_up_by_twin(value, distance, scratch):
    if distance >= WARP:
        return value
    lane = cuda.threadIdx.x
    return _exchange(value, lane - distance if lane >= distance else lane, scratch)


@_lane_function(_shuffle_up_by_twin)
def shuffle_up_by(value, distance, scratch):
    """Return the value of the lane so many before, or the lane's own if there is none."""
    return cuda.shfl_up_sync(_ALL_LANES, value, distance)


@_lane_function(_exchange)
def shuffle(value, lane, scratch):
    """Return the value of a lane."""
    return cuda.shfl_sync(_ALL_LANES, value, lane)


@_lane_function(lambda predicate: bool(cuda.syncthreads_or(1 if predicate else 0)))
def any_lane(predicate):
    """Tell whether a predicate holds in some lane."""
    return cuda.any_sync(_ALL_LANES, predicate)


@_lane_function(lambda: cuda.syncthreads())
def sync_lanes():
    """Have lanes wait for each other; what they wrote before can be read behind it."""
    cuda.syncwarp()


def _packed(low: int, high: int) -> int:
    return signed32((low & 0xFFFF) | ((high & 0xFFFF) << 16))


def _signed16(value: int) -> int:
    return ((value + 0x8000) & 0xFFFF) - 0x8000


def _split(packed) -> tuple[int, int]:
    return _signed16(int(packed)), _signed16(int(packed) >> 16)


def _half_by_half(operation):
    """Return the twin of an operation on two packed pairs."""

    def twin(left, right):
        (a, b), (c, d) = _split(left), _split(right)
        return _packed(operation(a, c), operation(b, d))

    return twin


def _generator(step):
    """Return the generator of an intrinsic: what `step` emits for its 32-bit arguments."""
    return lambda context, builder, signature, arguments: step(builder, *arguments)


def _instruction(text: str):
    """Return the generator of an intrinsic: one instruction on its 32-bit arguments."""
    return _generator(lambda builder, *words: emit(builder, text, *words))


@with_twin(_half_by_half(lambda a, b: a + b))
def add2(typing_context, left, right):
    """Return the sums of two packed pairs, wrapping around."""
    return int32(int32, int32), _generator(add_pairs)


@with_twin(_half_by_half(max))
def max2(typing_context, left, right):
    """Return the maxima of two packed pairs."""
    return int32(int32, int32), _generator(max_pairs)


@with_twin(_half_by_half(min))
def min2(typing_context, left, right):
    """Return the minima of two packed pairs."""
    return int32(int32, int32), _generator(min_pairs)


@with_twin(lambda left, right: uint32(int(left) * int(right) & 0xFFFFFFFF))
def product(typing_context, left, right):
    """Return the lower 32 bits of a product; plain Python would compute all 64."""
    return uint32(uint32, uint32), _instruction("mul.lo.u32 $0, $1, $2;")


@with_twin(lambda left, right, added: signed32(int(left) * int(right) + int(added)))
def times_plus(typing_context, left, right, added):
    """Return the lower 32 bits of a product and a sum, in one instruction of the multiplier."""
    return int32(int32, int32, int32), _instruction("mad.lo.s32 $0, $1, $2, $3;")


def _funnel_twin(low, high, distance):
    both = int(high) << 32 | int(low)
    return uint32(both >> (int(distance) & 31) & 0xFFFFFFFF)


@with_twin(_funnel_twin)
def funnel(typing_context, low, high, distance):
    """Return the lower one of two words that are shifted down by `distance` modulo 32."""
    return uint32(uint32, uint32, uint32), _instruction("shf.r.wrap.b32 $0, $1, $2, $3;")


def _permute_twin(low, high, selector):
    pool = (int(low) & 0xFFFFFFFF) | ((int(high) & 0xFFFFFFFF) << 32)
    word = 0
    for k in range(4):
        nibble = (int(selector) >> (4 * k)) & 0xF
        byte = (pool >> (8 * (nibble & 7))) & 0xFF
        byte = (0xFF if byte & 0x80 else 0) if nibble & 8 else byte
        word |= byte << (8 * k)
    return signed32(word)


@with_twin(_permute_twin)
def permute(typing_context, low, high, selector):
    """Return four of the eight bytes of `low` and `high`, or their signs, by nibbles."""
    return int32(int32, int32, int32), _instruction("prmt.b32 $0, $1, $2, $3;")


@with_twin(lambda array: (array, 0))
def address(typing_context, array):
    """Return where an int16 array lies, for `moved`, `look_around` and `put_four`."""
    return types.int64(array), lambda context, builder, signature, arguments: address_of(
        context, builder, array, arguments[0], ir.Constant(I32, 0)
    )


def _moved_twin(address, count):
    array, first = address
    return array, first + int(count)


@_lane_function(_moved_twin)
def moved(address, count):
    """Return the address so many int16 elements further on."""
    return address + int64(2) * count


def _look_around_twin(address, index):
    array, first = _moved_twin(address, int(index) & ~1)
    return tuple(_packed(int(array[k]), int(array[k + 1])) for k in range(first, first + 6, 2))


def _generate_look_around(context, builder, signature, arguments):
    text = "{ .reg .b32 even; .reg .b64 at; and.b32 even, $4, -2; mad.wide.s32 at, even, 2, $3; "
    text += "".join(f"ld.relaxed.gpu.global.b32 ${k}, [at+{4 * k}]; " for k in range(3)) + "}"
    result = ir.LiteralStructType([I32] * 3)
    # results are written before the address has been read for the last time
    return pack(builder, unpack(builder, emit(
        builder, text, *arguments, result=result, shared=True, early=True
    )))  # fmt: skip


@with_twin(_look_around_twin)
def look_around(typing_context, address, index):
    """Return three packed pairs of int16 elements as the whole GPU sees them now.

    The first pair holds the element with the index and begins at an even one. Looks wait for each
    other only where their values are used.
    """
    return types.UniTuple(int32, 3)(types.int64, int32), _generate_look_around


def _put_four_twin(address, first, second):
    array, index = address
    for k, value in enumerate((*_split(first), *_split(second))):
        array[index + k] = value


def _generate_put_four(context, builder, signature, arguments):
    text = "st.relaxed.gpu.global.v2.b32 [$0], {$1, $2};"
    emit(builder, text, *arguments, result=ir.VoidType(), shared=True)
    return context.get_dummy_value()


@with_twin(_put_four_twin)
def put_four(typing_context, address, first, second):
    """Write two packed pairs, for the whole GPU, from an address that is a multiple of four."""
    return types.void(types.int64, int32, int32), _generate_put_four


def _load(count: int, alignment: int):
    """Return ``load(array, index)``: so many neighbouring elements at once."""

    def load(typing_context, array, index):
        def generate(context, builder, signature, arguments):
            first = pointer(context, builder, array, *arguments)
            vector = ir.VectorType(context.get_data_type(array.dtype), count)
            words = builder.load(builder.bitcast(first, vector.as_pointer()), align=alignment)
            return pack(builder, [builder.extract_element(words, I32(k)) for k in range(count)])

        return types.UniTuple(array.dtype, count)(array, types.int64), generate

    twin = lambda array, index: tuple(array[index + k] for k in range(count))  # noqa: E731
    return with_twin(twin)(load)


load2 = _load(2, 8)
"""``load2(array, index)``: two neighbouring elements that begin at a multiple of 8 bytes."""
load4 = _load(4, 16)
"""``load4(array, index)``: four neighbouring elements that begin at a multiple of 16 bytes."""


def _store4_twin(array, index, words):
    array[index : index + 4] = words


@with_twin(_store4_twin)
def store4(typing_context, array, index, words):
    """Write four int32 to elements that begin at a multiple of 16 bytes."""

    def generate(context, builder, signature, arguments):
        first = pointer(context, builder, array, *arguments[:2])
        vector = ir.Constant(ir.VectorType(I32, 4), ir.Undefined)
        for k, word in enumerate(unpack(builder, arguments[2])):
            vector = builder.insert_element(vector, word, I32(k))
        builder.store(vector, builder.bitcast(first, vector.type.as_pointer()), align=16)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.UniTuple(types.int32, 4)), generate
