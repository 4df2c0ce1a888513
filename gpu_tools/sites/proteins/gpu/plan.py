"""Plans for the packed kernel of proteins: what happens at each boundary of a strand.

All lanes of a warp work at one boundary, so that the plan decides for all of them. What
concerns rows in slots alone is done by *operations* in front of the boundary: exits that lie far
enough behind are taken, penalties rise at borders, and rows are made that wait for the end of a
split codon. Then comes the row, which a slot joins: the rows that wait for this boundary, or where
nothing else happens the chains that begin here. Then come its *events*.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import TGA_CODON, ProteinScoring
from gpu_tools.model.sequences import encode_protein
from gpu_tools.sites.cpu.memory import lists_of, most_pending, power_of_two
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.row_plan import kept_slots
from gpu_tools.sites.introns import RAISE, most_operations, next_border, write_border
from gpu_tools.sites.table import SiteTable

FRAMES = 3
STOP, SPECIAL, JOIN, FINAL, EXIT, ENTER, HAS_OPERATIONS, CLOSED, STARTED, ENTER_PLACED = (
    1 << k for k in range(5, 15)
)
"""Flags of a boundary's word, above the number of its codon: a stop codon ends here; something
happens; rows that wait join; the end of a chain has other points than usual; an exon is left; one
is entered; there are operations; no chain ends here; the first codon of a chain, which has points,
may end here; what is entered has the points of introns at their places.
"""
CODON_MASK, EXIT_SCORE_BITS = 31, 16
START, WAITING, WAITS = 0, 1, 4
BEFORE = WAITING + WAITS
"""Slots: of chains that begin; of rows that wait, by boundary modulo `WAITS`; of the maxima before
entries, as in `ProteinState`, without rows for symbols that the strand lacks; of what is entered
where several classes may be; of donors of junctions; and of the largest rows of exits.
"""
PLAIN, TAKE, WAIT, JUNCTION = range(4)
KIND_MASK, LAST, FRESH, FRESH_NEXT, PLACED, TO_AT = 3, 4, 8, 16, 32, 6
"""An operation's first word. `PLAIN` raises slots from `to` on to as many others, from a source on,
plus a bonus; `FRESH` raises the lowest row instead of these slots. With `PLACED` what is entered
has the points of introns at their places in the target, too. `LAST` is the last operation
before a boundary. The second word is the source, the third one how many slots there are, the fourth
one the bonus, in both halves.

`TAKE` raises the maxima of an intron class, from slot `to` on, to the rows of an exit, the source.
The third word has the nucleotide before the exit, `NO_SYMBOL` for none, and above that the codons
of the nucleotides that may end a codon split behind two, `NO_CODONS` if there is none.

`WAIT` lets an exon's first nucleotides wait for the end of the split codon. The source is the first
slot of the intron class; slot `to` is raised to rows that wait for the next boundary, and the slot
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
AHEAD = 100
"""Boundaries that the kernel may read behind the last one."""
ROWS_BEFORE_SLOTS = 2 + 2 * FRAMES
"""Rows of a checkpoint before those in slots."""
CHECKPOINTS_OF_STRAND, _BYTES_OF_CHECKPOINTS = 512, 1 << 24
"""Checkpoints of a strand, and the bytes of all those of a strip of columns, about, at most."""


class ProteinPlan(NamedTuple):
    """What happens along a strand.

    Attributes
    ----------
    boundaries : ndarray of int32, shape (B, 4)
        A row a boundary, and `AHEAD` more. A boundary's word; in both halves what the end of a
        chain has more than usual; what a chain that begins has, in the upper half with the codon
        that ends here if the word has `STARTED`; then the slot that is entered, and in the upper
        half the points of that.
    operations : ndarray of int32, shape (n, 4)
    """

    boundaries: NDArray[np.int32]
    operations: NDArray[np.int32]


