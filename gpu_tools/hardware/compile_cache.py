"""One process at a time at numba's files of compiled functions, one thread at loading them.

numba keeps what it compiled of a function in numbered files, and an index of them that it reads,
extends and writes back. Two processes that compile a function for different types at the same time
can give both the same number: each may then read, now or later, what was compiled for the other's
types, and compute wrong results without an error. Importing this module has both caches, that of
the CPU and that of CUDA, hold a lock while they read or write.

What was compiled of a CUDA kernel is loaded onto a GPU when it is first started there. numba-cuda
looks whether that has been done and then does it, without a lock: of two threads that start a
kernel at the same time both load it, and the second one fails.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock

from numba.core import caching


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold the lock file `path`; where none can be made, nothing can be written either."""
    try:
        lock = open(path, "w")  # noqa: SIM115
    except OSError:
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def serialise(cache_file: type) -> None:
    """Have a class of numba's cache files read and write under a lock.

    Parameters
    ----------
    cache_file : type
        ``IndexDataCacheFile`` of numba or of numba-cuda.
    """
    for name in ("load", "save"):
        method = getattr(cache_file, name)
        if not hasattr(method, "__wrapped__"):
            setattr(cache_file, name, _under_lock(method))


def _under_lock(method):
    @wraps(method)
    def locked(self, *arguments):
        with _locked(f"{self._index_path}.lock"):
            return method(self, *arguments)

    return locked


def load_one_by_one(library: type) -> None:
    """Have a class of compiled kernels loaded onto GPUs by one thread at a time.

    And have them stay there until the process ends. GPUs of one kind share what is loaded, and at
    the end of Python it would be unloaded once for each of them, which crashes the process.

    Parameters
    ----------
    library : type
        ``CUDACodeLibrary`` of numba-cuda.
    """
    loading, load = RLock(), library.get_cufunc

    @wraps(load)
    def loaded(self):
        with loading:
            function = load(self)
        function.module._finalizer.atexit = False
        return function

    library.get_cufunc = loaded


serialise(caching.IndexDataCacheFile)
