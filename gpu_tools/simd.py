"""Vectors of 64 bytes for numba loops: the only room with LLVM vector code.

A vector holds 64 int8, 32 int16 or 16 int32 lanes. LLVM maps it to the widest registers that the
processor has. The functions exist inside jitted code only; additions wrap around.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

VECTOR_BYTES = 64
_INDEX = ir.IntType(32)


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
def add(typing_context, left, right):
    """Return the sums of two vectors' lanes."""
    return left(left, right), lambda context, builder, signature, arguments: builder.add(*arguments)


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
def maximum(typing_context, left, right):
    """Return the larger of two vectors' lanes, signed."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed(">", *arguments), *arguments)

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
def last_lane(typing_context, vector):
    """Return the value in the last lane of `vector`."""

    def generate(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], _INDEX(vector.lanes - 1))

    return vector.element(vector), generate
