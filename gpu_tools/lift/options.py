"""What a lift carries over."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tools.errors import ScoringError


@dataclass(frozen=True)
class LiftOptions:
    """What is carried over.

    Parameters
    ----------
    min_coverage, min_identity : float
        Least part of the exons' nucleotides that are aligned, and of columns that are identical.
    copies : bool
        Whether further copies of genes are reported.
    min_copy_identity : float
        Least identity of these.
    """

    min_coverage: float = 0.5
    min_identity: float = 0.5
    copies: bool = False
    min_copy_identity: float = 0.95

    def __post_init__(self):
        for name in ("min_coverage", "min_identity", "min_copy_identity"):
            if not 0 <= getattr(self, name) <= 1:
                raise ScoringError(f"{name} {getattr(self, name)}; expected 0 to 1")
