"""Rows of packed cells in registers, words that warps hand on: `ptx` continued, same rules.

A row is a tuple of int32 words, each two int16 cells. Code is generated word by word, without a
loop, so that all words stay in registers.
"""

from __future__ import annotations

from llvmlite import ir
from numba import cuda, types

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics import (
    WARP,
    add2,
    instruction,
    max2,
    pack,
    permute,
    signed32,
    unpack,
)

_I32 = ir.IntType(32)
_ADD, _MAX = "add.s16x2 $0, $1, $2;", "max.s16x2 $0, $1, $2;"
_PERMUTE, _TIMES_PLUS = "prmt.b32 $0, $1, $2, $3;", "mad.lo.s32 $0, $1, $2, $3;"


def _moved_twin(row, selectors, words, diagonal, left, gap):
    following = []
    for here, selector in zip(row, selectors, strict=True):
        paired = add2(diagonal, permute(words[0], words[1], selector))
        left = max2(add2(here, gap), max2(paired, left))
        following.append(left)
        diagonal = here
    return tuple(following)


def _raised_twin(row, other, bonus):
    pairs = zip(row, other, strict=True)
    return tuple(max2(here, add2(there, bonus)) for here, there in pairs)


def _plus_times_twin(row, factor, other):
    return tuple(signed32(int(a) * int(factor) + int(b)) for a, b in zip(row, other, strict=True))


def _at_least_twin(row, value):
    return tuple(max2(here, value) for here in row)


def _filled_twin(row, value):
    return tuple(value for _ in row)


def _load_twin(count: int):
    def load(array, index, stride):
        return tuple(int(array[index + k * stride]) for k in range(count))

    return load


def _place_twin(array, index):
    return 4 * int(index)


