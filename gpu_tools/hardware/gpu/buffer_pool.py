"""What calls on GPUs keep for the next one: threads, and buffers on each GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock, local

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.gpu.driver_calls import Calls, Placed, SimulatedCalls, urgent_stream

BYTES_KEPT = 8 << 30
"""What the buffers of a GPU may take of its memory between two calls ..."""
SHARE_KEPT = 16
"""... if this part of the memory is not less."""

TURNS = 5
"""Batches that a GPU has at the same time: its memory is shared among so many buffers.

When the longest job of a batch is done, so are most of those that came after it.
"""


class Buffers:
    """Arrays of the current GPU that are made once and used again, and the stream of their use.

    Not for two threads at once.

    Attributes
    ----------
    stream : stream of numba
    event : event of numba
        For those who wait for something in the stream.
    calls, urgent : Calls
        For the stream, and for one whose kernels go before those of others. Nothing happens until
        they are started.
    """

    def __init__(self):
        self.stream, self.event = cuda.stream(), cuda.event()
        kind = SimulatedCalls if simulated() else Calls
        self.calls, self.urgent = kind(self.stream), kind(urgent_stream())
        self._arrays: dict[str, tuple[int, Placed]] = {}
        self._pinned: dict[str, NDArray] = {}

    @property
    def bytes(self) -> int:
        """Bytes of the GPU that they take."""
        return sum(placed.array.nbytes for _, placed in self._arrays.values())

    def clear(self) -> None:
        """Give back what they take, and forget what was put down."""
        self.calls.taken()
        self.urgent.taken()
        self._arrays.clear()
        self._pinned.clear()

    def array(self, name: str, count: int, dtype: type, width: int = 0) -> Placed:
        """Return the array of a name, with at least `count` elements, or rows of a `width`."""
        if name not in self._arrays or self._arrays[name][0] < count:
            self._arrays.pop(name, None)
            count = max(int(count), 1)
            shape = (count, width) if width else count
            self._arrays[name] = count, Placed(cuda.device_array(shape, dtype=dtype))
        return self._arrays[name][1]

    def filled(self, name: str, count: int, dtype: type, byte: int = 0) -> Placed:
        """Return the array of a name; all bytes of so many elements will be alike."""
        placed = self.array(name, count, dtype)
        self.calls.fill(placed, byte, count * np.dtype(dtype).itemsize)
        return placed

    def copy(self, name: str, values: NDArray) -> Placed:
        """Return the array of a name; values will be in it.

        Those may be changed once calls were started, pinned ones when the stream has copied them.
        """
        width = values.shape[1] if values.ndim == 2 else 0
        placed = self.array(name, len(values), values.dtype, width)
        if values.size:
            self.calls.copy_in(placed, np.ascontiguousarray(values))
        return placed

    def fetch(self, name: str, placed: Placed, count: int, calls: Calls) -> NDArray:
        """Return the host's array of a name; the first elements of the GPU's will be in it.

        They are copied by these calls.
        """
        values = self.pinned(name, count, placed.array.dtype)
        if count:
            calls.copy_out(values, placed)
        return values

    def pinned(self, name: str, count: int, dtype: type) -> NDArray:
        """Return an array of the host that copies fast; nothing is in it."""
        if name not in self._pinned or len(self._pinned[name]) < count:
            self._pinned.pop(name, None)
            # it is dear to make, so the next one may be somewhat larger
            self._pinned[name] = cuda.pinned_array(1 << int(count).bit_length(), dtype=dtype)
        return self._pinned[name][:count]


class Room:
    """The buffers of a GPU: those of what stays for a call, and those of batches, in turns."""

    def __init__(self):
        self.stays = Buffers()
        self.turns = tuple(Buffers() for _ in range(TURNS))

    @property
    def bytes(self) -> int:
        """Bytes of the GPU that the batches' buffers take."""
        return sum(buffers.bytes for buffers in self.turns)

    def empty(self) -> None:
        """Give the batches' buffers back."""
        _give_back(self.turns)

    def keep(self, most: int) -> None:
        """Give everything back if it takes more than `most` bytes of the GPU."""
        if self.bytes + self.stays.bytes > most:
            _give_back((self.stays, *self.turns))


