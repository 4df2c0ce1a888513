"""What the GPUs of a call have to do: cases dealt out, and programs laid out for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.batches import deal_out
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.native_threads import Helpers, do_rest
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.columns import CaseColumns
from gpu_tools.spliced.gpu import launch as packed
from gpu_tools.spliced.gpu.layout import AROUND
from gpu_tools.spliced.gpu.programs import Layout
from gpu_tools.spliced.gpu.shared import lent_arena
from gpu_tools.splicing.bounds import costs_of

STRANDS_A_THREAD = 16
"""Fewer programs than this are not worth a thread of their own."""


class Work:
    """What the GPUs of a call have to do; programs are laid out once for all of them.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    ordinals : sequence of int
        GPUs.
    new : callable
        See `Layout`.
    helpers : Helpers
        Threads that are to lay out programs.

    Attributes
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    ordinals : sequence of int
    apart : bool
        Whether segments are pieces of their own.
    told : ndarray of int64, shape (2,)
        For compiled code to wait for: not 0 once cases are dealt out, and once programs are laid
        out. Below 0 if that has failed.
    order, gpus : ndarray of int64
        Cases, the large ones first, and the number of the GPU that takes each of them.
    constants : ndarray of int32
        Elements of the scoring, see `cuda_job`.
    programs : Programs
        Nothing is in them before.
    """

    def __init__(
        self,
        columns: CaseColumns,
        scoring: SplicedScoring,
        ordinals: Sequence[int],
        new: Callable,
        helpers: Helpers,
    ):
        self.columns, self.scoring, strands = columns, scoring, columns.strands
        self.ordinals, self.told = ordinals, np.zeros(2, dtype=np.int64)
        # memory that is kept need not be mapped
        self.order = new("order", len(columns.cells), np.int64)
        self.gpus = new("gpus", len(columns.cells), np.int64)
        # no Future: threads that ask for its result at once wait for each other
        self._broad: NDArray[np.bool_] | None = None
        self._error: BaseException | None = None
        # no job is without an exon, and where there are many it takes long to look at all
        most = len(ordinals) * packed.most_exons_apart(ordinals[0])
        self.apart = columns.jobs.count <= most >= _count_exons(columns.jobs, strands.first_exons)
        self.constants = packed.constants_of(scoring)
        self._layout = Layout(strands, scoring, self.apart, new)
        self.programs = self._layout.programs
        self._rest = helpers.give(self._layout.task)

    def lay_out(self) -> None:
        """Deal cases out and lay out what is left of the programs, and tell the GPUs."""
        try:
            columns, table = self.columns, self.programs.table
            packable = packed.scores_fit(self.scoring) and all(map(packed.can_pack, self.ordinals))
            limits = columns.strands.lengths, costs_of(self.scoring), AROUND, packable
            dealing = columns.cells, len(self.ordinals), self.order, self.gpus
            made = self._rest, self._layout.counts, table
            if not _deal_and_tell_if_all_fit(dealing, *made, columns.jobs, limits, self.told):
                self._layout.check()
                self._broad = _broad(len(columns.cells), table, columns.jobs, limits)
                self.told[1] = 1
        except BaseException as error:
            self.give_up(error)
            raise

    def give_up(self, error: BaseException) -> None:
        """Have the GPUs wait no longer for what has not come."""
        self._error = self._error or error
        self.told[self.told == 0] = -1

    @property
    def broad(self) -> NDArray[np.bool_] | None:
        """The cases that do not fit the packed kernel, if there are any, once programs are there.

        If these have failed, their error is raised.
        """
        if self._error is not None:
            raise self._error
        return self._broad


@contextmanager
def begun(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: Sequence[int],
    threads: int,
    prepare: Callable[[CaseColumns], CaseColumns] | None = None,
) -> Iterator[Work]:
    """Begin with work for GPUs, on so many threads; who asks for it has to call `lay_out`.

    Cases may be prepared while the threads begin.
    """
    helpers = Helpers()
    with lent_arena() as arena:
        try:
            helpers.begin(min(threads - 1, columns.strands.count // STRANDS_A_THREAD))
            new = partial(arena.array, ordinal=ordinals[0])
            columns = prepare(columns) if prepare else columns
            work = Work(columns, scoring, ordinals, new, helpers)
            try:
                yield work
            except BaseException as error:
                work.give_up(error)
                raise
        finally:
            helpers.join()


@njit(cache=True, nogil=True)
def _count_exons(jobs, first_exons):
    """Return the exons of all jobs together."""
    count = 0
    for program in jobs.programs:
        count += first_exons[program + 1] - first_exons[program]
    return count


@njit(cache=True, nogil=True)
def _deal_and_tell_if_all_fit(dealing, rest, counts, table, jobs, limits, told):
    """Deal cases out and lay out programs; tell GPUs, if the packed kernel can take all.

    All at once without Python's lock, which the threads of GPUs want meanwhile. Who lays out
    programs as well does so while cases are dealt out.
    """
    cells, count, order, gpus = dealing
    deal_out(cells, count, order, gpus)
    simd.fetch_add(told, 0, 1)
    longest = np.zeros(len(table), dtype=np.int64)
    for k in range(len(jobs.programs)):
        longest[jobs.programs[k]] = max(longest[jobs.programs[k]], jobs.lengths[k])
    do_rest(rest)
    bases, costs, around, packable = limits
    fit = packable and counts[1] == len(table)
    for k in range(len(table)):
        fit = fit and packed.cells_fit(table[k], longest[k], bases[k], costs, around)
    if fit:
        simd.fetch_add(told, 1, 1)
    return fit


@njit(cache=True, nogil=True)
def _broad(count, table, jobs, limits):
    """Tell of which cases a job does not fit the packed kernel."""
    bases, costs, around, packable = limits
    broad = np.zeros(count, dtype=np.bool_)
    for k in range(len(jobs.programs)):
        own, base = table[jobs.programs[k]], bases[jobs.programs[k]]
        fit = packable and packed.cells_fit(own, jobs.lengths[k], base, costs, around)
        broad[jobs.cases[k]] |= not fit
    return broad
