"""Work for several GPUs, a thread each, and for several streams of one; the buffers of a GPU.

A pool has arrays and streams that are made once and used by many launches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod
from queue import SimpleQueue
from threading import RLock
from typing import TypeVar

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import device_memset, device_to_host, driver, host_to_device
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.threads import map_on_threads

if not simulated():
    from numba.cuda.cudadrv.driver import Event, binding

Result = TypeVar("Result")


def map_gpus(
    ordinals: Sequence[int], work: Callable[..., Result], *arguments: Iterable
) -> list[Result]:
    """Call a function once for each GPU, with that GPU current, side by side."""
    calls = list(enumerate(zip(ordinals, *arguments, strict=True)))
    results: dict[int, Result] = {}

    def run(ordinal: int) -> None:
        with cuda.gpus[ordinal]:
            for number, (gpu, *own) in calls:
                if gpu == ordinal:
                    results[number] = work(*own)

    gpus = list(dict.fromkeys(ordinals))
    map_on_threads(len(gpus), run, gpus)
    return [results[number] for number, _ in calls]


def map_buffers(
    buffers: Sequence[Buffers], work: Callable[..., Result], *arguments: Iterable
) -> list[Result]:
    """Call a function on the current GPU, as many calls side by side as there are buffers."""
    ordinal, free = cuda.gpus.current.id, SimpleQueue()
    for each in buffers:
        free.put(each)

    def call(*own) -> Result:
        taken = free.get()
        try:
            with cuda.gpus[ordinal]:
                return work(taken, *own)
        finally:
            free.put(taken)

    return map_on_threads(len(buffers), call, *arguments)


BATCHES_AT_ONCE = 4
"""Batches of one call that have buffers at the same time."""
COPIES_AT_ONCE = 1 if simulated() else 8
"""Threads of the host that copy values of one call to a GPU at the same time, if it has so many."""
_ALIGNED, _SPARE = 256, 8
"""Arrays in reserved memory begin at multiples of so many bytes. An eighth more is reserved than
asked for, since the next batch may be somewhat larger."""
STAGED_BYTES = 1 << 24
"""Pinned memory of the host through which large arrays are copied, at most."""
RETAINED_PART = 4
"""The part of a GPU's memory that a pool may retain between two calls, at most."""


def _event():
    """Return an event for which the host waits without the time of a processor."""
    if simulated():
        return cuda.event()
    flags = binding.CUevent_flags
    return Event(driver.cuEventCreate(
        flags.CU_EVENT_BLOCKING_SYNC.value | flags.CU_EVENT_DISABLE_TIMING.value
    ))  # fmt: skip


