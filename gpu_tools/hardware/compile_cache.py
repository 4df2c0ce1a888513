"""Numba's cache of compiled functions, and the loading of kernels, mended.

numba keeps what it compiled of a function in numbered files, and an index of them that it reads,
extends and writes back. Importing this module mends the cache of the CPU, `secure` that of CUDA:

- Two processes that compile a function for different types at the same time can give both the same
  number: each may then read, now or later, what was compiled for the other's types, and compute
  wrong results without an error. So processes hold a lock while they read or write.
- An index or a compiled function that cannot be read is an error of numba's. It may be damaged, or
  name a class that has been renamed. Here the function is compiled again.
- numba compiles a function again if its own file has changed, although it contains what it calls
  from other files. Here it does so if any file of the package has changed.

What was compiled of a CUDA kernel is loaded onto a GPU when it is first started there. numba-cuda
looks whether that has been done and then does it, without a lock: of two threads that start a
kernel at the same time both load it, and the second one fails.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, wraps
from hashlib import sha256
from pathlib import Path
from threading import RLock
from types import ModuleType

from numba.core import caching

_PACKAGE = Path(__file__).parents[1]


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


def secure(caching: ModuleType) -> None:
    """Have a cache of numba's lock its files, do without damaged ones, and see all edits.

    Parameters
    ----------
    caching : module
        ``numba.core.caching`` or ``numba.cuda.core.caching``.
    """
    files, locator = caching.IndexDataCacheFile, caching._SourceFileBackedLocatorMixin
    for owner, name, mend in (
        (files, "load", _under_lock),
        (files, "save", _under_lock),
        (files, "_load_index", partial(_unless_damaged, dict)),
        (files, "_load_data", partial(_unless_damaged, lambda: None)),
        (locator, "get_source_stamp", _with_package),
    ):
        method = getattr(owner, name)
        if not hasattr(method, "__wrapped__"):
            setattr(owner, name, mend(method))


def _under_lock(method):
    @wraps(method)
    def locked(self, *arguments):
        with _locked(f"{self._index_path}.lock"):
            return method(self, *arguments)

    return locked


def _unless_damaged(otherwise: Callable, method):
    @wraps(method)
    def read(self, *arguments):
        try:
            return method(self, *arguments)
        except OSError:
            raise
        except Exception:  # damaged files raise many kinds
            return otherwise()

    return read


def _with_package(method):
    @wraps(method)
    def stamp(self):
        own = method(self)
        ours = Path(self._py_file).is_relative_to(_PACKAGE)
        return (own, _package_stamp()) if ours else own

    return stamp


@cache
def _package_stamp() -> str:
    """Return a digest of the times and sizes of the package's modules.

    The command line is left out: nothing that is compiled imports it.
    """
    modules = []
    for folder, folders, files in os.walk(_PACKAGE):
        folders[:] = [name for name in folders if name not in ("__pycache__", "cli")]
        here = os.path.relpath(folder, _PACKAGE)
        for name in (name for name in files if name.endswith(".py")):
            state = Path(folder, name).stat()
            modules.append((here, name, state.st_mtime_ns, state.st_size))
    return sha256(repr(sorted(modules)).encode()).hexdigest()


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


secure(caching)
