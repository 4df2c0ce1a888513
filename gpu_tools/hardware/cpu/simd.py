"""Vectors of 64 bytes for numba loops: the only module with LLVM vector code.

A vector holds 64 int8, 32 int16, 16 int32 or 8 uint64 lanes. LLVM maps it to the widest registers
that the processor has. The functions exist inside jitted code only; additions wrap around unless
they say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, models, register_jitable, register_model

from gpu_tools.hardware.compiled import njit

# Loops that numba compiles much sooner than numpy's functions of the same meaning.


@njit(nogil=True)
def largest_of(values):
    """Return the largest of one or more values."""
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
    """Return the index of the first of rising positions that is at least `position`."""
    low, high = 0, len(positions)
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < position:
            low = middle + 1
        else:
            high = middle
    return low


VECTOR_BYTES = 64
_INDEX, _BYTES = ir.IntType(32), ir.IntType(8).as_pointer()


class VectorType(types.Type):
    """Numba type of a vector whose lanes have one numba integer type."""

    def __init__(self, element: types.Integer):
        self.element = element
        self.lanes = 8 * VECTOR_BYTES // element.bitwidth
        super().__init__(name=f"Vector({element} x {self.lanes})")


def _llvm_vector(vector: VectorType) -> ir.VectorType:
    return ir.VectorType(ir.IntType(vector.element.bitwidth), vector.lanes)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        super().__init__(manager, vector, _llvm_vector(vector))


def _pointer(context, builder, array_type, array, index, vector: VectorType):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _llvm_vector(vector).as_pointer())


@intrinsic
def lanes_of(typing_context, array):
    """Return how many elements of an `array` a vector holds, a constant of the compiled code."""
    lanes = VectorType(array.dtype).lanes
    return types.intp(array), lambda context, *unused: context.get_constant(types.intp, lanes)


@intrinsic
def load(typing_context, array, index):
    """Return the vector that begins at element `index` of a C-contiguous `array`, read flat."""
    vector = VectorType(array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments, vector)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return vector(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, vector):
    """Write `vector` to a C-contiguous `array`, seen flat, from element `index` on."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2], vector)
        builder.store(arguments[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic
def element(typing_context, array, index):
    """Return one element of a C-contiguous `array`, read flat; `index` is never counted back."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]], inbounds=True))

    return array.dtype(array, types.intp), generate


@intrinsic
def set_element(typing_context, array, index, value):
    """Write one element of a C-contiguous `array`, seen flat; `index` is never counted back."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store(arguments[2], builder.gep(data, [arguments[1]], inbounds=True))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic
def prefetch(typing_context, array, index):
    """Have the element of a C-contiguous `array` at `index` brought to the cache."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), _BYTES)
        numbers = [_INDEX(0), _INDEX(3), _INDEX(1)]  # to read, in all caches, data
        function = ir.FunctionType(ir.VoidType(), [_BYTES, *(one.type for one in numbers)])
        made = get_or_insert_function(builder.module, function, "llvm.prefetch.p0i8")
        builder.call(made, [pointer, *numbers])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def fetch_add(typing_context, array, index, value):
    """Add to an element of a C-contiguous `array` at once, for all threads; return what it was."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), arguments[2], "seq_cst")

    return array.dtype(array, types.intp, array.dtype), generate


@intrinsic
def splat(typing_context, value):
    """Return a vector with `value` in every lane."""
    vector = VectorType(value)

    def generate(context, builder, signature, arguments):
        empty = ir.Constant(_llvm_vector(vector), ir.Undefined)
        one = builder.insert_element(empty, arguments[0], _INDEX(0))
        zeros = ir.Constant(ir.VectorType(_INDEX, vector.lanes), [0] * vector.lanes)
        return builder.shuffle_vector(one, empty, zeros)

    return vector(value), generate


@intrinsic
def add_saturating(typing_context, left, right):
    """Return the sums of two vectors' signed lanes, held at the type's bounds."""

    def generate(context, builder, signature, arguments):
        llvm = _llvm_vector(left)
        name = f"llvm.sadd.sat.v{left.lanes}i{left.element.bitwidth}"
        function_type = ir.FunctionType(llvm, [llvm, llvm])
        return builder.call(builder.module.declare_intrinsic(name, (), function_type), arguments)

    return left(left, right), generate


@intrinsic
def where_equal(typing_context, left, right, then, otherwise):
    """Return `then` in the lanes where `left` equals `right`, and `otherwise` elsewhere."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("==", *arguments[:2]), *arguments[2:])

    return then(left, right, then, otherwise), generate


@intrinsic
def shift_in(typing_context, vector, first):
    """Return `vector` moved up by one lane, its last lane dropped, `first` in lane 0."""

    def generate(context, builder, signature, arguments):
        lanes = vector.lanes
        empty = ir.Constant(_llvm_vector(vector), ir.Undefined)
        entering = builder.insert_element(empty, arguments[1], _INDEX(lanes - 1))
        order = [lanes - 1, *range(lanes, 2 * lanes - 1)]
        mask = ir.Constant(ir.VectorType(_INDEX, lanes), order)
        return builder.shuffle_vector(entering, arguments[0], mask)

    return vector(vector, vector.element), generate


@intrinsic
def load_widened(typing_context, array, index, example):
    """Return a vector of lanes as wide as the scalar `example` from narrower unsigned elements."""
    vector = VectorType(example)

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        narrow = ir.VectorType(ir.IntType(array.dtype.bitwidth), vector.lanes)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), narrow.as_pointer())
        loaded = builder.load(pointer, align=array.dtype.bitwidth // 8)
        same = array.dtype.bitwidth == example.bitwidth
        return loaded if same else builder.zext(loaded, _llvm_vector(vector))

    return vector(array, types.intp, example), generate


@intrinsic
def gather(typing_context, array, first, indices):
    """Return the elements ``first + index`` of a C-contiguous `array` for each lane's index."""
    vector = VectorType(array.dtype)

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        row = builder.gep(data, [arguments[1]])
        result = ir.Constant(_llvm_vector(vector), ir.Undefined)
        for lane in range(vector.lanes):
            index = builder.extract_element(arguments[2], _INDEX(lane))
            wide = index if index.type.width == 64 else builder.zext(index, ir.IntType(64))
            value = builder.load(builder.gep(row, [wide]))
            result = builder.insert_element(result, value, _INDEX(lane))
        return result

    return vector(array, types.intp, indices), generate


def _lanewise(name: str, emit: Callable, summary: str):
    """Return an intrinsic for what `emit` does with a builder and two vectors of one type."""

    def typed(typing_context, left, right):
        return left(left, right), lambda context, builder, signature, arguments: emit(
            builder, *arguments
        )

    typed.__name__, typed.__doc__ = name, summary
    return intrinsic(typed)


def _chosen(comparison: str) -> Callable:
    return lambda builder, left, right: builder.select(
        builder.icmp_signed(comparison, left, right), left, right
    )


_BUILD = ir.IRBuilder
add = _lanewise("add", _BUILD.add, "Return the sums of two vectors' lanes.")
subtract = _lanewise("subtract", _BUILD.sub, "Return the differences of two vectors' lanes.")
maximum = _lanewise("maximum", _chosen(">"), "Return the larger of two vectors' lanes, signed.")
minimum = _lanewise("minimum", _chosen("<"), "Return the smaller of two vectors' lanes, signed.")
bit_and = _lanewise("bit_and", _BUILD.and_, "Return the bitwise and of two vectors.")
bit_or = _lanewise("bit_or", _BUILD.or_, "Return the bitwise or of two vectors.")
bit_xor = _lanewise("bit_xor", _BUILD.xor, "Return the bitwise exclusive or of two vectors.")
shift_left = _lanewise("shift_left", _BUILD.shl, "Return the left lanes shifted up by the right.")
shift_right = _lanewise("shift_right", _BUILD.lshr, "Return the left lanes shifted down, unsigned.")


def _lane(name: str, number: int, summary: str):
    """Return an intrinsic for the value in a lane, counted from the end if below 0."""

    def typed(typing_context, vector):
        lane = _INDEX(number % vector.lanes)
        return vector.element(
            vector
        ), lambda context, builder, signature, arguments: builder.extract_element(
            arguments[0], lane
        )

    typed.__name__, typed.__doc__ = name, summary
    return intrinsic(typed)


first_lane = _lane("first_lane", 0, "Return the value in the first lane of a vector.")
last_lane = _lane("last_lane", -1, "Return the value in the last lane of a vector.")


def _running_maximum(direction: int, summary: str):
    """Return an intrinsic for the maxima over the lanes on one side, -1 below, 1 above."""

    def typed(typing_context, vector):
        def generate(context, builder, signature, arguments):
            (running,) = arguments
            lanes, shift = vector.lanes, 1
            while shift < lanes:
                # lanes without a neighbour so far away are compared with themselves
                far = [lane + direction * shift for lane in range(lanes)]
                order = [k if 0 <= k < lanes else lane for lane, k in enumerate(far)]
                mask = ir.Constant(ir.VectorType(_INDEX, lanes), order)
                other = builder.shuffle_vector(running, running, mask)
                running = builder.select(builder.icmp_signed(">", other, running), other, running)
                shift *= 2
            return running

        return vector(vector), generate

    typed.__name__, typed.__doc__ = f"running_maximum_{direction}", summary
    return intrinsic(typed)


prefix_maximum = _running_maximum(-1, "Return in each lane the largest of the lanes up to it.")
suffix_maximum = _running_maximum(1, "Return in each lane the largest of the lanes from it on.")


@intrinsic
def count_bits(typing_context, vector):
    """Return the number of bits set in each lane."""

    def generate(context, builder, signature, arguments):
        plain = _llvm_vector(vector)
        name = f"llvm.ctpop.v{vector.lanes}i{vector.element.bitwidth}"
        function = ir.FunctionType(plain, [plain])
        return builder.call(get_or_insert_function(builder.module, function, name), arguments)

    return vector(vector), generate


@intrinsic
def any_at_most(typing_context, left, right):
    """Tell whether some lane of `left` is at most that of `right`, signed."""

    def generate(context, builder, signature, arguments):
        mask = builder.icmp_signed("<=", *arguments)
        bits = ir.IntType(left.lanes)
        return builder.icmp_unsigned("!=", builder.bitcast(mask, bits), bits(0))

    return types.boolean(left, right), generate


@register_jitable
def aligned_zeros(count, dtype):
    """Return `count` zeros that begin at a cache line, as a vector across two takes longer."""
    buffer = np.zeros(count + VECTOR_BYTES, dtype)
    first = -buffer.ctypes.data % VECTOR_BYTES // buffer.itemsize
    return buffer[first : first + count]


@register_jitable
def copy(values, into):
    """Copy the values of an array of one dimension to the beginning of another one.

    numba takes long to compile ``into[:] = values``, whose errors show the shapes.
    """
    for k in range(len(values)):
        into[k] = values[k]


@intrinsic
def _byte_pointer(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.CPointer(types.uint8)(address), generate


@njit
def bytes_at(address, count):
    """Return the array of `count` uint8 at an address in memory, which the caller keeps alive."""
    return carray(_byte_pointer(address), count)
