"""Which device does the work, one job a GPU, and what happens when a GPU fails.

No other module asks whether there is a GPU.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Generic, TextIO, TypeVar

from gpu_tools.errors import DeviceError
from gpu_tools.hardware.system import lock, n_processors

_log = logging.getLogger(__name__)
_SPECIFICATION = re.compile(r"(auto|cpu|cuda|cuda:[0-9]{1,4}(,[0-9]{1,4})*)")
_DRIVER = "libcuda.so.1"
MOST_CPU_THREADS = 1024
"""More threads of a CPU than this are not started: each needs memory."""
_AUTO: ContextVar[bool] = ContextVar("auto", default=False)


@dataclass(frozen=True)
class Device:
    """A resolved device: ``cpu``, or ``cuda`` with the ordinals of the GPUs to use.

    `or_cpu` tells whether the CPU does the work of GPUs that fail.
    """

    kind: str
    ordinals: tuple[int, ...] = ()
    or_cpu: bool = False


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
    return min(threads or n_processors(), MOST_CPU_THREADS)


def simulated() -> bool:
    """Tell whether kernels run on numba's CUDA simulator instead of a GPU."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def list_gpus() -> list[Gpu]:
    """Return the usable GPUs."""
    cuda = _import_cuda()
    if simulated():
        return [Gpu(0, "CUDA simulator", "9.0", 0, "none", "simulator")]
    if not cuda.is_available():
        raise DeviceError(f"no usable CUDA device: {_reason(cuda)}")
    try:
        found = [_describe(ordinal) for ordinal in range(len(cuda.gpus))]
        problem = _problem(found, *_needs_of_compiler())
    except Exception as error:  # the driver's own exception types differ between versions
        raise DeviceError(f"no usable CUDA device: {described(error)}") from None
    if problem:
        raise DeviceError(f"no usable CUDA device: {problem}")
    _, lowest = _needs_of_compiler()
    return [gpu for gpu in found if _numbers(gpu.compute_capability) >= lowest]


