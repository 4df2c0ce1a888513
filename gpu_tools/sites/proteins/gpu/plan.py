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

from typing import NamedTuple

import numpy as np
from numba import cuda, int32, int64
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import kernel, permute, store4
from gpu_tools.model.scoring import TGA_CODON, ProteinScoring
from gpu_tools.model.sequences import encode_protein
from gpu_tools.sites import introns
from gpu_tools.sites.gpu.codon_rows import LOW_TWICE
from gpu_tools.sites.gpu.strand_lists import (
    LENGTH,
    N_CLASSES,
    N_KEPT,
    OWN,
    first_from,
    lists_on_gpu,
    three_lists,
)
from gpu_tools.sites.introns import Rising
from gpu_tools.sites.table import JunctionArrays

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
WAITS_AT, STATE_SIZE = 1 + MOST_CLASSES, 1 + MOST_CLASSES + WAITS
"""Of a thread's numbers, how many exits there were, then how many each class has taken, which rows
wait, by boundary modulo `WAITS`."""


# Plans are compiled on the GPU, a chunk of boundaries a thread: first to count operations.


N_NEAR, N_FAR, SYMBOLS, PLACES, ROWS, CHUNKS, STRAND_NUMBERS = range(OWN, OWN + 7)
"""Numbers of a strand behind those of `strand_lists`: how many near and far rows there are; its
symbols; whether what is entered has the points of introns at their places; where its boundaries
begin, and its first chunk.
"""


class ProteinLists(NamedTuple):
    """The sites of a strand in kernels; see `gpu_tools.sites.cpu.memory.SiteLists`.

    `slots` are the first ones of donors of junctions. Classes of a kind whose penalties rise alike
    have their near rows, and so their far rows, in common: `near_of` are those of each class, and
    `near_kinds` their kinds. What `rising` says of classes it says of near rows.
    """

    codes: NDArray[np.uint8]
    first: tuple[int, NDArray, NDArray]
    acceptors: tuple[NDArray, NDArray, NDArray]
    donors: tuple[NDArray, NDArray, NDArray]
    last: tuple[int, NDArray, NDArray]
    kinds: NDArray
    lengths: NDArray
    penalties: NDArray
    rising: Rising
    junctions: JunctionArrays
    slots: NDArray
    near_of: NDArray
    near_kinds: NDArray


