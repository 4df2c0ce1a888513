"""A GPU that fails while it works: the CPU takes over, or one error says what happened."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from gpu_tools.errors import DeviceError
from gpu_tools.hardware.device import described, is_of_gpu

if TYPE_CHECKING:
    from gpu_tools.hardware.device import Device

_log = logging.getLogger(__name__)
_WARNED: set[str] = set()
Item, Result = TypeVar("Item"), TypeVar("Result")


def on_gpu_or_cpu(
    where: Device, on_gpu: Callable[[tuple[int, ...]], Result], on_cpu: Callable[[], Result]
) -> Result:
    """Do work on GPUs or on the CPU; where a device may give way, on the CPU if a GPU fails."""
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
    if str(error) not in _WARNED:
        _log.warning("%s; the CPU does the work", error)
    _WARNED.add(str(error))


def has_given_way() -> bool:
    """Tell whether the CPU has taken over in this process."""
    return bool(_WARNED)


@contextmanager
def faults_as_errors() -> Iterator[None]:
    """Turn what libraries raise when a GPU fails within the block into a `DeviceError`."""
    try:
        yield
    except Exception as error:
        if not is_of_gpu(error):
            raise
        raise DeviceError(f"the GPU cannot do it: {described(error)}") from error
