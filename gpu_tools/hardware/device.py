"""Which device does the work: the only room that asks whether there is a GPU."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from functools import cache

from gpu_tools.errors import DeviceError

_SPECIFICATION = re.compile(r"(auto|cpu|cuda|cuda:[0-9]{1,4}(,[0-9]{1,4})*)")
MOST_CPU_THREADS = 1024
"""More threads of a CPU than this are not started: each needs memory."""


@dataclass(frozen=True)
class Device:
    """A resolved device: ``cpu``, or ``cuda`` with the ordinals of the GPUs to use."""

    kind: str
    ordinals: tuple[int, ...] = ()


@dataclass(frozen=True)
class Gpu:
    """One usable GPU; memory in bytes, driver as the CUDA version that it supports.

    `uuid` is the card's own identity, whatever number it has in this process.
    """

    ordinal: int
    name: str
    compute_capability: str
    memory: int
    driver: str
    uuid: str


def is_specification(text: str) -> bool:
    """Tell whether `text` is a well-formed device: auto, cpu, cuda, cuda:0 or cuda:0,1."""
    return _SPECIFICATION.fullmatch(text) is not None


def cpu_threads(threads: int | None = None) -> int:
    """Return `threads`, `MOST_CPU_THREADS` at most; by default one for each processor."""
    return min(threads or len(os.sched_getaffinity(0)), MOST_CPU_THREADS)


def simulated() -> bool:
    """Tell whether kernels run on numba's CUDA simulator instead of a GPU."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def list_gpus() -> list[Gpu]:
    """Return the usable GPUs.

    Raises
    ------
    DeviceError
        If there is none; the text says why.
    """
    cuda = _import_cuda()
    if simulated():
        return [Gpu(0, "CUDA simulator", "9.0", 0, "none", "simulator")]
    if not cuda.is_available():
        raise DeviceError(f"no usable CUDA device: {_reason(cuda)}")
    return [_describe(ordinal) for ordinal in range(len(cuda.gpus))]


def _import_cuda():
    try:
        importlib.import_module("numba_cuda")
        return importlib.import_module("numba.cuda")
    except ImportError as error:
        raise DeviceError(
            f"numba-cuda cannot be imported ({error}); install the extra gpu-tools[cuda]"
        ) from None


def _reason(cuda) -> str:
    try:
        cuda.detect()
        cuda.get_current_device()
    except Exception as error:  # the driver's own exception types differ between versions
        # some end in a colon behind which nothing comes
        return " ".join(str(error).split()).rstrip(" .:") or type(error).__name__
    return "the CUDA driver reports none"


@cache
def _describe(ordinal: int) -> Gpu:
    cuda = _import_cuda()
    device, driver = cuda.gpus[ordinal], cuda.cudadrv.driver.driver
    # the driver is asked: a context on every GPU would take time, and memory from other processes
    memory = int(driver.cuDeviceTotalMem(device.id))
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    capability = ".".join(map(str, device.compute_capability))
    version = ".".join(map(str, driver.get_version()))
    return Gpu(ordinal, name, capability, memory, version, device.uuid)


def resolve(specification: str = "auto") -> Device:
    """Turn a device specification into a device that can be used.

    Parameters
    ----------
    specification : str
        ``auto`` (CUDA if a usable GPU is there, else the CPU), ``cpu``, ``cuda`` (the first GPU),
        ``cuda:1`` or ``cuda:0,1``.

    Returns
    -------
    Device

    Raises
    ------
    DeviceError
        If CUDA is asked for and cannot be had.
    ValueError
        If `specification` is malformed.
    """
    if not is_specification(specification):
        raise ValueError(f"unknown device {specification!r}; expected auto, cpu, cuda or cuda:0,1")
    if specification == "cpu":
        return Device("cpu")
    try:
        available = {gpu.ordinal for gpu in list_gpus()}
    except DeviceError:
        if specification == "auto":
            return Device("cpu")
        raise
    return Device("cuda", _chosen(specification, available))


def _chosen(specification: str, available: set[int]) -> tuple[int, ...]:
    listed = specification.partition(":")[2]
    ordinals = tuple(dict.fromkeys(int(part) for part in listed.split(","))) if listed else (0,)
    missing = [ordinal for ordinal in ordinals if ordinal not in available]
    if missing:
        raise DeviceError(f"there is no GPU {missing[0]}; this machine has {sorted(available)}")
    return ordinals
