"""What intrinsics are made of: assembly, tuples of words, and twins for the simulator."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import cuda

from gpu_tools.hardware.device import simulated

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
    """Emit assembly for words as arguments, in code that generates code.

    Parameters
    ----------
    builder : IRBuilder
    text : str
        Its results are ``$0`` and so on, the words follow.
    *words : values of LLVM
    result : type of LLVM
        That of the result; a structure for several, `ir.VoidType` for none.
    shared : bool
        Whether it reads or writes memory that others write.
    early : bool
        Whether results are written before all words have been read.

    Returns
    -------
    value of LLVM
    """
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


def add_pairs(builder, left, right):
    """Return the sums of two packed pairs, wrapping around, in code that generates code."""
    return emit(builder, "add.s16x2 $0, $1, $2;", left, right)


def max_pairs(builder, left, right):
    """Return the maxima of two packed pairs, in code that generates code."""
    return emit(builder, "max.s16x2 $0, $1, $2;", left, right)


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
