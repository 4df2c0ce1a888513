"""The time model against measured times, case by case, on the CPU or on one GPU.

Run ``python -m benchmarks.estimate.bench_estimate [RECORD.json] [--part NAME] [--tiny]``, NAME
being ``gpu``, ``designs`` or ``start``. The device is calibrated, then cases of the case set are
run alone and together. The published designs have their own equations; their scores are compared
with the library's. Times of a CPU are the processor's. With a GPU all cases are run, and every
fifth by the published designs, the sequential one among them, which ``designs`` measures alone.
``start`` times a first call on a GPU in new processes, and later calls there.

Rates are nominal cells a second; `mean` and `best` are over cases, as the source gives them,
`total` is all cells by all time, and `largest` the milliseconds of the case like IL1RAPL1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from statistics import median

import numpy as np

from benchmarks import case_sets, record
from benchmarks.case_sets import PUBLISHED
from benchmarks.estimate.fitted import chosen_cases, fitted, rounded
from benchmarks.published import model, sequential
from gpu_tools import (
    Case,
    DeviceFigures,
    case_columns,
    estimated_seconds,
    spliced_align,
    spliced_estimate,
    spliced_scores,
)
from gpu_tools.estimate.figures import (
    SAMPLES,
    TINY,
    TimedCalls,
    call_of,
    fitted_figures,
    least_seconds,
    relative_errors,
    time_samples,
)
from gpu_tools.estimate.model import CPU, GPU, MODES

ROUNDS = {CPU: 5, GPU: 2}


def measure_model(figures: DeviceFigures, device: str, mode: str, tiny: bool) -> dict:
    """Return estimated and measured seconds of cases alone, and of all of them in one call."""
    cases = chosen_cases(mode, figures.kind, tiny)
    estimates = spliced_estimate(cases, [figures])
    estimated = [each.seconds[mode, figures.kind] for each in estimates]
    rounds = ROUNDS[figures.kind]
    alone = [call_of(mode, [case], device) for case in cases]
    measured = least_seconds(alone, device, rounds=rounds)
    (together,) = least_seconds([call_of(mode, cases, device)], device, rounds=rounds)
    of_all = estimated_seconds(cases, figures, mode)
    return {
        **relative_errors(estimated, measured)._asdict(),
        "together_estimated": of_all,
        "together_measured": together,
        "together_error": of_all / together - 1,
        "estimated": rounded(estimated),
        "measured": rounded(measured),
    }


def measure_design(design: str, seconds: list[float], cases: list[Case]) -> dict:
    """Return a design's rates, and errors of the published equation and of the extended model."""
    features = np.stack([model.design_features(design, case) for case in cases])
    fits = [model.fit_design(features, np.array(seconds), parts) for parts in (1, 3)]
    names = "equation", "extended"
    found = {
        name: {**fit.errors._asdict(), "seconds_of_each": rounded(fit.weights)}
        for name, fit in zip(names, fits, strict=True)
    }
    return {
        **_rates([case.cells for case in cases[:-1]], seconds[:-1]),
        "largest": round(1e3 * seconds[-1], 3),
        **found,
        "estimated": rounded(fits[0].estimated),
        "estimated_extended": rounded(fits[1].estimated),
        "measured": rounded(seconds),
    }


def _rates(cells: list[int], seconds: list[float]) -> dict[str, float]:
    """Return billions of cells a second: mean and best of the cases, and of all together."""
    each = np.array(cells) / np.array(seconds) / 1e9
    rates = each.mean(), each.max(), sum(cells) / sum(seconds) / 1e9
    return dict(zip(("mean_gcups", "best_gcups", "total_gcups"), rounded(rates), strict=True))


def measure_device(device: str, tiny: bool) -> Iterator[tuple[str, dict]]:
    """Yield a calibration, its calls, the model's errors in both modes, and those of a fit."""
    kind, samples = CPU if device == CPU else GPU, TINY if tiny else SAMPLES
    timed = {mode: time_samples(mode, device, samples[mode, kind]) for mode in MODES}
    figures = fitted_figures(kind, timed)
    found = {"figures": asdict(figures)}
    yield "figures", found["figures"]
    yield "samples", {mode: _listed(own) for mode, own in timed.items()}
    for mode in MODES:
        found[mode] = measure_model(figures, device, mode, tiny)
        yield mode, found[mode]
    yield "fitted", fitted(found, tiny)


def _listed(own: TimedCalls) -> dict:
    return {"features": own.features.tolist(), "seconds": rounded(own.seconds)}


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the figures of this machine's CPU."""
    yield from measure_device(CPU, tiny)
    yield "sequential", _sequential(chosen_cases("published", CPU, tiny), time.thread_time)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the figures of the first GPU."""
    yield from measure_device("cuda:0", tiny)
    yield from measure_designs(tiny)


def measure_designs(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the figures of the published designs alone."""
    from benchmarks.published import accelerator1, accelerator2

    cases = chosen_cases("published", GPU, tiny)
    yield "sequential", _sequential(cases, time.perf_counter)
    for name, design in (("accelerator1", accelerator1), ("accelerator2", accelerator2)):
        seconds = []
        for case, score in zip(cases, _scores(cases), strict=True):
            _expect(design.score(case), score, name, case)
            seconds.append(design.kernel_milliseconds(case) / 1e3)
        yield name, measure_design(name, seconds, cases)


def _sequential(cases: list[Case], clock: Callable[[], float]) -> dict:
    sequential.score(case_sets.case_set(case_sets.TINY)[0])
    seconds = []
    for case, score in zip(cases, _scores(cases), strict=True):
        begin = clock()
        found = sequential.score(case)
        seconds.append(clock() - begin)
        _expect(found, score, "sequential", case)
    return measure_design("sequential", seconds, cases)


def _scores(cases: list[Case]) -> list[int]:
    return [result.score for result in spliced_align(cases, device=CPU)]


def _expect(found: int | None, score: int, design: str, case: Case) -> None:
    if found != score:
        raise AssertionError(f"{design} is wrong on {case.target.name}")


def first_and_later(tiny: bool = False) -> tuple[float, float]:
    """Return the milliseconds of a first call on a GPU, and the median of later ones."""
    cases, times = case_columns(case_sets.case_set(case_sets.TINY if tiny else PUBLISHED)), []
    for _ in range(2 if tiny else 8):
        begin = time.perf_counter()
        spliced_scores(cases, device="cuda")
        times.append(1e3 * (time.perf_counter() - begin))
    return times[0], median(times[1:])


def measure_start(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the times of first calls in new processes; one before them compiles."""
    found = []
    for _ in range(2 if tiny else 5):
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            found.append(pool.submit(first_and_later, tiny).result())
    first, later = zip(*found[1:], strict=True)
    yield "spliced_scores", {"first_ms": rounded(first), "later_ms": median(later)}


if __name__ == "__main__":
    others = {"gpu": measure_gpu, "designs": measure_designs, "start": measure_start}
    record.main(measure, **others)
