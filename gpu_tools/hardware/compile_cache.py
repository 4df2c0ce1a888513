"""Numba's cache of compiled functions, and the loading of kernels, mended.

numba keeps what it compiled of a function in numbered files, and an index of them that it reads,
extends and writes back. Importing this module mends the cache of the CPU, `secure` that of CUDA:

- Two processes that compile a function for different types at the same time can give both the same
  number: each may then read, now or later, what was compiled for the other's types, and compute
  wrong results without an error. So processes hold a lock while they read or write.
- An index or a compiled function that cannot be read is an error of numba's. It may be damaged, or
  name a class that has been renamed. Here the function is compiled again. What cannot be stored,
  on a full disk, is an error of numba's too. Here there is a warning.
- numba writes the index before the function. A process that ends in between can leave an older
  function under the new one's name. Here the older one is removed first.
- numba compiles a function again if its own file has changed, although it contains what it calls
  from other files. Here it does so if any file of the package has changed.
- Processes that need a function at the same time each compile it. Here one does, the others wait.
- numba looks in one folder, which it must be able to write. Here it also finds what is stored in a
  package that cannot be written, such as that of a container's image, and stores what is missing in
  a folder for temporary files if the home cannot be written either.

What numba compiles of functions that compiled functions call is in `inner_functions`.

What was compiled of a CUDA kernel is loaded onto a GPU when it is first started there. numba-cuda
looks whether that has been done and then does it, without a lock: of two threads that start a
kernel at the same time both load it, and the second one fails.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache, partial, wraps
from hashlib import sha256
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TextIO

from numba.core import caching

from gpu_tools.hardware.compiling import about_to_compile
from gpu_tools.hardware.inner_functions import is_ours
from gpu_tools.hardware.interrupts import deferred_interrupts
from gpu_tools.hardware.own_files import private_folder

_log = logging.getLogger(__name__)
_PACKAGE = Path(__file__).parents[1]
_WAIT_SECONDS = 300.0
"""So long a process waits for another one that compiles the same function."""
_POLL_SECONDS = 0.02


def secure(caching: ModuleType) -> None:
    """Mend a cache of numba's, see above.

    Parameters
    ----------
    caching : module
        ``numba.core.caching`` or ``numba.cuda.core.caching``.
    """
    files, locator = caching.IndexDataCacheFile, caching._SourceFileBackedLocatorMixin
    for owner, name, mend in (
        (files, "load", _under_lock),
        (files, "save", partial(_under_lock, needed=True)),
        (files, "_load_index", partial(_unless_damaged, dict)),
        (files, "_save_index", _without_old_data),
        (files, "_load_data", partial(_unless_damaged, lambda: None)),
        (locator, "get_source_stamp", _with_package),
        (caching.Cache, "load_overload", _compiled_by_one),
        (caching.Cache, "save_overload", _and_let_others),
    ):
        method = getattr(owner, name)
        if not hasattr(method, "__wrapped__"):
            setattr(owner, name, mend(method))
    if not any(hasattr(each, "of_gpu_tools") for each in caching.CacheImpl._locator_classes):
        caching.CacheImpl._locator_classes.append(_temporary_locator(caching))


def _open_lock(path: str, how: int = fcntl.LOCK_EX) -> TextIO | None:
    """Return a lock file that is held until it is closed, None where there can be none.

    With ``LOCK_NB`` in `how` a lock that another process holds is a `BlockingIOError`.
    """
    try:
        lock = open(path, "w")  # noqa: SIM115
    except OSError:
        return None
    try:
        fcntl.flock(lock, how)
    except OSError as error:
        lock.close()
        if isinstance(error, BlockingIOError):
            raise
        return None  # a file system without locks
    return lock


def _under_lock(method, needed: bool = False):
    """Mend a method so that one process at a time is in it; without a lock none writes."""

    @wraps(method)
    def locked(self, *arguments):
        lock = _open_lock(f"{self._index_path}.lock")
        if lock is None and needed:
            return None
        with lock or nullcontext():
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


def _without_old_data(method):
    """Mend the writing of an index, whose last entry is new: no older file has its name.

    A process that ends before it has written the new one would leave other code under that name.
    """

    @wraps(method)
    def save_index(self, overloads):
        for name in list(overloads.values())[-1:]:
            Path(self._data_path(name)).unlink(missing_ok=True)
        return method(self, overloads)

    return save_index


def _with_package(method):
    @wraps(method)
    def stamp(self):
        return package_stamp() if is_ours(self._py_file) else method(self)

    return stamp


@cache
def package_stamp() -> str:
    """Return a digest of the package's modules.

    The command line is left out: nothing that is compiled imports it. Times of files are left out
    too: archives and images round them.
    """
    digest = sha256()
    for folder, folders, files in os.walk(_PACKAGE):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "cli"))
        for name in sorted(name for name in files if name.endswith(".py")):
            path = Path(folder, name)
            digest.update(f"{path.relative_to(_PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def processor() -> tuple:
    """Return what compiled code of the CPU depends on: kind of processor, features, numba."""
    from numba import __version__
    from numba.core.registry import cpu_target

    return (*cpu_target.target_context.codegen().magic_tuple(), __version__)


def cache_folders() -> list[Path]:
    """Return where compiled functions of this folder's modules are stored, then a shipped place.

    Returns
    -------
    list of Path
        The first one can be written. The other one is there if the package cannot be written.
    """
    kinds = caching.CacheImpl._locator_classes
    found = (kind.from_function(cache_folders, __file__) for kind in kinds)
    own = Path(next(each for each in found if each is not None).get_cache_path())
    shipped = Path(__file__).parent / "__pycache__"
    return [own] if _only_own() or own == shipped else [own, shipped]


def _only_own() -> bool:
    """Tell whether the user says where compiled functions are."""
    return bool(os.environ.get("NUMBA_CACHE_DIR"))


def _compiled_by_one(method):
    """Mend the search for a compiled function: if there is none, the caller is to compile it.

    It holds a lock until it has stored the function; others wait for that.
    """

    @wraps(method)
    def load(self, signature, target):
        if not is_ours(self._impl.locator._py_file):
            return method(self, signature, target)

        def search():
            found = None
            with deferred_interrupts(), suppress(OSError):  # what cannot be read is compiled
                found = method(self, signature, target)
            return _of_package(self, signature, target) if found is None else found

        found = search()
        if found is None:
            about_to_compile()
            _wait_for_turn(self, signature)
            found = search()
            if found is not None:
                _end_turn(self)
        return found

    return load


def _of_package(self, signature, target):
    """Return what is stored in the package's own folder, if the cache is elsewhere."""
    folder = str(Path(self._impl.locator._py_file).parent / "__pycache__")
    if _only_own() or folder == self._cache_path:
        return None
    own = self._cache_file
    files = type(own)(folder, self._impl.filename_base, own._source_stamp)
    with deferred_interrupts(), suppress(OSError):
        data = files.load(self._index_key(signature, target.codegen()))
        return None if data is None else self._impl.rebuild(target, data)


