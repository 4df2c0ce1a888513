"""A row of a protein's cells from the three before it, in packed words of registers.

Words hold two cells. The halves of a lane's words are two *virtual lanes*, each with columns side
by side. Functions look scores up in a profile of bytes: two registers have their four in a word.
"""

from __future__ import annotations

from numba import cuda, int32, types

from gpu_tools.hardware.gpu.intrinsics.assembly import (
    add_pairs,
    emit,
    max_pairs,
    pack,
    unpack,
    with_twin,
)
from gpu_tools.hardware.gpu.intrinsics.words import add2, max2, permute, shuffle_up
from gpu_tools.sites.gpu.codon_rows import SWAPPED, carry_of, maxima_before

_EVEN, _ODD = 0x9180, 0xB3A2
"""Selectors: the first two bytes of a word as two cells, and the last two."""


def _score_twin(profile, k):
    return permute(profile[k // 2], 0, _ODD if k % 2 else _EVEN)


def _score(builder, profile, k):
    """Return the scores of register `k`, in code that generates code."""
    selector = _ODD if k % 2 else _EVEN
    return emit(builder, f"prmt.b32 $0, $1, 0, {selector};", profile[k // 2])


def _begun_twin(three, gaps, joined, profile, diagonal, bonus):
    cells = []
    for k, gap in enumerate(gaps):
        cell = max2(add2(diagonal, _score_twin(profile, k)), gap)
        cells.append(max2(cell, add2(joined[k], bonus)))
        diagonal = three[k]
    return tuple(cells)


@with_twin(_begun_twin)
def begun(typing_context, three, gaps, joined, profile, diagonal, bonus):
    """Return the part of a row that does not need the two rows before it.

    `three` is the third row before it, settled, and `diagonal` what stands before its virtual
    lanes; `gaps` the row of chains that leave out the codon that ends here; `joined` a row that
    joins with a bonus; `profile` are the lane's scores.
    """

    def generate(context, builder, signature, arguments):
        three, gaps, joined, profile = (unpack(builder, part) for part in arguments[:4])
        diagonal, bonus = arguments[4:]
        cells = []
        for k, gap in enumerate(gaps):
            cell = add_pairs(builder, diagonal, _score(builder, profile, k))
            cell = max_pairs(builder, cell, gap)
            cells.append(max_pairs(builder, cell, add_pairs(builder, joined[k], bonus)))
            diagonal = three[k]
        return pack(builder, cells)

    return gaps(three, gaps, joined, profile, diagonal, bonus), generate


def _advanced_twin(row, one, two, few, weights, low):
    opening, shifts, shifts_on = weights
    made, left = [], low
    for k, cell in enumerate(row):
        either = max2(one[k], two[k])
        cell = max2(cell, max2(add2(either, shifts), add2(few, shifts_on)))
        made.append(max2(cell, add2(left, opening)))
        left, few = max2(left, cell), either
    return (*made, left)


@with_twin(_advanced_twin)
def advanced(typing_context, row, one, two, few, weights, low):
    """Return a row that `begun` has made, and behind its words the virtual lanes' largest cells.

    `one` and `two` are the two rows before it, settled, the last one first; `few` is the larger of
    what stands before their virtual lanes. `weights` are added: for residues left out, frameshifts,
    and frameshifts with a residue. `low` is less than any cell.
    """

    def generate(context, builder, signature, arguments):
        row, one, two = (unpack(builder, part) for part in arguments[:3])
        few, left = arguments[3], arguments[5]
        opening, shifts, shifts_on = unpack(builder, arguments[4])
        made = []
        for k, cell in enumerate(row):
            either = max_pairs(builder, one[k], two[k])
            shifted = add_pairs(builder, few, shifts_on)
            shifted = max_pairs(builder, add_pairs(builder, either, shifts), shifted)
            cell = max_pairs(builder, cell, shifted)
            made.append(max_pairs(builder, cell, add_pairs(builder, left, opening)))
            left, few = max_pairs(builder, left, cell), either
        return pack(builder, [*made, left])

    result = types.UniTuple(types.int32, len(row) + 1)
    return result(row, one, two, few, weights, low), generate


def _left_out_twin(gaps, row, opening, leaving):
    pairs = zip(gaps, row, strict=True)
    return tuple(add2(max2(add2(b, opening), a), leaving) for a, b in pairs)


@with_twin(_left_out_twin)
def left_out(typing_context, gaps, row, opening, leaving):
    """Return the next row of chains that leave a codon out, from that and the row before both."""

    def generate(context, builder, signature, arguments):
        gaps, row = (unpack(builder, part) for part in arguments[:2])
        made = [
            max_pairs(builder, add_pairs(builder, b, arguments[2]), a)
            for a, b in zip(gaps, row, strict=True)
        ]
        return pack(builder, [add_pairs(builder, each, arguments[3]) for each in made])

    return gaps(gaps, row, opening, leaving), generate


def _paired_twin(row, edge, profile):
    before = (edge, *row[:-1])
    return tuple(add2(here, _score_twin(profile, k)) for k, here in enumerate(before))


@with_twin(_paired_twin)
def paired(typing_context, row, edge, profile):
    """Return a row with a codon paired behind it; `edge` stands before the virtual lanes."""

    def generate(context, builder, signature, arguments):
        row, profile = unpack(builder, arguments[0]), unpack(builder, arguments[2])
        before = [arguments[1], *row[:-1]]
        return pack(
            builder,
            [
                add_pairs(builder, here, _score(builder, profile, k))
                for k, here in enumerate(before)
            ],
        )

    return row(row, edge, profile), generate


def _first_at_least_twin(row, value):
    return (max2(row[0], value), *row[1:])


@with_twin(_first_at_least_twin)
def first_at_least(typing_context, row, value):
    """Return a row whose first word is raised to a value."""

    def generate(context, builder, signature, arguments):
        words = unpack(builder, arguments[0])
        return pack(builder, [max_pairs(builder, words[0], arguments[1]), *words[1:]])

    return row(row, value), generate


@cuda.jit(device=True)
def residues_left_out(left, before, is_first, opening, scratch):
    """Return what residues left out bring to each virtual lane, and the largest cell so far.

    `left` are the largest cells of the virtual lanes, `before` in both halves that of the columns
    before the strip.
    """
    own = max2(left, permute(left, left, int32(SWAPPED)))
    others = shuffle_up(own, scratch)
    if is_first:
        others = before
    others = maxima_before(others, scratch)
    return add2(carry_of(others, left), opening), max2(others, own)
