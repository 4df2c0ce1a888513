"""Training of exon models from annotated sequences."""

from gpu_tools.exons.training.models import folds, train, trained_on

__all__ = ["folds", "train", "trained_on"]
