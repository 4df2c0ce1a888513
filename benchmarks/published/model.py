"""The published time model: estimates of the published designs in cells, and what they leave out.

The equations are those of `gpu_tools.estimate.api.published_cells`: an anti-diagonal of a block
counts as one cell. They turn into seconds by one figure a device. The extended model also counts
launches and the maximum over the rows of earlier exons, which the equations leave out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.published.problem import Problem, groups, problems
from gpu_tools import Case, SplicedScoring
from gpu_tools.estimate.api import published_cells
from gpu_tools.estimate.figures import RelativeErrors, fit_seconds, relative_errors
from gpu_tools.estimate.model import case_strands

_WARP, _TILE = 32, 1024
"""Threads of a warp, and the most of a block; machines without CUDA make estimates too."""
ESTIMATES = {
    "sequential": "sequential",
    "accelerator1": "intra_exon",
    "accelerator2": "inter_exon",
}
"""The estimate in cells of each published design."""


def design_features(design: str, case: Case) -> NDArray[np.float64]:
    """Return the published estimate of a case, launches, and steps of maxima over earlier rows."""
    scoring = SplicedScoring()
    cells = published_cells(len(case.target), case_strands(case, scoring))[ESTIMATES[design]]
    parts = problems(case, scoring)
    launches = sum(len(_launches(design, problem)) for problem in parts)
    maxima = sum(_steps_of_maxima(design, problem) for problem in parts)
    return np.array([cells, launches, maxima], dtype=np.float64)


def _launches(design: str, problem: Problem) -> list[tuple[int, int]]:
    """Return the exons that are computed side by side."""
    if design == "accelerator2":
        return list(groups(problem.exons))
    return [(exon, exon + 1) for exon in range(len(problem.exons))]


def _steps_of_maxima(design: str, problem: Problem) -> int:
    """Return the steps of a thread that takes the maximum over the rows of earlier exons."""
    starts, ends = problem.exons.T
    if design == "sequential":
        return int((ends[:, None] <= starts).sum()) * problem.columns
    lengths, steps = ends - starts, 0
    for first, stop in _launches(design, problem):
        threads = min(-(-int(lengths[first:stop].max()) // _WARP) * _WARP, _TILE)
        steps += first * -(-problem.columns // threads)
    return steps


class DesignErrors(NamedTuple):
    """Seconds that a unit of each feature takes, the estimates, and their relative errors."""

    weights: NDArray[np.float64]
    estimated: NDArray[np.float64]
    errors: RelativeErrors


def fit_design(
    features: NDArray[np.float64], seconds: NDArray[np.float64], parts: int
) -> DesignErrors:
    """Fit the figures of a design on every second case, and find the errors on the others.

    `features` are those of `design_features`, a row a case. With one part the published equation is
    fitted, with three the extended model.
    """
    used = features[:, :parts]
    weights = fit_seconds(used[::2], seconds[::2])
    estimated = used @ weights
    judged = slice(1, None, 2) if len(seconds) > 1 else slice(None)
    return DesignErrors(weights, estimated, relative_errors(estimated[judged], seconds[judged]))
