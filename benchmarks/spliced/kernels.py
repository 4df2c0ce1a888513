"""List mode's kernels on a GPU: the one module of its benchmarks that uses what is not public."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import kernel_ms
from gpu_tools import Case, SplicedScoring, case_columns
from gpu_tools.hardware.device import cpu_threads


def kernels(cases: list[Case]) -> dict:
    """Time the sweep with the search for best ends, and the traceback of chains after it.

    Cases are one batch, and all fit 16-bit cells.
    """
    from gpu_tools.hardware.gpu.dispatch import borrowed_pools

    with borrowed_pools((0,)) as (pool,):
        launch, device_bytes = _launch(cases, pool)
        stream, figures = launch.buffers.stream, {}
        for name in ("run", "trace"):
            figures[f"{name}_ms"] = kernel_ms(getattr(launch, name), stream=stream)
        return figures | {"device_megabytes": round(device_bytes / 1e6, 1)}


def _launch(cases: list[Case], pool):
    """Lay cases out in the memory of the GPU; return also the bytes that they take."""
    from gpu_tools.spliced.gpu import schedule
    from gpu_tools.spliced.gpu.launch import ListLaunch, Resident, lay_out_jobs
    from gpu_tools.spliced.gpu.sweep import scoring_table

    columns, scoring, options = case_columns(cases), SplicedScoring(), schedule.GpuOptions()
    empty, gpus = pool.resident.pinned, (0,)
    work = schedule.prepare(columns, scoring, gpus, cpu_threads(None), empty, options)
    resident = Resident.copy(work.graphs, columns, scoring_table(scoring), pool.resident)
    limits = schedule._block_limits(work.apart, schedule.count_multiprocessors(gpus))
    layout = lay_out_jobs(work.graphs.table, columns, np.arange(len(cases)), limits)
    device_bytes = int(work.bytes.sum())
    return ListLaunch(resident, layout, work.apart, pool.batches[0]), device_bytes