def words_of(scoring: ProteinScoring) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return rows of profiles by codon, and which codons are stop codons."""
    compact = np.zeros(TGA_CODON + 1, np.uint8)
    numbers = scoring.codon_numbers
    compact[numbers] = np.arange(len(numbers))
    stops = np.isin(scoring.codons, (encode_protein(b"*")[0], TGA_CODON))
    return compact[scoring.codons], stops.astype(np.uint8)


@cuda.jit(device=True)
def _protein_lists(strand, sites, codes, classes, counts):
    """Return the lists of a strand, given its row of the table."""
    own, at = lists_on_gpu(strand, sites, codes, classes, counts)
    slots, at = sites[at : at + strand[N_KEPT]], at + strand[N_KEPT]
    near_of, at = sites[at : at + strand[N_CLASSES]], at + strand[N_CLASSES]
    near_kinds, at = sites[at : at + strand[N_NEAR]], at + strand[N_NEAR]
    near, at = sites[at : at + strand[N_NEAR]], at + strand[N_NEAR]
    (far_class, far_level, far_extra), _ = three_lists(sites, at, strand[N_FAR])
    rows, marks, levels, _, _, _ = own.introns
    return ProteinLists(
        own.codes, own.first, own.acceptors, own.donors, own.last,
        rows[:, introns.KIND], rows[:, introns.LENGTH], rows[:, introns.PENALTY],
        Rising(marks, levels, near, far_class, far_level, far_extra), own.junctions, slots,
        near_of, near_kinds,
    )  # fmt: skip


_next_border = cuda.jit(device=True)(introns.next_border)
_is_border = cuda.jit(device=True)(introns.is_border)
_crossed = cuda.jit(device=True)(introns.crossed)


@cuda.jit(device=True)
def _put(operations, n, kind, to, source, what, bonus):
    """Append an operation, if there is space for it; return how many there are."""
    if 4 * n < len(operations):
        added = permute(int32(bonus), int32(bonus), int32(LOW_TWICE))
        words = int32(kind | to << TO_AT), int32(source), int32(what), added
        store4(operations, int64(4 * n), words)
    return int64(n + 1)


@cuda.jit(device=True)
def _take_exits(lists, codons, symbols, reach, state, operations, n):
    """Raise the maxima before entries to the exits that an intron up to `reach` may follow.

    `state` says how many exits there are so far, then how many each class has taken.
    """
    codes, splits = lists.codes, 1 + 2 * symbols
    boundaries, scores, exit_kinds = lists.donors
    for k in range(len(lists.kinds)):
        to = BEFORE + lists.near_of[k] * splits
        while state[1 + k] < state[0]:
            exit = state[1 + k]
            boundary = int64(boundaries[exit])
            if boundary + lists.lengths[k] > reach:
                break
            state[1 + k] += 1
            if exit_kinds[exit] != lists.kinds[k]:
                continue
            what = int64(codes[boundary - 1]) if boundary >= 1 else int64(NO_SYMBOL)
            if boundary >= 2:
                for last in range(symbols):
                    codon = int64(codons[codes[boundary - 2], codes[boundary - 1], last])
                    what |= codon << (SYMBOL_BITS + CODON_BITS * last)
            else:
                what |= NO_CODONS
            bonus = int64(scores[exit]) - lists.penalties[k]
            n = _put(operations, n, TAKE, to, exit, what, bonus)
    return n


@cuda.jit(device=True)
def _wait(lists, codons, symbols, placed, boundary, near, bonus, state, operations, n):
    """Let exons that begin with the rest of a split codon wait for its end, behind near rows."""
    codes, place = lists.codes, (boundary + 1) % WAITS
    left, what, kind = len(codes) - boundary, int64(NO_SYMBOL | NO_CODONS), int64(WAIT)
    kind |= FRESH if state[WAITS_AT + place] == 0 else 0
    kind |= FRESH_NEXT if state[WAITS_AT + (place + 1) % WAITS] == 0 else 0
    kind |= PLACED if placed else 0
    if left >= 1:
        what = int64(codes[boundary]) | NO_CODONS
        state[WAITS_AT + place] = 1
    if left >= 2:
        what = int64(codes[boundary])
        for one in range(symbols):
            codon = int64(codons[one, codes[boundary], codes[boundary + 1]])
            what |= codon << (SYMBOL_BITS + CODON_BITS * one)
        state[WAITS_AT + (place + 1) % WAITS] = 1
    source = BEFORE + near * (1 + 2 * symbols)
    return _put(operations, n, kind, WAITING + place, source, what, bonus)


@cuda.jit(device=True)
def _enter(lists, codons, symbols, placed, acceptor, state, operations, n):
    """Write the operations of an entry; return how many there are, and its operand, -1 for none."""
    boundaries, scores, entry_kinds = lists.acceptors
    boundary, bonus = int64(boundaries[acceptor]), int64(scores[acceptor])
    found, operand, first = int64(0), int64(-1), int64(0)
    maxima, joined = len(lists.near_kinds) + len(lists.rising.far_class), lists.junctions.acceptors
    entered = int64(BEFORE + maxima * (1 + 2 * symbols))
    k, past = first_from(joined, boundary), first_from(joined, boundary + 1)
    alone = not placed and k == past
    for near in range(len(lists.near_kinds)):
        if lists.near_kinds[near] != entry_kinds[acceptor]:
            continue
        n = _wait(lists, codons, symbols, placed, boundary, near, bonus, state, operations, n)
        source = int64(BEFORE + near * (1 + 2 * symbols))
        if alone and found == 0:
            operand, first = bonus << OPERAND_SLOT_BITS | source, source
        else:
            if alone and found == 1:
                n = _put(operations, n, PLAIN | FRESH, entered, first, 1, bonus)
            kind = PLAIN | (PLACED if placed else 0) | (FRESH if found == 0 else 0)
            n, operand = _put(operations, n, kind, entered, source, 1, bonus), entered
        found += 1
    while k < past:
        n = _through_junction(
            lists, codons, placed, k, bonus, entered, found == 0, state, operations, n
        )
        operand, found, k = entered, found + 1, k + 1
    return n, operand, found


@cuda.jit(device=True)
def _through_junction(lists, codons, placed, k, bonus, entered, first, state, operations, n):
    """Write the operations of an entry through an intron with a penalty of its own.

    `first` is whether the slot `entered` has nothing that is entered there.
    """
    codes, junctions = lists.codes, lists.junctions
    number, boundary = junctions.kept[k], int64(junctions.acceptors[k])
    donor, left = int64(junctions.donors[number]), len(codes) - boundary
    own, slot = PLACED if placed else 0, int64(lists.slots[number])
    bonus += int64(lists.donors[1][first_from(lists.donors[0], donor)]) - junctions.penalties[k]
    kind = PLAIN | own | (FRESH if first else 0)
    n = _put(operations, n, kind, entered, slot, 1, bonus)
    for phase in range(1, FRAMES):
        if donor < phase or left < FRAMES - phase:
            continue
        if phase == 1:
            codon = int64(codons[codes[donor - 1], codes[boundary], codes[boundary + 1]])
        else:
            codon = int64(codons[codes[donor - 2], codes[donor - 1], codes[boundary]])
        place = (boundary + FRAMES - phase) % WAITS
        kind = JUNCTION | own | (FRESH if state[WAITS_AT + place] == 0 else 0)
        what = codon | phase << CODON_BITS
        n = _put(operations, n, kind, WAITING + place, slot + phase, what, bonus)
        state[WAITS_AT + place] = 1
    return n


@cuda.jit(device=True)
def _cross_border(rising, boundary, splits, operations, n):
    """Write the operations of a border, see `gpu_tools.sites.introns`."""
    classes, mark = len(rising.near_level), first_from(rising.boundaries, boundary)
    for k in range(classes):
        if not _is_border(rising, k, mark):
            continue
        near = BEFORE + k * splits
        for f in range(len(rising.far_class)):
            if rising.far_class[f] == k:
                far = BEFORE + (classes + f) * splits
                n = _put(operations, n, PLAIN, far, near, splits, -rising.far_extra[f])
                if _crossed(rising, rising.far_level[f], mark, mark + 1) > 0:
                    n = _put(operations, n, PLAIN | FRESH, far, far, splits, -1)
        n = _put(operations, n, PLAIN | FRESH, near, near, splits, -1)
        for f in range(len(rising.far_class)):
            if rising.far_class[f] == k:
                far = BEFORE + (classes + f) * splits
                n = _put(operations, n, PLAIN, near, far, splits, 0)
    return n


@cuda.jit(device=True)
def _begin(lists, boundary, state):
    """Set what is known in front of a boundary, but for rows that wait."""
    donors, borders = lists.donors[0], lists.rising.boundaries
    state[0], reach = first_from(donors, boundary), int64(-1)
    acceptor, border = first_from(lists.acceptors[0], boundary), first_from(borders, boundary)
    if state[0] > 0:
        reach = int64(donors[state[0] - 1])
    if acceptor > 0:
        reach = max(reach, int64(lists.acceptors[0][acceptor - 1]))
    if border > 0:
        reach = max(reach, int64(borders[border - 1]) - 1)
    for k in range(len(lists.kinds)):
        state[1 + k] = first_from(donors, reach - lists.lengths[k] + 1)
    for k in range(WAITS):
        state[WAITS_AT + k] = 0


@cuda.jit(device=True)
def _at(boundaries, k):
    """Return a listed boundary, -1 if there is none."""
    return int64(boundaries[k]) if k < len(boundaries) else int64(-1)


@cuda.jit(device=True)
def _write(lists, tables, symbols, placed, span, state, boundaries, operations):
    """Write the boundaries of a span, and their operations; return how many of the latter.

    Two boundaries before the span tell which rows wait; of these nothing is written.
    """
    (codons, stops), (low, past), codes = tables, span, lists.codes
    usual, firsts, first_scores = lists.first
    last_usual, lasts, last_scores = lists.last
    begin, n = max(low - 2, 0), int64(0)
    _begin(lists, begin, state)
    first, last = int64(first_from(firsts, begin - FRAMES)), int64(first_from(lasts, begin))
    acceptor = int64(first_from(lists.acceptors[0], begin))
    keep = int64(first_from(lists.junctions.donors, begin - 1))
    border, own = int64(_next_border(lists.rising, begin)), operations[:0]
    for i in range(begin, past):
        if i == low:
            n, own = int64(0), operations
        before, word, final, begins, entered = n, int64(0), int64(0), int64(usual), int64(0)
        if i == 0:
            word = int64(SPECIAL)
        if FRAMES <= i <= len(codes):
            word |= codons[codes[i - 3], codes[i - 2], codes[i - 1]]
            word |= STOP if stops[codes[i - 3], codes[i - 2], codes[i - 1]] else 0
        if i <= len(codes) and i - 1 == _at(lists.junctions.donors, keep) and i > 0:
            slot = int64(lists.slots[keep])
            n, keep = _put(own, n, JUNCTION, slot, state[0] - 1, KEEP, 0), keep + 1
        if i == border:
            n = _take_exits(lists, codons, symbols, i - 1, state, own, n)
            n = _cross_border(lists.rising, i, 1 + 2 * symbols, own, n)
            border = int64(_next_border(lists.rising, i + 1))
        leaves = i == _at(lists.donors[0], state[0])
        enters = i == _at(lists.acceptors[0], acceptor)
        if leaves or enters:
            n = _take_exits(lists, codons, symbols, i, state, own, n)
        if state[WAITS_AT + i % WAITS] > 0:
            word |= SPECIAL | JOIN
            state[WAITS_AT + i % WAITS] = 0
        if i == _at(lasts, last):
            word |= SPECIAL
            # no cell of the first boundary is an end's
            final, last = int64(last_scores[last]) - last_usual if i else int64(0), last + 1
        if leaves:
            word |= SPECIAL | EXIT | int64(lists.donors[1][state[0]]) << EXIT_SCORE_BITS
            state[0] += 1
        if FRAMES <= i <= len(codes) and i - FRAMES == _at(firsts, first):
            word |= STARTED
            begins, first = int64(first_scores[first]) << 16 | usual & 0xFFFF, first + 1
        if enters:
            n, operand, found = _enter(lists, codons, symbols, placed, acceptor, state, own, n)
            acceptor += 1
            if found > 0:
                word |= SPECIAL | ENTER | (ENTER_PLACED if placed else 0)
                entered = operand
        if n > before:
            word |= HAS_OPERATIONS
            if 4 * n <= len(own):
                own[4 * (n - 1)] |= LAST
        if i >= low:
            end, both = int32(final), int32(begins)
            if word & STARTED == 0:
                both = permute(both, both, int32(LOW_TWICE))
            end = permute(end, end, int32(LOW_TWICE))
            store4(boundaries, int64(4 * i), (int32(word), end, both, int32(entered)))
    return n


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
    lists = _protein_lists(strand, sites, codes, classes, counts)
    first = (chunk - strand[CHUNKS]) * CHUNK
    span = first, min(first + CHUNK, strand[LENGTH] + 1 + ROWS_AHEAD)
    to = operations[:0]
    if writes:
        to = operations[4 * numbers[chunk] : 4 * numbers[chunk + 1]]
    n = _write(
        lists, (codons, stops), strand[SYMBOLS], strand[PLACES] != 0, span, state,
        boundaries[strand[ROWS] :], to,
    )  # fmt: skip
    if not writes:
        numbers[chunk] = n
