"""Rows of packed cells in registers, and words that warps hand on.

A row is a tuple of int32 words, each two int16 cells. Code is generated word by word, without a
loop, so that all words stay in registers.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import int32, types

from gpu_tools.hardware.gpu.intrinsics.words import (
    I32,
    WARP,
    add2,
    add_pairs,
    address_of,
    emit,
    max2,
    max_pairs,
    min2,
    min_pairs,
    pack,
    permute,
    signed32,
    unpack,
    with_twin,
)

# Columns of packed cells that stay in registers.
#
# A loop over a local array may end up in memory; what is written out here cannot. Values are packed
# as in `words`.


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


def _word_by_word(step):
    """Return the generator of a row whose words `step` makes of one or two rows' words."""

    def generate(context, builder, signature, arguments):
        rows = [unpack(builder, row) for row in arguments[:-1]]
        return pack(builder, [step(builder, *w, arguments[-1]) for w in zip(*rows, strict=True)])

    return generate


def _moved_twin(row, selectors, words, diagonal, left, gap):
    following = []
    for here, selector in zip(row, selectors, strict=True):
        paired = add2(diagonal, permute(words[0], words[1], selector))
        left = max2(add2(here, gap), max2(paired, left))
        following.append(left)
        diagonal = here
    return tuple(following)


@with_twin(_moved_twin)
def moved(typing_context, row, selectors, words, diagonal, left, gap):
    """Return the next row of a block of neighbouring columns.

    `selectors` look the lifted scores up in the two `words`; `diagonal` is what the row has before
    its first column, `left` what the next row has there.
    """

    def generate(context, builder, signature, arguments):
        here, chosen, (low, high) = (unpack(builder, part) for part in arguments[:3])
        diagonal, left, gap = arguments[3:]
        for k, selector in enumerate(chosen):
            score = emit(builder, "prmt.b32 $0, $1, $2, $3;", low, high, selector)
            paired = add_pairs(builder, diagonal, score)
            up = add_pairs(builder, here[k], gap)
            left = max_pairs(builder, up, max_pairs(builder, paired, left))
            here[k], diagonal = left, here[k]
        return pack(builder, here)

    return row(row, selectors, words, diagonal, left, gap), generate


def _tracks_moved_twin(tracks, selectors, words, carries, left, gap):
    return tuple(
        _moved_twin(tuple(max2(here, carry) for here in row), selectors, words, carry, left, gap)
        for row, carry in zip(tracks, carries, strict=True)
    )


@with_twin(_tracks_moved_twin)
def tracks_moved(typing_context, tracks, selectors, words, carries, left, gap):
    """Return the next rows of some tracks, all of which read the same nucleotide.

    It is `moved` for each of them, but a row is first raised to its carry, which also stands before
    its first column, and `left` is at most what the next rows have there.
    """

    def generate(context, builder, signature, arguments):
        rows = [unpack(builder, row) for row in unpack(builder, arguments[0])]
        chosen, (low, high), carried = (unpack(builder, part) for part in arguments[1:4])
        diagonals, lefts = list(carried), [arguments[4]] * len(rows)
        for k, selector in enumerate(chosen):
            score = emit(builder, "prmt.b32 $0, $1, $2, $3;", low, high, selector)
            for n, row in enumerate(rows):
                here = max_pairs(builder, row[k], carried[n])
                paired = add_pairs(builder, diagonals[n], score)
                up = add_pairs(builder, here, arguments[5])
                row[k] = max_pairs(builder, up, max_pairs(builder, paired, lefts[n]))
                diagonals[n], lefts[n] = here, row[k]
        return pack(builder, [pack(builder, row) for row in rows])

    return tracks(tracks, selectors, words, carries, left, gap), generate


def _raised_twin(row, other, bonus):
    return tuple(max2(a, add2(b, bonus)) for a, b in zip(row, other, strict=True))


@with_twin(_raised_twin)
def raised(typing_context, row, other, bonus):
    """Return a row raised to another one plus a bonus."""
    return row(row, other, bonus), _word_by_word(
        lambda builder, a, b, added: max_pairs(builder, a, add_pairs(builder, b, added))
    )


def _sum_of_twin(row, other):
    return tuple(add2(a, b) for a, b in zip(row, other, strict=True))


@with_twin(_sum_of_twin)
def sum_of(typing_context, row, other):
    """Return the sums of two rows' words, half by half."""

    def generate(context, builder, signature, arguments):
        words = zip(*(unpack(builder, part) for part in arguments), strict=True)
        return pack(builder, [add_pairs(builder, *pair) for pair in words])

    return row(row, other), generate


