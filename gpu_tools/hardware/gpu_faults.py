"""A GPU that fails while it works: the CPU takes over, or one error says what happened.

This is the one place that knows the errors of numba-cuda and of the driver. It imports neither: a
machine without a GPU need not have them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from gpu_tools.errors import DeviceError

if TYPE_CHECKING:
    from gpu_tools.hardware.device import Device

_log = logging.getLogger(__name__)
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
_TOLD: set[str] = set()
Item, Result = TypeVar("Item"), TypeVar("Result")


def on_gpu_or_cpu(
    where: Device, on_gpu: Callable[[tuple[int, ...]], Result], on_cpu: Callable[[], Result]
) -> Result:
    """Do work on GPUs or on the CPU; where a device may give way, on the CPU if a GPU fails.

    Parameters
    ----------
    where : Device
    on_gpu : callable
        Does the work on the GPUs whose ordinals it receives.
    on_cpu : callable
        Does the same work, from its beginning.

    Raises
    ------
    DeviceError
        If a GPU fails and `where` does not give way to the CPU.
    """
    if where.kind == "cpu":
        return on_cpu()
    try:
        with faults_as_errors():
            return on_gpu(where.ordinals)
    except DeviceError as error:
        give_way(where, error)
    return on_cpu()


class GpuUntilItFails(Generic[Item, Result]):
    """A function of one argument after the other: on GPUs, and from a failure on, on the CPU.

    Parameters
    ----------
    where : Device
    on_gpus : callable
        Makes the function that works on the GPUs whose ordinals it receives.
    on_cpu : callable
        The function that works on the CPU.
    """

    def __init__(
        self,
        where: Device,
        on_gpus: Callable[[tuple[int, ...]], Callable[[Item], Result]],
        on_cpu: Callable[[Item], Result],
    ):
        self._where, self._on_cpu = where, on_cpu
        self._function = on_gpu_or_cpu(where, on_gpus, lambda: on_cpu)

    def __call__(self, item: Item) -> Result:
        """Return the function's result."""
        if self._function is not self._on_cpu:
            try:
                with faults_as_errors():
                    return self._function(item)
            except DeviceError as error:
                give_way(self._where, error)
                self._function = self._on_cpu
        return self._on_cpu(item)


def give_way(where: Device, error: DeviceError) -> None:
    """Tell once that the CPU takes over, or raise the error if the device does not give way."""
    if not where.or_cpu:
        raise error
    if str(error) not in _TOLD:
        _log.warning("%s; the CPU does the work", error)
    _TOLD.add(str(error))


def has_given_way() -> bool:
    """Tell whether the CPU has taken over in this process."""
    return bool(_TOLD)


@contextmanager
def faults_as_errors() -> Iterator[None]:
    """Turn what libraries raise when a GPU fails within the block into a `DeviceError`."""
    try:
        yield
    except Exception as error:
        if not _is_fault(error):
            raise
        raise DeviceError(f"the GPU cannot do it: {described(error)}") from error


def described(error: BaseException) -> str:
    """Return in words what an error of the driver or its libraries means, in one line."""
    text = " ".join(str(error).split()).rstrip(" .:")  # some end in a colon behind which is nothing
    for name, meaning in _MEANINGS.items():
        if name in text:
            return f"{meaning} ({text[:_MOST_SYMBOLS]})"
    return text[:_MOST_SYMBOLS] or type(error).__name__


def _is_fault(error: BaseException) -> bool:
    return any(kind.__module__.startswith(_LIBRARIES) for kind in type(error).__mro__)
