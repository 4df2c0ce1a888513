"""The compile cache: a folder of compiled functions for one state of this package's sources.

Numba stores what it compiles of a function in numbered files, and an index of them that it reads,
extends and writes back. It looks at a function's own file to see whether it has changed, although
compiled code contains what it calls from other files; it trusts what it reads; and it has no lock.
So this package's functions lie in a folder of their own, see `cache_folder`:

- Its name holds a digest of all modules of the package, the processor and numba's version. So what
  is stored there never changes, and other versions have folders of their own.
- A process holds a lock while it compiles, and others wait: they find what it has stored.
- A list has the size and checksum of every file. What does not fit, because it was damaged or a
  process was killed before it had stored all, is removed before numba reads it.

Numba tells of compiling by its events, which all this hangs on.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import logging
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType

from llvmlite import binding
from numba import __version__ as numba_version
from numba.core import event

from gpu_tools.hardware.compiling import about_to_compile
from gpu_tools.hardware.interrupts import deferred_interrupts
from gpu_tools.hardware.own_files import checksum_of, private_folder

_log = logging.getLogger(__name__)
_PACKAGE = Path(__file__).parents[1]
NAMED = "NUMBA_CACHE_DIR"
_LIST, _LOCK, WARMED = "checksums.json", "lock", "warm-up.txt"
"""The list of files, the lock, and a record of what is compiled beforehand."""
_LEAST_FREE = 1 << 26
"""Bytes that the disk must have left for compiled code."""
_OLD_SECONDS = 14 * 86_400
"""A folder of another version that was not used for so long is removed."""
_setting = threading.Lock()


def stored_in_cache(function: Callable, jit: Callable, config: ModuleType, **options) -> Callable:
    """Return a function as numba compiles it, stored in the compile cache if there can be one."""
    folder = cache_folder()
    if folder is None:
        return jit(**options)(function)
    with _setting:  # the folder of the user's own functions stays what it is
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            return jit(cache=True, **options)(function)
        finally:
            config.CACHE_DIR = before


@cache
def package_digest() -> str:
    """Return a digest of the package's modules.

    The command line is left out: nothing that is compiled imports it. Times of files are left out
    too: archives and images round them.
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(_PACKAGE):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "cli"))
        for name in sorted(name for name in files if name.endswith(".py")):
            path = Path(folder, name)
            digest.update(f"{path.relative_to(_PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def folder_name() -> str:
    """Return the name of the cache's folder: of these sources, this processor and this numba."""
    features = binding.get_host_cpu_features().flatten()
    processor = binding.get_host_cpu_name(), features, numba_version, platform.python_version()
    parts = package_digest(), hashlib.sha256(repr(processor).encode()).hexdigest()
    return "-".join(part[:16] for part in parts)


def places() -> Iterator[Path]:
    """Yield the folders in which the cache's folder may be, the first one that can be written."""
    if named := os.environ.get(NAMED):
        yield Path(named).absolute() / "gpu-tools"
    with suppress(RuntimeError):  # there is no home
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        yield home.absolute() / "gpu-tools"
    yield private_folder()


@cache
def cache_folder() -> Path | None:
    """Return the folder of this process's compiled code, checked; None if there can be none.

    What lies in a folder that cannot be written, such as one of an image, is copied to one that
    can be.
    """
    name, shipped = folder_name(), None
    for place in places():
        folder = place / name
        if usable(folder):
            if shipped is not None and not (folder / _LIST).exists():
                with _locked(folder, fcntl.LOCK_EX), suppress(OSError):
                    shutil.copytree(shipped, folder, dirs_exist_ok=True)
            _repair(folder)
            _remove_old(place, name)
            return folder
        if (folder / _LIST).exists():
            shipped = folder
    _log.warning("compiled code cannot be stored: the next run compiles it again")
    return None


def usable(folder: Path) -> bool:
    """Tell whether files can be written and locked in a folder, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < _LEAST_FREE:
            return False
        with _locked(folder, fcntl.LOCK_SH):
            os.utime(folder / _LOCK)  # it is in use
            (folder / f"writable-{os.getpid()}-{threading.get_ident()}").touch()
            (folder / f"writable-{os.getpid()}-{threading.get_ident()}").unlink()
        return True
    except OSError:
        return False


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[int]:
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, how)
        yield lock.fileno()


def damaged(folder: Path) -> list[str]:
    """Return the files of a cache that are not what was stored, or are not listed yet."""
    known = listed(folder)
    return [name for name, path in _files(folder) if _checksum(path) != known.get(name, [])[:2]]


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield numba's files: indexes and compiled code."""
    for path in sorted(folder.glob("*/*.nb[ic]")):
        yield str(path.relative_to(folder)), path


def _checksum(path: Path) -> list[int] | None:
    try:
        return checksum_of(path)
    except OSError:
        return None


def listed(folder: Path) -> dict[str, list[int]]:
    """Return size, checksum and time of each file by name; a list that is damaged is empty."""
    try:
        content = json.loads((folder / _LIST).read_text(encoding="utf-8"))
        return {name: [*map(int, numbers)] for name, numbers in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _repair(folder: Path) -> None:
    """Remove damaged files, unless another process is about to add them to the list."""
    if not damaged(folder):
        return
    with _locked(folder, fcntl.LOCK_EX):
        known, wrong = listed(folder), damaged(folder)
        (folder / WARMED).unlink(missing_ok=True)
        for name in wrong:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if any(name in known for name in wrong):
            _log.warning("%s: compiled code was damaged, and is compiled again", folder)


def _list_files(folder: Path) -> None:
    """Bring the list up to date after compiling; the caller holds the lock."""
    known, found = listed(folder), {}
    for name, path in _files(folder):
        state = path.stat()
        numbers = known.get(name)
        if numbers is None or [numbers[0], numbers[2]] != [state.st_size, state.st_mtime_ns]:
            numbers = [*checksum_of(path), state.st_mtime_ns]
        found[name] = numbers
    temporary = folder / f"{_LIST}.new"
    temporary.write_text(json.dumps(found), encoding="utf-8")
    temporary.replace(folder / _LIST)


def _remove_old(place: Path, name: str) -> None:
    """Remove folders of other versions that are not in use any more."""
    with suppress(OSError):
        for lock in place.glob(f"*-*/{_LOCK}"):
            if lock.parent.name != name and time.time() - lock.stat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(lock.parent, ignore_errors=True)


class _OneAtATime:
    """Hears when numba looks for a compiled function, and when it compiles one.

    Processes share the lock while they look, and hold it alone while they compile and store. Of
    threads one does either.
    """

    def __init__(self):
        self._threads, self._depth, self._lock = threading.RLock(), 0, None
        self._alone = self._collects = False
        self._deferral = ExitStack()

    def on_start(self, event) -> None:
        """Wait for the lock when numba takes its own, hold it alone when numba compiles."""
        looks = event.kind.endswith("compiler_lock")
        if looks:
            self._threads.acquire()
            self._depth += 1
        try:
            if self._depth == 1 and looks:
                self._share()
            if not self._alone and event.kind in _COMPILING:
                self._hold_alone()
        except BaseException:
            if looks:
                self.on_end(event)
            raise

    def on_end(self, event) -> None:
        """List what was stored, and let others go on, when numba gives its lock back."""
        if not event.kind.endswith("compiler_lock"):
            return
        try:
            if self._depth == 1:
                self._finish()
        finally:
            self._depth -= 1
            self._threads.release()

    def _share(self) -> None:
        if (folder := cache_folder()) is not None:
            with suppress(OSError):
                self._lock = (folder / _LOCK).open("a")
                fcntl.flock(self._lock, fcntl.LOCK_SH)
        self._deferral.enter_context(deferred_interrupts())  # while code is loaded

    def _hold_alone(self) -> None:
        self._deferral.close()
        self._alone, self._collects = True, gc.isenabled()
        gc.disable()  # compiling makes little garbage in cycles, and many objects to look through
        about_to_compile()
        if self._lock is not None:
            with suppress(OSError):
                fcntl.flock(self._lock, fcntl.LOCK_EX)

    def _finish(self) -> None:
        (alone, self._alone), (lock, self._lock) = (self._alone, False), (self._lock, None)
        if alone and self._collects:
            gc.enable()
        if lock is not None:
            with lock, suppress(OSError):
                if alone:
                    _list_files(Path(lock.name).parent)
        self._deferral.close()


_COMPILING = "numba:compile", "numba-cuda:compiler_lock"
"""The second one stands for kernels, of which numba-cuda tells no more."""
_one_at_a_time = _OneAtATime()


def listen(events: ModuleType, *kinds: str) -> None:
    """Have processes compile one at a time what a library tells of by events of some kinds."""

    class Listener(events.Listener):
        def on_start(self, event):
            _one_at_a_time.on_start(event)

        def on_end(self, event):
            _one_at_a_time.on_end(event)

    for kind in kinds:
        events.register(kind, Listener())


listen(event, "numba:compiler_lock", "numba:compile")
