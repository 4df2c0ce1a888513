"""Cases on GPUs: which kernel and which GPU takes a case, and what becomes of what they leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.hardware.batches import within_limit
from gpu_tools.hardware.cpu.native_threads import Copy
from gpu_tools.hardware.gpu.buffer_pool import KEPT, Buffers, Room
from gpu_tools.hardware.gpu.driver_calls import start_together
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.alignments import NO_CHAIN, Alignments
from gpu_tools.spliced.case import Preparation, PreparedCase, finish
from gpu_tools.spliced.columns import CaseColumns
from gpu_tools.spliced.cpu.traceback import Swept
from gpu_tools.spliced.gpu import launch as packed
from gpu_tools.spliced.gpu import sweep32 as wide
from gpu_tools.spliced.gpu.batches import (
    Batch,
    Share,
    beginning,
    in_groups,
    refuse_beyond,
    share_of,
)
from gpu_tools.spliced.gpu.chains import ChainSearch
from gpu_tools.spliced.gpu.halves import halved
from gpu_tools.spliced.gpu.layout import lay_out
from gpu_tools.spliced.gpu.work import Work, begun

WIDE_BYTES_PER_BATCH = 1 << 30
"""The same for 32-bit sweeps, whose rows go to host memory."""


def on_cuda(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    done: Callable[[int], None],
) -> Sequence[SplicedAlignment]:
    """Align all cases on GPUs.

    Parameters
    ----------
    columns : CaseColumns
    scoring : SplicedScoring
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    threads : int
        CPU threads.
    done : callable
        Told the nominal cells of cases that are done.

    Returns
    -------
    sequence of SplicedAlignment
        In the order of the cases; each is made when it is asked for.

    Raises
    ------
    DeviceError
        If a case does not fit the memory of its GPU.
    """
    found = Alignments(columns)

    def run(work: Work, number: int, room: Room) -> None:
        copying: deque[Copy] = deque()
        share, resident = begin_share(work, number, room)
        broad = prepare_wide(columns, share, scoring)
        for own, search in searches(work, share, resident, room, ChainSearch.find_chains):
            # its buffers are those of the search so many before
            for copied in first_beyond(copying, len(room.turns) - 1):
                copied.result()
            part = search.found()
            found.add(search.jobs, part)
            copying.append(part.words)
            done(sum_of(columns.cells, own))
        for copied in copying:
            copied.result()
        for k, result in wide_results(broad, scoring):
            found.others[k] = result
            done(result.cells)

    on_gpus(columns, scoring, ordinals, threads, run)
    return found


def scores_on_cuda(
    columns: CaseColumns, scoring: SplicedScoring, ordinals: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Return the score of each case's best chain, `NO_CHAIN` where it has no candidate."""
    scores = np.full(len(columns.cells), NO_CHAIN, dtype=np.int64)

    def run(work: Work, number: int, room: Room) -> None:
        share, resident = begin_share(work, number, room)
        broad = prepare_wide(columns, share, scoring)
        for _, search in searches(work, share, resident, room):
            search.raise_scores(scores)
        for k, result in wide_results(broad, scoring):
            scores[k] = NO_CHAIN if result.score is None else result.score

    cut = partial(halved, multiprocessors=packed.count_multiprocessors(ordinals))
    on_gpus(columns, scoring, ordinals, threads, run, cut)
    return scores


def on_gpus(
    columns: CaseColumns,
    scoring: SplicedScoring,
    ordinals: Sequence[int],
    threads: int,
    run: Callable[[Work, int, Room], None],
    prepare: Callable[[CaseColumns], CaseColumns] | None = None,
) -> None:
    """Have each GPU's thread call ``run(work, number, room)``, the first with the number 0.

    The GPUs begin while programs are being laid out. For the rest see `begun`.
    """
    with begun(columns, scoring, ordinals, threads, prepare) as work:
        with KEPT.beside_gpus(ordinals, partial(run, work), range(len(ordinals))):
            work.lay_out()


def begin_share(work: Work, number: int, room: Room) -> tuple[Share, packed.Resident]:
    """Return what the current GPU has to do, and what its cases have in common, put down there."""
    parts = {"targets": work.columns.targets, "scoring": work.constants}
    given = [room.stays.copy(f"resident {name}", part) for name, part in parts.items()]
    first = beginning(room)
    # to be copied with the first batch, when they are there
    resident = packed.Resident.copy(work.programs, given, room.stays)
    return share_of(work, number, first), resident


