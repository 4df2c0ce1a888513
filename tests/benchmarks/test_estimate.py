"""Figures fitted on a record's cases: they explain times that follow the model."""

import numpy as np
import pytest

from benchmarks.estimate.fitted import MeasuredCases, fixed_seconds, judged
from gpu_tools.estimate.model import CALL, FEATURES, GPU, SITE, summed


def test_fitted_figures_are_those_that_made_the_times():
    names = (CALL, *FEATURES[SITE, GPU])
    calibrated = {name: 1e-6 * (k + 1) for k, name in enumerate(names)}
    truth = calibrated | fixed_seconds(SITE, GPU, calibrated)
    weights = np.array([truth[name] for name in names])
    features = np.random.default_rng(3).uniform(1, 9, (40, len(names) - 1))
    calls = np.column_stack([np.ones(40), features])
    together = np.append(1, summed(SITE, GPU, features))
    known = MeasuredCases(calls, calls @ weights, together, float(together @ weights))
    found = judged(SITE, GPU, known, calibrated)
    assert found["maximum"] < 1e-3
    assert found["fixed"] == ["case", "cells"]
    assert found["together_estimated"] == pytest.approx(found["together_measured"], rel=1e-3)