def driver_version() -> tuple[int, int] | None:
    """Return the version of CUDA that NVIDIA's driver is for, None without a driver.

    Nothing of CUDA need be installed.
    """
    number = ctypes.c_int()
    try:
        failed = ctypes.CDLL(_DRIVER).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed else (number.value // 1000, number.value % 1000 // 10)


@cache
def _needs_of_compiler() -> tuple[int, tuple[int, int]]:
    """Return the version of CUDA that compiles, and the least compute capability it knows."""
    nvrtc = importlib.import_module("numba.cuda.cudadrv.nvrtc")
    return nvrtc._get_nvrtc_version()[0], nvrtc.get_lowest_supported_cc()


def _problem(found: list[Gpu], version: int, lowest: tuple[int, int]) -> str | None:
    """Return why kernels that are compiled by a version of CUDA run on none of the GPUs."""
    if not found:
        return _none_visible()
    first = found[0]
    if _numbers(first.driver)[0] < version:
        return f"the driver is for CUDA {first.driver}; expected one for CUDA {version}.0 or later"
    if all(_numbers(gpu.compute_capability) < lowest for gpu in found):
        least = ".".join(map(str, lowest))
        has = f"{first.name} has compute capability {first.compute_capability}"
        return f"{has}; expected {least} or later"
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _none_visible() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return "the CUDA driver reports none"
    return f"CUDA_VISIBLE_DEVICES is {visible!r}, which names no GPU of this machine"


def _import_cuda():
    # else a kernel is loaded when it is started first, which waits for all that run
    os.environ.setdefault("CUDA_MODULE_LOADING", "EAGER")
    try:
        importlib.import_module("numba_cuda")
        cuda = importlib.import_module("numba.cuda")
    except ImportError as error:
        raise DeviceError(
            f"numba-cuda cannot be imported ({error}); install the extra cuda"
        ) from None
    # what fails is told by this package, in one line
    log = logging.getLogger("numba.cuda")
    log.propagate, log.handlers = False, [logging.NullHandler()]
    return cuda


def _reason(cuda) -> str:
    try:
        cuda.detect()
        cuda.get_current_device()
    except Exception as error:  # the driver's own exception types differ between versions
        return _none_visible() if "NO_DEVICE" in str(error) else described(error)
    return _none_visible()


@contextmanager
def as_auto() -> Iterator[None]:
    """Have devices that are resolved within the block give way to the CPU, as ``auto`` does."""
    token = _AUTO.set(True)
    try:
        yield
    finally:
        _AUTO.reset(token)


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
    """Turn a device specification into a device that can be used."""
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
    or_cpu = specification == "auto" or _AUTO.get()
    return Device("cuda", _chosen(specification, available), or_cpu)


def _chosen(specification: str, available: set[int]) -> tuple[int, ...]:
    listed = specification.partition(":")[2]
    ordinals = tuple(dict.fromkeys(int(part) for part in listed.split(","))) if listed else (0,)
    missing = [ordinal for ordinal in ordinals if ordinal not in available]
    if missing:
        raise DeviceError(f"there is no GPU {missing[0]}; this machine has {sorted(available)}")
    return ordinals


# Under ``auto`` the CPU does inputs for which it takes less time than a GPU takes to start.


GPU_START = "GPU_TOOLS_GPU_START"
"""Variable of the environment that names what starting a GPU takes, in seconds; 0: nothing."""
_STATE = {"started": False, "small": False}


def unless_small(where: Device, cpu_seconds: float, start_seconds: float) -> Device:
    """Return the CPU instead of a GPU that takes longer to start than the CPU to do the work.

    The result does not depend on the device. A GPU that this process has used before is started.
    """
    if where.kind == "cpu" or simulated():
        return where
    if where.or_cpu and not _STATE["started"] and cpu_seconds < _start_seconds(start_seconds):
        _log.info("the CPU takes about %.2g s, less than a GPU to start", cpu_seconds)
        _STATE["small"] = True
        return Device("cpu")
    _STATE["started"] = True
    return where


def take_gpu() -> None:
    """Have GPUs do small inputs too, in this process: for calls that are timed."""
    _STATE["started"] = True


def was_small() -> bool:
    """Tell whether the CPU has done all that a GPU might have done in this process."""
    return _STATE["small"] and not _STATE["started"]


def _start_seconds(usual: float) -> float:
    with suppress(KeyError, ValueError):
        return float(os.environ[GPU_START])
    return usual


# What the errors of numba-cuda and of the driver mean. Neither is imported: a machine without a GPU
# need not have them.


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


_WARNED: set[str] = set()
Item, Result = TypeVar("Item"), TypeVar("Result")


def with_enough_work(where: Device, cells: int, least: int) -> Device:
    """Return a device without GPUs that would get fewer than the least number of cells each."""
    count = max(min(len(where.ordinals), cells // least), 1)
    if count >= len(where.ordinals):
        return where
    _log.info("%d of %d GPUs, as more of them save little time", count, len(where.ordinals))
    return replace(where, ordinals=where.ordinals[:count])


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

    `on_gpus` makes the function that works on the GPUs whose ordinals it receives.
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


FOLDER = "GPU_TOOLS_LOCKS"


@contextmanager
def reserved(specification: str) -> Iterator[str]:
    """Hold the GPUs of a device specification until the block ends.

    Locks lie in the folder that ``GPU_TOOLS_LOCKS`` names, by default one in the system's folder
    for temporary files; all users of a machine share them. The system drops a lock when its
    process ends, however it ends.
    """
    device = resolve(specification)
    if device.kind == "cpu":
        yield "cpu"
        return
    known = {gpu.ordinal: gpu for gpu in list_gpus()}
    with ExitStack() as held:
        if ":" in specification:
            # in one order for all, so that no two jobs wait for each other
            for gpu in sorted((known[n] for n in device.ordinals), key=lambda gpu: gpu.uuid):
                _wait_for(held, gpu)
            ordinals = device.ordinals
        else:
            ordinals = _any_of(held, list(known.values()), specification == "auto")
        if specification == "auto":
            held.enter_context(as_auto())
        yield f"cuda:{','.join(map(str, ordinals))}" if ordinals else "cpu"


def is_held(gpu: Gpu) -> bool:
    """Return whether a process holds a GPU at this moment."""
    with ExitStack() as held:
        return not _locked(held, gpu, wait=False)


def _any_of(held: ExitStack, gpus: list[Gpu], may_have_none: bool) -> tuple[int, ...]:
    for gpu in gpus:
        if _locked(held, gpu, wait=False):
            return (gpu.ordinal,)
    if may_have_none:
        _log.warning("every GPU is in use by another job; this one runs on the CPU")
        return ()
    _wait_for(held, gpus[0])
    return (gpus[0].ordinal,)


def _wait_for(held: ExitStack, gpu: Gpu) -> None:
    if not _locked(held, gpu, wait=False):
        _log.warning("GPU %d is in use by another job; waiting for it", gpu.ordinal)
        _locked(held, gpu, wait=True)


def _locked(held: ExitStack, gpu: Gpu, wait: bool) -> bool:
    # by the card's own identity: schedulers number the cards anew for each job
    stream = _open(lock_folder() / f"{gpu.uuid}.lock")
    try:
        lock(stream, wait=wait)
    except BlockingIOError:
        stream.close()
        return False
    held.enter_context(stream)
    return True


def lock_folder() -> Path:
    """Return the folder of the locks, and make it if it is missing."""
    named = os.environ.get(FOLDER)
    folder = Path(named or Path(tempfile.gettempdir()) / "gpu-tools-locks")
    try:
        folder.mkdir()
        folder.chmod(0o1777)
    except FileExistsError:
        if not folder.is_dir() or (folder.is_symlink() and not named):
            raise DeviceError(f"{folder}: no folder for locks of GPUs (it is none)") from None
    except OSError as error:
        raise DeviceError(f"{folder}: no folder for locks of GPUs ({error.strerror})") from None
    return folder


def _open(path: Path) -> TextIO:
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a lock needs no more, and no pipe is read
    try:
        try:
            handle = os.open(path, how)
        except FileNotFoundError:
            handle = os.open(path, how | os.O_CREAT, 0o644)
    except OSError as error:
        raise DeviceError(f"{path}: cannot be locked ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DeviceError(f"{path}: cannot be locked (it is not a file)")
    return open(handle, encoding="ascii")