def _give_back(all_buffers: Iterable[Buffers]) -> None:
    for buffers in all_buffers:
        buffers.clear()
    if not simulated():
        cuda.current_context().deallocations.clear()


class Keeper:
    """A thread for each GPU, its buffers, and threads of the CPU."""

    def __init__(self):
        self._rooms: dict[int, Room] = {}
        self.forget_threads()

    def forget_threads(self) -> None:
        """Begin without threads, as a child process does."""
        self._lock = Lock()
        self._workers: dict[int, ThreadPoolExecutor] = {}
        self._drivers: dict[int, ThreadPoolExecutor] = {}

    def workers(self, threads: int) -> ThreadPoolExecutor:
        """Return a pool of so many CPU threads; what it runs must not wait for it."""
        with self._lock:
            if threads not in self._workers:
                self._workers[threads] = ThreadPoolExecutor(threads, "gpu-tools-cpu")
            return self._workers[threads]

    def on_gpus(self, ordinals: Sequence[int], run: Callable, shares: Sequence) -> None:
        """Have the thread of each GPU call ``run(share, room)``, with the GPU current.

        It does one call after the other, so that the room is the call's own.
        """
        with self.beside_gpus(ordinals, run, shares):
            pass

    @contextmanager
    def beside_gpus(
        self, ordinals: Sequence[int], run: Callable, shares: Sequence
    ) -> Iterator[None]:
        """Do the same beside what this thread does within; at the end of that it is all done.

        What a call waits for has to come from there even if that fails.
        """
        running = self._begin(ordinals, partial(self._in_room, run), ordinals, shares)
        try:
            yield
        finally:
            _results(running)

    def map_gpus(self, ordinals: Sequence[int], work: Callable, *arguments: Iterable) -> list:
        """Call `work` with each GPU current and its own arguments; return the results in order.

        Each GPU's thread does its calls one after the other, and must not wait for this method
        itself. One call alone is done by the thread that asks.

        Parameters
        ----------
        ordinals : sequence of int
            GPUs; one that is named twice does two calls.
        work : callable
        *arguments : iterable
            As for `map`, but of each exactly one element a call.

        Returns
        -------
        list
            In the order of `ordinals`.
        """
        if len(ordinals) > 1:
            return _results(self._begin(ordinals, work, *arguments))
        found = []  # with each GPU only for its call: the thread is not ours
        for ordinal, *own in zip(ordinals, *arguments, strict=True):
            with cuda.gpus[ordinal]:
                found.append(work(*own))
        return found

    def _begin(self, ordinals: Sequence[int], work: Callable, *arguments: Iterable) -> list[Future]:
        calls = list(zip(ordinals, *arguments, strict=True))
        return [self._driver(own[0]).submit(_with_gpu, work, *own) for own in calls]

    def _driver(self, ordinal: int) -> ThreadPoolExecutor:
        with self._lock:
            if ordinal not in self._drivers:
                self._drivers[ordinal] = ThreadPoolExecutor(1, f"gpu-tools-cuda-{ordinal}")
            return self._drivers[ordinal]

    def _in_room(self, run: Callable, ordinal: int, share) -> None:
        # only the GPU's own thread asks for its room
        room = self._rooms[ordinal] = self._rooms.get(ordinal) or Room()
        try:
            run(share, room)
        except BaseException:
            room.keep(0)
            raise
        room.keep(_may_keep(ordinal))


def _results(running: list[Future]) -> list:
    """Return what calls return, or raise the first error, once all have ended."""
    failed = [error for future in running if (error := future.exception())]
    if failed:
        raise failed[0]
    return [future.result() for future in running]


_CURRENT = local()


def _with_gpu(work: Callable, ordinal: int, *arguments):
    # to say which one takes several calls of the driver, and a thread keeps to one
    if getattr(_CURRENT, "ordinal", None) != ordinal:
        cuda.select_device(ordinal)
        _CURRENT.ordinal = ordinal
    return work(*arguments)


@cache
def _may_keep(ordinal: int) -> int:
    if simulated():
        return BYTES_KEPT
    return min(BYTES_KEPT, cuda.current_context().get_memory_info().total // SHARE_KEPT)


KEPT = Keeper()
os.register_at_fork(after_in_child=KEPT.forget_threads)
