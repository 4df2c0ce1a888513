"""The built-in predictor as a provider of candidate exons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.model import ExonModel, load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.model.exon_set import ExonSet


@dataclass(frozen=True)
class Builtin:
    """The predictor of this package.

    Attributes
    ----------
    model : str
        Name of a shipped model, or a file.
    min_score : float, optional
        Smallest score of a candidate, in bits; none by default.
    min_probability : float, optional
        Smallest posterior probability of a candidate; the model's own by default.
    """

    model: str = "vertebrate"
    min_score: float | None = None
    min_probability: float | None = None

    @cached_property
    def _loaded(self) -> ExonModel:
        return load_model(self.model)

    def exons(self, codes: NDArray[np.uint8]) -> ExonSet:
        """Return the candidate exons of a sequence, both strands."""
        return predict_exons(codes, self._loaded, self.min_score, self.min_probability)