def _plus_times_twin(row, factor, other):
    return tuple(signed32(int(a) * int(factor) + int(b)) for a, b in zip(row, other, strict=True))


@with_twin(_plus_times_twin)
def plus_times(typing_context, row, factor, other):
    """Return the sum of a row's words times a factor and another one's words.

    With a factor of 0 that is the other row; with 1 it is the row if the other's words are 0.
    """

    def generate(context, builder, signature, arguments):
        row, factor, other = arguments
        words = zip(unpack(builder, row), unpack(builder, other), strict=True)
        text = "mad.lo.s32 $0, $1, $2, $3;"
        return pack(builder, [emit(builder, text, a, factor, b) for a, b in words])

    return row(row, factor, other), generate


def _best_sum_twin(row, other):
    best = add2(row[0], other[0])
    for pair in zip(row[1:], other[1:], strict=True):
        best = max2(best, add2(*pair))
    return best


@with_twin(_best_sum_twin)
def best_sum(typing_context, row, other):
    """Return the maximum over the sums of two rows' words, half by half."""

    def generate(context, builder, signature, arguments):
        row, other = (unpack(builder, part) for part in arguments)
        sums = [add_pairs(builder, *pair) for pair in zip(row, other, strict=True)]
        # two chains: a maximum waits for the one before
        even, odd = sums[0], sums[1]
        for k in range(2, len(sums), 2):
            even = max_pairs(builder, even, sums[k])
            odd = max_pairs(builder, odd, sums[k + 1])
        return max_pairs(builder, even, odd)

    return types.int32(row, other), generate


def _ramp_twin(row, first, step):
    words = [first]
    for _ in row[1:]:
        words.append(add2(words[-1], step))
    return tuple(words)


@with_twin(_ramp_twin)
def ramp(typing_context, row, first, step):
    """Return a row as long as `row` whose words rise from `first` on by `step`."""

    def generate(context, builder, signature, arguments):
        _, first, step = arguments
        words = [first]
        for _ in range(len(row) - 1):
            words.append(add_pairs(builder, words[-1], step))
        return pack(builder, words)

    return row(row, first, step), generate


def _clipped_ramp_twin(row, first, step, over, cost):
    words = zip(_ramp_twin(row, first, step), _ramp_twin(row, over, cost), strict=True)
    return tuple(add2(a, min2(max2(b, 0), cost)) for a, b in words)


@with_twin(_clipped_ramp_twin)
def clipped_ramp(typing_context, row, first, step, over, cost):
    """Return a ramp plus another one that rises from `over` on by `cost`, cut to 0 to `cost`."""

    def generate(context, builder, signature, arguments):
        row, first, step, over, cost = arguments
        words, none = [], I32(0)
        for _ in range(row.type.count):
            rest = max_pairs(builder, over, none)
            rest = min_pairs(builder, rest, cost)
            words.append(add_pairs(builder, first, rest))
            first, over = add_pairs(builder, first, step), add_pairs(builder, over, cost)
        return pack(builder, words)

    return row(row, first, step, over, cost), generate


@with_twin(lambda row, value: tuple(max2(here, value) for here in row))
def at_least(typing_context, row, value):
    """Return a row raised to a value."""
    return row(row, value), _word_by_word(max_pairs)


@with_twin(lambda row, value: tuple(value for _ in row))
def filled(typing_context, row, value):
    """Return a row as long as `row` with one value everywhere."""
    return row(row, value), _word_by_word(lambda builder, here, value: value)


@with_twin(lambda array, index: array[index])
def load_word(typing_context, array, index):
    """Return an int32 or int64 element as the whole GPU sees it now."""

    def generate(context, builder, signature, arguments):
        word = ir.IntType(array.dtype.bitwidth)
        text = f"ld.relaxed.gpu.global.b{word.width} $0, [$1];"
        place = address_of(context, builder, array, *arguments)
        return emit(builder, text, place, result=word, shared=True)

    return array.dtype(array, types.uint32), generate


def _store_word_twin(array, index, value):
    array[index] = value


@with_twin(_store_word_twin)
def store_word(typing_context, array, index, value):
    """Write an int32 or int64 element, for the whole GPU to see."""

    def generate(context, builder, signature, arguments):
        text = f"st.relaxed.gpu.global.b{array.dtype.bitwidth} [$0], $1;"
        place = address_of(context, builder, array, *arguments[:2])
        emit(builder, text, place, arguments[2], result=ir.VoidType(), shared=True)
        return context.get_dummy_value()

    return types.void(array, types.uint32, array.dtype), generate