def searches(
    work: Work,
    share: Share,
    resident: packed.Resident,
    room: Room,
    start: Callable[[ChainSearch], None] = lambda search: None,
) -> Iterator[tuple[NDArray[np.int64], ChainSearch]]:
    """Sweep cases on the current GPU, batch by batch, and have their best ends found.

    While results of one batch are taken over, the GPU works on the next ones in other buffers. What
    else is to be done with a search is put down by `start`.
    """
    if not share.jobs.count:
        room.stays.calls.taken()  # nobody needs copies of programs
        return
    turns, running, crowded = deque(room.turns), deque(), False
    for group in in_groups(share.batches, len(turns)):
        if group[0].alone or crowded:
            yield from first_beyond(running, 0)
            room.empty()
        crowded, own = group[0].alone, [turns[k] for k in range(len(group))]
        turns.rotate(-len(group))
        running += _begun(work, share, resident, group, own, start)
        yield from first_beyond(running, len(room.turns) - 1)
    yield from first_beyond(running, 0)
    if share.broad:
        room.empty()


def _begun(
    work: Work,
    share: Share,
    resident: packed.Resident,
    group: list[Batch],
    rooms: list[Buffers],
    start: Callable[[ChainSearch], None],
) -> list[tuple[NDArray[np.int64], ChainSearch]]:
    """Begin with batches that follow each other, each in its own buffers."""
    first, searches, draft = group[0].jobs.start, [], share.draft
    if draft is None or first > 0:
        jobs = share.jobs.take(slice(first, group[-1].jobs.stop))
        past = [batch.jobs.stop - first for batch in group]
        draft = lay_out(resident.programs.table, jobs, past, share.most_blocks)
    for batch, one, buffers in zip(group, draft.put_into(rooms), rooms, strict=True):
        launch = packed.PackedLaunch(resident, one, work.apart, buffers)
        launch.run()
        search = ChainSearch(launch, work.scoring)
        search.find_ends()
        start(search)
        searches.append((share.narrow[batch.cases], search))
    start_together([calls for each in rooms for calls in (each.calls, each.urgent)])
    return searches


@njit(cache=True)
def sum_of(values, places):
    """Return the sum of values at some places, without giving Python's lock away as numpy does."""
    total = 0
    for place in places:
        total += values[place]
    return total


def first_beyond(line: deque, most: int) -> Iterator:
    """Take those that were first in a line until no more than `most` are left."""
    while len(line) > most:
        yield line.popleft()


def prepare_wide(
    columns: CaseColumns, share: Share, scoring: SplicedScoring
) -> list[tuple[int, PreparedCase]]:
    """Prepare cases for the 32-bit sweep, and refuse those that the current GPU cannot hold."""
    if not share.broad:
        return []
    prepare_case = Preparation(scoring)
    made = [(k, prepare_case(columns.cases[k])) for k in share.broad]
    for numbered in made:
        refuse_beyond(share.free, numbered[0], _wide_bytes(numbered))
    return made


def wide_results(
    made: list[tuple[int, PreparedCase]], scoring: SplicedScoring
) -> Iterator[tuple[int, SplicedAlignment]]:
    """Align cases with 32-bit sweeps on the current GPU; chains are followed on the CPU."""
    for batch in within_limit(made, _wide_bytes, WIDE_BYTES_PER_BATCH):
        jobs = [
            wide.Job(program, prepared.case.target.codes)
            for _, prepared in batch
            for program in prepared.programs
        ]
        sweeps = iter(zip(jobs, wide.sweep(jobs, scoring), strict=True))
        for k, prepared in batch:
            own = [next(sweeps) for _ in prepared.programs]
            swept = [Swept(job.program, sweep, job.target, scoring) for job, sweep in own]
            yield k, finish(prepared, swept)


def _wide_bytes(numbered: tuple[int, PreparedCase]) -> int:
    _, prepared = numbered
    target = prepared.case.target.codes
    return sum(wide.device_bytes(wide.Job(p, target)) for p in prepared.programs)
