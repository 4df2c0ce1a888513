"""Figures that explain a record's own cases, judged on cases that the fit has not seen.

The calibration's shapes are not those of the case set. Here the figures are fitted on every second
case and on the call of all cases, and judged on the other cases, and the other way round. The
figures of the last fit have all cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import case_sets, tables
from gpu_tools import Case
from gpu_tools.estimate.figures import call_features, fit_seconds, relative_errors
from gpu_tools.estimate.model import CALL, CPU, FEATURES, GPU, LIST, MODES, SITE, case_work

_TOGETHER = 5
"""Weight of the call of all cases, that of a case being 1."""
PUBLISHED = "published"
EVERY = {
    (LIST, CPU): 5, (SITE, CPU): 20, (PUBLISHED, CPU): 20,
    (LIST, GPU): 1, (SITE, GPU): 1, (PUBLISHED, GPU): 5,
}  # fmt: skip
"""One case in this number of the set is run alone, by what is run and the kind of device."""


class MeasuredCases(NamedTuple):
    """Calls of cases alone, and of all of them, with their features and measured seconds."""

    features: NDArray[np.float64]
    seconds: NDArray[np.float64]
    all_features: NDArray[np.float64]
    all_seconds: float


def rounded(values) -> list[float]:
    """Return numbers with four digits."""
    return [float(f"{value:.4g}") for value in values]


def chosen_cases(what: str, kind: str, tiny: bool = False) -> list[Case]:
    """Return the cases that are run alone; the last one of list mode and designs is the largest."""
    if tiny:
        return case_sets.case_set(case_sets.TINY)
    chosen = case_sets.case_set()[:: EVERY[what, kind]]
    return [*chosen, case_sets.il1rapl1_like()] if what != SITE else chosen


def fixed_seconds(mode: str, kind: str, calibrated: dict[str, float]) -> dict[str, float]:
    """Return the parts that calls of one case cannot tell: on a GPU, what a further case adds.

    In site mode a cell costs what the recorded kernel takes when all of the GPU works.
    """
    if kind != GPU:
        return {}
    fixed = {name: calibrated[name] for name in ("case", "cells")}
    return fixed | {"cells": _seconds_of_a_cell()} if mode == SITE else fixed


def _seconds_of_a_cell() -> float:
    return 1e-9 / tables.read("sites-h200")["figures"]["case_set_kernel"]["gcups"]


def fit_fixed(features, seconds, names: tuple[str, ...], fixed: dict[str, float]):
    """Return the weights of features, some of which are fixed, that explain seconds."""
    weights = np.array([fixed.get(name, 0.0) for name in names])
    free = np.array([name not in fixed for name in names])
    weights += fit_seconds(features * free, seconds - features @ weights)
    return weights


def measured_cases(mode: str, kind: str, cases: list[Case], own: dict) -> MeasuredCases:
    """Return what a record has of a mode, with the features of its cases."""
    features = case_work(cases).features[mode, kind]
    calls = np.column_stack([np.ones(len(cases)), features])
    together = call_features(mode, kind, cases)
    return MeasuredCases(calls, np.array(own["measured"]), together, own["together_measured"])


def judged(mode: str, kind: str, known: MeasuredCases, calibrated: dict[str, float]) -> dict:
    """Return fitted figures of a mode, and their errors on cases that the fit has not seen."""
    names = (CALL, *FEATURES[mode, kind])
    fixed = fixed_seconds(mode, kind, calibrated)

    def fit(chosen: slice) -> NDArray[np.float64]:
        rows = np.vstack([known.features[chosen], *[known.all_features[None]] * _TOGETHER])
        times = np.append(known.seconds[chosen], [known.all_seconds] * _TOGETHER)
        return fit_fixed(rows, times, names, fixed)

    estimated = np.empty(len(known.seconds))
    for first in (0, 1):
        estimated[1 - first :: 2] = known.features[1 - first :: 2] @ fit(slice(first, None, 2))
    weights = fit(slice(None))
    return {
        **relative_errors(estimated, known.seconds)._asdict(),
        "seconds": dict(zip(names, weights.tolist(), strict=True)),
        "fixed": sorted(fixed),
        "together_estimated": float(known.all_features @ weights),
        "together_measured": known.all_seconds,
        "estimated": rounded(estimated),
    }


def fitted(figures: dict, tiny: bool = False) -> dict[str, dict]:
    """Return `judged` of each mode of a record's figures."""
    kind, seconds = (figures["figures"][name] for name in ("kind", "seconds"))
    found = {}
    for mode in MODES:
        known = measured_cases(mode, kind, chosen_cases(mode, kind, tiny), figures[mode])
        found[mode] = judged(mode, kind, known, seconds[mode])
    return found
