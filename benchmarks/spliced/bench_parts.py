"""Where the time of a call on GPUs goes: what each part takes in the thread that does it.

Run ``python -m benchmarks.spliced.bench_parts [RECORD.json]``. Measured are the set of 1,010 cases
and 40,000 cases, as columns, on one GPU and on all of the machine. A part's time is that of its
thread, waits for the GPU and for other threads of Python among it; where parts are nested, the time
of the inner one counts for itself alone. ``work of the GPU`` is from the start of the first batch
in its stream until all have ended, by CUDA events.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks import record
from benchmarks.case_sets import SMALL, case_set, many_cases
from benchmarks.spliced.bench_spliced import has_gpu
from gpu_tools import case_columns, spliced_align_many, spliced_scores
from gpu_tools.hardware.device import list_gpus

REPEATS = 7
CALL, GPU = "the rest of the call", "work of the GPU"


class Clock:
    """Times of parts, by thread and part, and the spans of the work of GPUs.

    Attributes
    ----------
    seconds : dict
        Of each thread's name and part.
    events : dict
        Of each thread the number of its GPU, the first event, and those of all ends.
    """

    def __init__(self):
        self.seconds: dict[tuple[str, str], float] = defaultdict(float)
        self.events: dict[str, list] = defaultdict(list)
        self._inner = threading.local()

    def timed(self, part: str, function: Callable) -> Callable:
        """Return a function that does the same, and whose time counts for a part."""

        @wraps(function)
        def counted(*given, **options):
            outer, self._inner.seconds = getattr(self._inner, "seconds", 0.0), 0.0
            begin = time.perf_counter()
            try:
                return function(*given, **options)
            finally:
                whole = time.perf_counter() - begin
                key = threading.current_thread().name, part
                self.seconds[key] += whole - self._inner.seconds
                self._inner.seconds = outer + whole

        return counted

    def marked(self, function: Callable, calls_of: Callable) -> Callable:
        """Return a function that does the same, and puts an event before or behind its work."""
        from numba import cuda

        @wraps(function)
        def marking(*given, **options):
            calls = calls_of(*given)
            events = self.events[threading.current_thread().name]
            if not events:
                events += [cuda.current_context().device.id, cuda.event(), []]
                calls.record(events[1])
            result = function(*given, **options)
            events[2].append(cuda.event())
            calls.record(events[2][-1])
            return result

        return marking

    def milliseconds(self) -> dict[str, dict[str, float]]:
        """Return the time of each part, by thread."""
        from numba import cuda

        found: dict[str, dict[str, float]] = defaultdict(dict)
        for (thread, part), seconds in self.seconds.items():
            found[thread][part] = 1e3 * seconds
        for thread, (ordinal, begin, ends) in self.events.items():
            with cuda.gpus[ordinal]:
                # the batch that was put down last need not be the last to end
                found[thread][GPU] = max(cuda.event_elapsed_time(begin, end) for end in ends)
        return found


@contextmanager
def watched() -> Iterator[Clock]:
    """Have the parts of calls timed."""
    from gpu_tools.spliced import api
    from gpu_tools.spliced.gpu import batches as cuda_batches
    from gpu_tools.spliced.gpu import chains as cuda_chains
    from gpu_tools.spliced.gpu import launch as cuda
    from gpu_tools.spliced.gpu import schedule as cuda_schedule
    from gpu_tools.spliced.gpu import work as cuda_work

    clock = Clock()
    parts = [
        (api, "case_columns", "cases made columns"),
        (cuda_work, "Layout", "room made for programs"),
        (cuda_work.Helpers, "begin", "threads begun"),
        (cuda_work.Work, "lay_out", "programs laid out"),
        (cuda_work, "_broad", "kernels chosen"),
        (cuda_schedule, "halved", "strands cut"),
        (cuda_batches, "_dealt", "targets copied, programs waited for, batches made"),
        (cuda_schedule, "beginning", "first calls taken"),
        (cuda_schedule, "share_of", "share made"),
        (cuda.Resident, "copy", "programs put down"),
        (cuda_schedule, "lay_out", "launches laid out"),
        (cuda.PackedLaunch, "__init__", "launch put down"),
        (cuda.PackedLaunch, "run", "sweep put down"),
        (cuda_chains.ChainSearch, "find_ends", "search for ends put down"),
        (cuda_chains.ChainSearch, "find_chains", "search for chains put down"),
        (cuda_schedule, "start_together", "calls made"),
        (cuda_chains.ChainSearch, "raise_scores", "scores waited for"),
        (cuda_chains.ChainSearch, "found", "chains waited for"),
        (cuda_schedule.Alignments, "add", "chains added"),
        (cuda_schedule.Room, "keep", "buffers kept"),
    ]
    with ExitStack() as stack:
        for owner, name, part in parts:
            timed = clock.timed(part, getattr(owner, name))
            stack.enter_context(patch.object(owner, name, timed))
        for owner, name, calls_of in (
            (cuda.PackedLaunch, "__init__", lambda *given: given[-1].calls),
            (cuda_chains.ChainSearch, "find_ends", lambda search: search.buffers.calls),
            (cuda_chains.ChainSearch, "find_chains", lambda search: search.buffers.urgent),
        ):
            marked = clock.marked(getattr(owner, name), calls_of)
            stack.enter_context(patch.object(owner, name, marked))
        beside = cuda_schedule.KEPT.beside_gpus

        @contextmanager
        def beside_gpus(ordinals, run, shares):
            gpus = beside(ordinals, clock.timed("the rest of a GPU's thread", run), shares)
            clock.timed("GPUs asked", gpus.__enter__)()
            try:
                yield
            finally:
                clock.timed("waited for GPUs", gpus.__exit__)(None, None, None)

        stack.enter_context(patch.object(cuda_schedule.KEPT, "beside_gpus", beside_gpus))
        yield clock


def parts_of(call: Callable[[], object]) -> dict[str, dict[str, float]]:
    """Return the median time of each part of a call, in milliseconds, by thread."""
    call()
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(REPEATS):
        with watched() as clock:
            clock.timed(CALL, call)()
            for thread, parts in clock.milliseconds().items():
                for part, milliseconds in parts.items():
                    times[thread, part].append(milliseconds)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (thread, part), values in times.items():
        found[thread][part] = round(statistics.median(values), 3)
    return found


def measure() -> dict:
    """Return the parts of both functions, on one GPU and on all."""
    gpus = ",".join(str(gpu.ordinal) for gpu in list_gpus())
    found, cases = {}, case_set()
    for name, own in (("set", cases), ("40,000 cases", many_cases(cases))):
        columns = case_columns(own)
        for function in (spliced_scores, spliced_align_many):
            for device in dict.fromkeys(("cuda:0", f"cuda:{gpus}")):
                parts = parts_of(lambda: function(columns, device=device))  # noqa: B023
                found[f"{function.__name__} of the {name} on {device}"] = parts
    cases = case_set()
    found["spliced_scores of the set as cases on cuda:0"] = parts_of(
        lambda: spliced_scores(cases, device="cuda:0")
    )
    return found


@pytest.mark.skipif(not has_gpu(), reason="needs a GPU")
def test_tiny():
    """Every part is there and positive, at a size that takes no time."""
    columns = case_columns(case_set(SMALL))
    parts = parts_of(lambda: spliced_scores(columns, device="cuda:0"))
    assert sum(GPU in times for times in parts.values()) == 1
    assert all(milliseconds > 0 for times in parts.values() for milliseconds in times.values())


if __name__ == "__main__":
    figures = measure()
    for name, parts in figures.items():
        print(name)
        for thread, times in parts.items():
            print(f"  {thread}: {times}")
    if len(sys.argv) > 1:
        record.write(Path(sys.argv[1]), figures)
