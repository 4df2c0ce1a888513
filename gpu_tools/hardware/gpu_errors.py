"""What the errors of numba-cuda and of the driver mean.

This is the one place that knows them. It imports neither: a machine without a GPU need not have
them.
"""

from __future__ import annotations

_LIBRARIES = ("numba.cuda.cudadrv", "numba.cuda.simulator.cudadrv", "cuda.")
"""Modules whose errors are those of a GPU, its driver or its compiler."""
_MEANINGS = {
    "OUT_OF_MEMORY": "its memory is exhausted",
    "before forking": "this process was forked from one that had used it; expected a process that "
    "is started anew (multiprocessing's spawn)",
    "NOT_INITIALIZED": "this process was forked from one that had used it; expected a process that "
    "is started anew (multiprocessing's spawn)",
    "INSUFFICIENT_DRIVER": "its driver is too old; expected one for CUDA 13, 580 or later",
    "UNSUPPORTED_PTX_VERSION": "its driver is too old; expected one for CUDA 13, 580 or later",
    "SYSTEM_DRIVER_MISMATCH": "its driver is not the one that the kernel has loaded; expected a "
    "restart after the driver's update",
    "COMPAT_NOT_SUPPORTED_ON_DEVICE": "its driver is too old; expected one for CUDA 13, 580 or "
    "later",
    "NO_BINARY_FOR_GPU": "kernels cannot be compiled for it; expected compute capability 7.5 or "
    "later",
    "DEVICE_UNAVAILABLE": "another process has it for itself alone",
    "DEVICE_LOST": "it has disappeared",
    "NO_DEVICE": "it has disappeared",
    "INVALID_DEVICE": "it has disappeared",
    "ECC_UNCORRECTABLE": "its memory is damaged",
    "ILLEGAL_ADDRESS": "a kernel failed",
    "LAUNCH": "a kernel failed",
    "ASSERT": "a kernel failed",
}
"""What the names of the driver's errors mean, the first that a text contains."""
_MOST_SYMBOLS = 200


def described(error: BaseException) -> str:
    """Return in words what an error of the driver or its libraries means, in one line."""
    text = " ".join(str(error).split()).rstrip(" .:")  # some end in a colon behind which is nothing
    for name, meaning in _MEANINGS.items():
        if name in text:
            return f"{meaning} ({text[:_MOST_SYMBOLS]})"
    return text[:_MOST_SYMBOLS] or type(error).__name__


def is_of_gpu(error: BaseException) -> bool:
    """Tell whether an error is one of a GPU, its driver or its compiler."""
    return any(kind.__module__.startswith(_LIBRARIES) for kind in type(error).__mro__)
