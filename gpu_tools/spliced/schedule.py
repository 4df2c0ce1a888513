"""Which case is worked on when, and by what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

from gpu_tools.results import SplicedAlignment
from gpu_tools.scoring import SplicedScoring
from gpu_tools.spliced import cpu
from gpu_tools.spliced.batches import shares
from gpu_tools.spliced.case import Case, Preparation, PreparedCase, finish
from gpu_tools.spliced.traceback import Swept

COLUMNS_PER_STRIPE = 256
"""Fewer target columns than this are not worth a thread of their own."""
BYTES_PER_BATCH = 1 << 30
"""What the sweeps of one batch may keep in GPU memory, and again in host memory."""


def on_cpu(
    cases: list[Case], scoring: SplicedScoring, threads: int, done: Callable[[int], None]
) -> list[SplicedAlignment]:
    """Align all cases on the CPU.

    A case that is more than half a thread's share of the work is spread over all threads, by
    stripes of its target; the others run side by side.

    Parameters
    ----------
    cases : list of Case
        Checked cases.
    scoring : SplicedScoring
    threads : int
    done : callable
        Told the nominal cells of each case that is done.

    Returns
    -------
    list of SplicedAlignment
        In the order of `cases`.
    """
    prepare = Preparation(scoring)
    cells = [case.cells for case in cases]
    alone = sum(cells) / (2 * threads)
    results: dict[int, SplicedAlignment] = {}
    for k in (k for k, n in enumerate(cells) if n > alone):
        results[k] = _align(prepare(cases[k]), scoring, threads)
        done(cells[k])
    rest = [k for k in range(len(cases)) if k not in results]
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(lambda k: _align(prepare(cases[k]), scoring, 1), k): k for k in rest}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            done(cells[futures[future]])
    return [results[k] for k in range(len(cases))]


def _align(prepared: PreparedCase, scoring: SplicedScoring, threads: int) -> SplicedAlignment:
    target = prepared.case.target.codes
    stripes = max(min(threads, len(target) // COLUMNS_PER_STRIPE), 1)
    swept = [
        Swept(program, cpu.sweep(program, target, scoring, stripes), target, scoring)
        for program in prepared.programs
    ]
    return finish(prepared, swept)


def on_cuda(
    cases: list[Case],
    scoring: SplicedScoring,
    ordinals: tuple[int, ...],
    threads: int,
    done: Callable[[int], None],
) -> list[SplicedAlignment]:
    """Align all cases on GPUs: sweeps and tracebacks there, preparation on the CPU.

    Parameters
    ----------
    cases : list of Case
        Checked cases.
    scoring : SplicedScoring
    ordinals : tuple of int
        GPUs; each gets about the same number of cells.
    threads : int
        CPU threads.
    done : callable
        Told the nominal cells of each case that is done.

    Returns
    -------
    list of SplicedAlignment
        In the order of `cases`.
    """
    prepare = Preparation(scoring)
    dealt = shares([case.cells for case in cases], len(ordinals))
    results: dict[int, SplicedAlignment] = {}
    with ThreadPoolExecutor(threads) as workers, ThreadPoolExecutor(len(ordinals)) as drivers:

        def drive(ordinal: int, share: list[int]) -> None:
            made = workers.map(lambda k: (k, _with_jobs(prepare(cases[k]), scoring)), share)
            for batch in _batches(made):
                outcomes = _sweep_batch(batch, scoring, ordinal, workers.map)
                finished = workers.map(lambda pair: finish(*pair), outcomes)
                for (k, prepared, _), result in zip(batch, finished, strict=True):
                    results[k] = result
                    done(prepared.cells)

        list(drivers.map(drive, ordinals, dealt))
    return [results[k] for k in range(len(cases))]


def _with_jobs(prepared: PreparedCase, scoring: SplicedScoring) -> tuple[PreparedCase, list]:
    from gpu_tools.spliced.cuda import Job

    target = prepared.case.target.codes
    return prepared, [Job(program, target, scoring) for program in prepared.programs]


def _batches(made: Iterable[tuple[int, tuple[PreparedCase, list]]]) -> Iterator[list]:
    """Group prepared cases so that what a group keeps on the GPU stays within a limit."""
    batch, used = [], 0
    for k, (prepared, jobs) in made:
        size = sum(job.device_bytes for job in jobs)
        if batch and used + size > BYTES_PER_BATCH:
            yield batch
            batch, used = [], 0
        batch.append((k, prepared, jobs))
        used += size
    if batch:
        yield batch


def _sweep_batch(batch: list, scoring: SplicedScoring, ordinal: int, spread: Callable):
    """Return each case with the outcomes of its programs; `spread` is a map over threads."""
    from gpu_tools.spliced.cuda import sweep_all

    jobs = [job for *_, own in batch for job in own]
    numbers = [k for k, (*_, own) in enumerate(batch) for _ in own]
    outcomes = iter(sweep_all(jobs, numbers, scoring, ordinal, spread) if jobs else [])
    return [(prepared, [next(outcomes) for _ in own]) for _, prepared, own in batch]