@with_twin(lambda array, index: 4 * int(index))
def place_of(typing_context, array, index):
    """Return where, in bytes, an element of a shared array lies, for `store_quads`."""

    def generate(context, builder, signature, arguments):
        text = "{ .reg .b64 at; cvta.to.shared.u64 at, $1; cvt.u32.u64 $0, at; }"
        return emit(builder, text, address_of(context, builder, array, *arguments))

    return types.int32(array, types.uint32), generate


# Quads: rows in memory, four words at a place, four `WARP` quads on, and so on.
#
# They begin at a multiple of 16 bytes.


def _store_quads(builder, text: str, row, *place) -> None:
    """Emit stores of a row's words, four each; `text` has OFFSET for that of the bytes."""
    words = unpack(builder, row)
    for k in range(0, len(words), 4):
        here = text.replace("OFFSET", str(4 * k * WARP))
        emit(builder, here, *place, *words[k : k + 4], result=ir.VoidType(), shared=True)


def _load_quads(builder, instruction: str, count: int, place):
    """Emit loads of so many words, four at a time."""
    four, words = ir.LiteralStructType([I32] * 4), []
    for k in range(0, count, 4):
        text = f"{instruction} {{$0, $1, $2, $3}}, [$4+{4 * k * WARP}];"
        words += unpack(builder, emit(builder, text, place, result=four, shared=True))
    return pack(builder, words)


def _quads(count: int) -> list[int]:
    """Return where the words of a row lie, in words; for twins."""
    return [k // 4 * 4 * WARP + k % 4 for k in range(count)]


def _store_quads_twin(array, place, row):
    for here, at in zip(row, _quads(len(row)), strict=True):
        array[place // 4 + at] = here


@with_twin(_store_quads_twin)
def store_quads(typing_context, array, place, row):
    """Write a row's words to shared memory."""

    def generate(context, builder, signature, arguments):
        text = "st.shared.v4.b32 [$0+OFFSET], {$1, $2, $3, $4};"
        _store_quads(builder, text, arguments[2], arguments[1])
        return context.get_dummy_value()

    return types.void(array, types.int32, row), generate


def _copy_quads_twin(address, index, row):
    if index > 0:
        array, first = address
        _store_quads_twin(array, 4 * (first + index), row)


@with_twin(_copy_quads_twin)
def copy_quads(typing_context, address, index, row):
    """Write a row's words to device memory as `store_quads` does, if `index` is above 0."""

    def generate(context, builder, signature, arguments):
        text = "{ .reg .pred p; .reg .b64 at; setp.gt.s32 p, $1, 0; mad.wide.s32 at, $1, 4, $0; "
        text += "@p st.global.v4.b32 [at+OFFSET], {$2, $3, $4, $5}; }"
        _store_quads(builder, text, arguments[2], *arguments[:2])
        return context.get_dummy_value()

    return types.void(types.int64, types.int32, row), generate


def load_quads(count: int):
    """Return ``load(array, place)``, the counterpart of `store_quads` for `count` words."""

    def load(typing_context, array, place):
        def generate(context, builder, signature, arguments):
            return _load_quads(builder, "ld.shared.v4.b32", count, arguments[1])

        return types.UniTuple(types.int32, count)(array, types.int32), generate

    return with_twin(
        lambda array, place: tuple(int(array[place // 4 + at]) for at in _quads(count))
    )(load)


def _further_twin(address, words):
    array, first = address
    return array, first + int(words)


@with_twin(_further_twin)
def further(typing_context, address, words):
    """Return the address so many int32 elements further on."""

    def generate(context, builder, signature, arguments):
        return builder.add(arguments[0], builder.shl(arguments[1], arguments[1].type(2)))

    return types.int64(types.int64, types.int64), generate


@with_twin(lambda address, row: _store_quads_twin(address[0], 4 * address[1], row))
def store_row(typing_context, address, row):
    """Write a row's words to an address in any memory as `store_quads` does."""

    def generate(context, builder, signature, arguments):
        text = "st.v4.b32 [$0+OFFSET], {$1, $2, $3, $4};"
        _store_quads(builder, text, arguments[1], arguments[0])
        return context.get_dummy_value()

    return types.void(types.int64, row), generate


def load_row(count: int):
    """Return ``load(address)``, the counterpart of `store_row` for `count` words."""

    def load(typing_context, address):
        def generate(context, builder, signature, arguments):
            return _load_quads(builder, "ld.v4.b32", count, arguments[0])

        return types.UniTuple(types.int32, count)(types.int64), generate

    return with_twin(
        lambda address: tuple(int(address[0][address[1] + at]) for at in _quads(count))
    )(load)
