"""One strand of one case on its way to a GPU and back, whatever kernel takes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.wavefront import blocks_of
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import Limits, TableLimits, limits_within, table_limits
from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.sites.cpu.coding import SLOTS
from gpu_tools.sites.cpu.state import sites_of
from gpu_tools.sites.gpu.program import kept_exits, most_pending
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.bounds import narrowest
from gpu_tools.splicing.codons import FRAMES, SPLITS
from gpu_tools.splicing.strip import padded

LOWEST_HALF = -0x7F80
"""Less than any 16-bit cell; its two bytes are equal."""
_NARROWEST = 256
"""Columns of the narrowest strips."""


class End(NamedTuple):
    """The best end of a sweep; the score is None if there is no chain."""

    score: int | None
    end: int
    column: int


class Strand:
    """One strand of a base, whatever its targets; its programs are compiled once.

    Parameters
    ----------
    codes : ndarray of uint8, shape (m,)
        The strand's bases in reading direction.
    table : SiteTable
        Of the same strand; it has a chain.
    """

    def __init__(self, codes: NDArray[np.uint8], table: SiteTable):
        self.codes, self.table = codes, table
        self.sites = sites_of(codes, table, np.dtype(np.int32))
        self.blocks = blocks_of(len(codes) + 1, max(cpu.ROWS_PER_BLOCK, isqrt(len(codes))))
        self.programs: dict = {}
        self._limits: dict[int, TableLimits] = {}

    def compiled(self, key, make: Callable):
        """Return what `make` made of the sites and blocks when `key` was first asked for."""
        if key not in self.programs:
            self.programs[key] = make(self.sites, self.blocks)
        return self.programs[key]

    def limits(self, gap: int) -> TableLimits:
        """Return what the limits of the strand's sweeps have in common at a gap's score."""
        if gap not in self._limits:
            codes = None if self.table.stops is None else self.codes
            self._limits[gap] = table_limits(self.table, gap, codes)
        return self._limits[gap]


class Job:
    """One strand of one case.

    Parameters
    ----------
    strand : Strand
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    """

    def __init__(self, strand: Strand, target: NDArray[np.uint8], scoring: SplicedScoring):
        self.strand, self.codes, self.table = strand, strand.codes, strand.table
        self.sites, self.blocks = strand.sites, strand.blocks
        self.target, self.scoring, self.columns = target, scoring, len(target) + 1

    @cached_property
    def limit(self) -> Limits:
        """Floor and bounds, those of the CPU's sweep; raises `ScoringError` beyond 32 bits."""
        known = self.strand.limits(self.scoring.gap)
        limit = limits_within(known, padded(self.columns, 1, 2), self.scoring)
        narrowest(limit.bounds, self.scoring)
        return limit

    @cached_property
    def fits_packed(self) -> bool:
        """Whether the packed kernel can take the job: its kind, 16-bit cells, byte scores."""
        lifted = self.scoring.substitution() - self.scoring.gap
        bound, unaligned = self.limit.bounds, abs(self.scoring.gap) * padded(self.columns, 1, 2)
        return bool(
            self.table.stops is None
            and self.scoring.ends == "global"
            and np.abs(lifted).max() <= 127
            and -127 <= self.scoring.gap <= 0
            and (len(set(lifted[:, OTHER].tolist())) == 1 or not (self.target == OTHER).any())
            # the bounds allow for the gaps at a chain's end, which the kernel does not count
            and bound.lowest + unaligned > LOWEST_HALF + 256
            and bound.highest - unaligned < 2**15 - 256
        )

    @property
    def work(self) -> int:
        """Cells to compute."""
        return (len(self.codes) + 1) * self.columns

    @property
    def device_bytes(self) -> int:
        """Device memory that the job takes, about: rows that are kept, borders, its program."""
        coding, classes = self.table.stops is not None, len(self.sites.intron_kinds)
        exits = kept_exits(self.sites, self.blocks) + most_pending(self.sites)
        of_block = FRAMES + SLOTS + SPLITS * classes + 1 if coding else classes + 2
        rows = (FRAMES if coding else 1) * exits + (len(self.blocks) + 2) * of_block
        width, bases = self.columns * 3 // 2 + _NARROWEST, len(self.codes) + 1
        if self.fits_packed:
            return rows * width * 2 + bases * (width // _NARROWEST * 4 + 20)
        advances = 6 if coding else 1
        return rows * width * 4 + bases * (width // _NARROWEST * 8 * advances + 100)


class DeviceRows:
    """Rows fetched from a GPU.

    Parameters
    ----------
    cells : ndarray, shape (strips, places, size, lanes, cells a word)
    first : int
        Number of the first place.
    """

    def __init__(self, cells: NDArray, first: int):
        self.cells, self.first = cells, first

    def row(self, place: int, columns: int) -> NDArray:
        """Return the first columns of a row."""
        return self.rows(place, place + 1)[0, :columns]

    def rows(self, place: int, past: int) -> NDArray:
        """Return the rows of neighbouring places, padded to whole strips."""
        words = self.cells[:, place - self.first : past - self.first]
        strips, count, size, lanes, halves = words.shape
        return words.transpose(1, 0, 3, 4, 2).reshape(count, strips * size * lanes * halves)

    def cell(self, place: int, column: int) -> int:
        """Return a row's value at a column."""
        _, _, size, lanes, halves = self.cells.shape
        strip, column = divmod(column, lanes * halves * size)
        virtual_lane, word = divmod(column, size)
        lane, half = divmod(virtual_lane, halves)
        return int(self.cells[strip, place - self.first, word, lane, half])


def begun(plans, chosen: list[int] | None = None) -> NDArray[np.int32]:
    """Return job and strip in the order in which they begin; then zeros.

    All plans begin, longest bases first, or those that are `chosen`, in that order.
    """
    if chosen is None:
        chosen = sorted(range(len(plans)), key=lambda k: -plans[k].rows)
    strips = [(k, strip) for k in chosen for strip in range(plans[k].strips)]
    return np.array([*strips, (0, 0)], dtype=np.int32)
