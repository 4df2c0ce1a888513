"""What a GPU is to do in a stream, put down first and then started all together.

Through Python each call of the driver gives the interpreter's lock away and takes it back, and
where threads of several GPUs do that they wait for each other, some 50 us a call. So calls are rows
of numbers here, which compiled code hands to the driver one after the other, without the lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numba import cuda, njit
from numba.cuda.cudadrv.driver import CudaAPIError, device_memset, device_to_host, host_to_device
from numba.extending import register_jitable
from numpy.typing import NDArray

import gpu_tools.hardware.compile_cache  # noqa: F401  (processes do not hinder each other)
from gpu_tools.hardware.cpu.foreign import address_of, call_at
from gpu_tools.hardware.device import simulated

_FUNCTIONS = COPY_IN, COPY_OUT, FILL, LAUNCH, RECORD, WAIT, SYNCHRONIZE, MEMORY = (
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async", "cuLaunchKernel",
    "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize", "cuMemGetInfo_v2",
)  # fmt: skip
_GIVEN = 11
"""What a function of the driver is given at most."""
_WORDS = 1024
"""Room for what kernels are given until they are started."""


class Placed:
    """An array of the current GPU, as kernels take it; the simulator has the array alone.

    Attributes
    ----------
    array : device array of numba
    address : int
        Where it is.
    kind : Array
        Its type.
    words : tuple of int
        What numba's kernels take for it: two pointers that only the CPU's arrays have, the numbers
        of elements and of bytes of each, where it is, its shape, and the bytes from one element to
        the next.
    """

    def __init__(self, array):
        self.array = array
        if not simulated():
            self.address, self.kind = array.gpu_data.device_pointer_value or 0, array._numba_type_
            size = array.size, array.dtype.itemsize
            self.words = 0, 0, *size, self.address, *array.shape, *array.strides


class Call(NamedTuple):
    """The address of a function and what it is given; its name; what has to stay until then."""

    numbers: tuple[int, ...]
    name: str
    kept: Sequence


class _PutDown:
    """What was put down for a stream and has not been made."""

    def __init__(self):
        self._calls: list[Call | Callable[[], None]] = []
        self._before: list[_PutDown] = []

    def start(self) -> None:
        """Make the calls that were put down; see `start_together`."""
        start_together([self])

    def finish(self) -> None:
        """Make what was put down and wait until the GPU has done all of the stream."""
        self.end()
        self.start()

    def taken(self) -> list[Call | Callable[[], None]]:
        """Return the calls that were put down, for somebody else to make."""
        calls = [call for others in self._before for call in others.taken()] + self._calls
        self._before, self._calls = [], []
        return calls


class SimulatedCalls(_PutDown):
    """What `Calls` does, on the simulator.

    Parameters
    ----------
    stream : stream of numba
    """

    def __init__(self, stream):
        super().__init__()

    def copy_in(self, placed: Placed, values: NDArray) -> None:
        """See `Calls`."""
        given = _flat(placed.array), _flat(values), values.nbytes
        self._calls.append(partial(host_to_device, *given))

    def copy_out(self, values: NDArray, placed: Placed) -> None:
        """See `Calls`."""
        self._calls.append(partial(device_to_host, values, placed.array, values.nbytes))

    def fill(self, placed: Placed, byte: int, size: int) -> None:
        """See `Calls`."""
        self._calls.append(partial(device_memset, placed.array, byte, size))

    def launch(self, kernel, blocks: int, threads, *placed: Placed) -> None:
        """See `Calls`."""
        arrays = [each.array for each in placed]
        # the simulator has one shape a kernel, so it is told at the start
        self._calls.append(lambda: kernel[blocks, threads](*arrays))

    def ask_memory(self, answer: NDArray[np.int64]) -> None:
        """See `Calls`; the simulator has what it likes."""
        self._calls.append(partial(answer.fill, 1 << 62))

    def record(self, event) -> None:
        """See `Calls`; here all that was put down before is done then."""

    def wait(self, event, recorded: SimulatedCalls) -> None:
        """See `Calls`."""
        self._before.append(recorded)

    def end(self) -> None:
        """See `Calls`."""


class Calls(_PutDown):
    """Calls of the driver for a stream of the current GPU, to be made together.

    Values of the host are read when calls are started, pinned ones when the GPU comes to it.

    Parameters
    ----------
    stream : stream of numba
    """

    def __init__(self, stream):
        super().__init__()
        self._stream, self._handle = stream, int(stream.handle)
        self._words, self._used = np.empty(_WORDS, dtype=np.int64), 0
        # the driver wants to know where each of a kernel's parameters is
        self._places = _address(self._words) + 8 * np.arange(_WORDS)
        self._first_place = _address(self._places)
        self._loaded: dict[object, tuple[tuple, int]] = {}

    def copy_in(self, placed: Placed, values: NDArray) -> None:
        """Copy values of the host to where an array begins."""
        place = placed.address, _address(values), values.nbytes, self._handle
        self._put(COPY_IN, place, (placed, values))

    def copy_out(self, values: NDArray, placed: Placed) -> None:
        """Fill values of the host from where an array begins."""
        place = _address(values), placed.address, values.nbytes, self._handle
        self._put(COPY_OUT, place, (placed, values))

    def fill(self, placed: Placed, byte: int, size: int) -> None:
        """Make so many bytes alike from where an array begins."""
        self._put(FILL, (placed.address, byte, size, self._handle), (placed,))

    def launch(self, kernel, blocks: int, threads, *placed: Placed) -> None:
        """Start a kernel that takes arrays alone."""
        function = self._function(kernel, tuple([each.kind for each in placed]))
        if function is None:
            self.start()
            # numba compiles it, which takes long, loads it and starts it
            kernel[blocks, threads, self._stream](*(each.array for each in placed))
            return
        given = self._keep_words([word for each in placed for word in each.words])
        x, y = threads if isinstance(threads, tuple) else (threads, 1)
        shape = blocks, 1, 1, x, y, 1, 0
        self._put(LAUNCH, (function, *shape, self._handle, given, 0), placed)

    def ask_memory(self, answer: NDArray[np.int64]) -> None:
        """Write the bytes of the GPU that are free, and all that it has, to two numbers."""
        self._put(MEMORY, (_address(answer), _address(answer) + 8), (answer,))

    def record(self, event) -> None:
        """Have an event happen when what was put down before is done."""
        self._put(RECORD, (int(event.handle), self._handle), (event,))

    def wait(self, event, recorded: Calls) -> None:
        """Have what is put down from now on wait for an event that others `recorded`.

        Those are made before.
        """
        self._before.append(recorded)
        self._put(WAIT, (self._handle, int(event.handle), 0), (event,))

    def end(self) -> None:
        """Wait until the GPU has done all of the stream."""
        self._put(SYNCHRONIZE, (self._handle,), ())

    def taken(self) -> list[Call]:
        """Return the calls that were put down, for somebody else to make."""
        self._used = 0
        return super().taken()

    def _put(self, name: str, given: tuple[int, ...], kept: Sequence) -> None:
        """Put a call down; what is kept stays where it is until the call is made."""
        numbers = _driver()[name], *given, *(0,) * (_GIVEN - len(given))
        self._calls.append(Call(numbers, name, kept))

    def _keep_words(self, words: list[int]) -> int:
        """Keep what a kernel is given until it is started; return where it says where that is."""
        if self._used + len(words) > _WORDS:
            self.start()
        first, self._used = self._used, self._used + len(words)
        self._words[first : self._used] = words
        return self._first_place + 8 * first

    def _function(self, kernel, kinds: tuple) -> int | None:
        """Return a kernel for some types of arrays on the current GPU, if numba has compiled it."""
        known = self._loaded.get(kernel)
        if known is None or known[0] != kinds:
            compiled = kernel.overloads.get(kinds)
            if compiled is None:
                return None
            known = kinds, int(compiled._codelibrary.get_cufunc().handle)
            self._loaded[kernel] = known
        return known[1]


def start_together(several: Sequence[Calls | SimulatedCalls]) -> None:
    """Make the calls that were put down for several streams of the current GPU, one after another.

    Raises
    ------
    CudaAPIError
        If the driver refuses one; those after it are forgotten.
    """
    taken_together(several).make()


class Rows(NamedTuple):
    """Calls as `make_calls` takes them."""

    calls: list[Call]
    numbers: NDArray[np.int64]

    def make(self) -> None:
        """Make the calls; raise `CudaAPIError` if the driver refuses one."""
        if len(self.numbers):
            self.check(_make_calls(self.numbers))

    def check(self, made: tuple[int, int]) -> None:
        """Raise `CudaAPIError` if the driver has refused one, given what `make_calls` returns."""
        number, error = made
        if error:
            raise CudaAPIError(error, f"{self.calls[number].name} failed with error {error}")


def taken_together(several: Sequence[Calls | SimulatedCalls]) -> Rows:
    """Take the calls that were put down for several streams, one after another, to make them.

    They are to be made before others are put down. On the simulator they are made here.
    """
    calls = [call for own in several for call in own.taken()]
    if simulated():
        for call in calls:
            call()
        calls = []
    numbers = np.array([call.numbers for call in calls], dtype=np.int64)
    return Rows(calls, numbers.reshape(-1, 1 + _GIVEN))


@njit(cache=True, nogil=True)
def _make_calls(calls):
    return make_calls(calls)


@register_jitable
def make_calls(calls):
    """Make calls until one fails; return its number and its error, 0 if there is none."""
    made, error = 0, 0
    while made < len(calls) and error == 0:
        c = calls[made]
        given = c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11]
        error = call_at(c[0], given)
        made += 1
    return made - 1, error


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


@cache
def _driver() -> dict[str, int]:
    """Return the addresses of the driver's functions."""
    return {name: address_of(getattr(_library(), name)) for name in _FUNCTIONS}


def urgent_stream():
    """Return a stream of the current GPU whose kernels go before all that have not begun."""
    if simulated():
        return cuda.stream()
    least, greatest, stream = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    given = ctypes.byref(least), ctypes.byref(greatest)
    error = _library().cuCtxGetStreamPriorityRange(*given)
    given = ctypes.byref(stream), 0, greatest
    error = error or _library().cuStreamCreateWithPriority(*given)
    if error:
        raise CudaAPIError(error, f"no stream: error {error}")
    return cuda.external_stream(stream.value)


def _address(values: NDArray) -> int:
    """Return where values of the host are."""
    return values.__array_interface__["data"][0]


def _flat(array):
    return array.reshape(array.size)
