"""The time model against measured times, case by case, on the CPU or on one GPU.

Run ``python -m benchmarks.estimate.bench_estimate [RECORD.json] [--part gpu] [--tiny]``. The device
is calibrated, then cases of the case set are run alone and together. The published designs have
their own equations. Times of a CPU are the processor's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

import numpy as np

from benchmarks import case_sets, record
from benchmarks.published import model, sequential
from gpu_tools import Case, DeviceFigures, calibrate_device, estimated_seconds, spliced_estimate
from gpu_tools.estimate.calibrate import SAMPLES, TINY
from gpu_tools.estimate.measure import call_of, least_seconds, relative_errors
from gpu_tools.estimate.model import CPU, LIST, MODES

EVERY = {LIST: 5, "site": 20, "published": 20}
"""One case in so many of the set is run alone."""
ROUNDS = {CPU: 5, "gpu": 3}


def _cases(what: str, tiny: bool) -> list[Case]:
    if tiny:
        return case_sets.case_set(case_sets.TINY)
    chosen = case_sets.case_set()[:: EVERY[what]]
    return [*chosen, case_sets.il1rapl1_like()] if what != "site" else chosen


def _rounded(values) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def measure_model(figures: DeviceFigures, device: str, mode: str, tiny: bool) -> dict:
    """Return estimated and measured seconds of cases alone, and of all of them in one call."""
    cases = _cases(mode, tiny)
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
        "base_length": [each.base_length for each in estimates],
        "target_length": [each.target_length for each in estimates],
        "cells": [each.cells for each in estimates],
        "sequential": [each.sequential for each in estimates],
        "intra_exon": [each.intra_exon for each in estimates],
        "inter_exon": [each.inter_exon for each in estimates],
        "estimated": _rounded(estimated),
        "measured": _rounded(measured),
    }


def measure_design(design: str, seconds: list[float], cases: list[Case]) -> dict:
    """Return the errors of the published equation and of the extended model, case by case."""
    features = np.stack([model.design_features(design, case) for case in cases])
    fits = [model.fit_design(features, np.array(seconds), parts) for parts in (1, 3)]
    names = "equation", "extended"
    found = {
        name: {**fit.errors._asdict(), "seconds_of_each": _rounded(fit.weights)}
        for name, fit in zip(names, fits, strict=True)
    }
    return {
        **found,
        "cells": [case.cells for case in cases],
        "estimated": _rounded(fits[0].estimated),
        "estimated_extended": _rounded(fits[1].estimated),
        "measured": _rounded(seconds),
    }


def measure_device(device: str, tiny: bool) -> Iterator[tuple[str, dict]]:
    """Yield the figures of a device, and the errors of the model in both modes."""
    figures = calibrate_device(device, TINY if tiny else SAMPLES)
    yield "figures", asdict(figures)
    for mode in MODES:
        yield mode, measure_model(figures, device, mode, tiny)


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the figures of this machine's CPU."""
    yield from measure_device(CPU, tiny)
    cases = _cases("published", tiny)
    calls = [partial(sequential.score, case) for case in cases]
    yield "sequential", measure_design("sequential", least_seconds(calls, CPU, rounds=3), cases)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the figures of the first GPU."""
    from benchmarks.published import accelerator1, accelerator2

    yield from measure_device("cuda:0", tiny)
    cases = _cases("published", tiny)
    for name, design in (("accelerator1", accelerator1), ("accelerator2", accelerator2)):
        yield name, measure_design(name, _kernel_seconds(design.kernel_milliseconds, cases), cases)


def _kernel_seconds(milliseconds: Callable[[Case], float], cases: list[Case]) -> list[float]:
    milliseconds(cases[0])
    return [min(milliseconds(case) for _ in range(2)) / 1e3 for case in cases]


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu)
