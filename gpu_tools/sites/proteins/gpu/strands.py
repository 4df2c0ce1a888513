"""Strands in the memory of a GPU: their sites, nucleotides and plans."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.dispatch import Buffers
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.gpu.launch import starts_of
from gpu_tools.sites.introns import class_arrays
from gpu_tools.sites.proteins.gpu.plan import (
    CHUNK,
    ROWS_AHEAD,
    ProteinStrand,
    ProteinStrandNumbers,
    plan_proteins,
    sites_of,
    words_of,
)

_SPARE = 8
"""An array has this part of its size to spare for the next launch."""
_STAGED = 1 << 21
"""Elements that are copied to a GPU at a time, at least."""


class StrandsOnGpu:
    """The strands of a launch on the current GPU.

    `numbers` are those of strands by `id`, `arrays` what `lists_on_gpu` reads: the table, sites,
    nucleotides, and intron classes and counted marks, rows of a width.
    """

    def __init__(self, strands: list[ProteinStrand], buffers: Buffers):
        self._buffers = buffers
        self.numbers = {id(strand): k for k, strand in enumerate(strands)}
        introns = [class_arrays(strand.table).introns for strand in strands]
        classes, class_starts = stacked([each.rows for each in introns])
        counts, mark_starts = stacked([each.counts for each in introns])
        sites, site_starts = self._copied("sites", [*map(sites_of, strands)], np.int32)
        codes, code_starts = self._copied("codes", [[s.lists.codes] for s in strands], np.uint8)
        rows = [len(strand.codes) + 1 + ROWS_AHEAD for strand in strands]
        chunks = [-(-count // CHUNK) for count in rows]
        sizes = list(zip([4 * count for count in rows], chunks, strict=True))
        starts, (self._words, self._chunks) = starts_of(sizes), np.sum(sizes, axis=0).tolist()
        self.table = np.array([
            ProteinStrandNumbers(code, site, own, marks, words, chunk, *_counts(strand))
            for strand, (words, chunk), code, site, own, marks
            in zip(
                strands, starts.tolist(), code_starts, site_starts, class_starts, mark_starts,
                strict=True,
            )
        ], np.int64)  # fmt: skip
        self.arrays = [
            buffers.copy("strands", self.table)[: len(strands)], sites, codes,
            self._rows("classes", classes), self._rows("counts", counts),
        ]  # fmt: skip

    def _rows(self, name: str, values: NDArray):
        """Copy rows to the GPU."""
        return self._buffers.copy(f"{name} {values.shape[1]}", values)

    def _copied(self, name: str, parts: list[list[NDArray]], dtype: type):
        """Copy the arrays of each strand to the GPU; return them, and where each strand's begin.

        They go through memory that is used again and again: new memory takes longer than the copy.
        """
        sizes = [sum(map(len, own)) for own in parts]
        starts, total = starts_of([[size] for size in sizes])[:, 0].tolist(), sum(sizes)
        made = self._buffers.array(name, total, dtype, spare=total // _SPARE)
        staging, first, used = np.empty(max([_STAGED, *sizes]), dtype), 0, 0
        for own, size, start in zip(parts, sizes, starts, strict=True):
            if used + size > len(staging):
                made[first:start].copy_to_device(staging[:used], self._buffers.stream)
                first, used = start, 0
            np.concatenate(own, out=staging[used : used + size], casting="unsafe")
            used += size
        made[first:total].copy_to_device(staging[:used], self._buffers.stream)
        return made, starts

    def plans(self, scoring: ProteinScoring) -> tuple[list, NDArray[np.int64]]:
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
        starts = self.table[:, ProteinStrandNumbers._fields.index("boundaries")]
        firsts = self.table[:, ProteinStrandNumbers._fields.index("chunks")]
        return [boundaries, operations], np.stack([starts, 4 * begins[firsts]], axis=1)


def _counts(strand: ProteinStrand) -> tuple[int, ...]:
    """Return how long a strand's lists are, and what else its row of the table has."""
    table, lists = strand.table, strand.lists
    sites = table.acceptors, table.donors, table.first, table.last
    return (
        len(strand.codes), *(len(each.boundaries) for each in sites), len(strand.kept),
        len(lists.junctions.acceptors), len(lists.kinds), len(lists.rising.far_class),
        len(lists.rising.boundaries), table.first.usual, table.last.usual, strand.symbols,
        strand.placed,
    )  # fmt: skip


def stacked(parts: list[NDArray]) -> tuple[NDArray[np.int32], list[int]]:
    """Return arrays of rows below each other, and where each begins; rows are filled with 0."""
    width = max([1, *(part.shape[1] for part in parts)])
    starts = starts_of([[len(part)] for part in parts])[:, 0].tolist()
    made = np.zeros((sum(map(len, parts)) + 1, width), np.int32)
    for part, first in zip(parts, starts, strict=True):
        made[first : first + len(part), : part.shape[1]] = part
    return made, starts
