"""Plans for the packed kernel of proteins: what happens at each boundary of a strand.

All lanes of a warp work at one boundary, so that the plan decides for all of them. What
concerns rows in slots alone is done by *operations* in front of the boundary: exits that lie far
enough behind are taken, penalties rise at borders, and rows are made that wait for the end of a
split codon. Then comes the row, which a slot joins: the rows that wait for this boundary, or where
nothing else happens the chains that begin here. Then come its *events*.

A boundary has four words: what there is to do; in both halves what the end of a chain has more than
usual; what a chain that begins has, in the upper half with the codon that ends here if the word has
`STARTED`; then the slot that is entered, and in the upper half the points of that.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import kernel, permute, store4
from gpu_tools.model.scoring import TGA_CODON, ProteinScoring
from gpu_tools.model.sequences import encode_protein
from gpu_tools.sites.gpu.codon_rows import LOW_TWICE
from gpu_tools.sites.gpu.plan import (
    MARKED,
    TAKEN_AT,
    WAITS_AT,
    WRITTEN,
    IntronMaxima,
    PlanForm,
    Sites,
    plan_compiler,
)
from gpu_tools.sites.gpu.strand_lists import (
    LENGTH,
    N_CLASSES,
    N_KEPT,
    OWN,
    first_from,
    lists_on_gpu,
    three_lists,
)
from gpu_tools.sites.introns import KIND, PENALTY, Rising
from gpu_tools.sites.introns import LENGTH as INTRON

FRAMES = 3
STOP, SPECIAL, JOIN, EXIT, ENTER, HAS_OPERATIONS, STARTED, ENTER_PLACED = (
    1 << k for k in range(5, 13)
)
"""Flags of a boundary's word, above the number of its codon: a stop codon ends here; something
happens; rows that wait join; an exon is left; one is entered; there are operations; the first codon
of a chain, which has points, may end here; what is entered has the points of introns at their
places. Where the end of a chain has other points than usual something happens, too.
"""
CODON_MASK, EXIT_SCORE_BITS = 31, 16
START, WAITING, WAITS = 0, 1, 4
LARGEST = WAITING + WAITS
BEFORE = LARGEST + 1
"""Slots: of chains that begin; of rows that wait, by boundary modulo `WAITS`; of the largest rows
of exits since the checkpoint before; of the maxima before entries, as in `ProteinState`, without
rows for symbols that the strand lacks; of what is entered where several classes may be; and of
donors of junctions.
"""
PLAIN, TAKE, WAIT, JUNCTION = range(4)
KIND_MASK, LAST, FRESH, FRESH_NEXT, PLACED, TO_AT = 3, 4, 8, 16, 32, 6
"""An operation's first word. `PLAIN` raises slots from `to` on to as many others, from a source on,
plus a bonus; `FRESH` raises the lowest row instead of these slots. With `PLACED` what is entered
has the points of introns at their places in the target, too. `LAST` is the last operation
before a boundary. The second word is the source, the third one how many slots there are, the fourth
one the bonus, in both halves.

`TAKE` raises the near rows of an intron class, from slot `to` on, to the rows of an exit, the
source.
The third word has the nucleotide before the exit, `NO_SYMBOL` for none, and above that the codons
of the nucleotides that may end a codon split behind two, `NO_CODONS` if there is none.

`WAIT` lets an exon's first nucleotides wait for the end of the split codon. The source is the first
slot of near rows; slot `to` is raised to rows that wait for the next boundary, and the slot
behind it, modulo `WAITS`, to those that wait for the second one. The third word has the nucleotide
behind the entry, and the codons by the nucleotide before the intron; `NO_SYMBOL` and `NO_CODONS`
where the strand ends. `FRESH` and `FRESH_NEXT` are for these two slots.

