"""Training of exon models from annotated sequences."""

from gpu_tools.exons.training.models import train

__all__ = ["train"]
