"""Plans for the packed kernel of chains that translate: what happens at three boundaries at a time.

A *step* takes three boundaries, the first of which is a multiple of three: so track f is the one
whose codons may end at the step's boundary f. A boundary has *events*, which concern the three
current rows alone, in this order: the end of a chain is looked for, the row of a stop codon is
cleared, exons join whose first codon is complete, the rows of an exit are stored, and an exon is
entered between two codons. All else concerns rows in slots, and no shorter intron than `SHORTEST`
is possible: so it is done in front of the step by *operations* on one row, the *accumulator*. They
bring the maxima before entries up to date, and make the rows of entries, also behind the codon that
an intron splits.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.sites.cpu.memory import most_pending, power_of_two
from gpu_tools.sites.gpu.plan import (
    MARKED,
    NEXT_SLOT,
    NO_SYMBOL,
    OPERANDS,
    TAKEN_AT,
    WAITS_AT,
    WRITTEN,
    Plan,
    PlanForm,
    inlined,
    kept_slots,
    most_operations,
    n_maxima,
    plan_compiler,
    sites_of,
)
from gpu_tools.sites.table import CLOSED, SiteTable
from gpu_tools.splicing.codons import SPLITS, completes, split_class
from gpu_tools.splicing.reading import FRAMES

SHORTEST = FRAMES
"""Introns must have so many nucleotides: then no entry of a step reads an exit of the same step."""
FINAL, STOP, JOIN, BEGIN, EXIT, ENTER = (1 << k for k in range(6))
"""Events of a boundary, in the order in which they happen. Of them `FINAL` has an operand, the last
exit's score, and so does `BEGIN`: a slot, and above `SLOT_BITS` the first entry's score.
"""
SYMBOL_BITS, EVENTS_AT, EVENT_BITS, HAS_OPERATIONS = 3, 9, 6, 1 << 27
"""A step's word: three symbols, then the events of three boundaries, then a flag."""
SLOT_BITS = 16
NO_SLOT = 0x3FF
"""More than any slot's number."""
LAST, FRESH, OLD_AT, TO_AT = 8, 16, 8, 18
"""An operation's first word: a symbol, two flags and two slots. The accumulator is set to the floor
if it is `FRESH`, raised to the old slot and to a source, each plus a bonus, copied, advanced by the
symbol, and stored in the other slot. `LAST` is the last operation before a step.
"""
NO_SOURCE = NO_SLOT
"""The second word is the source, a slot. The third one is the number of a stored row, 0 for none;
the fourth one has the bonus of the old slot in its lower half, and that of the source in its upper
one.

If the second word is -1 less the number of an exit, the maxima before entries are raised to its
three rows plus the source's bonus: of each track the slot in the third word, `TAKEN_MASK` for none.
"""
TAKEN_BITS, TAKEN_MASK = 10, 0x3FF
JOINS = 2 * FRAMES
"""Slots of rows that join at a boundary, used in turn."""
ENTERED, JOINING = 0, FRAMES
BEFORE = JOINING + JOINS
"""First slots: of rows that are entered at a step's boundaries, of those that join, and of the
maxima before entries. The empty chain's row follows, rows of donors of junctions, and then the rows
behind first codons.
"""
FIRST_STORED = 2
_CODONS = 125
_FIRST_SPLIT = (0, 1, 3, 6)
"""The first class of split codons with no, one and two nucleotides before the intron, and all."""


class CodonPlan(Plan):
    """The plan of a strand for the packed kernel of chains that translate.

    The first array has a word a step, and then operands in the order in which events need them; the
    second one has the operations.
    """

    def boundary_at(self, number: int) -> int:
        """Return the boundary that a number belongs to: the same."""
        return number

    def step_behind(self, boundary: int) -> int:
        """Return the step behind that of a boundary."""
        return boundary // FRAMES + 1


def compile_codons(codes, table: SiteTable, cost: int = 0) -> CodonPlan:
    """Compile a strand with stop codons, of introns of at least `SHORTEST` nucleotides.

    The kernel's row of the empty chain is higher by a cost.
    """
    words, operations, *sizes = _compiled(sites_of(codes, table), table.stops, cost)
    # parts of what there was space for: pages that nothing was written to take no memory
    return CodonPlan([words, operations.ravel()], *sizes, power_of_two(most_pending(table) + 1))


class _Codons(NamedTuple):
    """A plan that is written, and what that needs.

    Behind the words of so many steps come operands. The empty chain's row is in the slot `start`,
    and higher by a cost. Of first codons there are the slots of the rows behind them, -1 for none
    yet.
    """

    words: NDArray[np.int32]
    operations: NDArray[np.int32]
    n_steps: int
    stops: NDArray[np.bool_]
    start: int
    cost: int
    codon_slots: NDArray[np.int64]