`JUNCTION` is of an intron that has a penalty of its own. With `KEEP` as the third word slots from
`to` on become the rows of an exit, the source, one a phase. Otherwise slot `to` is raised to rows
that wait for the end of a split codon, the source with a codon behind it, which the third word has,
and above that the phase.
"""
KEEP = -1
NO_SYMBOL, SYMBOL_BITS, NO_CODONS = 7, 3, 1 << 30
CODON_BITS = 5
OPERAND_SLOT_BITS = 16
ROWS_AHEAD = 100
"""Boundaries that the kernel may read behind the last one."""
CHUNK = 16 if simulated() else 128
"""Boundaries of which a thread writes the plan."""
MOST_CLASSES = 16
"""Classes of introns that a plan has, at most."""
STATE_SIZE = TAKEN_AT + MOST_CLASSES


# Plans are compiled on the GPU, a chunk of boundaries a thread: first to count operations.


N_NEAR, N_FAR, SYMBOLS, PLACES, ROWS, CHUNKS = range(OWN, OWN + 6)
"""Numbers of a strand behind those of `strand_lists`: how many near and far rows there are; its
symbols; whether what is entered has the points of introns at their places; where its boundaries
begin, and its first chunk.
"""


def words_of(scoring: ProteinScoring) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return rows of profiles by codon, and which codons are stop codons."""
    compact = np.zeros(TGA_CODON + 1, np.uint8)
    numbers = scoring.codon_numbers
    compact[numbers] = np.arange(len(numbers))
    stops = np.isin(scoring.codons, (encode_protein(b"*")[0], TGA_CODON))
    return compact[scoring.codons], stops.astype(np.uint8)


@cuda.jit(device=True)
def _protein_sites(strand, sites, codes, classes, counts):
    """Return the sites of a strand, given its row of the table."""
    own, at = lists_on_gpu(strand, sites, codes, classes, counts)
    slots, at = sites[at : at + strand[N_KEPT]], at + strand[N_KEPT]
    near_of, at = sites[at : at + strand[N_CLASSES]], at + strand[N_CLASSES]
    near_kinds, at = sites[at : at + strand[N_NEAR]], at + strand[N_NEAR]
    near, at = sites[at : at + strand[N_NEAR]], at + strand[N_NEAR]
    (far_class, far_level, far_extra), _ = three_lists(sites, at, strand[N_FAR])
    rows, marks, levels, _, _, _ = own.introns
    return Sites(
        own.codes, own.first, own.acceptors, own.donors, own.last,
        IntronMaxima(rows[:, KIND], rows[:, INTRON], rows[:, PENALTY], near_of, near_kinds),
        Rising(marks, levels, near, far_class, far_level, far_extra), own.junctions, slots,
    )  # fmt: skip


# How the compiler writes this plan. A plan is codons and stop codons by nucleotides, the symbols
# that a strand has, whether introns have points at their places, and what is written: boundaries
# and operations. There is no space for operations when these are counted, and for neither in front
# of a chunk.


@cuda.jit(device=True)
def _put(plan, state, kind, to, source, what, bonus):
    """Append an operation, if there is space for it."""
    (_, _, _, _, _, operations), n = plan, state[WRITTEN]
    if 4 * n < len(operations):
        added = permute(int32(bonus), int32(bonus), int32(LOW_TWICE))
        words = int32(kind | to << TO_AT), int32(source), int32(what), added
        store4(operations, int64(4 * n), words)
    state[WRITTEN] = n + 1


@cuda.jit(device=True)
def _none_wait(state, boundary):
    """Return whether no rows wait for a boundary; from now on some do."""
    place = WAITS_AT + boundary % WAITS
    before = state[place]
    state[place] = 1
    return before == 0


@cuda.jit(device=True)
def _open(sites, i, final, begins, is_busy, state, plan):
    """Return the words of a boundary but for what depends on sites there, and nothing entered."""
    codes, (codons, stops, _, _, _, _), word = sites.codes, plan, int64(0 if i else SPECIAL)
    if FRAMES <= i <= len(codes):
        one, two, three = codes[i - 3], codes[i - 2], codes[i - 1]
        word |= codons[one, two, three]
        word |= STOP if stops[one, two, three] else 0
        word |= STARTED if begins != sites.first[0] else 0
    if state[WAITS_AT + i % WAITS] > 0:
        word |= SPECIAL | JOIN
        state[WAITS_AT + i % WAITS] = 0
    word |= SPECIAL if final != sites.last[0] else 0
    # no cell of the first boundary is an end's
    return word, int64(final - sites.last[0] if i else 0), int64(0)


@cuda.jit(device=True)
def _keep(sites, k, exit, state, plan):
    """Keep the rows of an exit."""
    _put(plan, state, JUNCTION, int64(sites.slots[k]), exit, KEEP, 0)


