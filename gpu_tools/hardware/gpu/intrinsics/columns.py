"""Columns of packed cells that stay in registers.

A loop over a local array may end up in memory; what is written out here cannot. Values are packed
as in `words`.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import int32, types

from gpu_tools.hardware.gpu.intrinsics.assembly import (
    I32,
    add_pairs,
    address_of,
    emit,
    max_pairs,
    pack,
    signed32,
    unpack,
    with_twin,
)
from gpu_tools.hardware.gpu.intrinsics.words import add2, max2, permute


def _load_pair_twin(array, index):
    word = int(array[index])
    return np.int32(word >> 32), np.int32(signed32(word))


@with_twin(_load_pair_twin)
def load_pair(typing_context, array, index):
    """Return the high and the low half of an int64 element, as all GPUs see it now."""

    def generate(context, builder, signature, arguments):
        text = "{ .reg .b64 word; ld.relaxed.sys.global.b64 word, [$2]; mov.b64 {$1, $0}, word; }"
        place = address_of(context, builder, array, *arguments)
        both = ir.LiteralStructType([I32, I32])
        return pack(builder, unpack(builder, emit(builder, text, place, result=both, shared=True)))

    return types.UniTuple(int32, 2)(array, types.uint32), generate


def _store_pair_twin(array, index, high, low):
    array[index] = (int(high) << 32) | (int(low) & 0xFFFFFFFF)


@with_twin(_store_pair_twin)
def store_pair(typing_context, array, index, high, low):
    """Write both halves of an int64 element at once, for all GPUs to see."""

    def generate(context, builder, signature, arguments):
        text = "{ .reg .b64 word; mov.b64 word, {$2, $1}; st.relaxed.sys.global.b64 [$0], word; }"
        place = address_of(context, builder, array, *arguments[:2])
        emit(builder, text, place, *arguments[2:], result=ir.VoidType(), shared=True)
        return context.get_dummy_value()

    return types.void(array, types.uint32, int32, int32), generate


@with_twin(lambda slots, value: (value,) * len(slots))
def repeated(typing_context, slots, value):
    """Return a tuple as long as `slots` of equal values."""

    def generate(context, builder, signature, arguments):
        return pack(builder, [arguments[1]] * slots.count)

    return types.UniTuple(value, slots.count)(slots, value), generate


def _load_each_twin(slots, array, first, stride):
    return tuple(array[first + k * stride] for k in range(len(slots)))


@with_twin(_load_each_twin)
def load_each(typing_context, slots, array, first, stride):
    """Return a tuple as long as `slots` of elements that are `stride` apart."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[1]).data
        index, values = arguments[2], []
        for _ in range(slots.count):
            values.append(builder.load(builder.gep(data, [index])))
            index = builder.add(index, arguments[3])
        return context.make_tuple(builder, signature.return_type, values)

    result = types.BaseTuple.from_types((array.dtype,) * len(slots))
    return result(slots, array, types.int64, types.int64), generate


@with_twin(lambda values, addend: tuple(add2(value, addend) for value in values))
def add_each(typing_context, values, addend):
    """Return the packed sums of a tuple's elements and `addend`."""

    def generate(context, builder, signature, arguments):
        elements = unpack(builder, arguments[0])
        return pack(builder, [add_pairs(builder, each, arguments[1]) for each in elements])

    return values(values, addend), generate


def _affine_column_twin(cells, gaps, selectors, state, penalties):
    word, late, diagonal, falling, floor = state
    opens_row, opens, down, *along = penalties
    column, running, largest = [], [], floor
    for r, selector in enumerate(selectors):
        gap = add2(gaps[r], along[0]) if along else gaps[r]
        running.append(max2(gap, cells[r]))
        paired = signed32(int(diagonal) + int(permute(word, late, selector)))
        paired = max2(max2(paired, signed32(int(running[r]) + int(opens_row))), floor)
        column.append(max2(add2(falling, opens), paired))
        falling = max2(add2(falling, down), paired)
        largest = max2(largest, column[r])
        diagonal = cells[r]
    return tuple(column), tuple(running), falling, largest


@with_twin(_affine_column_twin)
def affine_column(typing_context, cells, gaps, selectors, state, penalties):
    """Return a column of local alignment.

    All values are packed; no half is ever negative, so that sums of 32 bits are sums of both
    halves. `cells` and `gaps` are of the column before: best scores, and scores of gaps along the
    rows, plus the penalty of opening. A row's pair adds what `permute` makes of two words and its
    selector. `state` is those two words, the cell above the column before, the gap that comes down
    into the column, again plus the penalty of opening, and the score of an empty alignment.
    `penalties` are what opening a gap along a row adds to both halves, as a sum of 32 bits, then,
    packed, what opening and extending a gap down and, unless that is nothing, extending one along a
    row add. Returned are cells, gaps, the gap that goes on below, and the largest cell.

    Code has no loop: all values stay in registers, as all indices are constant. Sums of 32 bits go
    to the multipliers, which have nothing else to do; the others are one instruction with the
    maximum that follows.
    """

    def generate(context, builder, signature, arguments):
        column, running, chosen, values, constants = (unpack(builder, a) for a in arguments)
        word, late, diagonal, falling, floor = values
        opens_row, opens, down, *along = constants
        largest = floor
        for r, selector in enumerate(chosen):
            score = emit(builder, "prmt.b32 $0, $1, $2, $3;", word, late, selector)
            paired = builder.add(diagonal, score)
            gap = add_pairs(builder, running[r], along[0]) if along else running[r]
            running[r] = max_pairs(builder, gap, column[r])
            shut = builder.add(running[r], opens_row)
            paired = max_pairs(builder, max_pairs(builder, paired, shut), floor)
            best = max_pairs(builder, add_pairs(builder, falling, opens), paired)
            falling = max_pairs(builder, add_pairs(builder, falling, down), paired)
            largest = max_pairs(builder, largest, best)
            diagonal, column[r] = column[r], best
        parts = [pack(builder, column), pack(builder, running), falling, largest]
        return context.make_tuple(builder, signature.return_type, parts)

    result = types.Tuple((cells, gaps, int32, int32))
    return result(cells, gaps, selectors, state, penalties), generate