class Buffers:
    """Arrays of the current GPU by name, and the stream in which they are used.

    They are used by one thread at a time. An array that is too small is made anew. That waits for
    all kernels of the GPU, unless there is space for it that was reserved.
    """

    def __init__(self):
        self.stream, self._event = cuda.stream(), _event()
        self._arrays: dict[str, object] = {}
        self._pinned: dict[str, NDArray] = {}
        # memory that is reserved, how much of it is used, and the arrays there
        self._space, self._used = None, 0
        self._inside: dict[str, object] = {}

    @property
    def bytes(self) -> int:
        """Bytes of the GPU's memory that the arrays take, and what is reserved for others."""
        own = sum(array.nbytes for array in self._arrays.values())
        return own + (0 if self._space is None else self._space.nbytes)

    def clear(self) -> None:
        """Release the GPU's memory, once the stream is done; pinned memory stays."""
        self.stream.synchronize()
        self._arrays.clear()
        self._inside.clear()
        self._space, self._used = None, 0

    def reserve(self, n_bytes: int) -> None:
        """Reserve memory for arrays of so many bytes; those in memory reserved before are gone."""
        self._inside.clear()
        self._used = 0
        if self._space is None or self._space.nbytes < n_bytes:
            self._space = None
            self._space = cuda.device_array(n_bytes + n_bytes // _SPARE + _ALIGNED, np.uint8)

    def array(self, name: str, count: int, dtype: type, width: int = 0):
        """Return a device array with at least `count` elements, or rows of `width` elements.

        One that is too small, or of another type or width, is made anew.
        """
        made = self._inside.get(name, self._arrays.get(name))
        row = (width,) if width else ()
        if made is not None and (made.dtype, made.shape[1:]) == (dtype, row) and len(made) >= count:
            return made
        shape = max(int(count), 1), *row
        if (made := self._in_space(shape, np.dtype(dtype))) is not None:
            self._inside[name] = made
            return made
        for arrays in (self._inside, self._arrays):
            arrays.pop(name, None)
        self._arrays[name] = cuda.device_array(shape, dtype=dtype)
        return self._arrays[name]

    def _in_space(self, shape: tuple[int, ...], dtype: np.dtype):
        """Return an array in the space that is reserved, None if that is too small."""
        first = -(-self._used // _ALIGNED) * _ALIGNED
        past = first + prod(shape) * dtype.itemsize
        if self._space is None or past > self._space.nbytes:
            return None
        self._used = past
        return self._space[first:past].view(dtype).reshape(shape)

    def filled(self, name: str, count: int, dtype: type, byte: int = 0):
        """Return a device array whose first `count` elements are filled with one byte."""
        array = self.array(name, count, dtype)
        device_memset(array, byte, int(count) * np.dtype(dtype).itemsize, self.stream)
        return array

    def copy(self, name: str, values: NDArray):
        """Return a device array that begins with a copy of `values`."""
        width = values.shape[1] if values.ndim == 2 else 0
        array = self.array(name, len(values), values.dtype, width)
        if values.size:
            source = np.ascontiguousarray(values).reshape(-1)
            host_to_device(array.reshape(array.size), source, values.nbytes, self.stream)
        return array

    def together(self, name: str, arrays: Iterable[NDArray]) -> list:
        """Return device arrays that are copies of some arrays, all made by one copy."""
        arrays = [np.ascontiguousarray(each) for each in arrays]
        sizes = [-(-each.nbytes // _ALIGNED) * _ALIGNED for each in arrays]
        starts, values = np.cumsum([0, *sizes])[:-1].tolist(), np.zeros(sum(sizes), np.uint8)
        spans = [slice(k, k + each.nbytes) for k, each in zip(starts, arrays, strict=True)]
        for own, each in zip(spans, arrays, strict=True):
            values[own] = each.reshape(-1).view(np.uint8)
        made = self.copy(name, values)
        copies = [made[own].view(each.dtype) for own, each in zip(spans, arrays, strict=True)]
        return [
            copy.reshape(each.shape) if each.ndim > 1 else copy
            for copy, each in zip(copies, arrays, strict=True)
        ]

    def staged(self, name: str, values: NDArray):
        """Return a device array with just a copy of `values`, made by way of pinned memory.

        The caller may change `values` then. The next call must wait for the stream.
        """
        pinned = self.pinned("staged", len(values), values.dtype)
        np.copyto(pinned, values)
        return self.copy(f"{name} {values.dtype}", pinned)[: len(values)]

    def joined(
        self, name: str, parts: Iterable[NDArray], zeros: int = 0, dtype: type | None = None,
        count: int | None = None,
    ):  # fmt: skip
        """Return a device array of some arrays, one behind the other, and of zeros behind them.

        Unless `parts` is a list, their type and how many elements they have are given. They go by
        way of pinned memory; the stream is done with other uses of that at the end.
        """
        dtype = parts[0].dtype if dtype is None else np.dtype(dtype)
        count, size = sum(map(len, parts)) if count is None else count, dtype.itemsize
        made, most = (
            self.array(name, count + zeros, dtype),
            max(min(STAGED_BYTES // size, count), 1),
        )
        staged = self.pinned("joined", most, dtype)
        first = used = 0
        for part in parts:
            cuts = range(0, len(part), most)
            # most parts are small
            for own in [part] if len(cuts) < 2 else [part[k : k + most] for k in cuts]:
                if used + len(own) > most:
                    self._flush(made, first, staged[:used])
                    first, used = first + used, 0
                staged[used : used + len(own)] = own
                used += len(own)
        self._flush(made, first, staged[:used])
        if zeros:
            device_memset(made[count:], 0, zeros * size, self.stream)
        return made[: count + zeros]

    def _flush(self, made, first: int, values: NDArray) -> None:
        """Copy staged values into a device array, from an element on."""
        if len(values):
            host_to_device(made[first:], values, values.nbytes, self.stream)
            self.stream.synchronize()

    def fetched(self, array) -> NDArray:
        """Return a copy of a device array when what was started before is done.

        While a copy to memory that is not pinned waits, the driver lets no other thread start or
        copy anything; so the stream is waited for first.
        """
        self._event.record(self.stream)
        self._event.synchronize()
        made = array.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return made

    def fetch(self, name: str, array, count: int) -> NDArray:
        """Return a pinned host array that holds the first elements once the stream is done."""
        values = self.pinned(name, count, array.dtype)
        if count:
            flat = array if array.ndim == 1 else array.reshape(array.size)
            device_to_host(values, flat, values.nbytes, self.stream)
        return values

    def pinned(self, name: str, count: int, dtype: type) -> NDArray:
        """Return a pinned array of the host, which copies fast, with `count` elements.

        Arrays of one name share their memory, of whatever type they are.
        """
        size = int(count) * np.dtype(dtype).itemsize
        if name not in self._pinned or len(self._pinned[name]) < size:
            self._pinned.pop(name, None)
            # pinning takes long, so the next array may be somewhat larger
            self._pinned[name] = cuda.pinned_array(1 << max(size - 1, 0).bit_length(), np.uint8)
        return self._pinned[name][:size].view(dtype)


class BufferPool:
    """The buffers of one GPU for one call.

    The `resident` ones hold what all batches of a call read. Those of `batches` are used in turns:
    results of one are read while the GPU works on the next. Those of `staging` hold values of the
    host: each has a thread that copies them and waits for the results.
    """

    def __init__(self):
        self.resident = Buffers()
        self.batches = tuple(Buffers() for _ in range(BATCHES_AT_ONCE))
        self.staging = tuple(Buffers() for _ in range(COPIES_AT_ONCE))

    @property
    def bytes(self) -> int:
        """Bytes of the GPU's memory that the pool takes."""
        return sum(buffers.bytes for buffers in (self.resident, *self.batches, *self.staging))

    @property
    def free_bytes(self) -> int:
        """Bytes of the GPU's memory that a call can use, those of the pool's batches included."""
        if simulated():
            return 1 << 62
        free = cuda.current_context().get_memory_info().free
        return free + sum(buffers.bytes for buffers in self.batches)

    def clear(self) -> None:
        """Release all buffers."""
        for buffers in (self.resident, *self.batches, *self.staging):
            buffers.clear()
        if not simulated():
            cuda.current_context().deallocations.clear()


_RETAINED: dict[int, list[BufferPool]] = defaultdict(list)
_IN_USE: dict[int, RLock] = defaultdict(RLock)


@contextmanager
def borrowed_pools(ordinals: Sequence[int]) -> Iterator[list[BufferPool]]:
    """Lend a buffer pool of each of several GPUs; other threads wait for these GPUs meanwhile."""
    pools: list[BufferPool | None] = [None] * len(ordinals)
    with ExitStack() as lent:
        # in one order for all, so that no two threads wait for each other
        for number in sorted(range(len(ordinals)), key=lambda k: ordinals[k]):
            lent.enter_context(_IN_USE[ordinals[number]])
            pools[number] = lent.enter_context(_borrowed_pool(ordinals[number]))
        yield pools


@contextmanager
def _borrowed_pool(ordinal: int) -> Iterator[BufferPool]:
    """Lend a pool with its GPU current; it is retained unless the call fails, empty if large."""
    with cuda.gpus[ordinal]:
        retained = _RETAINED[ordinal]
        pool = retained.pop() if retained else BufferPool()
        try:
            yield pool
        except BaseException:
            pool.clear()
            raise
        if retained or pool.bytes * RETAINED_PART > memory():
            pool.clear()
        if not retained:
            retained.append(pool)


def memory() -> int:
    """Return the bytes of the current GPU's memory."""
    return 1 << 33 if simulated() else cuda.current_context().get_memory_info().total
