"""Jobs: strands of cases, each with a target, laid out for a GPU, and cut into strips."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.intrinsics.words import WARP
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import TableLimits, packed_limits, table_limits
from gpu_tools.sites.gpu import job_table
from gpu_tools.sites.gpu.codon_plan import NO_SLOT, SHORTEST, CodonPlan, compile_codons
from gpu_tools.sites.gpu.packed_strip import HOT_SLOTS, NARROW, QUAD, RING_WORDS, WIDE
from gpu_tools.sites.gpu.steps import FIRST_STORED, OWN_SLOTS, StepPlan, compile_steps
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.rows import kept_symbols

_LOWEST_HALF = -0x7F80
"""Less than any 16-bit cell; its two bytes are equal."""
_WIDEST = 2 * WARP * WIDE
"""Columns of the widest strip."""


class StrandNumbers(NamedTuple):
    """What is known of a strand, or, in arrays, of the strands of some jobs."""

    coding: int  # whether chains translate
    fits: int  # whether the kernels can do what is compiled of the table
    limits: TableLimits
    # of what is compiled, 0 if nothing is
    n_bytes: int = 0
    steps: int = 0
    slots: int = 0
    start: int = 0
    ring: int = 0
    exits: int = 0
    entries: int = 0
    tracks: int = 0

    @classmethod
    def of_jobs(cls, strands: list[SiteStrand], strand: NDArray[np.int64]) -> Self:
        """Return arrays of the strands with some numbers."""
        rows = [(*each.limits, *each[:2], *each[3:]) for each in (s.numbers for s in strands)]
        n = len(TableLimits._fields)
        width = n + len(cls._fields) - 1
        columns = np.array(rows, dtype=np.int64).reshape(-1, width)[strand].T
        return cls(*columns[n : n + 2], TableLimits(*columns[:n]), *columns[n + 2 :])

    def take(self, numbers) -> Self:
        """Return the arrays of some jobs."""
        limits = TableLimits(*(each[numbers] for each in self.limits))
        return type(self)(*(limits if each is self.limits else each[numbers] for each in self))


class SiteStrand:
    """One strand of a base sequence that has a chain; what is compiled of it serves all targets.

    `codes` are its nucleotides in reading direction. Nothing is compiled if the scores or the
    introns are none for the kernels.
    """

    def __init__(self, codes: NDArray[np.uint8], table: SiteTable, scoring: SplicedScoring):
        self.codes, self.table = codes, table
        self.limits = table_limits(table, scoring.gap, codes)
        self.compiled: StepPlan | CodonPlan | None = None
        if table.stops is None and _are_bytes(scoring):
            self.compiled = compile_steps(codes, table, scoring.clip_cost)
        elif _are_bytes(scoring) and _shortest_intron(table) >= SHORTEST:
            self.compiled = compile_codons(codes, table, scoring.clip_cost)

    @property
    def numbers(self) -> StrandNumbers:
        """What is known of the strand."""
        coding, made = self.table.stops is not None, self.compiled
        if made is None:
            return StrandNumbers(coding, False, self.limits)
        fits, table = made.n_slots <= (NO_SLOT if coding else max(HOT_SLOTS.values())), self.table
        return StrandNumbers(
            coding, fits, self.limits, made.n_bytes, made.n_steps, made.n_slots, made.start,
            made.ring, len(table.donors.boundaries), len(table.acceptors.boundaries), table.tracks,
        )  # fmt: skip


def _are_bytes(scoring: SplicedScoring) -> bool:
    """Return whether the kernels can take a scoring."""
    return (
        max(map(abs, scoring.lifted_range)) <= 127
        and -127 <= scoring.gap <= 0
        and scoring.clip_cost * WIDE < 2**15
    )


def _shortest_intron(table: SiteTable) -> int:
    seen = table.junctions
    shortest = min((intron.min_length for intron in table.introns), default=SHORTEST)
    return min(shortest, int((seen.acceptors - seen.donors).min(initial=SHORTEST)))


class SiteJobs(NamedTuple):
    """Strands with targets, in arrays with an element a job.

    `strand` and `target` are numbers of `strands` and of the symbols in `targets`.
    """

    strands: list[SiteStrand]
    targets: list[NDArray[np.uint8]]
    scoring: SplicedScoring
    strand: NDArray[np.int64]
    target: NDArray[np.int64]
    known: StrandNumbers
    columns: NDArray[np.int64]  # of the target
    kept: NDArray[np.int64]  # symbols of the target without its poly-A tail
    floor: NDArray[np.int64]  # of cells
    least: NDArray[np.int64]  # the least score of a chain
    fits: NDArray[np.bool_]  # whether the kernels can take it: its kind, its scores and its slots

    @classmethod
    def of(cls, strands: list[SiteStrand], targets: list, strand, target, scoring) -> Self:
        """Return jobs given the numbers of their strands and targets."""
        strand, target = np.array(strand, np.int64), np.array(target, np.int64)
        known = StrandNumbers.of_jobs(strands, strand)
        of_targets = [(len(t), kept_symbols(t), (t == OTHER).any()) for t in targets]
        lengths, kept, unknown = np.array(of_targets, dtype=np.int64).reshape(-1, 3)[target].T
        limits = packed_limits(known.limits, lengths + 1, _WIDEST, scoring)
        gap, cost, is_global = scoring.gap, scoring.clip_cost, scoring.ends == "global"
        unaligned = gap * lengths if is_global else np.maximum(gap * kept, -cost)
        # a chain that begins at a closed boundary stays below the floor
        most = max(0 if is_global else abs(gap) * _WIDEST, cost)
        alike = len(set(scoring.lifted[:, OTHER].tolist())) == 1
        fits = (
            (known.fits > 0) & (alike | (unknown == 0)) & (most - 2**15 <= limits.floor)
            & (limits.bounds.lowest > _LOWEST_HALF + 256)
            & (limits.bounds.highest < 2**15 - 256)
        )  # fmt: skip
        return cls(
            strands, targets, scoring, strand, target, known, lengths + 1, kept, limits.floor,
            limits.least + unaligned, fits,
        )  # fmt: skip

    @property
    def count(self) -> int:
        """Number of jobs."""
        return len(self.strand)

    def take(self, numbers) -> Self:
        """Return some of the jobs."""
        known, arrays = self.known.take(numbers), (each[numbers] for each in self[6:])
        own = self.strand[numbers], self.target[numbers]
        return type(self)(*self[:3], *own, known, *arrays)

    def strand_of(self, k: int) -> SiteStrand:
        """Return the strand of a job."""
        return self.strands[self.strand[k]]


# How jobs are cut into strips, and how wide their strips are.


NANOSECONDS_A_ROW = {NARROW: 5, WIDE: 8} if simulated() else {NARROW: 75, WIDE: 140}
"""Time of a row by registers a lane, about, with two such strips for each scheduler of an H200."""
STRIPS_A_MULTIPROCESSOR = 8


_LEAST_EVERY, _MOST_CHECKPOINTS = 1 << 14, 512


def _most_at_a_time() -> int:
    """Return how many strips of a job surely run at a time: of each of three batches.

    The simulator runs one.
    """
    return 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT // 3


@dataclass(frozen=True, eq=False)
class PackedStrips:
    """The strips of jobs for the kernel, in arrays with an element a job.

    A short job stores the rows of all sites at once. A long one is swept for its best end first,
    and leaves checkpoints. Then *windows* of it are swept, from a checkpoint up to the best end,
    which store rows.
    """

    jobs: SiteJobs
    size: NDArray[np.int64]  # registers a lane of all strips but the last one
    last_size: NDArray[np.int64]
    strips: NDArray[np.int64]
    end_step: NDArray[np.int64]  # the first step that is not swept
    every: NDArray[np.int64]  # steps between checkpoints; 0 for jobs that store all rows
    first_step: NDArray[np.int64]
    checkpoint: NDArray[np.int64]  # where the first step's checkpoint begins in the buffer

    border_bytes = 4
    short = 1 << 19
    """Steps of a job that stores all rows, at most."""
    group = WARP
    """Checkpoints lie whole groups of steps apart."""

    @classmethod
    def cut(cls, jobs: SiteJobs, size, every: int | None = None) -> Self:
        """Cut jobs into strips of `size` registers a lane; of fewer if their slots need that.

        The last strip is narrow if that is enough. A long job leaves checkpoints, and any job in a
        distance `every` of steps, if given.
        """
        size, steps, none = cls._possible(jobs, size), jobs.known.steps, np.zeros_like(jobs.strand)
        strips = -(-jobs.columns // (2 * WARP * size))
        left = jobs.columns - (strips - 1) * 2 * WARP * size
        last = np.where(left <= 2 * WARP * NARROW, NARROW, size)
        usual = np.maximum(-(-steps // _MOST_CHECKPOINTS), _LEAST_EVERY)
        apart = np.where(steps > cls.short, usual, 0) if every is None else none + every
        apart = -(-apart // cls.group) * cls.group
        return cls(jobs, size, last, strips, steps, apart, none, none)

    @staticmethod
    def _possible(jobs: SiteJobs, size) -> NDArray[np.int64]:
        """Return the registers a lane that leave space for all slots."""
        return np.where(jobs.known.slots <= HOT_SLOTS[WIDE], size, NARROW)

    def take(self, numbers) -> Self:
        """Return the strips of some jobs."""
        jobs, arrays = self.jobs.take(numbers), (vars(self)[name] for name in _ARRAYS)
        return type(self)(jobs, *(each[numbers] for each in arrays))

    def windows(self, numbers, lengths, ends, columns, checkpoints) -> Self:
        """Return windows of some jobs up to boundaries and columns, of some steps or more.

        `checkpoints` says where each job's checkpoints begin.
        """
        own = self.take(numbers)
        made = [own.jobs.strand_of(k).compiled for k in range(own.jobs.count)]
        pairs = zip(made, ends.tolist(), strict=True)
        end_step = np.array([each.step_behind(end) for each, end in pairs])
        number = np.maximum(end_step - lengths, 0) // own.every
        before = np.maximum(number - 1, 0) * own.strips * own.checkpoint_stride
        strips = np.minimum(columns // (2 * WARP * own.size) + 1, own.strips)
        return replace(
            own, last_size=np.where(strips < own.strips, own.size, own.last_size), strips=strips,
            end_step=end_step, every=np.zeros_like(strips), first_step=number * own.every,
            checkpoint=checkpoints + before,
        )  # fmt: skip

    @property
    def duration(self) -> NDArray[np.int64]:
        """What the time of a strip is proportional to."""
        wide = self.size == WIDE
        return self.advances * np.where(wide, NANOSECONDS_A_ROW[WIDE], NANOSECONDS_A_ROW[NARROW])

    @cached_property
    def words(self) -> NDArray[np.int64]:
        """Words of cells in device memory, of borders and of checkpoints; a row a job."""
        cells = self.rows * ((self.strips - 1) * self.size + self.last_size) * WARP
        counts = np.where(self.every > 0, (self.end_step - 1) // np.maximum(self.every, 1), 0)
        checkpoints = counts * self.strips * self.checkpoint_stride
        return np.stack([cells, self.strips * self.border_words, checkpoints], axis=1)

    @property
    def bytes(self) -> NDArray[np.int64]:
        """Bytes of device memory."""
        return self.words @ np.array([4, self.border_bytes, 4])

    @cached_property
    def first_boundary(self) -> NDArray[np.int64]:
        """The first boundary whose rows are stored."""
        return self._boundaries(self.first_step)

    def _boundaries(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first boundaries of some steps, one a job; those of others do not matter."""
        made = np.zeros_like(steps)
        for k in np.flatnonzero((steps > 0) & (steps < self.jobs.known.steps)):
            made[k] = self.jobs.strand_of(k).compiled.boundary_from(int(steps[k]))
        return made

    def _sites_before(self, name: str, total: NDArray, steps: NDArray) -> NDArray[np.int64]:
        """Return how many donors or acceptors, of all of a job, lie before a step's boundaries."""
        made, at = np.where(steps > 0, total, 0), self._boundaries(steps)
        for k in np.flatnonzero(at):
            listed = getattr(self.jobs.strand_of(k).table, name).boundaries
            made[k] = np.searchsorted(listed, listed.dtype.type(at[k]))
        return made

    @cached_property
    def exits_before(self) -> NDArray[np.int64]:
        """Exits before the first step."""
        return self._sites_before("donors", self.jobs.known.exits, self.first_step)

    @property
    def first_exit(self) -> NDArray[np.int64]:
        """The first exit whose rows are there."""
        return self.exits_before

    @cached_property
    def exits(self) -> NDArray[np.int64]:
        """Exits whose rows are there at a time."""
        past = self._sites_before("donors", self.jobs.known.exits, self.end_step)
        return np.where(self.every > 0, self.jobs.known.ring, past - self.first_exit)

    @cached_property
    def first_entry(self) -> NDArray[np.int64]:
        """The first entry of a window."""
        return self._sites_before("acceptors", self.jobs.known.entries, self.first_step)

    @cached_property
    def entries(self) -> NDArray[np.int64]:
        """Entries of a window."""
        past = self._sites_before("acceptors", self.jobs.known.entries, self.end_step)
        return past - self.first_entry

    @cached_property
    def first_slot(self) -> NDArray[np.int64]:
        """Rows that there are at a time, but for slots: those of sites, and others before them."""
        entries = np.where(self.every > 0, 0, self.entries)
        return FIRST_STORED + self.jobs.known.tracks * (self.exits + entries)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows in device memory."""
        return self.first_slot

    @property
    def missing_rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What is taken off the numbers of stored rows, of exits and of entries."""
        known = self.jobs.known
        missing = self.first_entry + known.exits - self.exits
        return known.tracks * self.first_exit, known.tracks * missing

    @property
    def advances(self) -> NDArray[np.int64]:
        """Border words that a strip hands on; a whole number of groups."""
        return 2 * (self.end_step - self.first_step)

    @cached_property
    def is_ring(self) -> NDArray[np.bool_]:
        """Whether border words lie in rings: all strips of a job run at a time."""
        return (self.advances > RING_WORDS) & (self.strips <= _most_at_a_time())

    @property
    def border_words(self) -> NDArray[np.int64]:
        """Border words of a strip in memory."""
        return np.where(self.is_ring, RING_WORDS, self.advances)

    @property
    def checkpoint_stride(self) -> NDArray[np.int64]:
        """Words of a strip's part of a checkpoint."""
        rows = 1 + np.maximum(self.jobs.known.slots - OWN_SLOTS, 0)
        return (QUAD + rows * self.size) * WARP

    def table(self) -> NDArray[np.int64]:
        """Return the jobs' rows of the table, without where their parts begin."""
        jobs, gap = self.jobs, self.jobs.scoring.gap
        lifting = 0 if jobs.scoring.ends == "global" else -gap * 2 * WARP * self.size
        table = np.zeros((jobs.count, job_table.JOB_NUMBERS), np.int64)
        for column, values in (
            (job_table.FLOOR, twice(jobs.floor)), (job_table.STRIPS, self.strips),
            (job_table.COLUMNS, jobs.columns), (job_table.FIRST_STORED, FIRST_STORED),
            (job_table.SIZE, self.size), (job_table.LAST_SIZE, self.last_size),
            (job_table.LIFTING, lifting), (job_table.KEPT, jobs.kept),
            (job_table.STRIDE, self.rows * self.size * WARP),
            (job_table.BORDER_WORDS, self.border_words),
            (job_table.BORDER_MASK, np.where(self.is_ring, RING_WORDS - 1, -1)),
            (job_table.FIRST_STEP, self.first_step),
            (job_table.OPERANDS, jobs.known.steps), (job_table.SLOTS, self.first_slot),
            (job_table.N_SLOTS, jobs.known.slots), (job_table.START, jobs.known.start),
            (job_table.EXIT_BASE, self.first_exit), (job_table.COPY_BASE, self.missing_rows[1]),
            (job_table.CHECKPOINTS, self.checkpoint), (job_table.EVERY, self.every),
            (job_table.CHECKPOINT_STRIDE, self.checkpoint_stride), *self._of_kind(),
        ):  # fmt: skip
            table[:, column] = values
        return table

    def _of_kind(self) -> list[tuple[int, NDArray[np.int64]]]:
        """Return the columns of the table that mean something else where chains translate."""
        return [(job_table.ROWS, 2 * self.end_step), (job_table.RING, self.exits)]


_ARRAYS = [name for name in PackedStrips.__dataclass_fields__ if name != "jobs"]


def twice(value):
    """Return the word of two equal halves, or an array of such."""
    return value << 16 | value & 0xFFFF


def strips_of(case) -> int:
    """Return about how many strips a case has."""
    return len(case.tables) * -(-(len(case.target) + 1) // _WIDEST)


def sizes_of(jobs: SiteJobs) -> NDArray[np.int64]:
    """Choose registers a lane for each job so that all of them together end soon.

    A wide strip does more cells a second, a narrow one has done a row sooner. So a job gets narrow
    strips if one of its wide strips would need longer than all jobs together.
    """
    rows, strips = jobs.known.limits.length + 1, -(-jobs.columns // _WIDEST)
    processors = 1 if simulated() else cuda.get_current_device().MULTIPROCESSOR_COUNT
    together = (rows * strips).sum() / (processors * STRIPS_A_MULTIPROCESSOR)
    return np.where(rows > together, NARROW, WIDE)
