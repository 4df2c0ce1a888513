"""How proteins are laid out for the packed kernel: jobs, and their strips of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.gpu.packed_strip import WIDE
from gpu_tools.sites.gpu.strand_lists import LENGTH, stacked, starts_of
from gpu_tools.sites.proteins.gpu.plan import FRAMES
from gpu_tools.sites.proteins.gpu.plan import SYMBOLS as SYMBOLS_OF_STRAND
from gpu_tools.sites.proteins.gpu.step import LEAST_HOT, MOST_CODONS
from gpu_tools.sites.proteins.gpu.strands import CHECKPOINTS_OF_STRAND, ProteinStrands
from gpu_tools.sites.proteins.limits import PairBounds, StrandBounds, cell_bounds, pair_bounds
from gpu_tools.splicing.bounds import fit_int16
from gpu_tools.splicing.proteins.target_introns import intron_points

# The table of jobs that the kernel of proteins reads: a row of numbers for each job.


(
    N_BOUNDARIES, STRIPS, BOUNDARIES, OPERATIONS, TARGET, POINTS, CELLS, BORDERS, ENDS, CHECKPOINTS,
    EXITS, CELL_STRIDE, CHECKPOINT_STRIDE, RESIDUES, FINAL_COLUMN, CODONS, SYMBOLS, SLOTS, RING,
    EVERY, BLOCK, PLACED_ROWS, NONE, NEVER_BEGUN, BIAS, BEFORE_FIRST, HOT,
) = range(27)  # fmt: skip
"""A job's row of the table: how many boundaries and strips it has; where its part begins in each
buffer, the residues in that of targets; words of a strip's cells, and of its part of a checkpoint;
residues, and the first column in which a chain may end; rows of the profile; symbols of the strand;
slots; exits whose rows there are; boundaries between two checkpoints, and those of a block that a
traceback computes again; rows of points of introns at their places, one a phase, or none; the
lowest cell; what is added to a chain that may not begin; what is taken off all cells; what a chain
that begins has before the first column; slots in shared memory, see `step.hot_slots`.
"""


_MOST = 32_000
"""Cells of the packed kernel stay below this magnitude: there is a word that no cells make."""
LEAST_SCORE, _MOST_SCORE = -128, 127
ROWS_AGAIN = 1056
"""Boundaries of a block that a traceback computes again; a multiple of `WARP`."""


STRIP_COLUMNS = 2 * WIDE * WARP - 1
"""New columns of a strip: its first one is the last one of the strip before."""


class ProteinJobs:
    """The strands of some cases with their proteins, laid out for a GPU, in arrays.

    The jobs of case k are those from ``first[k]`` to before ``first[k + 1]``, + first; cases may
    share strands and proteins. `strand` are numbers of `strands`; `residues` and `points`, those of
    introns at their places, are joined of all proteins. `table` has a row a job, without what is
    known of a launch alone: where its parts begin, and `HOT`. `fits` tells whether the kernel takes
    a job, and `sizes` are words of cells, pairs of border words, words of checkpoints, words of the
    largest rows of exits, and best ends, one a part of the strand and strip.
    """

    def __init__(
        self, cases: list, scoring: ProteinScoring, threads: int = 1, block: int = ROWS_AGAIN,
        checkpoints: int = CHECKPOINTS_OF_STRAND,
    ):  # fmt: skip
        placed = any(case.target.introns for case in cases)
        self.scoring, self.cases = scoring, cases
        self.strands = strands = ProteinStrands(cases, placed, threads, block, checkpoints)
        own = [[case.tables[name] for name in "+-" if name in case.tables] for case in cases]
        self.first = np.cumsum([0, *map(len, own)])
        self.strand = np.array([strands.numbers[id(each)] for tables in own for each in tables])
        targets = {id(case.target): case.target for case in cases}
        number = {key: k for k, key in enumerate(targets)}
        target = np.repeat([number[id(case.target)] for case in cases], np.diff(self.first))
        self.table = np.zeros((len(target), HOT + 1), np.int64)
        self._lay_targets(list(targets.values()), target)
        self.table[:, PLACED_ROWS] = FRAMES if placed else 0
        self._lay_out(block)
        self.fits = strands.possible[self.strand] & self._bounded(target)
        self.sizes = self._sizes()

    @property
    def bytes(self) -> NDArray[np.int64]:
        """Bytes of device memory of each job, with its part of its strand's plan."""
        cells, borders, checkpoints, exits, ends = self.sizes.T
        users = np.bincount(self.strand)[self.strand]
        plans = self.strands.plan_bytes[self.strand] // users
        return 4 * (cells + checkpoints + exits + ends) + 8 * borders + plans

    def of_cases(self, function: np.ufunc, values: NDArray) -> NDArray:
        """Return what a function of two values makes of those of all jobs of each case."""
        return function.reduceat(values, self.first[:-1])

    def _lay_targets(self, targets: list, target: NDArray[np.int64]) -> None:
        """Join what is read of proteins, and write where each job's begins.

        Points of introns are three rows a protein that has some; all others share rows of 0.
        """
        codes = [each.codes for each in targets]
        self.pairs = pair_bounds(codes, [each.introns for each in targets], self.scoring)
        self.residues = np.concatenate(codes)
        self.table[:, TARGET] = starts_of(self.pairs.residues)[target]
        none = np.zeros((FRAMES, self.pairs.residues.max() + 1), np.int64)
        placed = [k for k, each in enumerate(targets) if each.introns]
        rows = [intron_points(targets[k].introns, len(targets[k])) for k in placed]
        self.points, starts = stacked([none, *rows])
        of_target = np.zeros(len(targets), np.int64)
        of_target[placed] = starts[1:]
        self.table[:, POINTS], self.table[:, RESIDUES] = (
            of_target[target], self.pairs.residues[target],
        )  # fmt: skip

    def _lay_out(self, block: int) -> None:
        """Write the sizes of jobs into the table."""
        table, strands, own = self.table, self.strands, self.strand
        table[:, N_BOUNDARIES] = strands.table[own, LENGTH] + 1
        table[:, STRIPS] = -(-(table[:, RESIDUES] + 1) // STRIP_COLUMNS)
        table[:, FINAL_COLUMN] = 0 if self.scoring.free else table[:, RESIDUES]
        table[:, CODONS], table[:, BLOCK] = len(self.scoring.codon_numbers), block
        table[:, SYMBOLS] = strands.table[own, SYMBOLS_OF_STRAND]
        table[:, SLOTS], table[:, RING] = strands.slots[own], strands.ring[own]
        table[:, EVERY] = strands.every[own]
        rows = np.maximum(table[:, SLOTS] - LEAST_HOT, 0) + FRAMES * table[:, RING] + 1
        table[:, CELL_STRIDE] = (rows + table[:, PLACED_ROWS]) * WIDE * WARP
        table[:, CHECKPOINT_STRIDE] = strands.rows_of_checkpoint[own] * WIDE * WARP

    def _bounded(self, target: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Write the bounds of jobs into the table; return whether 16 bits hold all cells.

        Of all cells of a long protein something is taken off for that.
        """
        sites = StrandBounds(*(each[self.strand] for each in self.strands.bounds))
        pairs = PairBounds(*(each[target] for each in self.pairs))
        width = self.table[:, STRIPS] * STRIP_COLUMNS
        cells = cell_bounds(sites, pairs, self.scoring, width)
        fit_int16(cells.magnitude)  # raises an error where 32 bits do not hold them
        long, middle = cells.magnitude >= _MOST, (cells.lowest + cells.highest) // 2
        bias, before = np.where(long, middle, 0), cells.none - sites.usual
        self.table[:, NONE], self.table[:, NEVER_BEGUN] = cells.none - bias, cells.none
        self.table[:, BIAS], self.table[:, BEFORE_FIRST] = bias, before
        lowest = np.minimum(cells.lowest, cells.none + np.minimum(before, 0)) - bias
        few = np.maximum(cells.highest - bias, -lowest) < _MOST
        codons = len(self.scoring.codon_numbers) <= MOST_CODONS
        return few & (pairs.largest <= _MOST_SCORE) & codons

    def _sizes(self) -> NDArray[np.int64]:
        table = self.table
        boundaries = table[:, N_BOUNDARIES]
        ends = -(-boundaries // table[:, EVERY]) * table[:, STRIPS]
        return np.stack([
            table[:, CELL_STRIDE] * table[:, STRIPS],
            -(-boundaries // WARP) * WARP * table[:, STRIPS],
            table[:, CHECKPOINT_STRIDE] * ends, ends * WIDE * WARP, ends,
        ], axis=1)  # fmt: skip