@cuda.jit(device=True)
def _take(sites, k, exit, state, plan):
    """Raise the near rows of class `k` to an exit."""
    codes, (codons, _, symbols, _, _, _), (boundaries, scores, _) = sites.codes, plan, sites.donors
    boundary = int64(boundaries[exit])
    what = int64(codes[boundary - 1]) if boundary >= 1 else int64(NO_SYMBOL)
    if boundary >= 2:
        for last in range(symbols):
            codon = int64(codons[codes[boundary - 2], codes[boundary - 1], last])
            what |= codon << (SYMBOL_BITS + CODON_BITS * last)
    else:
        what |= NO_CODONS
    to = BEFORE + sites.introns.number[k] * (1 + 2 * symbols)
    _put(plan, state, TAKE, to, exit, what, int64(scores[exit]) - sites.introns.penalties[k])


@cuda.jit(device=True)
def _raise_maximum(sites, to, source, bonus, is_fresh, state, plan):
    """Raise the rows of a maximum to those of another one."""
    splits, kind = 1 + 2 * plan[2], int64(PLAIN | FRESH if is_fresh else PLAIN)
    _put(plan, state, kind, BEFORE + to * splits, BEFORE + source * splits, splits, bonus)


@cuda.jit(device=True)
def _leave(sites, i, exit, known, state, plan):
    """Return the words of a boundary with an exit."""
    word, final, entered = known
    return word | SPECIAL | EXIT | int64(sites.donors[1][exit]) << EXIT_SCORE_BITS, final, entered


@cuda.jit(device=True)
def _wait(sites, i, near, bonus, state, plan):
    """Let exons that begin with the rest of a split codon wait for its end, behind near rows."""
    (codons, _, symbols, placed, _, _), codes = plan, sites.codes
    left, what = len(codes) - i, int64(NO_SYMBOL | NO_CODONS)
    kind = int64(WAIT | PLACED if placed else WAIT)
    if left >= 1:
        what = int64(codes[i]) | NO_CODONS
        kind |= FRESH if _none_wait(state, i + 1) else 0
    if left >= 2:
        what = int64(codes[i])
        kind |= FRESH_NEXT if _none_wait(state, i + 2) else 0
        for one in range(symbols):
            codon = int64(codons[one, codes[i], codes[i + 1]])
            what |= codon << (SYMBOL_BITS + CODON_BITS * one)
    source = BEFORE + near * (1 + 2 * symbols)
    _put(plan, state, kind, WAITING + (i + 1) % WAITS, source, what, bonus)


@cuda.jit(device=True)
def _through_junction(sites, k, bonus, entered, found, state, plan):
    """Write the operations of an entry through an intron with a penalty of its own.

    `found` says how many others there are whose rows the slot `entered` has.
    """
    (codons, _, _, placed, _, _), codes, junctions = plan, sites.codes, sites.junctions
    number, i = junctions.kept[k], int64(junctions.acceptors[k])
    donor, left = int64(junctions.donors[number]), len(codes) - i
    own, slot = int64(PLACED if placed else 0), int64(sites.slots[number])
    bonus += int64(sites.donors[1][first_from(sites.donors[0], donor)]) - junctions.penalties[k]
    _put(plan, state, PLAIN | own | (FRESH if found == 0 else 0), entered, slot, 1, bonus)
    for phase in range(1, FRAMES):
        if donor < phase or left < FRAMES - phase:
            continue
        if phase == 1:
            codon = int64(codons[codes[donor - 1], codes[i], codes[i + 1]])
        else:
            codon = int64(codons[codes[donor - 2], codes[donor - 1], codes[i]])
        joins = i + FRAMES - phase
        kind = JUNCTION | own | (FRESH if _none_wait(state, joins) else 0)
        what = codon | phase << CODON_BITS
        _put(plan, state, kind, WAITING + joins % WAITS, slot + phase, what, bonus)


