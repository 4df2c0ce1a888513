"""Strands for the packed kernel of proteins: sites and nucleotides joined, and plans on a GPU."""

from __future__ import annotations

from functools import cache, partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import largest_sum
from gpu_tools.sites.cpu.memory import most_waiting
from gpu_tools.sites.gpu.launch import starts_of
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.strand_sites import kept_slots
from gpu_tools.sites.introns import class_arrays, rows_and_lines
from gpu_tools.sites.proteins.gpu.plan import (
    BEFORE,
    CHUNK,
    CHUNKS,
    CLASSES,
    CODES,
    FRAMES,
    LENGTH,
    MARKS,
    MOST_CLASSES,
    N_ACCEPTORS,
    N_CLASSES,
    N_DONORS,
    N_FAR,
    N_JUNCTIONS,
    N_MARKS,
    N_NEAR,
    PLACES,
    ROWS,
    ROWS_AHEAD,
    SITES,
    SYMBOLS,
    lists_in,
    plan_proteins,
    words_of,
)
from gpu_tools.sites.proteins.limits import StrandBounds, strand_bounds
from gpu_tools.sites.table import IntronClass, SiteTable

_ROWS_BEFORE_SLOTS = 2 + 2 * FRAMES
"""Rows of a checkpoint before those in slots."""
CHECKPOINTS_OF_STRAND, _BYTES_OF_CHECKPOINTS = 512, 1 << 24
"""Checkpoints of a strand, and the bytes of all those of a strip of columns, about, at most."""
_NO_SLOTS = np.empty(0, np.int64)
_SPARE = 8
"""An array has this part of its size to spare for the next launch."""