class ProteinStrand:
    """A strand and its sites, for all proteins that are aligned to it.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        In reading direction.
    table : SiteTable
    scoring : ProteinScoring
    block : int
        Boundaries of a block that a traceback computes again; a multiple of three and of `WARP`.
    placed : bool
        Whether some protein has introns, see `ProteinSequence`.
    checkpoints : int
        At most so many.
    """

    def __init__(
        self, codes: NDArray[np.uint8], table: SiteTable, scoring: ProteinScoring, block: int,
        placed: bool = False, checkpoints: int = CHECKPOINTS_OF_STRAND,
    ):  # fmt: skip
        self.codes, self.table, self.scoring, self.block = codes, table, scoring, block
        self.placed, self._checkpoints = placed, checkpoints
        self.lists = lists_of(codes, table)
        self.symbols = max(int(codes.max(initial=0)) + 1, 4)
        self.ring = power_of_two(most_pending(table) + 1)
        self.kept, self._past_kept = kept_slots(self.lists.junctions, self._entered + 1, FRAMES)

    @cached_property
    def every(self) -> int:
        """Boundaries between two checkpoints, whole blocks: one if memory allows it."""
        fit = _BYTES_OF_CHECKPOINTS // (4 * WIDE * WARP * self.rows_of_checkpoint)
        most = max(min(fit, self._checkpoints), 1)
        return self.block * -(-(len(self.codes) + 1) // (most * self.block))

    @cached_property
    def rows_of_checkpoint(self) -> int:
        """Rows of a checkpoint, see `gpu_tools.sites.proteins.gpu.step.make_save`."""
        return ROWS_BEFORE_SLOTS + self.n_slots + FRAMES * self.ring

    @property
    def splits(self) -> int:
        """Rows of an intron class."""
        return 1 + 2 * self.symbols

    @cached_property
    def n_maxima(self) -> int:
        """Rows of all classes and lines."""
        rising = self.lists.rising
        return (len(self.lists.kinds) + len(rising.far_class)) * self.splits

    @cached_property
    def n_slots(self) -> int:
        """Slots of a strip; the last one is for the largest rows of exits since a checkpoint."""
        return self._past_kept + 1

    @property
    def _entered(self) -> int:
        """The slot of what is entered where several classes may be."""
        return BEFORE + self.n_maxima

    @cached_property
    def possible(self) -> bool:
        """Whether the kernel takes the strand: no intron is without nucleotides."""
        return bool((self.lists.lengths > 0).all())

    @cached_property
    def plan_bytes(self) -> int:
        """Bytes of the plan, at most; known before it is compiled."""
        rows = len(self.codes) + 1 + AHEAD
        return 4 * 4 * (rows + _most_operations(self.lists))

    @cached_property
    def plan(self) -> ProteinPlan:
        """The compiled plan."""
        compact = np.zeros(TGA_CODON + 1, np.int64)
        numbers = self.scoring.codon_numbers
        compact[numbers] = np.arange(len(numbers))
        stop = encode_protein(b"*")[0]
        stops = np.isin(self.scoring.codons, (stop, TGA_CODON))
        codons = compact[self.scoring.codons]
        return ProteinPlan(
            *_compiled(self.lists, codons, stops, self.symbols, self.placed, self.kept)
        )


@njit(cache=True, nogil=True, error_model="numpy")
def _compiled(lists, codons, stops, symbols, placed, kept):
    """Return boundaries and operations."""
    boundaries = np.zeros((len(lists.codes) + 1 + AHEAD, 4), np.int32)
    plain = np.empty((most_operations(lists.rising) + 1, 4), np.int64)
    operations = np.empty((_most_operations(lists), 4), np.int32)
    counts, waits = np.zeros(1 + len(lists.kinds), np.int64), np.zeros(WAITS, np.bool_)
    n = _write(
        lists, codons, stops, symbols, placed, kept, boundaries, operations, plain, counts, waits,
    )  # fmt: skip
    return boundaries, operations[:n].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def _most_operations(lists):
    """Return more than how many operations a strand has."""
    rising, classes, rows = lists.rising, len(lists.kinds), len(lists.codes) + 1
    borders, border = 0, next_border(rising, 0)
    while border < rows:
        borders, border = borders + 1, next_border(rising, border + 1)
    most = (len(lists.donors[0]) + 3 * len(lists.acceptors[0])) * classes
    most += len(lists.junctions.donors) + 4 * len(lists.junctions.acceptors)
    return most + borders * (most_operations(rising) + 1) + 1


@njit(inline="always")
def _put(operations, n, kind, to, source, bonus):
    """Append an operation; return how many there are."""
    operations[n, 0], operations[n, 1], operations[n, 2] = kind | to << TO_AT, source, 1
    operations[n, 3] = _twice(bonus)
    return n + 1


@njit(inline="always")
def _twice(value):
    """Return a 16-bit value in both halves of a word."""
    low = np.int64(value) & 0xFFFF
    return np.int32(low | low << 16)


@njit(makes_arrays=False)
def _take_exits(lists, codons, symbols, reach, counts, operations, n):
    """Raise the maxima before entries to the exits that an intron up to `reach` may follow.

    `counts` says how many exits there are so far, then how many each class has taken.
    """
    codes, splits = lists.codes, 1 + 2 * symbols
    boundaries, scores, exit_kinds = lists.donors
    for k in range(len(lists.kinds)):
        to = BEFORE + k * splits
        while counts[1 + k] < counts[0]:
            exit = counts[1 + k]
            boundary = np.int64(boundaries[exit])
            if boundary + lists.lengths[k] > reach:
                break
            counts[1 + k] += 1
            if exit_kinds[exit] != lists.kinds[k]:
                continue
            bonus = np.int64(scores[exit]) - lists.penalties[k]
            what = np.int64(codes[boundary - 1]) if boundary >= 1 else NO_SYMBOL
            if boundary >= 2:
                for last in range(symbols):
                    codon = codons[codes[boundary - 2], codes[boundary - 1], last]
                    what |= codon << (SYMBOL_BITS + CODON_BITS * last)
            else:
                what |= NO_CODONS
            n = _put(operations, n, TAKE, to, exit, bonus)
            operations[n - 1, 2] = what
    return n


@njit(makes_arrays=False)
def _wait(lists, codons, symbols, placed, boundary, k, bonus, waits, operations, n):
    """Let exons that begin with the rest of a split codon wait for its end."""
    codes, place = lists.codes, (boundary + 1) % WAITS
    left, what = len(codes) - boundary, NO_SYMBOL | NO_CODONS
    kind = WAIT | (0 if waits[place] else FRESH)
    kind |= 0 if waits[(place + 1) % WAITS] else FRESH_NEXT
    kind |= PLACED if placed else 0
    if left >= 1:
        what = np.int64(codes[boundary]) | NO_CODONS
        waits[place] = True
    if left >= 2:
        what = np.int64(codes[boundary])
        for one in range(symbols):
            codon = codons[one, codes[boundary], codes[boundary + 1]]
            what |= codon << (SYMBOL_BITS + CODON_BITS * one)
        waits[(place + 1) % WAITS] = True
    n = _put(operations, n, kind, WAITING + place, BEFORE + k * (1 + 2 * symbols), bonus)
    operations[n - 1, 2] = what
    return n


@njit(makes_arrays=False)
def _enter(lists, codons, symbols, placed, kept, acceptor, waits, operations, n):
    """Write the operations of an entry; return how many there are, and its operand, -1 for none."""
    boundaries, scores, entry_kinds = lists.acceptors
    boundary, bonus = np.int64(boundaries[acceptor]), np.int64(scores[acceptor])
    found, operand = 0, np.int64(-1)
    maxima = len(lists.kinds) + len(lists.rising.far_class)
    entered, joined = BEFORE + maxima * (1 + 2 * symbols), lists.junctions.acceptors
    joins = first_from(joined, boundary), first_from(joined, boundary + 1)
    for k in range(len(lists.kinds)):
        if lists.kinds[k] != entry_kinds[acceptor]:
            continue
        n = _wait(lists, codons, symbols, placed, boundary, k, bonus, waits, operations, n)
        source = BEFORE + k * (1 + 2 * symbols)
        if placed or joins[0] < joins[1]:
            kind = PLAIN | (PLACED if placed else 0) | (FRESH if found == 0 else 0)
            n, operand = _put(operations, n, kind, entered, source, bonus), entered
        elif found == 0:
            operand, first = source | (bonus & 0xFFFF) << OPERAND_SLOT_BITS, source
        else:
            if found == 1:
                n = _put(operations, n, PLAIN | FRESH, entered, first, bonus)
                operand = entered
            n = _put(operations, n, PLAIN, entered, source, bonus)
        found += 1
    for k in range(joins[0], joins[1]):
        n = _through_junction(
            lists, codons, placed, k, bonus, kept, entered, found == 0, waits, operations, n
        )
        operand, found = np.int64(entered), found + 1
    return n, operand, found


@njit(makes_arrays=False)
def _through_junction(
    lists, codons, placed, k, bonus, kept, entered, first, waits, operations, n
):  # fmt: skip
    """Write the operations of an entry through an intron with a penalty of its own.

    `first` is whether the slot `entered` has nothing that is entered there.
    """
    codes, junctions = lists.codes, lists.junctions
    number, boundary = junctions.kept[k], np.int64(junctions.acceptors[k])
    donor, left = np.int64(junctions.donors[number]), len(codes) - boundary
    own = PLACED if placed else 0
    bonus += np.int64(lists.donors[1][first_from(lists.donors[0], donor)]) - junctions.penalties[k]
    kind = PLAIN | own | (FRESH if first else 0)
    n = _put(operations, n, kind, entered, kept[number], bonus)
    for phase in range(1, FRAMES):
        if donor < phase or left < FRAMES - phase:
            continue
        if phase == 1:
            codon = codons[codes[donor - 1], codes[boundary], codes[boundary + 1]]
        else:
            codon = codons[codes[donor - 2], codes[donor - 1], codes[boundary]]
        place = (boundary + FRAMES - phase) % WAITS
        kind = JUNCTION | own | (0 if waits[place] else FRESH)
        n = _put(operations, n, kind, WAITING + place, kept[number] + phase, bonus)
        operations[n - 1, 2] = codon | phase << CODON_BITS
        waits[place] = True
    return n


@njit(makes_arrays=False)
def _cross_border(rising, boundary, splits, operations, n, plain):
    """Write the operations of a border."""
    # of one row a class or line; all its rows have the same
    for k in range(write_border(rising, boundary, 1, 0, plain, 0)):
        fresh = 0 if plain[k, 0] == RAISE else FRESH
        to, source = BEFORE + splits * plain[k, 1], BEFORE + splits * plain[k, 2]
        n = _put(operations, n, PLAIN | fresh, to, source, plain[k, 3])
        operations[n - 1, 2] = splits
    return n


@njit(makes_arrays=False)
def _at(boundaries, k):
    """Return a listed boundary, -1 if there is none."""
    return np.int64(boundaries[k]) if k < len(boundaries) else np.int64(-1)


@njit(error_model="numpy", makes_arrays=False)
def _write(
    lists, codons, stops, symbols, placed, kept, boundaries, operations, plain, counts, waits,
):  # fmt: skip
    """Write boundaries and operations; return how many of the latter there are."""
    codes, rising, splits = lists.codes, lists.rising, 1 + 2 * symbols
    first_usual, firsts, first_scores = lists.first
    last_usual, lasts, last_scores = lists.last
    acceptors, donors = lists.acceptors[0], lists.donors[0]
    first = last = acceptor = keep = n = 0
    border = next_border(rising, 0)
    for i in range(len(boundaries)):
        boundaries[i, 2] = _twice(first_usual)
        if i > len(codes):
            boundaries[i, 0] = CLOSED | SPECIAL
            continue
        before, word = n, CLOSED | SPECIAL if i == 0 else 0
        if i >= FRAMES:
            word |= codons[codes[i - 3], codes[i - 2], codes[i - 1]]
            word |= STOP if stops[codes[i - 3], codes[i - 2], codes[i - 1]] else 0
        if keep < len(kept) and lists.junctions.donors[keep] == i - 1:
            n, keep = _put(operations, n, JUNCTION, kept[keep], counts[0] - 1, 0), keep + 1
            operations[n - 1, 2] = KEEP
        if i == border:
            n = _take_exits(lists, codons, symbols, i - 1, counts, operations, n)
            n = _cross_border(rising, i, splits, operations, n, plain)
            border = next_border(rising, i + 1)
        leaves, enters = i == _at(donors, counts[0]), i == _at(acceptors, acceptor)
        if leaves or enters:
            n = _take_exits(lists, codons, symbols, i, counts, operations, n)
        if waits[i % WAITS]:
            word |= SPECIAL | JOIN
            waits[i % WAITS] = False
        if i == _at(lasts, last):
            word |= SPECIAL | FINAL
            boundaries[i, 1] = _twice(np.int64(last_scores[last]) - last_usual)
            last += 1
        if leaves:
            word |= SPECIAL | EXIT | np.int64(lists.donors[1][counts[0]]) << EXIT_SCORE_BITS
            counts[0] += 1
        if i == _at(firsts, first) + FRAMES and first < len(firsts):
            word |= STARTED
            points = np.int64(first_scores[first]) << 16
            boundaries[i, 2] = np.int32(points | np.int64(first_usual) & 0xFFFF)
            first += 1
        if enters:
            n, operand, found = _enter(
                lists, codons, symbols, placed, kept, acceptor, waits, operations, n
            )
            acceptor += 1
            if found:
                word |= SPECIAL | ENTER | (ENTER_PLACED if placed else 0)
                boundaries[i, 3] = operand
        if n > before:
            word |= HAS_OPERATIONS
            operations[n - 1, 0] |= LAST
        boundaries[i, 0] = np.int32(word)
    return n