def _wait_for_turn(self, signature) -> None:
    """Hold the lock of a function and its types; after a while go on without it."""
    if getattr(self, "_turn", None) is not None:
        return
    name = sha256(repr(signature).encode()).hexdigest()[:16]
    path = f"{self._cache_file._index_path}.{name}.compiling"
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            self._turn = _open_lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_POLL_SECONDS)


def _end_turn(self) -> None:
    lock, self._turn = getattr(self, "_turn", None), None
    if lock is not None:
        with suppress(OSError):
            Path(lock.name).unlink()
        lock.close()


def _and_let_others(method):
    @wraps(method)
    def save(self, *arguments):
        try:
            return method(self, *arguments)
        except OSError as error:  # it is compiled, and needs no cache
            _tell_not_stored(error.strerror)
            return None
        finally:
            _end_turn(self)

    return save


@cache
def _tell_not_stored(why: str) -> None:
    """Tell, once for each reason."""
    _log.warning("compiled code cannot be stored (%s): the next run compiles it again", why)


def _temporary_locator(caching: ModuleType) -> type:
    """Return the class that finds a folder for functions of this package where numba finds none."""

    class TemporaryLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
        of_gpu_tools = True

        def __init__(self, py_func, py_file):
            self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
            self._cache_path = str(private_folder() / self.get_suitable_cache_subpath(py_file))

        def get_cache_path(self):
            return self._cache_path

        @classmethod
        def from_function(cls, py_func, py_file):
            return super().from_function(py_func, py_file) if is_ours(py_file) else None

    return TemporaryLocator


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