class ProteinStrands:
    """The strands of some cases in the memory of the host; cases may share them.

    Parameters
    ----------
    cases : list of ProteinCase
    placed : bool
        Whether some protein has introns, see `ProteinSequence`.
    threads : int
    block : int
        Boundaries of a block that a traceback computes again; a multiple of three and of `WARP`.
    checkpoints : int
        At most so many of a strand.

    Attributes
    ----------
    numbers : dict of int to int
        Number of each strand by ``id(table)``.
    table : ndarray of int64
        What `lists_in` reads, a row a strand; where parts begin is said of the arrays of all.
    bounds : StrandBounds
    slots, ring, every, rows_of_checkpoint, plan_bytes, possible : ndarray
        By strand: rows in slots; exits whose rows there are, a power of two; boundaries between two
        checkpoints, whole blocks, one if memory allows it; rows of a checkpoint, see
        `gpu_tools.sites.proteins.gpu.step.make_save`; bytes of the plan, at most; and whether the
        kernel takes it: no intron is without nucleotides.
    """

    def __init__(self, cases: list, placed: bool, threads: int, block: int, checkpoints: int):
        owners = {id(each): (case, name) for case in cases for name, each in case.tables.items()}
        self.numbers = {key: k for k, key in enumerate(owners)}
        self.tables = [case.tables[name] for case, name in owners.values()]
        self.table = np.array([*map(_row_of, self.tables)], np.int64)
        self.table[:, PLACES] = placed
        self._lay_codes([(case.base.codes, name == "-") for case, name in owners.values()])
        entered = BEFORE + self.table[:, [N_NEAR, N_FAR]].sum(axis=1) * self._splits
        slots = [*map(_kept, self.tables, (entered + 1).tolist())]
        self.slots = np.array([past for _, past in slots])
        pending, together = self._join_sites([kept for kept, _ in slots], threads).T
        self.bounds = StrandBounds(
            *np.array([*map(strand_bounds, self.tables, together.tolist())], np.int64).T
        )
        self.ring = 1 << np.ceil(np.log2(pending + 1)).astype(np.int64)
        self.rows_of_checkpoint = _ROWS_BEFORE_SLOTS + self.slots + FRAMES * self.ring
        fit = _BYTES_OF_CHECKPOINTS // (4 * WIDE * WARP * self.rows_of_checkpoint)
        most = np.clip(fit, 1, checkpoints)
        self.every = block * -(-(self.table[:, LENGTH] + 1) // (most * block))
        few = self.table[:, N_CLASSES] <= MOST_CLASSES
        self.possible = few & [all(n.min_length > 0 for n in t.introns) for t in self.tables]
        self.plan_bytes = self._plan_bytes()

    @property
    def _splits(self) -> NDArray[np.int64]:
        """Rows of exits before an entry, by the split codon; near rows are so many."""
        return 1 + 2 * self.table[:, SYMBOLS]

    def _lay_codes(self, strands: list[tuple[NDArray[np.uint8], bool]]) -> None:
        """Join nucleotides, reverse complements of those that are turned; count their symbols."""
        self.table[:, CODES] = starts = starts_of(self.table[:, LENGTH])
        self.codes = np.zeros(self.table[:, LENGTH].sum() + 1, np.uint8)
        self.table[:, SYMBOLS] = [
            _lay(self.codes[first : first + len(own)], np.ascontiguousarray(own), turned)
            for (own, turned), first in zip(strands, starts.tolist(), strict=True)
        ]

    def codes_of(self, k: int) -> NDArray[np.uint8]:
        """Return the nucleotides of a strand in reading direction."""
        first, length = self.table[k, [CODES, LENGTH]].tolist()
        return self.codes[first : first + length]

    def _join_sites(self, kept: list[NDArray], threads: int) -> NDArray[np.int64]:
        """Join what there is of sites, given the slots of donors of junctions; return `_measure`.

        Threads share the work, strands side by side.
        """
        introns = [class_arrays(each).introns for each in self.tables]
        self.classes, self.table[:, CLASSES] = stacked([each.rows for each in introns])
        self.counts, self.table[:, MARKS] = stacked([each.counts for each in introns])
        parts = [*map(_sites, self.tables, kept)]
        sizes = [sum(map(len, own)) for own in parts]
        self.table[:, SITES] = starts_of(sizes)
        self.sites, found = np.zeros(sum(sizes) + 1, np.int32), np.zeros((len(parts), 2), np.int64)
        ends = np.append(self.table[:, SITES], len(self.sites) - 1)

        def join(first: int, past: int) -> None:
            own, to = chain.from_iterable(parts[first:past]), self.sites[ends[first] : ends[past]]
            np.concatenate([*own], out=to, casting="unsafe")
            lists = self.table, self.sites, self.codes, self.classes, self.counts
            _measure(*lists, found, first, past)

        shares = np.linspace(0, len(parts), min(threads, len(parts)) + 1).astype(np.int64)
        map_on_threads(threads, join, shares[:-1], shares[1:])
        return found

    def joined(self, column: int, numbers: NDArray[np.int64]) -> tuple[list[NDArray], NDArray]:
        """Return parts of the array of a column of starts, flat, and where strands begin then."""
        arrays = {SITES: self.sites, CODES: self.codes, CLASSES: self.classes, MARKS: self.counts}
        starts, values = self.table[:, column], arrays[column]
        ends, runs = np.append(starts[1:], len(values)), np.flatnonzero(np.diff(numbers) != 1) + 1
        spans = zip(np.append(0, runs), np.append(runs, len(numbers)), strict=True)
        parts = [values[starts[numbers[a]] : ends[numbers[b - 1]]].ravel() for a, b in spans]
        return parts, starts_of((ends - starts)[numbers])

    def _plan_bytes(self) -> NDArray[np.int64]:
        """Return the bytes of the plans, at most."""
        length, donors, acceptors, joined, classes, far, borders = self.table[
            :, [LENGTH, N_DONORS, N_ACCEPTORS, N_JUNCTIONS, N_CLASSES, N_FAR, N_MARKS]
        ].T
        most = (donors + 3 * acceptors) * classes + 5 * joined + borders * (classes + 3 * far)
        return 16 * (length + 1 + ROWS_AHEAD + most)


def _row_of(table: SiteTable) -> list[int]:
    """Return a strand's row of the table, without where its parts begin and with no symbols."""
    sites, near = (table.acceptors, table.donors, table.first, table.last), _near(table.introns)
    junctions, marks = table.junction_arrays, class_arrays(table).rising.boundaries
    return [
        *[0] * LENGTH, table.length, *(len(each.boundaries) for each in sites),
        len(junctions.donors), len(junctions.acceptors), len(table.introns), len(near[1]),
        len(near[-1]), len(marks), table.first.usual, table.last.usual, 0, 0,
    ]  # fmt: skip


@cache
def _near(introns: tuple[IntronClass, ...]) -> list[NDArray[np.int64]]:
    """Return near rows of classes, and `near_kinds` and all but the marks of their `Rising`."""
    kinds = list(dict.fromkeys((each.kind, each.rising) for each in introns))
    near = [kinds.index((each.kind, each.rising)) for each in introns]
    first, (level, far_class, *of_far) = (
        [*map(near.index, range(len(kinds)))],
        rows_and_lines(introns)[2],
    )
    far = [k for k, own in enumerate(far_class) if own in first]
    made = near, [kind for kind, _ in kinds], level[first], np.array(near)[far_class[far]]
    return [np.array(each, np.int64) for each in (*made, *(own[far] for own in of_far))]


def _kept(table: SiteTable, first: int) -> tuple[NDArray[np.int64], int]:
    """Return the first slot of each donor of junctions, from a slot on, and the slot behind all."""
    junctions = table.junction_arrays
    return kept_slots(junctions, first, FRAMES) if len(junctions.donors) else (_NO_SLOTS, first)


def _sites(table: SiteTable, kept: NDArray[np.int64]) -> list[NDArray]:
    """Return the sites of a strand, in the order in which `lists_in` takes them apart."""
    inner = table.acceptors, table.donors, table.first, table.last
    parts = [part for own in inner for part in (own.boundaries, own.scores, own.kinds)]
    classes, junctions = class_arrays(table), table.junction_arrays
    own = junctions.donors, kept, *junctions[1:], *classes[:3], *_near(table.introns)
    return [*parts, *own, classes.rising.boundaries]


@njit(cache=True, nogil=True)
def _lay(to, codes, turned):
    """Copy nucleotides, or write their reverse complement; return the symbols of the strand."""
    last, most = len(codes) - 1, 3
    for i in range(len(codes)):
        code = codes[last - i] if turned else codes[i]
        most = max(most, code)
        to[i] = 3 - code if turned and code < OTHER else code
    return most + 1


@njit(cache=True, nogil=True)
def _measure(table, sites, codes, classes, counts, found, first, past):
    """Write for each strand how many exits are pending at a time, at most, and `largest_sum`."""
    for k in range(first, past):
        lists = lists_in(table[k], sites, codes, classes, counts)
        longest, shortest, least = 0, 2**62, 2**62
        for own in range(len(lists.lengths)):
            longest = max(longest, lists.lengths[own])
            shortest = min(shortest, lists.lengths[own])
            least = min(least, lists.penalties[own])
        if not len(lists.lengths):
            shortest, least = 0, 0
        (entries, gains, _), (leaves, losses, _) = lists.acceptors, lists.donors
        of_chains = lists.first, (0, entries, gains), (0, leaves, losses), lists.last
        length = table[k, LENGTH]
        found[k, 0] = 1 + most_waiting(leaves, longest)
        found[k, 1] = largest_sum(of_chains, lists.junctions, length, max(shortest, 0), least)


class StrandsOnGpu:
    """Some strands in the memory of the current GPU.

    `arrays` are what `lists_in` reads: the table, sites, nucleotides, and intron classes and
    counted marks, rows of a width. `plans` are boundaries and operations, and `starts` says where
    those of each strand begin.
    """

    def __init__(
        self, strands: ProteinStrands, numbers: NDArray[np.int64], scoring: ProteinScoring,
        buffers: Buffers,
    ):  # fmt: skip
        self._buffers, self.table = buffers, strands.table[numbers]
        rows = self.table[:, LENGTH] + 1 + ROWS_AHEAD
        for column, size in ((ROWS, 4 * rows), (CHUNKS, -(-rows // CHUNK))):
            self.table[:, column] = starts_of(size)
        self._words, self._chunks = 4 * int(rows.sum()), int((-(-rows // CHUNK)).sum())
        arrays = [
            self._copied(strands, name, column, numbers)
            for name, column in (
                ("sites", SITES), ("codes", CODES), ("classes", CLASSES), ("counts", MARKS)
            )
        ]  # fmt: skip
        self.arrays = [buffers.copy("strands", self.table)[: len(numbers)], *arrays]
        self.plans, self.starts = self._compiled(scoring)

    def _copied(self, strands: ProteinStrands, name: str, column: int, numbers: NDArray[np.int64]):
        """Copy the strands' parts of an array to the GPU, and note where they begin."""
        parts, self.table[:, column] = strands.joined(column, numbers)
        made = self._buffers.joined(name, parts)
        width = {CLASSES: strands.classes, MARKS: strands.counts}.get(column, made).shape[1:]
        return made.reshape(len(made) // width[0], *width) if width else made

    def _compiled(self, scoring: ProteinScoring) -> tuple[list, NDArray[np.int64]]:
        """Compile plans; return boundaries and operations, and where each strand's begin."""
        copy, stream = self._buffers.copy, self._buffers.stream
        array = partial(self._buffers.array, dtype=np.int32)
        words = [
            copy(name, own.ravel()).reshape(own.shape)
            for name, own in zip(("codon rows", "stops"), words_of(scoring), strict=True)
        ]
        numbers = self._buffers.array("chunks", self._chunks + 1, np.int64)[: self._chunks + 1]
        boundaries = array("boundaries", self._words, spare=self._words // _SPARE)
        compiled = plan_proteins[-(-self._chunks // WARP), WARP, stream]
        compiled(*self.arrays, *words, boundaries, boundaries[:0], numbers, 0)
        counted = numbers.copy_to_host(stream=stream)
        stream.synchronize()
        counted[-1] = 0
        begins = np.cumsum(counted) - counted
        numbers.copy_to_device(begins, stream)
        # the kernel prefetches one operation
        size = 4 * int(begins[-1]) + 4
        operations = array("operations", size, spare=size // _SPARE)
        compiled(*self.arrays, *words, boundaries, operations, numbers, 1)
        starts = np.stack([self.table[:, ROWS], 4 * begins[self.table[:, CHUNKS]]], axis=1)
        return [boundaries, operations], starts


def stacked(parts: list[NDArray]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return arrays of rows below each other, and where each begins; rows are filled with 0."""
    width = max([1, *(part.shape[1] for part in parts)])
    starts = starts_of([*map(len, parts)])
    made = np.zeros((sum(map(len, parts)) + 1, width), np.int32)
    for part, first in zip(parts, starts.tolist(), strict=True):
        made[first : first + len(part), : part.shape[1]] = part
    return made, starts
