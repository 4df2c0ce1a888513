"""Strands for the packed kernel of proteins: sites and nucleotides joined, and plans on a GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.sites.cpu.memory import most_pending, power_of_two
from gpu_tools.sites.gpu.launch import StripLaunch
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.plan import kept_slots, maxima_of
from gpu_tools.sites.gpu.strand_lists import (
    LENGTH,
    N_ACCEPTORS,
    N_CLASSES,
    N_DONORS,
    N_JUNCTIONS,
    N_MARKS,
    copy_strands,
    starts_of,
    strand_row,
)
from gpu_tools.sites.proteins.gpu.plan import (
    BEFORE,
    CHUNK,
    CHUNKS,
    FRAMES,
    MOST_CLASSES,
    N_FAR,
    N_NEAR,
    ROWS,
    ROWS_AHEAD,
    SYMBOLS,
    plan_proteins,
    words_of,
)
from gpu_tools.sites.proteins.limits import StrandBounds, strand_bounds
from gpu_tools.sites.table import SiteTable

_ROWS_BEFORE_SLOTS = 2 + 2 * FRAMES
"""Rows of a checkpoint before those in slots."""
CHECKPOINTS_OF_STRAND, _BYTES_OF_CHECKPOINTS = 512, 1 << 24
"""Checkpoints of a strand, and the bytes of all those of a strip of columns, about, at most."""


class ProteinStrands:
    """The strands of some cases in the memory of the host, in arrays; cases may share them.

    `placed` tells whether some protein has introns, `block` is how many boundaries a traceback
    computes again, a multiple of `WARP`, and a strand has so many `checkpoints` at most. `numbers`
    are those of strands by the identity of their tables. `table` is what `lists_on_gpu` reads,
    without where parts begin; `kept` are the first slots of the donors of junctions.
    """

    def __init__(self, cases: list, placed: bool, threads: int, block: int, checkpoints: int):
        owners = {id(each): (case, name) for case in cases for name, each in case.tables.items()}
        self.numbers = {key: k for k, key in enumerate(owners)}
        self._owners, self._codes = list(owners.values()), {}
        self.tables = tables = [case.tables[name] for case, name in self._owners]
        symbols = {id(case.base): int(case.base.codes.max(initial=3)) + 1 for case in cases}
        self.table = np.array([
            _row_of(table, symbols[id(case.base)], placed)
            for table, (case, _) in zip(tables, self._owners, strict=True)
        ], np.int64)  # fmt: skip
        splits = 1 + 2 * self.table[:, SYMBOLS]
        entered = BEFORE + self.table[:, [N_NEAR, N_FAR]].sum(axis=1) * splits
        slots = [*map(_kept, tables, (entered + 1).tolist())]
        self.kept, self.slots = [kept for kept, _ in slots], np.array([past for _, past in slots])
        # of exits so many rows are there, a power of two
        *bounds, self.ring = np.array(map_on_threads(threads, _measured, tables), np.int64).T
        self.bounds = StrandBounds(*bounds)
        self.rows_of_checkpoint = _ROWS_BEFORE_SLOTS + self.slots + FRAMES * self.ring
        fit = _BYTES_OF_CHECKPOINTS // (4 * WIDE * WARP * self.rows_of_checkpoint)
        most = np.clip(fit, 1, checkpoints)
        # boundaries between checkpoints: whole blocks, one if memory allows it
        self.every = block * -(-(self.table[:, LENGTH] + 1) // (most * block))
        # whether the kernel takes a strand: no intron is without nucleotides
        few = self.table[:, N_CLASSES] <= MOST_CLASSES
        self.possible = few & [all(n.min_length > 0 for n in table.introns) for table in tables]

    def codes(self, k: int) -> NDArray[np.uint8]:
        """Return the nucleotides of a strand in reading direction."""
        if k not in self._codes:  # many cases may share a long one
            case, name = self._owners[k]
            self._codes[k] = case.codes(name)
        return self._codes[k]

    @property
    def plan_bytes(self) -> NDArray[np.int64]:
        """Bytes of the plans, at most."""
        length, donors, acceptors, joined, classes, far, borders = self.table[
            :, [LENGTH, N_DONORS, N_ACCEPTORS, N_JUNCTIONS, N_CLASSES, N_FAR, N_MARKS]
        ].T
        most = (donors + 3 * acceptors) * classes + 5 * joined + borders * (classes + 3 * far)
        return 16 * (length + 1 + ROWS_AHEAD + most)


def _row_of(table: SiteTable, symbols: int, placed: bool) -> list[int]:
    """Return a strand's row of the table, without where its parts begin."""
    _, kinds, _, far, *_ = maxima_of(table.introns)
    return strand_row(table, len(kinds), len(far), symbols, placed, 0, 0)


def _measured(table: SiteTable) -> tuple[int, ...]:
    """Return the bounds of a strand, and how many exits' rows there are."""
    return *strand_bounds(table), power_of_two(most_pending(table) + 1)


def _kept(table: SiteTable, first: int) -> tuple[NDArray[np.int64], int]:
    """Return the first slot of each donor of junctions, from a slot on, and the slot behind all."""
    slots = np.empty(len(table.junction_arrays.donors), np.int64)
    return slots, kept_slots(table.junction_arrays, first, FRAMES, slots) if len(slots) else first


class StrandsOnGpu:
    """Some strands in the memory of the current GPU.

    `arrays` are what `lists_on_gpu` reads, the table first. `plans` are boundaries and operations,
    and `starts` says where those of each strand begin.
    """

    def __init__(self, strands: ProteinStrands, numbers: list[int], launch: StripLaunch):
        self._launch, self.table = launch, strands.table[numbers]
        tables, rows = [strands.tables[k] for k in numbers], self.table[:, LENGTH] + 1 + ROWS_AHEAD
        own = [
            [strands.kept[k], *maxima_of(table.introns)]
            for table, k in zip(tables, numbers, strict=True)
        ]
        chunks = -(-rows // CHUNK)
        self.table[:, ROWS], self.table[:, CHUNKS] = starts_of(4 * rows), starts_of(chunks)
        self._words, self._chunks = 4 * int(rows.sum()), int(chunks.sum())
        codes = map(strands.codes, numbers)
        *self.arrays, codons, stops = copy_strands(
            launch, self.table, tables, codes, own, words_of(launch.scoring)
        )
        self.plans, self.starts = self._compiled(codons, stops)

    def _compiled(self, *words) -> tuple[list, NDArray[np.int64]]:
        """Compile plans; return boundaries and operations, and where each strand's begin."""
        launch, stream = self._launch, self._launch.stream
        numbers = launch.array("chunks", self._chunks + 1, np.int64)
        boundaries = launch.array("boundaries", self._words)
        compiled = plan_proteins[-(-self._chunks // WARP), WARP, stream]
        compiled(*self.arrays, *words, boundaries, boundaries[:0], numbers, 0)
        counted = launch.buffers.fetched(numbers)
        counted[-1] = 0
        begins = np.cumsum(counted) - counted
        numbers.copy_to_device(begins, stream)
        # the kernel prefetches one operation
        operations = launch.array("operations", 4 * int(begins[-1]) + 4)
        compiled(*self.arrays, *words, boundaries, operations, numbers, 1)
        starts = np.stack([self.table[:, ROWS], 4 * begins[self.table[:, CHUNKS]]], axis=1)
        return [boundaries, operations], starts