@njit(cache=True, nogil=True, error_model="numpy")
def _compiled(sites, stops, cost):
    """Compile a strand; return words, operations, steps, slots, and the empty chain's slot."""
    boundaries, start = len(sites.codes) + 1, BEFORE + SPLITS * n_maxima(sites)
    entries, classes, junctions = len(sites.acceptors[0]), len(sites.introns.kinds), sites.junctions
    most = SPLITS * most_operations(sites) + (3 * classes + 8) * entries + start + FRAMES * _CODONS
    most += (1 + FRAMES) * len(junctions.donors) + FRAMES * len(junctions.acceptors)
    of_ends = boundaries if sites.first[0] != CLOSED else len(sites.first[1])
    of_ends += boundaries if sites.last[0] != CLOSED else len(sites.last[1])
    n_steps = -(-boundaries // FRAMES)
    words, operations = np.zeros(n_steps + of_ends + 1, np.int32), np.empty((most, 4), np.int32)
    plan = _Codons(words, operations, n_steps, stops, start, cost, np.full(_CODONS, -1))
    state = np.zeros(TAKEN_AT + len(sites.introns.lengths), np.int64)
    state[NEXT_SLOT] = kept_slots(junctions, start + 1, FRAMES, sites.slots)
    for slot in range(BEFORE, start):
        _put(plan, state, FRESH, NO_SLOT, NO_SOURCE, 0, NO_SYMBOL, slot)
    _compile_plan(sites, 0, FRAMES * n_steps, state, plan)
    used = n_steps + state[OPERANDS] + 1
    return words[:used], operations[: state[WRITTEN]], n_steps, state[NEXT_SLOT], start


@inlined
def _put(plan, state, fresh, old, source, bonus, symbol, to):
    """Append an operation."""
    operations, n = plan.operations, state[WRITTEN]
    operations[n, 0] = symbol | fresh | old << OLD_AT | to << TO_AT
    operations[n, 1], operations[n, 2], operations[n, 3] = source, 0, bonus << 16
    state[WRITTEN] += 1


@inlined
def _put_take(plan, state, exit, bonus, slots):
    """Append an operation that raises slots to the rows of an exit plus a bonus."""
    _put(plan, state, 0, NO_SLOT, -1 - exit, bonus, NO_SYMBOL, NO_SLOT)
    plan.operations[state[WRITTEN] - 1, 2] = slots


@inlined
def _add_operand(plan, state, operand):
    """Append an operand."""
    plan.words[plan.n_steps + state[OPERANDS]] = operand
    state[OPERANDS] += 1


@njit(makes_arrays=False)
def _put_first_codon(codes, i, slot, plan, state):
    """Have the row of chains whose first codon begins at a boundary put into a slot."""
    _put(plan, state, FRESH, NO_SLOT, plan.start, -plan.cost, codes[i], NO_SLOT)
    _put(plan, state, 0, NO_SLOT, NO_SOURCE, 0, codes[i + 1], NO_SLOT)
    _put(plan, state, 0, NO_SLOT, NO_SOURCE, 0, codes[i + 2], slot)


@inlined
def _open(sites, i, final, begins, is_busy, state, plan):
    """Write the symbol before a boundary; return the events that do not depend on sites there."""
    codes, events = sites.codes, 0
    symbol = codes[i - 1] if 0 < i <= len(codes) else NO_SYMBOL
    plan.words[i // FRAMES] |= symbol << (SYMBOL_BITS * (i % FRAMES))
    if final != CLOSED and i <= len(codes):
        events |= FINAL
        _add_operand(plan, state, final)
    if state[WAITS_AT + i % JOINS] != 0:
        events |= JOIN
        state[WAITS_AT + i % JOINS] = 0
    if FRAMES <= i <= len(codes):
        one, two, three = np.int64(codes[i - 3]), codes[i - 2], codes[i - 1]
        if plan.stops[one, two, three]:
            events |= STOP
        elif begins != CLOSED:
            events |= BEGIN
            codon = (one * 5 + two) * 5 + three
            if plan.codon_slots[codon] < 0:
                plan.codon_slots[codon] = state[NEXT_SLOT]
                _put_first_codon(codes, i - FRAMES, state[NEXT_SLOT], plan, state)
                state[NEXT_SLOT] += 1
            _add_operand(plan, state, plan.codon_slots[codon] | begins << SLOT_BITS)
    return events


@inlined
def _split_before(codes, boundary, frame):
    """Return the class of what an intron leaves of a frame's codon, `SPLITS` if there is none."""
    bases = (boundary - frame) % FRAMES
    return split_class(codes, boundary, bases) if bases <= boundary else SPLITS


@inlined
def _keep(sites, k, exit, state, plan):
    """Put the rows of an exit, plus its score, into slots of junctions."""
    slots, first = 0, sites.slots[k]
    for frame in range(FRAMES):
        _put(plan, state, FRESH, NO_SLOT, NO_SOURCE, 0, NO_SYMBOL, first + frame)
        slots |= (first + frame) << (TAKEN_BITS * frame)
    _put_take(plan, state, exit, sites.donors[1][exit], slots)


@inlined
def _take(sites, k, exit, state, plan):
    """Raise the maximum of class `k` to the rows of an exit, by what they leave of codons."""
    (donors, scores, _), introns, slots = sites.donors, sites.introns, 0
    boundary, first = np.int64(donors[exit]), BEFORE + introns.number[k] * SPLITS
    for frame in range(FRAMES):
        split = _split_before(sites.codes, boundary, frame)
        slot = first + split if split < SPLITS else TAKEN_MASK
        slots |= slot << (TAKEN_BITS * frame)
    _put_take(plan, state, exit, scores[exit] - introns.penalties[k], slots)


@inlined
def _raise_maximum(sites, to, source, bonus, is_fresh, state, plan):
    """Raise a maximum, of each class of split codons, to another one."""
    for split in range(SPLITS):
        own, other = BEFORE + to * SPLITS + split, BEFORE + source * SPLITS + split
        old = NO_SLOT if is_fresh else own
        _put(plan, state, FRESH, old, other, bonus, NO_SYMBOL, own)


@inlined
def _leave(sites, i, exit, events, state, plan):
    """Return the events with that of an exit."""
    return events | EXIT


@njit(makes_arrays=False)
def _add_source(slot, points, found, plan, state):
    """Add a slot plus some points to what the accumulator is raised to, `found` being there."""
    operations, n = plan.operations, state[WRITTEN] - 1
    if found % 2 == 1:
        operations[n, 0] ^= (NO_SLOT ^ slot) << OLD_AT
        operations[n, 3] |= points & 0xFFFF
    elif found == 0:
        operations[n, 1], operations[n, 3] = slot, points << 16
    else:
        _put(plan, state, 0, NO_SLOT, slot, points, NO_SYMBOL, NO_SLOT)


@njit(makes_arrays=False)
def _gather(splits, i, entry, sites, state, plan):
    """Set the accumulator to what may enter behind the classes of codons in the mask `splits`.

    The last one of the operations is still to be completed. Return how many sources there are.
    """
    kinds, junctions, kind = sites.introns.kinds, sites.junctions, sites.acceptors[2][entry]
    found, score = 0, np.int64(sites.acceptors[1][entry])
    _put(plan, state, FRESH, NO_SLOT, NO_SOURCE, 0, NO_SYMBOL, NO_SLOT)
    for split in range(SPLITS):
        for k in range(len(kinds)):
            if splits >> split & 1 != 0 and kinds[k] == kind:
                _add_source(BEFORE + k * SPLITS + split, score, found, plan, state)
                found += 1
    past = first_from(junctions.acceptors, i + 1)
    for k in range(first_from(junctions.acceptors, i), past):
        number, points = junctions.kept[k], score - junctions.penalties[k]
        for frame in range(FRAMES):
            if splits >> _split_before(sites.codes, np.int64(junctions.donors[number]), frame) & 1:
                _add_source(sites.slots[number] + frame, points, found, plan, state)
                found += 1
    return found


@njit(makes_arrays=False)
def _join(codes, i, bases, state, plan):
    """Complete the operations of a row that joins behind a codon that an intron splits."""
    at = i + FRAMES - bases
    to, place = JOINING + at % JOINS, WAITS_AT + at % JOINS
    plan.operations[state[WRITTEN] - 1, 0] ^= NO_SYMBOL ^ codes[i]
    if at == i + 2:
        _put(plan, state, 0, NO_SLOT, NO_SOURCE, 0, codes[i + 1], NO_SLOT)
    if state[place] != 0:
        _put(plan, state, 0, to, NO_SOURCE, 0, NO_SYMBOL, NO_SLOT)
    plan.operations[state[WRITTEN] - 1, 0] ^= (NO_SLOT ^ to) << TO_AT
    state[place] = 1


@inlined
def _enter(sites, i, entry, events, state, plan):
    """Make the rows of an entry, behind whole codons and split ones; return the events with it."""
    codes, copy = sites.codes, FIRST_STORED + FRAMES * (len(sites.donors[0]) + entry)
    for bases in range(FRAMES):
        splits = 0
        for split in range(_FIRST_SPLIT[bases], _FIRST_SPLIT[bases + 1]):
            splits |= (1 if completes(codes, plan.stops, split, i) else 0) << split
        found = _gather(splits, i, entry, sites, state, plan)
        plan.operations[state[WRITTEN] - 1, 2] = copy + bases
        if bases == 0:
            plan.operations[state[WRITTEN] - 1, 0] ^= (NO_SLOT ^ (ENTERED + i % FRAMES)) << TO_AT
        elif found > 0:
            _join(codes, i, bases, state, plan)
    return events | ENTER


@inlined
def _close(sites, i, begins, events, state, plan):
    """Write the events of a boundary; behind a step's last one tell where its operations end."""
    plan.words[i // FRAMES] |= events << (EVENTS_AT + EVENT_BITS * (i % FRAMES))
    if i % FRAMES == FRAMES - 1 and state[WRITTEN] > state[MARKED]:
        plan.words[i // FRAMES] |= HAS_OPERATIONS
        plan.operations[state[WRITTEN] - 1, 0] |= LAST
        state[MARKED] = state[WRITTEN]


_compile_plan = plan_compiler(
    partial(inlined, error_model="numpy"),
    PlanForm(_open, _keep, _take, _raise_maximum, _leave, _enter, _close),
    together=FRAMES, later=1, behind=FRAMES,
)  # fmt: skip