def _store_quads_twin(array, place, row):
    for k, here in enumerate(row):
        array[place // 4 + (k // 4) * 4 * WARP + k % 4] = here


def _copy_quads_twin(address, index, row):
    if index:
        array, first = address
        _store_quads_twin(array, 4 * (first + index), row)


def _load_quads_twin(count: int):
    def load(array, place):
        at = place // 4
        return tuple(int(array[at + (k // 4) * 4 * WARP + k % 4]) for k in range(count))

    return load


def _load_word_twin(array, index):
    return array[index]


def _store_word_twin(array, index, value):
    array[index] = value


def _element(context, builder, signature, arguments):
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.ptrtoint(builder.gep(array.data, [arguments[1]]), ir.IntType(64))


def _generate_load_word(context, builder, signature, arguments):
    word = ir.IntType(signature.return_type.bitwidth)
    function_type = ir.FunctionType(word, [ir.IntType(64)])
    letter = "l" if word.width == 64 else "r"
    text = f"ld.relaxed.gpu.global.b{word.width} $0, [$1];"
    call = ir.InlineAsm(function_type, text, f"={letter},l,~{{memory}}", side_effect=True)
    return builder.call(call, [_element(context, builder, signature, arguments)])


def _generate_store_word(context, builder, signature, arguments):
    word = ir.IntType(signature.args[2].bitwidth)
    function_type = ir.FunctionType(ir.VoidType(), [ir.IntType(64), word])
    letter = "l" if word.width == 64 else "r"
    text = f"st.relaxed.gpu.global.b{word.width} [$0], $1;"
    call = ir.InlineAsm(function_type, text, f"l,{letter},~{{memory}}", side_effect=True)
    builder.call(call, [_element(context, builder, signature, arguments), arguments[2]])
    return context.get_dummy_value()


if simulated():
    moved, raised, plus_times, at_least, filled = (
        cuda.jit(device=True)(f)
        for f in (_moved_twin, _raised_twin, _plus_times_twin, _at_least_twin, _filled_twin)
    )
    place_of, store_quads, copy_quads = (
        cuda.jit(device=True)(f) for f in (_place_twin, _store_quads_twin, _copy_quads_twin)
    )
    load_word, store_word = (cuda.jit(device=True)(f) for f in (_load_word_twin, _store_word_twin))
else:
    from numba.cuda.extending import intrinsic

    _add, _max, _permute, _times_plus = map(instruction, (_ADD, _MAX, _PERMUTE, _TIMES_PLUS))

    @intrinsic
    def moved(typing_context, row, selectors, words, diagonal, left, gap):
        """Return the next row of a block of neighbouring columns.

        `selectors` look the lifted scores up in the two `words`; `diagonal` is what the row has
        before its first column, `left` what the next row has there.
        """

        def generate(context, builder, signature, arguments):
            here, chosen, (low, high) = (unpack(builder, part) for part in arguments[:3])
            diagonal, left, gap = arguments[3:]
            for k, selector in enumerate(chosen):
                paired = _add(builder, diagonal, _permute(builder, low, high, selector))
                up = _add(builder, here[k], gap)
                left = _max(builder, up, _max(builder, paired, left))
                here[k], diagonal = left, here[k]
            return pack(builder, here)

        return row(row, selectors, words, diagonal, left, gap), generate

    def _word_by_word(step):
        """Return the generator of a row whose words `step` makes of a row's words."""

        def generate(context, builder, signature, arguments):
            rows = [unpack(builder, row) for row in arguments[:-1]]
            made = [step(builder, *words, arguments[-1]) for words in zip(*rows, strict=True)]
            return pack(builder, made)

        return generate

    def _larger_sum(builder, here, there, bonus):
        return _max(builder, here, _add(builder, there, bonus))

    @intrinsic
    def raised(typing_context, row, other, bonus):
        """Return a row raised to another one plus a bonus."""
        return row(row, other, bonus), _word_by_word(_larger_sum)

    @intrinsic
    def plus_times(typing_context, row, factor, other):
        """Return the sum of a row's words times a factor and another one's words.

        With a factor of 0 that is the other row; with 1 it is the row if the other's words are 0.
        """

        def generate(context, builder, signature, arguments):
            row, factor, other = arguments
            words = zip(unpack(builder, row), unpack(builder, other), strict=True)
            made = [_times_plus(builder, here, factor, there) for here, there in words]
            return pack(builder, made)

        return row(row, factor, other), generate

    @intrinsic
    def at_least(typing_context, row, value):
        """Return a row raised to a value."""
        return row(row, value), _word_by_word(_max)

    @intrinsic
    def filled(typing_context, row, value):
        """Return a row as long as `row` with one value everywhere."""
        return row(row, value), _word_by_word(lambda builder, here, value: value)

    @intrinsic
    def load_word(typing_context, array, index):
        """Return an int32 or int64 element as the whole GPU sees it now."""
        return array.dtype(array, types.uint32), _generate_load_word

    @intrinsic
    def store_word(typing_context, array, index, value):
        """Write an int32 or int64 element, for the whole GPU to see."""
        return types.void(array, types.uint32, array.dtype), _generate_store_word

    def _pointers(context, builder, signature, arguments, count):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        first = builder.gep(data, [arguments[1]])
        for k in range(count):
            # from the first word on: the distance is then part of the instruction
            yield builder.gep(first, [builder.mul(arguments[2], ir.Constant(ir.IntType(32), k))])

    def _generate_place(context, builder, signature, arguments):
        function_type = ir.FunctionType(ir.IntType(32), [ir.IntType(64)])
        text = "{ .reg .b64 at; cvta.to.shared.u64 at, $1; cvt.u32.u64 $0, at; }"
        place = ir.InlineAsm(function_type, text, "=r,l")
        return builder.call(place, [_element(context, builder, signature, arguments)])

    @intrinsic
    def place_of(typing_context, array, index):
        """Return where, in bytes, an element of a shared array lies, for `store_quads`."""
        return types.int32(array, types.uint32), _generate_place

    @intrinsic
    def store_quads(typing_context, array, place, row):
        """Write a row's words to shared memory: four at `place`, four `WARP` quads on, and so on.

        They begin at a multiple of 16 bytes.
        """

        def generate(context, builder, signature, arguments):
            _, place, row = arguments
            words, function_type = unpack(builder, row), ir.FunctionType(ir.VoidType(), [_I32] * 5)
            for k in range(0, len(words), 4):
                text = f"st.shared.v4.b32 [$0+{4 * k * WARP}], {{$1, $2, $3, $4}};"
                store = ir.InlineAsm(function_type, text, "r,r,r,r,r,~{memory}", side_effect=True)
                builder.call(store, [place, *words[k : k + 4]])
            return context.get_dummy_value()

        return types.void(array, types.int32, row), generate

    @intrinsic
    def copy_quads(typing_context, address, index, row):
        """Write a row's words to device memory as `store_quads` does, unless `index` is 0."""

        def generate(context, builder, signature, arguments):
            words = unpack(builder, arguments[2])
            function_type = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] + [_I32] * 5)
            for k in range(0, len(words), 4):
                text = "{ .reg .pred p; .reg .b64 at; setp.ne.s32 p, $1, 0; "
                text += "mad.wide.s32 at, $1, 4, $0; "
                text += f"@p st.global.v4.b32 [at+{4 * k * WARP}], {{$2, $3, $4, $5}}; }}"
                store = ir.InlineAsm(function_type, text, "l,r,r,r,r,r,~{memory}", side_effect=True)
                builder.call(store, [*arguments[:2], *words[k : k + 4]])
            return context.get_dummy_value()

        return types.void(types.int64, types.int32, row), generate


def _load_intrinsic(count: int):
    def load(typing_context, array, index, stride):
        def generate(context, builder, signature, arguments):
            pointers = _pointers(context, builder, signature, arguments, count)
            return pack(builder, [builder.load(pointer) for pointer in pointers])

        return types.UniTuple(types.int32, count)(array, types.uint32, types.uint32), generate

    return load


def load_words(count: int):
    """Return ``load(array, index, stride)``: it reads `count` words, `stride` elements apart."""
    if simulated():
        return cuda.jit(device=True)(_load_twin(count))
    return intrinsic(_load_intrinsic(count))


def _load_quads_intrinsic(count: int):
    def load(typing_context, array, place):
        def generate(context, builder, signature, arguments):
            function_type, words = ir.FunctionType(ir.LiteralStructType([_I32] * 4), [_I32]), []
            for k in range(0, count, 4):
                text = f"ld.shared.v4.b32 {{$0, $1, $2, $3}}, [$4+{4 * k * WARP}];"
                quad = ir.InlineAsm(function_type, text, "=r,=r,=r,=r,r,~{memory}", True)
                words += unpack(builder, builder.call(quad, [arguments[1]]))
            return pack(builder, words)

        return types.UniTuple(types.int32, count)(array, types.int32), generate

    return load


def load_quads(count: int):
    """Return ``load(array, place)``, the counterpart of `store_quads` for `count` words."""
    if simulated():
        return cuda.jit(device=True)(_load_quads_twin(count))
    return intrinsic(_load_quads_intrinsic(count))
