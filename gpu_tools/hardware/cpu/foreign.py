"""Functions of C libraries, called from compiled code, which holds no lock of Python meanwhile."""

from __future__ import annotations

import ctypes

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

give_way = types.ExternalFunction("sched_yield", types.int32())
"""Have the system run another thread, if one waits for this processor."""


def address_of(function: object) -> int:
    """Return the address of a function that `ctypes` knows."""
    return ctypes.cast(function, ctypes.c_void_p).value


@intrinsic
def call_at(typing_context, address, given):
    """Call the C function at an address with a tuple of int64; return its int32.

    Parameters that are pointers or other integers take such numbers as well: of those that are
    narrower, processors of 64 bits leave the higher part alone, wherever Linux hands them over.
    """

    def generate(context, builder, signature, arguments):
        number = ir.IntType(64)
        function = ir.FunctionType(ir.IntType(32), [number] * len(given))
        pointer = builder.inttoptr(arguments[0], function.as_pointer())
        values = [builder.extract_value(arguments[1], k) for k in range(len(given))]
        return builder.call(pointer, values)

    return types.int32(types.int64, given), generate