@cuda.jit(device=True)
def _enter(sites, i, entry, known, state, plan):
    """Write the operations of an entry; return the words of the boundary with it, if it is one."""
    (_, _, symbols, placed, _, _), (word, final, operand), found = plan, known, int64(0)
    (_, scores, entry_kinds), kinds = sites.acceptors, sites.introns.kinds
    bonus, joined = int64(scores[entry]), sites.junctions.acceptors
    splits, first = 1 + 2 * symbols, int64(0)
    entered = int64(BEFORE + (len(kinds) + len(sites.rising.far_class)) * splits)
    k, past = first_from(joined, i), first_from(joined, i + 1)
    alone = not placed and k == past
    for near in range(len(kinds)):
        if kinds[near] != entry_kinds[entry]:
            continue
        _wait(sites, i, near, bonus, state, plan)
        source = int64(BEFORE + near * splits)
        if alone and found == 0:
            operand, first = bonus << OPERAND_SLOT_BITS | source, source
        else:
            if alone and found == 1:
                _put(plan, state, PLAIN | FRESH, entered, first, 1, bonus)
            kind = PLAIN | (PLACED if placed else 0) | (FRESH if found == 0 else 0)
            _put(plan, state, kind, entered, source, 1, bonus)
            operand = entered
        found += 1
    for junction in range(k, past):
        _through_junction(sites, junction, bonus, entered, found, state, plan)
        operand, found = entered, found + 1
    if found > 0:
        word |= SPECIAL | ENTER | (ENTER_PLACED if placed else 0)
    return word, final, operand


@cuda.jit(device=True)
def _close(sites, i, begins, known, state, plan):
    """Write the words of a boundary, and tell where its operations end."""
    (word, final, entered), (_, _, _, _, boundaries, operations) = known, plan
    if state[WRITTEN] > state[MARKED]:
        word |= HAS_OPERATIONS
        if 4 * state[WRITTEN] <= len(operations):
            operations[4 * (state[WRITTEN] - 1)] |= LAST
    state[MARKED] = state[WRITTEN]
    if 4 * i < len(boundaries):
        both = int64(begins << 16 | sites.first[0] & 0xFFFF if word & STARTED else begins)
        end = permute(int32(final), int32(final), int32(LOW_TWICE))
        if word & STARTED == 0:
            both = permute(int32(both), int32(both), int32(LOW_TWICE))
        store4(boundaries, int64(4 * i), (int32(word), end, int32(both), int32(entered)))


_compile_plan = plan_compiler(
    cuda.jit(device=True),
    PlanForm(_open, _keep, _take, _raise_maximum, _leave, _enter, _close), later=1, behind=FRAMES,
)  # fmt: skip


@cuda.jit(device=True)
def _begin(sites, boundary, state):
    """Set what is known in front of a boundary, but for rows that wait."""
    donors, acceptors, borders = sites.donors[0], sites.acceptors[0], sites.rising.boundaries
    exit, entry = first_from(donors, boundary), first_from(acceptors, boundary)
    border, reach = first_from(borders, boundary), int64(-1)
    if exit > 0:
        reach = int64(donors[exit - 1])
    if entry > 0:
        reach = max(reach, int64(acceptors[entry - 1]))
    if border > 0:
        reach = max(reach, int64(borders[border - 1]) - 1)
    for k in range(len(sites.introns.lengths)):
        state[TAKEN_AT + k] = first_from(donors, reach - sites.introns.lengths[k] + 1)
    for k in range(WAITS):
        state[WAITS_AT + k] = 0


@kernel()
def plan_proteins(
    strands, sites, codes, classes, counts, codons, stops, boundaries, operations, numbers, writes
):
    """Write a chunk's boundaries, and how many operations they have, or these; a thread a chunk.

    With `writes` the operations are written, and `numbers` say where each chunk's begin.
    """
    state = cuda.local.array(STATE_SIZE, int64)
    chunk = int64(cuda.grid(1))
    if chunk >= len(numbers) - 1:
        return
    low, high = int64(0), int64(strands.shape[0])
    while low + 1 < high:
        middle = (low + high) // 2
        if strands[middle, CHUNKS] <= chunk:
            low = middle
        else:
            high = middle
    strand = strands[low]
    lists = _protein_sites(strand, sites, codes, classes, counts)
    first = (chunk - strand[CHUNKS]) * CHUNK
    low, high = max(first - 2, 0), first
    _begin(lists, low, state)
    for is_own in range(2):  # two boundaries before tell which rows wait; of these nothing is kept
        own, to = operations[:0], boundaries[:0]
        if is_own:
            low, high = first, min(first + CHUNK, strand[LENGTH] + 1 + ROWS_AHEAD)
            to = boundaries[strand[ROWS] :]
        if is_own and writes:
            own = operations[4 * numbers[chunk] : 4 * numbers[chunk + 1]]
        plan = codons, stops, strand[SYMBOLS], strand[PLACES] != 0, to, own
        state[WRITTEN] = state[MARKED] = 0
        _compile_plan(lists, low, high, state, plan)
    if not writes:
        numbers[chunk] = state[WRITTEN]
