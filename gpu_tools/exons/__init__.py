"""Candidate exons: sets of them, their prediction and accuracy."""

from importlib import import_module
from typing import Any

__all__ = ["ExonModel", "best_parse", "load_model", "predict_exons"]

# imported at the first use: they import the compiler
_LAZY = {
    "ExonModel": "gpu_tools.exons.model",
    "load_model": "gpu_tools.exons.model",
    "best_parse": "gpu_tools.exons.predict",
    "predict_exons": "gpu_tools.exons.predict",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
